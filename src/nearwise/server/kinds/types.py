"""Whether the values of an object are of the types that its kind has, and Go's words if not.

Law: types are those of ``openapi``, which knows all kinds. Null is no value and fits everywhere;
fields that a kind does not have are not looked at. Services and EndpointSlices are read by the
model, which says the same of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from nearwise.model.quantity import milli
from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import OPAQUE, Definition, Field

_TYPE: Final = frozenset(["apiVersion", "kind"])
_SPECIAL: Final = {full_name: name for name, full_name in OPAQUE.items()}
_INTEGERS: Final = {"int32": 2**31, "int64": 2**63}
_FOUND: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
_GO: Final = {"byte": "uint8", "IntOrString": "intstr.IntOrString", "Quantity": "resource.Quantity"}


def misfit(obj: Decoded, api_version: str, kind: str) -> str:
    """Complain of the first value that is not of its type; "" when all are."""
    definition = definition_of(api_version, kind)
    if definition is None:
        return ""
    content = {name: value for name, value in obj.items() if name not in _TYPE}
    return next(_misfits(definition, content, ""), "")


def _misfits(definition: Definition, obj: Decoded, path: str) -> Iterator[str]:
    for name, value in obj.items():
        field = definition.fields.get(name)
        if field is None or value is None:
            continue
        inner = f"{path}{name}"
        if field.many and not isinstance(value, list if field.many == "list" else dict):
            yield _unmarshal(value, f"struct field {_last(definition.name)}.{inner}", _go(field))
        elif field.many == "list":
            for item in value:
                yield from _value_misfits(field, item, definition, inner)
        elif field.many:
            for item in value.values():
                yield from _value_misfits(field, item, definition, inner)
        else:
            yield from _value_misfits(field, value, definition, inner)


def _value_misfits(field: Field, value: Any, owner: Definition, path: str) -> Iterator[str]:
    if value is None:
        return
    definition = definitions().get(field.type)
    if definition is not None:
        if isinstance(value, dict):
            yield from _misfits(definition, value, f"{path}.")
            return
    elif (special := _SPECIAL.get(field.type)) is not None:
        if complaint := _special_misfit(special, value):
            yield complaint
        return
    elif _is_scalar(field.type, value):
        return
    go_type = _go_name(field.type)
    yield _unmarshal(value, f"struct field {_last(owner.name)}.{path}", go_type)


def _is_scalar(name: str, value: Any) -> bool:
    if name in _INTEGERS:
        limit = _INTEGERS[name]
        return type(value) is int and -limit <= value < limit
    return isinstance(value, bool if name == "bool" else str)


def _special_misfit(name: str, value: Any) -> str:
    """Complain of a value of a type that is more than its JSON."""
    match name:
        case "Time" | "MicroTime":
            return _time_misfit(value)
        case "Quantity":
            return _quantity_misfit(value)
        case "IntOrString":
            fits = isinstance(value, str) or _is_scalar("int32", value)
            return "" if fits else _unmarshal(value, "value", "int32")
        case _:
            return "" if isinstance(value, dict) else _unmarshal(value, "value", f"v1.{name}")


def _time_misfit(value: Any) -> str:
    if not isinstance(value, str):
        return _unmarshal(value, "value", "string")
    try:
        known = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        known = False
    layout = "2006-01-02T15:04:05Z07:00"
    return "" if known else f'parsing time "{value}" as "{layout}": cannot parse "{value}"'


def _quantity_misfit(value: Any) -> str:
    try:
        fits = not isinstance(value, bool) and isinstance(value, str | int | float)
        if fits:
            milli(value)
    except ValueError:
        fits = False
    pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
    return "" if fits else f"quantities must match the regular expression '{pattern}'"


# --- Words --------------------------------------------------------------------------------


def _unmarshal(value: Any, place: str, go_type: str) -> str:
    found = _FOUND.get(type(value), "object")
    if found == "number" and not (type(value) is int and abs(value) < 2**31):
        found = f"number {json.dumps(value)}"
    return f"json: cannot unmarshal {found} into Go {place} of type {go_type}"


def _last(full_name: str) -> str:
    return full_name.rpartition(".")[2]


def _go(field: Field) -> str:
    name = _go_name(field.type)
    return f"[]{name}" if field.many == "list" else f"map[string]{name}"


def _go_name(full_name: str) -> str:
    name = _last(full_name)
    return _GO.get(name, f"v1.{name}" if "." in full_name else name)
