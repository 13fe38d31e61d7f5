"""Which fields a kind has, to tell a client which of those it sent are none.

Law: fields come from the model where it knows all of a type. Where it knows only what Nearwise
reads (pods, nodes, workloads), nothing is said to be unknown, and everything is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

import msgspec

from nearwise.model.meta import Object, ObjectMeta
from nearwise.server.objects.stored import Decoded

Known: TypeAlias = "Mapping[str, Known] | None"
"""The fields of an object, and what is known of what is in them. None: anything goes.

What is known of a list is what is known of its items.
"""


@cache
def fields_of(kind: type[msgspec.Struct]) -> Mapping[str, Known]:
    """Return the fields of a type of the model."""
    return {field.encode_name: _known(field.type) for field in msgspec.structs.fields(kind)}


def whole(**content: Known) -> Mapping[str, Known]:
    """Return the fields of an object that has these besides its kind and metadata."""
    return {"apiVersion": None, "kind": None, "metadata": METADATA, **content}


def without_unknown(given: Decoded, known: Known) -> tuple[Decoded, list[str]]:
    """Return an object without the fields that its kind does not have, and where these were."""
    unknown: list[str] = []
    return _cut(given, known, "", unknown), unknown


def _known(hint: Any) -> Known:
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return next((found for one in arguments if (found := _known(one)) is not None), None)
    if get_origin(hint) is tuple:
        return _known(arguments[0])
    return fields_of(hint) if isinstance(hint, type) and issubclass(hint, Object) else None


def _cut(given: Any, known: Known, path: str, unknown: list[str]) -> Any:
    if known is None:
        return given
    if isinstance(given, list):
        return [
            _cut(one, known, f"{path}[{place}]", unknown) for place, one in enumerate(given)
        ]
    if not isinstance(given, dict):
        return given
    kept = {}
    for name, value in given.items():
        inner = f"{path}.{name}" if path else name
        if name in known:
            kept[name] = _cut(value, known[name], inner, unknown)
        else:
            unknown.append(inner)
    return kept


_MANAGED: Final[Known] = dict.fromkeys(
    ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"]
)
METADATA: Final[Known] = {
    **fields_of(ObjectMeta),
    "managedFields": _MANAGED,
    "selfLink": None,
}
"""The fields of the metadata of every object."""
