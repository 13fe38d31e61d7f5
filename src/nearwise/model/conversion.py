"""JSON or a plain tree to a typed value, the API's way, and complaints in the user's words.

Law: null means absent, unknown fields are passed over, everything else must have its type. The
straight way is tried first; only where it fails does anybody look at nulls or write a sentence.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from nearwise.model.errors import InputError
from nearwise.model.yamltree import Path

T = TypeVar("T")


def typed(content: object, kind: type[T]) -> T:
    """Convert JSON (``msgspec.Raw``) or a tree of dicts and lists.

    Raises InputError with the field that is wrong, RecursionError when nested too deep.
    """
    try:
        if isinstance(content, msgspec.Raw):
            decoded: T = _decoder(kind).decode(content)  # type: ignore[arg-type]
            return decoded
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        pass  # nulls, perhaps
    except msgspec.DecodeError as error:
        raise InputError(f"broken JSON: {error}") from None
    plain = _without_nulls(tree(content))
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise _explained(error, plain) from None


def tree(content: object) -> object:
    """Return JSON as plain dicts and lists. Raises InputError when it is broken."""
    try:
        return msgspec.json.decode(content) if isinstance(content, msgspec.Raw) else content
    except msgspec.DecodeError as error:
        raise InputError(f"broken JSON: {error}") from None


def path_of(field: str) -> Path:
    """Take ``spec.ports[0].port`` or ``metadata.labels[app]`` apart."""
    steps = _STEP.findall(field)
    return tuple(int(index) if index else name or key for name, index, key in steps)


_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


# In these a null is a value left empty, and Go reads it so.
_TEXT_MAPS: Final = frozenset(["labels", "annotations", "selector", "nodeSelector"])


def _without_nulls(value: object, in_text_map: bool = False) -> object:
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "" if item is None else _without_nulls(item, key in _TEXT_MAPS)
        for key, item in value.items()
        if item is not None or in_text_map
    }


# What msgspec calls a type, what it is in Python, and what the user calls it.
_TYPES: Final = [
    ("int", int, "a whole number"),
    ("float", float, "a number"),
    ("str", str, "text"),
    ("bool", bool, "true or false"),
    ("array", list, "a list"),
    ("object", dict, "a mapping"),
    ("null", type(None), "null"),
]
_SAID: Final = {name: said for name, _, said in _TYPES}
_PYTHON: Final = {name: python for name, python, _ in _TYPES}
_COMPLAINT: Final = re.compile(
    r"(?:Expected `(?P<wanted>.*)`, got `(?P<got>\w+)`|(?P<other>.*?))(?: - at `\$(?P<path>.*)`)?"
)


def _explained(error: msgspec.ValidationError, plain: object) -> InputError:
    """Turn ``Expected `int`, got `str` - at `$.spec.ports[0].port` `` into the user's words."""
    found = _COMPLAINT.fullmatch(str(error))
    if found is None or found["got"] is None:
        what = found["other"] if found else str(error)
        what = what[:1].lower() + what[1:].replace("`", "'")
        return InputError(what, field=(found["path"] or "").removeprefix(".") if found else "")
    wanted = " or ".join(_SAID.get(name, name) for name in found["wanted"].split(" | "))
    return InputError(
        f"expected {wanted}, got {_SAID.get(found['got'], found['got'])}",
        field=_with_key(plain, (found["path"] or "").removeprefix("."), found["got"]),
        hint="put it in quotes" if wanted == "text" and found["got"] in ("int", "bool") else "",
    )


def _with_key(plain: Any, field: str, got: str) -> str:
    """Name the key for which msgspec only says ``[...]``: the first whose value is of that type."""
    before, some_key, after = field.partition("[...]")
    if not some_key:
        return field
    for step in path_of(before):
        plain = plain[step]
    for key, value in plain.items() if isinstance(plain, dict) else ():
        if type(value) is _PYTHON.get(got):
            return f"{before}[{key}]{after}"
    return before
