"""What merges need to know of the kinds: which lists are maps, and what is owned as a whole.

Law: what is said of a field is said in ``openapi``; here it is turned into what a merge walks
along. Only exceptions are kept: an object is merged field by field and a list is replaced unless
a shape says otherwise. Kinds that are not defined are merged by the rules of their metadata.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from nearwise.server.openapi.definitions import META, definition_of, definitions
from nearwise.server.openapi.language import Definition, Field
from nearwise.server.patch.values import Object


class Shape(msgspec.Struct, frozen=True):
    """How a value is merged."""

    fields: dict[str, Shape] = {}
    """Of an object: those of its fields that have rules of their own."""

    item: Shape | None = None
    """Of a list that is a map: the rules of its items."""

    keys: tuple[str, ...] = ()
    """Server-side apply takes the list for a map by these fields of its items, sorted."""

    defaults: dict[str, str] = {}
    """What a key field of an item is when it is left out."""

    merge_key: str = ""
    """Strategic merge patch takes the list for a map by this field of its items."""

    unique: bool = False
    """The list is a set of plain values, merged as such by both."""

    whole: bool = False
    """Server-side apply takes the object for one value (strategic merge patch does not)."""

    def field(self, name: str) -> Shape:
        """Return the rules of a field of an object."""
        return self.fields.get(name, PLAIN)

    @property
    def is_map(self) -> bool:
        """Whether server-side apply tells the items of the list apart."""
        return bool(self.keys) or self.unique


PLAIN: Final = Shape()
"""Nothing special: objects by field, lists replaced."""


def kind_of(obj: Object) -> tuple[str, str]:
    """Return ``apiVersion`` and ``kind`` of an object, empty where it says nothing."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return (version if isinstance(version, str) else "", kind if isinstance(kind, str) else "")


@lru_cache(maxsize=256)
def shape_of(api_version: str, kind: str) -> Shape:
    """Return the rules of a kind."""
    definition = definition_of(api_version, kind)
    if definition is None:
        return Shape(fields={"metadata": _object(definitions()[f"{META}.ObjectMeta"])})
    return _object(definition)


def _object(definition: Definition) -> Shape:
    shapes = {name: _field(field) for name, field in definition.fields.items()}
    special = {name: shape for name, shape in shapes.items() if shape != PLAIN}
    return Shape(fields=special, whole=definition.atomic)


def _field(field: Field) -> Shape:
    definition = definitions().get(field.type)  # None for plain values
    inner = _object(definition) if definition else PLAIN
    if field.many == "list":
        known = definition.fields if definition else {}
        return Shape(
            item=inner if field.keys or field.merge_key else None,
            keys=tuple(sorted(field.keys)),
            defaults={key: known[key].default for key in field.keys if known[key].default},
            merge_key=field.merge_key,
            unique=field.list_type == "set",
        )
    if field.many == "map":
        return Shape(whole=field.map_type == "atomic")
    return inner
