"""A plan carried out, slice by slice; and whose a slice is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nearwise.controllers.cluster import Cluster
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.expectations import SliceExpectations
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice
from nearwise.model.errors import StatusError
from nearwise.model.resources import ENDPOINT_SLICES
from nearwise.model.wellknown import MANAGED_BY
from nearwise.slices.plan import Plan

_NOT_FOUND: Final = 404


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
    ) -> None:
        """Write all of a plan; what was written is told at once, whatever fails afterwards.

        Raises StatusError and LostError of the first write that fails.
        """
        for slice_ in plan.creates:
            stored = await self._cluster.create(ENDPOINT_SLICES, slice_)
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
            self._counted("delete")
            deleted(slice_.metadata.name)

    def _done(
        self, verb: str, stored: EndpointSlice, wrote: Callable[[EndpointSlice], None]
    ) -> None:
        self._expectations.wrote(stored)
        self._counted(verb)
        wrote(stored)


def service_key(slice_: EndpointSlice) -> ObjectKey:
    """Return the service that a slice names; an empty name where it names none."""
    return next(service_of(slice_), (slice_.metadata.namespace, ""))


def managed(slice_: EndpointSlice | None, by: str) -> EndpointSlice | None:
    """Return the slice if it is of a service and its label says this manager, else None."""
    if slice_ is None or slice_.metadata.labels.get(MANAGED_BY) != by:
        return None
    return slice_ if service_key(slice_)[1] else None
