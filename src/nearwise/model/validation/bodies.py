"""Request bodies to typed objects, and what the API server says of those that are not any.

Law: a complaint is worded as Go's JSON decoder words it: what stands there, in which field of
which Go type, and what type it should be. Our structs bear the names of the Go types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

import msgspec

from nearwise.model.conversion import typed
from nearwise.model.errors import InputError
from nearwise.model.meta import Int32, Object

T = TypeVar("T")


class BadBody(Exception):  # noqa: N818 - an answer to the client, not a failure of ours
    """A body that cannot be the object that is asked for; the text is the message of the Status."""


def object_of(raw: Mapping[str, Any], api_version: str, kind: type[T]) -> T:
    """Return a body as an object. Kind and version may be left out; unknown fields are dropped.

    Raises BadBody.
    """
    wanted = kind.__name__
    given_version = raw.get("apiVersion") or api_version
    given_kind = raw.get("kind") or wanted
    if given_version != api_version and isinstance(given_version, str):
        raise BadBody(
            f"the API version in the data ({given_version}) does not match the expected API "
            f"version ({api_version})"
        )
    version = api_version.rpartition("/")[2]
    refused = f'{given_kind} in version "{version}" cannot be handled as a {wanted}'
    if given_kind != wanted:
        raise BadBody(
            f'{refused}: no kind "{given_kind}" is registered for version "{api_version}" in '
            'scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        )
    try:
        return typed({**raw, "apiVersion": api_version, "kind": wanted}, kind)
    except InputError as error:
        complaint = _complaint(raw, kind, wanted, ()) or f"json: {error.field}: {error.what}"
        raise BadBody(f"{refused}: {complaint}") from None


# How Go calls what is found in JSON, and the types for which Python's stand.
_JSON_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
_UNIONS: Final = (Union, UnionType)
_GO_NAMES: Final = {str: "string", bool: "bool", int: "int64"}


def _complaint(value: Any, hint: Any, struct: str, path: tuple[str, ...]) -> str:
    """Complain of the first value that is not of its type, in the order in which they are given."""
    hint = _bare(hint)
    if value is None:
        return ""
    if get_origin(hint) in _UNIONS:  # a port by number or by name
        fits = isinstance(value, str) or _is_int32(value)
        return "" if fits else f"json: cannot unmarshal {_found(value)} into Go value of type int32"
    if not _is_a(value, hint):
        place = f"struct field {struct}.{'.'.join(path)}" if path else "value"
        return f"json: cannot unmarshal {_found(value)} into Go {place} of type {_go_type(hint)}"
    for inner, inner_hint, name in _parts(value, hint):
        inner_struct = hint.__name__ if name else struct
        inner_path = (*path, name) if name else path
        if complaint := _complaint(inner, inner_hint, inner_struct, inner_path):
            return complaint
    return ""


def _parts(value: Any, hint: Any) -> Iterator[tuple[Any, Any, str]]:
    """Take a list, a map or a struct apart; parts of a struct have a name."""
    if get_origin(hint) is tuple:
        yield from ((inner, get_args(hint)[0], "") for inner in value)
    elif get_origin(hint) is dict:
        yield from ((inner, get_args(hint)[1], "") for inner in value.values())
    elif _is_struct(hint):
        hints = {field.encode_name: field.type for field in msgspec.structs.fields(hint)}
        yield from ((inner, hints[name], name) for name, inner in value.items() if name in hints)


def _is_a(value: Any, hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return isinstance(value, list)
    if get_origin(hint) is dict or _is_struct(hint):
        return isinstance(value, Mapping)
    if hint is Int32:
        return _is_int32(value)
    return type(value) is hint


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Object)


def _bare(hint: Any) -> Any:
    """Take away that a value may be absent."""
    left = [one for one in get_args(hint) if one is not type(None)]
    return left[0] if get_origin(hint) in _UNIONS and len(left) == 1 else hint


def _found(value: Any) -> str:
    name = _JSON_NAMES.get(type(value), "object")
    is_plain = name != "number" or (type(value) is int and abs(value) < 2**31)
    return name if is_plain else f"{name} {json.dumps(value)}"


def _go_type(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"[]{_go_type(get_args(hint)[0])}"
    if get_origin(hint) is dict:
        return "map[string]string"
    if hint is Int32:
        return "int32"
    return f"v1.{hint.__name__}" if _is_struct(hint) else _GO_NAMES[hint]
