"""A plan carried out, slice by slice; what it changes; and whose a slice is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from nearwise.loops.cluster import Cluster
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.expectations import SliceExpectations
from nearwise.machinery.indexes import service_of
from nearwise.model import Endpoint, EndpointSlice, Status
from nearwise.model.errors import StatusError
from nearwise.model.resources import ENDPOINT_SLICES
from nearwise.model.wellknown import MANAGED_BY
from nearwise.slices.plan import Plan

LOOK_AGAIN: Final = 10.0
"""Seconds after a slice was created, to look at its service again.

Somebody may delete a slice before any cache has seen it, and then nobody would tell us.
"""

_NOT_FOUND: Final = 404
_TERMINATING: Final = "NamespaceTerminating"  # cause of a refusal (core/v1)

_log = logging.getLogger(__name__)


class Difference(NamedTuple):
    """How many endpoints a plan adds to slices, changes in them, and removes from them."""

    added: int = 0
    updated: int = 0
    removed: int = 0


class Writes:
    """Writes plans, and expects of the cache that it comes to show what was written."""

    def __init__(
        self, cluster: Cluster, expectations: SliceExpectations, counted: Callable[[str], None]
    ) -> None:
        """Write to a cluster; ``counted`` is told each write done: create, update or delete."""
        self._cluster = cluster
        self._expectations = expectations
        self._counted = counted

    async def carry_out(
        self,
        plan: Plan,
        wrote: Callable[[EndpointSlice], None] = lambda _: None,
        deleted: Callable[[str], None] = lambda _: None,
    ) -> bool:
        """Write all of a plan; what was written is told at once, whatever fails afterwards.

        Returns False when nothing can be created any more, because the namespace is being
        deleted. Raises StatusError and LostError of the first write that fails.
        """
        for slice_ in plan.creates:
            try:
                stored = await self._cluster.create(ENDPOINT_SLICES, slice_)
            except StatusError as refused:
                if _is_terminating(refused.status):
                    return False
                raise
            self._done("create", stored, wrote)
        for slice_ in plan.updates:
            stored = await self._cluster.update(ENDPOINT_SLICES, slice_)
            self._done("update", stored, wrote)
        for slice_ in plan.deletes:
            try:
                await self._cluster.delete(ENDPOINT_SLICES, slice_)
            except StatusError as refused:
                if refused.status.code != _NOT_FOUND:
                    raise
            self._expectations.deleted(slice_)
            self._tell("delete", slice_)
            deleted(slice_.metadata.name)
        return True

    def _done(
        self, verb: str, stored: EndpointSlice, wrote: Callable[[EndpointSlice], None]
    ) -> None:
        self._expectations.wrote(stored)
        self._tell(verb, stored)
        wrote(stored)

    def _tell(self, verb: str, slice_: EndpointSlice) -> None:
        self._counted(verb)
        _log.info("%s slice %s", verb, "/".join(slice_.metadata.key))


def difference(stored: Iterable[EndpointSlice], plan: Plan) -> Difference:
    """Say what a plan changes in the slices as they are stored."""
    before = {slice_.metadata.name: slice_.endpoints for slice_ in stored}
    added = updated = removed = 0
    for old, new in _written(before, plan):
        was, will_be = _by_identity(old), _by_identity(new)
        both = was.keys() & will_be.keys()
        added += len(will_be) - len(both)
        removed += len(was) - len(both)
        updated += sum(was[identity] != will_be[identity] for identity in both)
    return Difference(added, updated, removed)


def service_key(slice_: EndpointSlice) -> ObjectKey:
    """Return the service that a slice names; an empty name where it names none."""
    return next(service_of(slice_), (slice_.metadata.namespace, ""))


def managed(slice_: EndpointSlice | None, by: str) -> EndpointSlice | None:
    """Return the slice if it is of a service and its label says this manager, else None."""
    if slice_ is None or slice_.metadata.labels.get(MANAGED_BY) != by:
        return None
    return slice_ if service_key(slice_)[1] else None


def _written(
    before: dict[str, tuple[Endpoint, ...]], plan: Plan
) -> Iterator[tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]]:
    for slice_ in plan.creates:
        yield (), slice_.endpoints
    for slice_ in plan.updates:
        yield before.get(slice_.metadata.name, ()), slice_.endpoints
    for slice_ in plan.deletes:
        yield slice_.endpoints, ()


def _by_identity(endpoints: Iterable[Endpoint]) -> dict[tuple[object, ...], Endpoint]:
    """Return endpoints by what makes them the same one: addresses, hostname and target."""
    found: dict[tuple[object, ...], Endpoint] = {}
    for endpoint in endpoints:
        target = endpoint.target_ref
        key = (target.namespace, target.name) if target else ()
        found[endpoint.addresses, endpoint.hostname, key] = endpoint
    return found


def _is_terminating(status: Status) -> bool:
    causes = status.details.causes if status.details else ()
    return any(cause.reason == _TERMINATING for cause in causes)
