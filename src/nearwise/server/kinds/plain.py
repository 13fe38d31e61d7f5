"""Plain objects, completed: what a client left out is filled in, nothing it gave is changed.

Law: what comes in may be shared with others, so every function returns a new value. What is not
of the expected form is passed through; whether it may be so is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nearwise.server.objects.stored import Decoded

Change = Callable[[Decoded], Decoded]


def filled(given: Decoded, **defaults: Any) -> Decoded:
    """Return the object with these fields where it has none of its own."""
    return {**given, **{name: value for name, value in defaults.items() if name not in given}}


def merged(given: Decoded, defaults: Mapping[str, Any]) -> Decoded:
    """Return the object with these fields where it has none, in objects inside it too."""
    result = dict(given)
    for name, value in defaults.items():
        inner = result.get(name)
        if inner is None:
            result[name] = value
        elif isinstance(inner, dict) and isinstance(value, dict):
            result[name] = merged(inner, value)
    return result


def inside(given: Decoded, name: str, change: Change) -> Decoded:
    """Return the object with a field, itself an object, changed; as it is when it has none."""
    inner = given.get(name)
    return {**given, name: change(inner)} if isinstance(inner, dict) else given


def each(given: Decoded, name: str, change: Change) -> Decoded:
    """Return the object with every item of a list of objects changed."""
    items = given.get(name)
    if not isinstance(items, list):
        return given
    return {**given, name: [change(one) if isinstance(one, dict) else one for one in items]}


def at(given: Any, *path: str) -> Any:
    """Return what is at a path, None when nothing is."""
    for name in path:
        if not isinstance(given, dict):
            return None
        given = given.get(name)
    return given
