"""Request bodies to plain objects, and what is said of those that are none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from nearwise.model.errors import InputError
from nearwise.model.yamltree import documents
from nearwise.server import protobuf
from nearwise.server.objects.stored import Decoded
from nearwise.server.patch import Json, check_depth
from nearwise.server.statuses import Refusal, bad_request, unsupported_body

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
ACCEPTED: Final = (JSON, YAML, PROTOBUF)
"""The formats in which objects are read."""

_SHOWN: Final = 30  # bytes of a body that a message quotes


class Sent(msgspec.Struct, frozen=True):
    """An object as a client sent it, and what was odd about how it was written."""

    content: Decoded
    complaints: tuple[str, ...] = ()


def read_object(data: bytes, media: str, kind: str) -> Sent:
    """Read the body of a request for an object of a kind.

    Raises Refusal: 415 for a format that is not read, 400 for what is not an object; PatchError
    (400) for one that is nested too deep.
    """
    if media not in ("", *ACCEPTED):
        raise unsupported_body(ACCEPTED)
    if media == PROTOBUF:
        return Sent(_from_protobuf(data, kind))
    is_yaml = media == YAML
    content = _from_yaml(data, kind) if is_yaml else _from_json(data, kind)
    if not isinstance(content, dict):
        raise _unrecognized(_NO_KIND + _go_mismatch(content), data, kind)
    if is_yaml or not _is_shallow(data):
        check_depth(content)
    return Sent(content, () if is_yaml else _duplicates(data, content))


def read_patch(data: bytes, *, yaml: bool) -> Json:
    """Read a patch. Raises Refusal (400) for broken JSON or YAML."""
    try:
        patch: Json = _yaml(data) if yaml else msgspec.json.decode(data)
    except InputError as error:
        raise bad_request(f"error decoding YAML: {error.what}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"error decoding patch: {_go_complaint(data, error)}") from None
    return patch


def _from_json(data: bytes, kind: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unrecognized(_NO_KIND + _go_complaint(data, error), data, kind) from None


def _from_yaml(data: bytes, kind: str) -> Any:
    try:
        return _yaml(data)
    except InputError as error:
        what = error.what.removeprefix("broken YAML: ")
        why = f"error converting YAML to JSON: yaml: line {error.line}: {what}"
        raise _unrecognized(why, data, kind) from None


def _from_protobuf(data: bytes, kind: str) -> Decoded:
    try:
        return protobuf.read(data)
    except protobuf.WireError as error:
        raise _unrecognized(str(error), data, kind) from None


def _yaml(data: bytes) -> Any:
    """Read the first document; the others are not looked at, as in Kubernetes.

    Most of what is sent as YAML is JSON, and is read a hundred times faster as such.
    """
    if data.lstrip().startswith(b"{"):
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(data)
    return next((content for _, content in documents(data, "")), None)


# --- Depth --------------------------------------------------------------------------------

_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_USUAL_DEPTH: Final = 40


def _is_shallow(data: bytes) -> bool:
    """Tell whether JSON is surely not nested deep; objects hardly ever are.

    Its brackets alone are looked at, and innermost pairs taken away until nothing is left. Where
    texts have brackets in them that may not come about.
    """
    left = data.translate(None, _NO_BRACKETS)
    for _ in range(_USUAL_DEPTH):
        if not left:
            return True
        left = left.replace(b"{}", b"").replace(b"[]", b"")
    return False


# --- Words --------------------------------------------------------------------------------


_NO_KIND: Final = "couldn't get version/kind; json parse error: "


def _unrecognized(why: str, data: bytes, kind: str) -> Refusal:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({_quoted(data)})"
    )


def _quoted(data: bytes) -> str:
    """Quote the beginning of a body: JSON as it stands, anything else in hexadecimal."""
    if not data:
        return "<empty>"
    beginning = data[:_SHOWN]
    shown = beginning.decode(errors="replace") if data.startswith(b"{") else beginning.hex()
    return shown if len(data) <= _SHOWN else f"{shown} ..."


def _go_complaint(data: bytes, error: Exception) -> str:
    """Say why JSON is broken, in Go's words where there are such."""
    if isinstance(error, RecursionError):
        return "exceeded max depth"
    cut_off = not data.strip() or "truncated" in str(error)
    return "unexpected end of JSON input" if cut_off else f"invalid character: {error}"


def _go_mismatch(content: object) -> str:
    """Say that something else than an object came."""
    names = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    found = names.get(type(content), "null")
    return f"json: cannot unmarshal {found} into Go value of type an object with a kind"


# --- Fields that are there twice ----------------------------------------------------------


def _duplicates(data: bytes, content: Any) -> tuple[str, ...]:
    """Find the fields of JSON that are given more than once.

    Decoding keeps the last of them, so the JSON of what was decoded has fewer quotation marks.
    Only then is it worth to look where they are.
    """
    if data.count(b'"') == msgspec.json.encode(content).count(b'"'):
        return ()
    pairs = json.loads(data, object_pairs_hook=_Pairs)
    return tuple(f'duplicate field "{path}"' for path in dict.fromkeys(_twice(pairs, "")))


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object, all of them."""


def _twice(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        counts = Counter(name for name, _ in value)
        for name, inner in value:
            inner_path = f"{path}.{name}" if path else name
            if counts[name] > 1:
                yield inner_path
            yield from _twice(inner, inner_path)
    elif isinstance(value, list):
        yield from _in_list(value, path)


def _in_list(items: Iterable[Any], path: str) -> Iterator[str]:
    for place, item in enumerate(items):
        yield from _twice(item, f"{path}[{place}]")
