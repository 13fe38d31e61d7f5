"""Sets of fields, as ``managedFields`` keeps them (``FieldsV1``).

A path is the tuple of its steps in the words of the wire: ``f:spec``, ``f:ports``,
``k:{"port":80,"protocol":"TCP"}``. A step has one spelling only (keys sorted, no blanks), so two
sets are united, intersected and subtracted as any sets of Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import msgspec

from nearwise.server.patch.errors import bad_request
from nearwise.server.patch.values import Json, Object, shown

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

NO_FIELDS: Final[FieldSet] = frozenset()


def path_of(dotted: str) -> Path:
    """Return the path of named fields: ``metadata.labels``."""
    return tuple(f"f:{name}" for name in dotted.split("."))


def path_text(path: Path) -> str:
    """Return a path as messages have it: ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(_step_text, path))


def with_all_parents(fields: FieldSet) -> FieldSet:
    """Add the fields and list items above each field."""
    return frozenset(path[:length] for path in fields for length in range(1, len(path) + 1))


def with_named_parents(fields: FieldSet) -> FieldSet:
    """Add the named fields above each field, but not the list items.

    ``.spec.ports[port=80].name`` brings ``.spec`` and ``.spec.ports``.
    """
    named = {path for path in with_all_parents(fields) if path[-1].startswith("f:")}
    return fields | named


def outside(fields: FieldSet, roots: FieldSet) -> FieldSet:
    """Leave out what is one of the roots or below one."""
    if not roots:
        return fields
    return frozenset(
        path
        for path in fields
        if not any(path[:length] in roots for length in range(1, len(path) + 1))
    )


# --- To and from the wire -----------------------------------------------------------------


def parse_fields(tree: Json) -> FieldSet:
    """Read a ``fieldsV1``. Steps of unknown types are passed over, as Kubernetes does.

    It must not be nested too deep. Raises PatchError (400).
    """
    found: set[Path] = set()
    _gather(tree, (), found)
    return frozenset(found)


def encode_fields(fields: Iterable[Path]) -> Object:
    """Write a ``fieldsV1``: sorted, with a ``.`` where a field is set and fields below it too."""
    root: Object = {}
    for path in sorted(fields):  # a field comes before those below it
        node = root
        for step in path[:-1]:
            below = node.get(step)
            if not isinstance(below, dict):
                below = node[step] = {}
            elif not below:  # until now the end of a path
                below["."] = {}
            node = below
        node[path[-1]] = {}
    return root


def is_member(node: Json) -> bool:
    """Whether the field at this node of a ``fieldsV1`` is itself in the set."""
    return isinstance(node, dict) and ("." in node or not node)


def _gather(tree: Json, path: Path, found: set[Path]) -> bool:
    """Collect what is below, and tell whether anything is."""
    if not isinstance(tree, dict):
        raise bad_request(f"managedFields: expected a set of fields, got {shown(tree)}")
    any_below = False
    for name, below in tree.items():
        step = None if name == "." else _step(name)
        if step is None:
            continue
        any_below = True
        inner = (*path, step)
        if not _gather(below, inner, found) or is_member(below):
            found.add(inner)
    return any_below


def _step(name: str) -> str | None:
    """Return a step in its one spelling; None when it is of an unknown type."""
    sort, content = name[:2], name[2:]
    if sort == "f:":
        return name
    if sort[1:] != ":":
        raise bad_request(f"managedFields: {name!r} is no step to a field")
    if sort not in _SORTS:
        return None
    try:
        value: Json = msgspec.json.decode(content, type=_SORTS[sort])
    except msgspec.MsgspecError as error:
        raise bad_request(f"managedFields: {name!r} is no step to a field: {error}") from None
    return sort + shown(value)


_SORTS: Final[dict[str, Any]] = {"k:": dict, "v:": Any, "i:": int}
"""Types of steps with JSON in them, and of what: a list item's key, its value, its index."""


def _step_text(step: str) -> str:
    sort, content = step[:2], step[2:]
    if sort == "f:":
        return f".{content}"
    if sort == "k:":
        key = msgspec.json.decode(content, type=dict)
        return "[" + ",".join(f"{name}={shown(value)}" for name, value in key.items()) + "]"
    return f"[={content}]" if sort == "v:" else f"[{content}]"
