"""Definitions as schemas, in the two dialects: OpenAPI 3.0 and Swagger 2.0.

Law: how a schema looks on the wire is said here, and nothing about any kind but what all kinds
have: ``apiVersion`` and ``kind``, and a list of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from nearwise.server.openapi.definitions import META, definitions
from nearwise.server.openapi.language import OPAQUE, Definition, Field

Dialect: TypeAlias = Literal["v2", "v3"]
Schema: TypeAlias = dict[str, Any]
GroupVersionKind: TypeAlias = dict[str, str]

_REFERENCES: Final = {"v2": "#/definitions/", "v3": "#/components/schemas/"}

_SCALARS: Final[dict[str, Schema]] = {
    "bool": {"type": "boolean"},
    "byte": {"type": "string", "format": "byte"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "string": {"type": "string"},
}

_OPAQUE: Final[dict[str, Schema]] = {
    "FieldsV1": {
        "description": "A set of fields, nested as the fields are, in keys like f:spec.",
        "type": "object",
    },
    "IntOrString": {
        "description": "A number, or a text: the name of a port or a percentage.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    "MicroTime": {
        "description": "A moment to the microsecond, as RFC 3339 has it.",
        "format": "date-time",
        "type": "string",
    },
    "Quantity": {
        "description": "An amount: a number with a suffix such as m, k, Mi, as in 500m or 2Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "RawExtension": {"description": "An object of any kind.", "type": "object"},
    "Time": {
        "description": "A moment to the second, as RFC 3339 has it.",
        "format": "date-time",
        "type": "string",
    },
}

PATCH: Final = f"{META}.Patch"
_PATCH: Final[Schema] = {
    "description": "A patch, of the type that Content-Type says.",
    "type": "object",
}

_KIND_FIELDS: Final[dict[str, Schema]] = {
    "apiVersion": {
        "description": "Group and version in which the object is written down.",
        "type": "string",
    },
    "kind": {"description": "What the object is.", "type": "string"},
}


def reference(name: str, dialect: Dialect) -> Schema:
    """Refer to a schema by its full name."""
    return {"$ref": _REFERENCES[dialect] + name}


def expand(
    kinds: dict[str, list[GroupVersionKind]], lists: dict[str, str], dialect: Dialect
) -> dict[str, Schema]:
    """Return the schemas of kinds and all that they consist of, sorted, by their full names.

    ``kinds`` says as what each of the full names is known to clients; ``lists`` has the full
    names of lists, also among the kinds, and of what.
    """
    schemas: dict[str, Schema] = {PATCH: _PATCH}
    for name in _reached([*kinds, *lists.values(), f"{META}.ListMeta"]):
        schemas[name] = _object(definitions()[name], dialect)
    for short, name in OPAQUE.items():
        schemas[name] = _opaque(short, dialect)
    for name, item in lists.items():
        schemas[name] = _list(item, dialect)
    for name, known_as in kinds.items():
        schema = schemas[name]
        properties = {**_KIND_FIELDS, **schema["properties"]}
        schema["properties"] = dict(sorted(properties.items()))
        schema["x-kubernetes-group-version-kind"] = known_as
    return dict(sorted(schemas.items()))


def _reached(names: Iterable[str]) -> set[str]:
    """Follow the fields of definitions to all that have fields; lists are none of them."""
    reached: set[str] = set()
    todo = [name for name in names if name in definitions()]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            types = {field.type for field in definitions()[name].fields.values()}
            todo += types & definitions().keys()
    return reached


def _object(definition: Definition, dialect: Dialect) -> Schema:
    fields = definition.fields
    schema: Schema = {
        "description": definition.description,
        "type": "object",
        "properties": {name: _property(fields[name], dialect) for name in sorted(fields)},
    }
    if required := sorted(name for name, field in fields.items() if field.required):
        schema["required"] = required
    if definition.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _property(field: Field, dialect: Dialect) -> Schema:
    value = _SCALARS.get(field.type) or reference(field.type, dialect)
    schema: Schema
    if field.many == "list":
        schema = {"type": "array", "items": value}
    elif field.many == "map":
        schema = {"type": "object", "additionalProperties": value}
    elif "$ref" in value and dialect == "v3":
        schema = {"allOf": [value]}  # beside a reference nothing else counts in OpenAPI 3.0
    else:
        schema = {**value}
    schema["description"] = field.description
    if field.enum:
        schema["enum"] = list(field.enum)
    if field.default:
        schema["default"] = field.default
    return schema | _merging(field)


def _merging(field: Field) -> Schema:
    """Say how two values of a field are made one."""
    said = {
        "x-kubernetes-list-type": field.list_type,
        "x-kubernetes-list-map-keys": list(field.keys),
        "x-kubernetes-map-type": field.map_type,
        "x-kubernetes-patch-strategy": ",".join(field.strategies),
        "x-kubernetes-patch-merge-key": field.merge_key,
    }
    return {key: value for key, value in said.items() if value}


def _opaque(name: str, dialect: Dialect) -> Schema:
    schema = dict(_OPAQUE[name])
    if dialect == "v2" and schema.pop("oneOf", None):  # which Swagger does not know
        schema["type"] = "string"
    return schema


def _list(item: str, dialect: Dialect) -> Schema:
    """Describe a list of a kind."""
    return {
        "description": f"A list of {item.rpartition('.')[2]} objects.",
        "type": "object",
        "properties": {
            "items": {
                "description": "The objects.",
                "type": "array",
                "items": reference(item, dialect),
            },
            "metadata": _property(Field(f"{META}.ListMeta", "About the list."), dialect),
        },
        "required": ["items"],
    }
