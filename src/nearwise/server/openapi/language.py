"""The small language in which kinds are written down, and what a table says once it is read.

Law: nothing here knows any kind, or how a schema looks on the wire.

A definition is a line that begins at the margin, then a line a field; deeper lines go on with
the text of the one above::

    ServicePort: A port the service is reached at.
      port! int32 - Number of the port at the service's address.
      protocol string SCTP|TCP|UDP =TCP - Transport protocol.

``!`` marks a field that is required. A type is ``bool``, ``byte``, ``int32``, ``int64``,
``string`` or another definition, ``[...]`` a list, ``{...}`` a map from text to plain values (the
API has no maps to objects). Between type and description: the values there are (``A|B``), the
default (``=A``), and how two values are made one:

``map:port,protocol``
    Server-side apply takes the list for a map, by these fields of its items.
``set``
    Server-side apply takes the list for a set.
``atomic``
    Server-side apply takes the map, or every object of the definition, for one value. Lists that
    are neither map nor set are.
``granular``
    Server-side apply takes the map for a map, which is said where it is not plain.
``merge``, ``merge:ip``
    Strategic merge patch merges the list: by the field named, or else by the first one of the
    map, or else value by value.
``retainKeys``
    Strategic merge patch drops the fields that the patch does not list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

SCALARS: Final = frozenset({"bool", "byte", "int32", "int64", "string"})

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
OPAQUE: Final = {
    "FieldsV1": f"{_META}.FieldsV1",
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "MicroTime": f"{_META}.MicroTime",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "RawExtension": "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "Time": f"{_META}.Time",
}
"""Types without fields that have a name, and their full names."""

_SHARED: Final = ("io.k8s.api.core.v1", _META)
"""Packages in which a name is looked for that its own package does not have."""


class Field(msgspec.Struct, frozen=True):
    """A field of a definition."""

    type: str
    """A scalar, or the full name of a definition."""

    description: str
    many: str = ""
    """``list`` or ``map`` of the type; empty for one value."""

    required: bool = False
    enum: tuple[str, ...] = ()
    default: str = ""
    list_type: str = ""
    """``atomic``, ``set`` or ``map``; empty for what is no list."""

    keys: tuple[str, ...] = ()
    """Fields that tell the items of a list that is a map apart."""

    map_type: str = ""
    """``atomic`` or ``granular`` where said of a map."""

    strategies: tuple[str, ...] = ()
    """``merge``, ``retainKeys`` or both, in a strategic merge patch."""

    merge_key: str = ""
    """Field that tells the items of a list apart in a strategic merge patch."""


class Definition(msgspec.Struct, frozen=True):
    """An object with known fields."""

    name: str
    description: str
    fields: dict[str, Field]
    atomic: bool = False
    """Server-side apply takes it for one value."""


def read(tables: Iterable[tuple[str, str]]) -> dict[str, Definition]:
    """Read tables, each with its package; return definitions by their full names.

    Raises ValueError for a line that is not in the language, and for a name that is defined
    nowhere or twice.
    """
    found: dict[str, tuple[str, str, str, list[str]]] = {}
    for package, text in tables:
        for name, title, lines in _blocks(text):
            full = f"{package}.{name.removesuffix(' atomic')}"
            if full in found:
                raise ValueError(f"{full} is defined twice")
            found[full] = (package, name, title, lines)
    return {
        full: Definition(
            name=full,
            description=title,
            fields=dict(_field(line, package, found) for line in lines),
            atomic=name.endswith(" atomic"),
        )
        for full, (package, name, title, lines) in sorted(found.items())
    }


def _blocks(text: str) -> Iterable[tuple[str, str, list[str]]]:
    """Split a table into definitions: name, description, and the lines of the fields."""
    blocks: list[tuple[str, str, list[str]]] = []
    for line in filter(None, text.splitlines()):
        if not line.startswith(" "):
            name, _, title = line.partition(": ")
            blocks.append((name, title, []))
        elif line.startswith("    "):
            blocks[-1][2][-1] += f" {line.strip()}"
        else:
            blocks[-1][2].append(line.strip())
    return blocks


_LINE: Final = re.compile(r"(\w+)(!?) ([\[{]?)(\w+)[\]}]?((?: \S+)*?) - (.+)")


def _field(line: str, package: str, defined: Iterable[str]) -> tuple[str, Field]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"{line!r} is not how a field is written down")
    name, required, bracket, type_name, facts, description = match.groups()
    many = {"[": "list", "{": "map", "": ""}[bracket]
    list_type = "atomic" if many == "list" else ""
    enum: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    strategies: list[str] = []
    default = map_type = merge_key = ""
    for fact in facts.split():
        word, _, rest = fact.partition(":")
        if fact.startswith("="):
            default = fact[1:]
        elif "|" in fact:
            enum = tuple(fact.split("|"))
        elif word == "map":
            list_type, keys = "map", tuple(rest.split(","))
        elif word == "set":
            list_type = "set"
        elif word in ("atomic", "granular"):
            map_type = word
        elif word in ("merge", "retainKeys"):
            strategies.append(word)
            merge_key = merge_key or rest or (keys[0] if keys else "")
        else:
            raise ValueError(f"{fact!r} says nothing of a field: {line}")
    full_name = _full_name(type_name, package, defined)
    if many == "map" and full_name in defined:
        raise ValueError(f"{name} is a map to objects: make it a list")
    return name, Field(
        type=full_name,
        description=description,
        many=many,
        required=bool(required),
        enum=enum,
        default=default,
        list_type=list_type,
        keys=keys,
        map_type=map_type,
        strategies=tuple(strategies),
        merge_key=merge_key,
    )


def _full_name(name: str, package: str, defined: Iterable[str]) -> str:
    if name in SCALARS:
        return name
    if name in OPAQUE:
        return OPAQUE[name]
    for place in (package, *_SHARED):
        if f"{place}.{name}" in defined:
            return f"{place}.{name}"
    raise ValueError(f"{name} is defined neither in {package} nor in {' or '.join(_SHARED)}")
