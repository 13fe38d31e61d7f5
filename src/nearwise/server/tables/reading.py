"""Parts of objects as tables need them, whatever is stored: what is missing or odd is empty."""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.server.patch.values import Json, Object


def part(obj: Json, *path: str) -> Object:
    """Return the object at a path."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj if isinstance(obj, dict) else {}


def parts(obj: Object, name: str) -> list[Object]:
    """Return the objects in a list."""
    return [each for each in _list(obj, name) if isinstance(each, dict)]


def texts(obj: Object, name: str) -> list[str]:
    """Return the texts in a list."""
    return [each for each in _list(obj, name) if isinstance(each, str)]


def text(obj: Object, *names: str) -> str:
    """Return the first field that has a text that is not empty."""
    values = (obj.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def number(obj: Object, name: str, default: int = 0) -> int:
    """Return a whole number."""
    value = obj.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def or_none(shown: str) -> str:
    """Say that there is nothing to show."""
    return shown or "<none>"


def labels_text(labels: Object) -> str:
    """Show labels: ``app=web,tier=front``."""
    return or_none(",".join(f"{key}={value}" for key, value in sorted(labels.items())))


def some_of(shown: Iterable[str]) -> str:
    """Show the first three, and how many more there are."""
    every = list(shown)
    first = ",".join(every[:3])
    return f"{first} + {len(every) - 3} more..." if len(every) > 3 else first


def _list(obj: Object, name: str) -> list[Json]:
    value = obj.get(name)
    return value if isinstance(value, list) else []
