"""Objects of one kind as last seen, with indexes kept by change.

Law: what is found by an index was put there when the object changed; nothing here walks over all
objects to answer a question. What the indexes of Nearwise's kinds are is said in ``indexes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from nearwise.model import ObjectMeta

ObjectKey = tuple[str, str]
"""Namespace and name."""


class Stored(Protocol):
    """What a cache can hold: anything that the API server names and versions."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name and version."""
        ...


K = TypeVar("K", bound=Stored)


class Delta(NamedTuple, Generic[K]):
    """What became of one object: added without ``old``, gone without ``new``, else changed."""

    old: K | None
    new: K | None


class Index(Generic[K]):
    """Which objects share a value. Belongs to one cache.

    Most values of labels are of one object alone (a StatefulSet's pod names), and a set is large
    when it holds little: so a single key stands for itself.
    """

    def __init__(self, values: Callable[[K], Iterable[Hashable]]) -> None:
        """Make an index by the values that the function gives for an object, any number of them.

        An object must give the same values whenever it is asked.
        """
        self._values = values
        self._keys: dict[Hashable, ObjectKey | set[ObjectKey]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects with a value, in order."""
        found = self._keys.get(value)
        if found is None:
            return []
        return sorted(found) if isinstance(found, set) else [found]

    def count(self, value: Hashable) -> int:
        """Return how many objects have a value."""
        found = self._keys.get(value, ())
        return len(found) if isinstance(found, set) else bool(found)

    def move(self, key: ObjectKey, old: K | None, new: K | None) -> None:
        """Follow a change. For the cache to call."""
        before = set() if old is None else set(self._values(old))
        after = set() if new is None else set(self._values(new))
        for value in before - after:
            self._drop(value, key)
        for value in after - before:
            self._put(value, key)

    def _put(self, value: Hashable, key: ObjectKey) -> None:
        found = self._keys.setdefault(value, key)
        if isinstance(found, set):
            found.add(key)
        elif found != key:
            self._keys[value] = {found, key}

    def _drop(self, value: Hashable, key: ObjectKey) -> None:
        found = self._keys[value]
        if isinstance(found, set) and len(found) > 1:
            found.remove(key)
        else:
            del self._keys[value]


class Cache(Generic[K]):
    """Objects by namespace and name."""

    def __init__(self, *indexes: Index[K]) -> None:
        self._objects: dict[ObjectKey, K] = {}
        self._indexes = indexes

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[K]:
        """Walk over all objects in order of their keys."""
        return (self._objects[key] for key in sorted(self._objects))

    def get(self, key: ObjectKey) -> K | None:
        """Return an object, or None if there is none of that name."""
        return self._objects.get(key)

    def select(self, index: Index[K], value: Hashable) -> list[K]:
        """Return the objects to which one of the cache's indexes gives a value, in order."""
        return [self._objects[key] for key in index.keys(value)]

    def put(self, obj: K) -> Delta[K]:
        """Keep an object in place of what was there under its name; return what changed."""
        key = obj.metadata.key
        old = self._objects.get(key)
        self._objects[key] = obj
        for index in self._indexes:
            index.move(key, old, obj)
        return Delta(old, obj)

    def drop(self, key: ObjectKey) -> Delta[K]:
        """Forget an object; return its last state. Raises KeyError if there is none."""
        old = self._objects.pop(key)
        for index in self._indexes:
            index.move(key, old, None)
        return Delta(old, None)
