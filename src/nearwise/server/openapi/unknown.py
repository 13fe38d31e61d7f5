"""Fields that a kind does not have, as field validation tells of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import Definition, Field

MAX_COMPLAINTS: Final = 100
"""How many are told, as in Kubernetes."""


def unknown_fields(api_version: str, kind: str, obj: dict[str, Any]) -> list[str]:
    """Return a complaint for each field that the kind does not have, in the order of the object.

    ``unknown field "spec.ports[0].foo"``: the words in which Kubernetes 1.36 warns of it or
    refuses it. What is inside of an unknown field is not looked at, nor is a value of the wrong
    type. Nothing is unknown of a kind that is not known.
    """
    definition = definition_of(api_version, kind)
    if definition is None:
        return []
    inside = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
    complaints: list[str] = []
    for path in _unknown(definition, inside, ""):
        complaints.append(f'unknown field "{path}"')
        if len(complaints) == MAX_COMPLAINTS:
            break
    return complaints


def _unknown(definition: Definition, obj: dict[str, Any], path: str) -> Iterator[str]:
    for name, value in obj.items():
        field = definition.fields.get(name)
        if field is None:
            yield path + name
        elif isinstance(value, (dict, list)):
            yield from _within(field, value, path + name)


def _within(field: Field, value: Any, path: str) -> Iterator[str]:
    """Look into the value of a field that is known."""
    definition = definitions().get(field.type)
    if definition is None:
        return
    if field.many == "list":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, dict):
                yield from _unknown(definition, item, f"{path}[{index}].")
    elif isinstance(value, dict):
        yield from _unknown(definition, value, f"{path}.")
