"""A plan carried out, slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nearwise.controllers.cluster import Cluster
from nearwise.machinery.expectations import SliceExpectations
from nearwise.model import EndpointSlice
from nearwise.model.errors import StatusError
from nearwise.model.resources import ENDPOINT_SLICES
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
