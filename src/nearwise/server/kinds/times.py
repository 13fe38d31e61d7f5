"""Times as Kubernetes prints them, however a client wrote them: in UTC, and to the second.

A time of the kind ``MicroTime`` is printed to the microsecond. Some clients send back what they
read in their own way (``+00:00`` for ``Z``), and mean the same. What is no time is left alone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import OPAQUE, Definition, Field

_PRECISION: Final = {OPAQUE["Time"]: "seconds", OPAQUE["MicroTime"]: "microseconds"}


def with_times(obj: Decoded, api_version: str, kind: str) -> Decoded:
    """Return the object with all its times as they are printed."""
    definition = definition_of(api_version, kind)
    return _inside(definition, obj) if definition else obj


def _inside(definition: Definition, obj: Decoded) -> Decoded:
    fields = _with_times(definition.name)
    changed = {name: _value(fields[name], obj[name]) for name in fields.keys() & obj.keys()}
    return {**obj, **changed}


def _value(field: Field, value: Any) -> Any:
    if isinstance(value, list):
        return [_value(field, one) for one in value]
    if isinstance(value, str) and field.type in _PRECISION:
        return _printed(value, _PRECISION[field.type])
    definition = definitions().get(field.type)
    return _inside(definition, value) if definition and isinstance(value, dict) else value


def _printed(text: str, precision: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is None:
        return text
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


@cache
def _with_times(name: str) -> dict[str, Field]:
    """Return the fields of a definition that are times, or have times in them."""
    return {
        field_name: field
        for field_name, field in definitions()[name].fields.items()
        if _has_times(field.type, frozenset([name]))
    }


def _has_times(type_: str, above: frozenset[str]) -> bool:
    """Tell whether there are times in a type, which may be in itself."""
    definition = definitions().get(type_)
    if definition is None or type_ in above:
        return type_ in _PRECISION
    return any(_has_times(field.type, above | {type_}) for field in definition.fields.values())
