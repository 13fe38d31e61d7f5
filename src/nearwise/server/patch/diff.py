"""What a write changed: the fields it added, modified and removed (server-side apply's view)."""

from __future__ import annotations

import msgspec

from nearwise.server.patch.contents import part_shape, parts
from nearwise.server.patch.fields import FieldSet, Path, outside
from nearwise.server.patch.schema import Shape
from nearwise.server.patch.values import Json, Object, same


class Changes(msgspec.Struct, frozen=True):
    """The fields in which two objects differ.

    A field is in one of the sets only, unless it is a list item whose key was repeated and is not
    any more, or the other way round: that one is both removed and added.
    """

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def made(self) -> FieldSet:
        """What has a new value, and so a new owner."""
        return self.added | self.modified

    def outside(self, roots: FieldSet) -> Changes:
        """Leave out what is one of the roots or below one."""
        return Changes(
            outside(self.added, roots), outside(self.modified, roots), outside(self.removed, roots)
        )


def diff(old: Object, new: Object, shape: Shape) -> Changes:
    """Compare two objects of one kind.

    An object or list that appears is added together with all that is in it; one that only gets
    or loses parts is not itself a change. Raises PatchError (422) when list items cannot be told
    apart.
    """
    comparison = _Comparison()
    comparison.compare(old, new, shape, ())
    return Changes(
        frozenset(comparison.added),
        frozenset(comparison.modified),
        frozenset(comparison.removed),
    )


class _Comparison:
    """The changes found so far."""

    def __init__(self) -> None:
        self.added: set[Path] = set()
        self.modified: set[Path] = set()
        self.removed: set[Path] = set()

    def compare(self, old: Json, new: Json, shape: Shape, path: Path) -> None:
        if old is new or same(old, new):
            return
        before, after = parts(old, shape, path), parts(new, shape, path)
        if (not before and not after) or _is_plain(old) or _is_plain(new):
            self.modified.add(path)
        for step in before | after:
            inner = part_shape(shape, step)
            self._compare_part(before.get(step, []), after.get(step, []), inner, (*path, step))

    def _compare_part(self, old: list[Json], new: list[Json], shape: Shape, path: Path) -> None:
        """Compare the values under one step; there are several where an item's key is repeated."""
        if len(old) == len(new) == 1:
            self.compare(old[0], new[0], shape, path)
        elif len(old) > 1 and len(new) > 1:
            if not same(old, new):
                self.modified.add(path)
        else:
            _all(old, shape, path, self.removed)
            _all(new, shape, path, self.added)


def _is_plain(value: Json) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def _all(values: list[Json], shape: Shape, path: Path, found: set[Path]) -> None:
    """Collect a value and everything in it."""
    if not values:
        return
    found.add(path)
    if len(values) > 1:
        return
    for step, inner in parts(values[0], shape, path).items():
        _all(inner, part_shape(shape, step), (*path, step), found)
