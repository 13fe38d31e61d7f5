"""Objects without the fields that their kind does not have: Kubernetes reads over them."""

from __future__ import annotations

from typing import Any, Final

from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import Definition, Field

_TYPE: Final = frozenset(["apiVersion", "kind"])


def without_unknown(obj: Decoded, api_version: str, kind: str) -> Decoded:
    """Return the object with the fields that its kind has; all of them when it is not known."""
    definition = definition_of(api_version, kind)
    if definition is None:
        return obj
    named = {name: value for name, value in obj.items() if name in _TYPE}
    return {**named, **_kept(definition, obj)}


def _kept(definition: Definition, obj: Decoded) -> Decoded:
    fields = definition.fields
    return {name: _inside(fields[name], value) for name, value in obj.items() if name in fields}


def _inside(field: Field, value: Any) -> Any:
    definition = definitions().get(field.type)
    if definition is None:
        return value
    if field.many == "list" and isinstance(value, list):
        return [_kept(definition, one) if isinstance(one, dict) else one for one in value]
    if not field.many and isinstance(value, dict):
        return _kept(definition, value)
    return value
