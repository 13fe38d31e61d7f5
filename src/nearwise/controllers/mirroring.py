"""The mirroring controller: Endpoints written by others become slices.

Law: what a mirror looks like is ``slices/mirror.py``'s. Here is only what wakes it, and what
happens when a write fails. Keys are those of Endpoints, which are those of their service.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nearwise.controllers.caches import Caches
from nearwise.controllers.metrics import Held, MirroringMetrics
from nearwise.controllers.recorder import Recorder
from nearwise.controllers.writing import LOOK_AGAIN, Writes, difference, managed, service_key
from nearwise.loops.cluster import Cluster
from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import TryAgainError, Workers
from nearwise.machinery.batching import Batching
from nearwise.machinery.cache import Delta, ObjectKey
from nearwise.machinery.expectations import SliceExpectations
from nearwise.machinery.queue import controller_queue
from nearwise.model import Endpoints, EndpointSlice, Service
from nearwise.model.errors import LostError, StatusError
from nearwise.model.wellknown import MIRRORING_CONTROLLER
from nearwise.slices.mirror import mirror
from nearwise.slices.plan import Plan, apply

NAME: Final = "endpoint-slice-mirroring-controller"


class MirroringController:
    """Mirrors the Endpoints of services without a selector."""

    def __init__(
        self,
        cluster: Cluster,
        caches: Caches,
        recorder: Recorder,
        surroundings: Surroundings,
        metrics: MirroringMetrics,
        *,
        max_per_subset: int,
        batching: Batching,
    ) -> None:
        self._caches = caches
        self._recorder = recorder
        self._metrics = metrics
        self._now = surroundings.now
        self._max_per_subset = max_per_subset
        self._batching = batching
        self._expectations = SliceExpectations()
        self._writes = Writes(cluster, self._expectations, metrics.counted)
        self.workers: Workers[ObjectKey] = Workers(
            "endpoint_slice_mirroring", controller_queue(), self._sync, surroundings.now
        )
        caches.endpoints.listen(self._on_endpoints)
        caches.services.listen(self._on_service)
        caches.slices.listen(self._on_slice)

    # --- what wakes whom ------------------------------------------------------------------

    def _on_endpoints(self, delta: Delta[Endpoints]) -> None:
        old, new = delta
        about = new or old
        assert about is not None
        self.workers.add(about.metadata.key)

    def _on_service(self, delta: Delta[Service]) -> None:
        old, new = delta
        if old is not None and new is not None and old.spec.selector == new.spec.selector:
            return
        about = new or old
        assert about is not None
        key = about.metadata.key
        if key in self._caches.endpoints.cache:
            self.workers.add(key)

    def _on_slice(self, delta: Delta[EndpointSlice]) -> None:
        was, now = (managed(slice_, MIRRORING_CONTROLLER) for slice_ in delta)
        if now is not None and (was is None or service_key(was) == service_key(now)):
            relabelled = was is not None and was.metadata.labels != now.metadata.labels
            foreign = relabelled or not self._expectations.is_ours(now)
        else:
            foreign = was is not None and not self._expectations.saw_gone(was)
        if foreign:
            for slice_ in filter(None, (was, now)):
                self.workers.add(service_key(slice_), self._batching.after_slice)

    # --- the work on one Endpoints --------------------------------------------------------

    async def _sync(self, key: ObjectKey) -> None:
        endpoints = self._caches.endpoints.cache.get(key)
        began = self._now()
        try:
            await self._mirror(key, endpoints)
        except (StatusError, LostError) as failure:
            if endpoints is not None:
                self._recorder.tell(
                    endpoints,
                    "Warning",
                    "FailedToUpdateEndpointSlices",
                    f"Error updating EndpointSlices for {'/'.join(key)}: {failure}",
                )
            raise
        finally:
            self._metrics.took(self._now() - began)

    async def _mirror(self, key: ObjectKey, endpoints: Endpoints | None) -> None:
        every = self._caches.slices_of(key)
        ours = [slice_ for slice_ in every if managed(slice_, MIRRORING_CONTROLLER)]
        if self._expectations.is_stale(key, ours, self._caches.slices.seen):
            raise TryAgainError("the cache is behind our own writes", quiet=True)
        service = self._caches.services.cache.get(key)
        names = self._caches.slice_names(key[0])
        plan = mirror(service, endpoints, every, self._max_per_subset, names)
        self._metrics.planned(difference(ours, plan), _left_out(plan))
        await self._writes.carry_out(plan)
        if plan.creates:
            self.workers.add(key, LOOK_AGAIN)
        if endpoints is None:
            self._expectations.forget(key)
            self._metrics.forget(key)
            return
        self._metrics.holds(key, self._held(apply(ours, plan)))
        for event in plan.events:
            self._recorder.tell(endpoints, event.type, event.reason, event.message)

    def _held(self, slices: Iterable[EndpointSlice]) -> Held:
        sizes = [len(slice_.endpoints) for slice_ in slices]
        ideal = sum(-(-size // self._max_per_subset) for size in sizes)
        return Held(sum(sizes), len(sizes), ideal)


def _left_out(plan: Plan) -> int:
    """Count the addresses that are not mirrored, because they are invalid or too many."""
    told = (reason.facts.get("addresses") for reason in plan.reasons)
    return sum(len(addresses) for addresses in told if isinstance(addresses, tuple))
