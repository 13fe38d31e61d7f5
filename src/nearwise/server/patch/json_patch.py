"""JSON patch (RFC 6902): a list of operations on places named by JSON pointers (RFC 6901).

Where kube-apiserver is more lenient than the RFC, so is this: a member that is not there reads
as null (so ``replace`` puts it there, ``copy`` copies null and ``test`` for null holds), a
missing ``value`` is null, and negative indices count from the end of a list.
"""

from __future__ import annotations

import re
from typing import Final

from nearwise.server.patch.errors import invalid, too_large, unprocessable
from nearwise.server.patch.values import (
    MAX_DEPTH,
    Json,
    Object,
    check_depth,
    copied,
    depth,
    encoded_size,
    same,
    shown,
    wrong_type,
)

MAX_OPERATIONS: Final = 10_000
"""As many as kube-apiserver takes."""

MAX_COPIED: Final = 3 * 1024 * 1024
"""Bytes that all ``copy`` operations together may add: as much as a request may have."""


def json_patch(document: Object, patch: Json) -> Object:
    """Return the document after all operations. All of them are carried out, or none.

    Raises PatchError: 400 for what is not a patch, 413 for too many operations, 422 when one
    cannot be carried out, a test fails, or what comes out is not an object.
    """
    if patch is not None and not isinstance(patch, list):
        raise wrong_type(patch, "[]handlers.jsonPatchOp")
    operations = patch or []
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, "
            f"got {len(operations)}"
        )
    work = _Work(document)
    for number, operation in enumerate(operations):
        if not isinstance(operation, dict):
            raise wrong_type(operation, "handlers.jsonPatchOp")
        try:
            work.carry_out(operation)
        except _ImpossibleError as error:
            what = f"{operation.get('op')} {operation.get('path')}"
            raise unprocessable(f"operation {number} ({what}): {error}") from None
    check_depth(work.document)
    if not isinstance(work.document, dict):
        raise invalid(f"the patched object is not an object: {shown(work.document)}")
    return work.document


class _ImpossibleError(Exception):
    """An operation cannot be carried out; why."""


class _Work:
    """A document of our own, changed in place."""

    def __init__(self, document: Object) -> None:
        self.document = copied(document)
        self._left_to_copy = MAX_COPIED
        self._sunk = 0  # by how many levels moves may have made the document deeper

    def carry_out(self, operation: Object) -> None:
        op = operation.get("op")
        path = _pointer(operation, "path")
        if op == "add":
            self._add(path, _fitting(path, operation.get("value")))
        elif op == "remove":
            self._remove(path)
        elif op == "replace":
            self._replace(path, _fitting(path, operation.get("value")))
        elif op == "move":
            self._move(_pointer(operation, "from"), path)
        elif op == "copy":
            self._copy(_pointer(operation, "from"), path)
        elif op == "test":
            self._test(path, operation.get("value"))
        else:
            raise _ImpossibleError("no such operation")

    def _add(self, path: list[str], value: Json) -> None:
        parent, name = self._parent(path)
        if isinstance(parent, dict):
            parent[name] = value
        else:
            at = len(parent) if name == "-" else _index(name, len(parent) + 1)
            parent.insert(at, value)

    def _remove(self, path: list[str]) -> None:
        parent, name = self._parent(path)
        if isinstance(parent, list):
            del parent[_index(name, len(parent))]
        elif name in parent:
            del parent[name]
        else:
            raise _ImpossibleError("there is no such member")

    def _replace(self, path: list[str], value: Json) -> None:
        if not path:
            if not isinstance(value, (dict, list)):
                raise _ImpossibleError("the whole can only become an object or a list")
            self.document = value
            return
        parent, name = self._parent(path)
        if isinstance(parent, dict):
            parent[name] = value
        else:
            parent[_index(name, len(parent))] = value

    def _move(self, source: list[str], path: list[str]) -> None:
        parent, name = self._parent(source)
        value = _member(parent, name)
        self._remove(source)
        self._add(path, value)
        self._sunk += max(0, len(path) - len(source))
        if self._sunk > MAX_DEPTH:
            check_depth(self.document)
            self._sunk = 0

    def _copy(self, source: list[str], path: list[str]) -> None:
        parent, name = self._parent(source)
        value = _member(parent, name)
        self._left_to_copy -= encoded_size(value)
        if self._left_to_copy < 0:
            raise _ImpossibleError(f"copies add more than {MAX_COPIED} bytes")
        self._add(path, _fitting(path, value))

    def _test(self, path: list[str], expected: Json) -> None:
        value = self.document
        if path:
            parent, name = self._parent(path)
            value = _member(parent, name)
        if not same(value, expected):
            raise _ImpossibleError("the value is another one")

    def _parent(self, path: list[str]) -> tuple[dict[str, Json] | list[Json], str]:
        """Return the object or list that a place is in, and what it is called there."""
        if not path:
            raise _ImpossibleError("the whole cannot be added, removed, moved or copied")
        value = self.document
        for name in path[:-1]:
            if not isinstance(value, (dict, list)):
                break
            value = _member(value, name)
        if not isinstance(value, (dict, list)):
            raise _ImpossibleError("there is nothing that it could be in")
        return value, path[-1]


def _fitting(path: list[str], value: Json) -> Json:
    """Return a copy of a value that is to be put at a place."""
    if len(path) + depth(value) > MAX_DEPTH:
        raise _ImpossibleError(f"nested deeper than {MAX_DEPTH} levels")
    return copied(value)


def _member(parent: dict[str, Json] | list[Json], name: str) -> Json:
    if isinstance(parent, dict):
        return parent.get(name)
    return parent[_index(name, len(parent))]


def _index(name: str, length: int) -> int:
    """Return the place in a list of so many; negative ones count from its end."""
    if not _INDEX.fullmatch(name):
        raise _ImpossibleError(f"{name!r} is not an index of a list")
    index = int(name)
    if not -length <= index < length:
        raise _ImpossibleError(f"the list has no index {index}")
    return index % length


_INDEX: Final = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


def _pointer(operation: Object, field: str) -> list[str]:
    """Return the names on the way to a place."""
    pointer = operation.get(field)
    if not isinstance(pointer, str):
        raise _ImpossibleError(f"there is no {field!r}")
    first, *names = pointer.split("/")
    if first:
        raise _ImpossibleError(f"{field!r} does not begin with a slash")
    return [name.replace("~1", "/").replace("~0", "~") for name in names]
