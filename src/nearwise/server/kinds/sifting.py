"""An object as Kubernetes has it once it is read: without what it reads over, and prints nowhere.

That is what the kind has no field for, nulls, and lists and maps that are empty, unless they have
to be there. Types are right by now (``types``).
"""

from __future__ import annotations

from typing import Any

from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import Definition, Field


def sifted(obj: Decoded, api_version: str, kind: str) -> Decoded:
    """Return the object with nothing but what its kind has; all of it when it is not known."""
    definition = definition_of(api_version, kind)
    return _sifted(definition, obj) if definition else obj


def _sifted(definition: Definition, obj: Decoded) -> Decoded:
    fields = definition.fields
    kept = {}
    for name, value in obj.items():
        field = fields.get(name)
        if field is None or value is None or (field.many and not value and not field.required):
            continue
        kept[name] = _inside(field, value)
    return kept


def _inside(field: Field, value: Any) -> Any:
    definition = definitions().get(field.type)
    if field.many == "list":
        items = [one for one in value if one is not None]
        return [_sifted(definition, one) for one in items] if definition else items
    if field.many:
        return {name: one for name, one in value.items() if one is not None}
    return _sifted(definition, value) if definition else value
