"""What was read from a cluster: the objects that decide routing, and how many others there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from nearwise.model.coordination import Lease
from nearwise.model.core import Endpoints, Event, Namespace, Node, Pod, Service
from nearwise.model.discovery import EndpointSlice
from nearwise.model.reasons import Reason, reason


class Objects(msgspec.Struct, frozen=True):
    """Objects by kind, each kind sorted by namespace and name, each object once.

    ``others`` counts what was passed over, by kind. ``notices`` says what the reader of the
    objects should know about how they were given.
    """

    services: tuple[Service, ...] = ()
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    endpoints: tuple[Endpoints, ...] = ()
    slices: tuple[EndpointSlice, ...] = ()
    events: tuple[Event, ...] = ()
    leases: tuple[Lease, ...] = ()
    others: dict[str, int] = {}
    notices: tuple[Reason, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was found, not even objects of other kinds."""
        return not self.others and not any(getattr(self, name) for name in FIELDS)

    def __add__(self, other: Objects) -> Objects:
        """Put two together, as ``merge`` does."""
        return merge([self, other])


FIELDS: Final = tuple(
    name for name in Objects.__struct_fields__ if name not in ("others", "notices")
)
"""The fields that hold objects, one a kind."""


def merge(parts: Iterable[Objects]) -> Objects:
    """Put the objects of several sources together, in the order in which they were given."""
    parts = list(parts)
    others: Counter[str] = Counter()
    for part in parts:
        others.update(part.others)
    found = {name: [obj for part in parts for obj in getattr(part, name)] for name in FIELDS}
    return gather(found, others, [notice for part in parts for notice in part.notices])


def gather(
    found: Mapping[str, Sequence[Any]], others: Mapping[str, int], notices: Iterable[Reason]
) -> Objects:
    """Make Objects of what was found for each field.

    Of two objects with the same kind, namespace and name the one with the larger resourceVersion
    stays; when that does not tell, the one given later. A notice says which, unless they are
    equal.
    """
    told = list(notices)
    kept = {name: _once(objects, told) for name, objects in found.items()}
    empty = Objects(others=dict(sorted(others.items())), notices=tuple(told))
    return msgspec.structs.replace(empty, **kept)


def _once(objects: Sequence[Any], told: list[Reason]) -> tuple[Any, ...]:
    """Keep each object once, sorted; tell of those that were not equal."""
    kept: dict[tuple[str, str], Any] = {}
    given_twice: dict[tuple[str, str], Reason] = {}
    for obj in objects:
        key = obj.metadata.key
        before = kept.setdefault(key, obj)
        if before is not obj and before != obj:
            kept[key], given_twice[key] = _newer(before, obj)
    told += [given_twice[key] for key in sorted(given_twice)]
    return tuple(kept[key] for key in sorted(kept))


def _newer(before: Any, after: Any) -> tuple[Any, Reason]:
    first, second = before.metadata.resource_version, after.metadata.resource_version
    which = "the one given last"
    newer = after
    if first != second and _is_number(first) and _is_number(second):
        newer = max(before, after, key=lambda obj: int(obj.metadata.resource_version))
        which = f"resourceVersion {newer.metadata.resource_version}"
    name = "/".join(filter(None, after.metadata.key))
    return newer, reason("object-given-twice", kind=after.kind, object=name, kept=which)


def _is_number(resource_version: str) -> bool:
    return resource_version.isascii() and resource_version.isdigit() and len(resource_version) < 40
