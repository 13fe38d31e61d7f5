"""What a table is made of: columns, and the cells of one object."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables import descriptions
from nearwise.server.tables.ages import since
from nearwise.server.tables.reading import part, text

Cells: TypeAlias = Callable[[Object, datetime], list[Json]]
"""Fills the cells of an object as of a time."""


class Column(msgspec.Struct, frozen=True):
    """A column, as the wire has it."""

    name: str
    description: str
    priority: int = 0
    """0 is always shown, 1 with ``-o wide``."""

    type: str = "string"
    format: str = ""


class Layout(msgspec.Struct, frozen=True):
    """How objects of one kind are shown."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Object], list[Json]] = lambda _: []
    """What marks the whole row, such as a pod that has run to its end."""


def wide(name: str, description: str, *, format: str = "") -> Column:
    """Make a column that is shown with ``-o wide``."""
    return Column(name, description, priority=1, format=format)


def count(name: str, description: str) -> Column:
    """Make a column of numbers."""
    return Column(name, description, type="integer")


NAME: Final = Column("Name", descriptions.NAME, format="name")
AGE: Final = Column("Age", descriptions.CREATED)


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    return text(part(obj, "metadata"), "name")


def age_of(obj: Object, now: datetime) -> str:
    """Say how old an object is."""
    return since(text(part(obj, "metadata"), "creationTimestamp"), now)
