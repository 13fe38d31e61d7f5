"""JSON as plain Python values, and what may be asked of any of them.

Law: nothing here knows Kubernetes. A value, once handed out, is never changed by anybody, so
what is made of two values may share their parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import msgspec

from nearwise.server.patch.errors import PatchError, bad_request

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""What JSON decodes to."""

Object: TypeAlias = dict[str, Any]
"""A JSON object, its members Json; mostly a whole Kubernetes object."""

MAX_DEPTH: Final = 200
"""How deep values may be nested. Kubernetes' own kinds stay below 20."""


def same(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON: 1 is 1.0, but true is not 1."""
    if one != other:
        return False
    # Python takes true for 1. Encoding both is the fastest way to see that nobody did.
    return _encoded(one) == _encoded(other) or _strictly_same(one, other)


def encoded_size(value: Json) -> int:
    """Return its size as compact JSON, in bytes."""
    return len(msgspec.json.encode(value))


def depth(value: Json) -> int:
    """Return how many objects and lists are nested in each other; 0 for a plain value."""
    levels = 0
    level = [value] if isinstance(value, (dict, list)) else []
    while level:
        levels += 1
        inside = (inner for outer in level for inner in _inside(outer))
        level = [inner for inner in inside if isinstance(inner, (dict, list))]
    return levels


def check_depth(value: Json) -> None:
    """Raise PatchError (400) when it is nested deeper than MAX_DEPTH."""
    if depth(value) > MAX_DEPTH:
        raise bad_request(f"nested deeper than {MAX_DEPTH} levels")


def copied(value: Json) -> Json:
    """Return a copy that shares nothing with it. It must not be nested too deep."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value


def patch_object(patch: Json) -> Object:
    """Return a patch that has to be an object. Raises PatchError (400), in Kubernetes' words."""
    check_depth(patch)
    if isinstance(patch, dict):
        return patch
    raise wrong_type(patch, "map[string]interface {}")


def wrong_type(patch: Json, expected: str) -> PatchError:
    """400: a part of a patch is not of the type (of Go) that it has to have."""
    sort = next(name for name, types in _SORTS.items() if isinstance(patch, types))
    text = f"json: cannot unmarshal {sort} into Go value of type {expected}"
    return bad_request(f"error decoding patch: {text}")


_SORTS: Final[dict[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "bool": bool,
    "number": (int, float),
    "null": type(None),
}


def shown(value: Json) -> str:
    """Return it as JSON text, for a message."""
    return _encoded(value).decode()


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _encoded(value: Json) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _strictly_same(one: Json, other: Json) -> bool:
    """Compare values that Python already takes for equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_strictly_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return all(map(_strictly_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool)
