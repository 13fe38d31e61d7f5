"""The EndpointSlice controller: what wakes which service, and what is then written.

Law: nothing is decided here about slices. A ``ServiceSlices`` of the core is kept for each
service, hears of every change the caches tell, and says what is to be written. Here is only who
hears what, when a service is looked at, and what happens when a write fails.
"""

from __future__ import annotations

from typing import Final

from nearwise.controllers.caches import Caches
from nearwise.controllers.metrics import Held, SliceMetrics
from nearwise.controllers.recorder import Recorder
from nearwise.controllers.writing import LOOK_AGAIN, Writes, difference, managed, service_key
from nearwise.loops.cluster import Cluster
from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import TryAgainError, Workers
from nearwise.machinery.batching import Batching, TriggerTimes
from nearwise.machinery.cache import Delta, ObjectKey
from nearwise.machinery.expectations import SliceExpectations
from nearwise.machinery.queue import controller_queue
from nearwise.machinery.resource_version import is_later
from nearwise.model import EndpointSlice, Node, Pod, Service
from nearwise.model.errors import LostError, StatusError
from nearwise.model.wellknown import SLICE_CONTROLLER
from nearwise.slices.allocation import overloaded
from nearwise.slices.asked import Mode
from nearwise.slices.nodes import Nodes, wakes
from nearwise.slices.reconcile import Rules, ServiceSlices, why_not_reconciled

NAME: Final = "endpoint-slice-controller"


class EndpointSliceController:
    """Writes the slices of every service with a selector."""

    def __init__(
        self,
        cluster: Cluster,
        caches: Caches,
        recorder: Recorder,
        surroundings: Surroundings,
        metrics: SliceMetrics,
        *,
        rules: Rules,
        batching: Batching,
    ) -> None:
        self._caches = caches
        self._recorder = recorder
        self._metrics = metrics
        self._rules = rules
        self._batching = batching
        self._nodes = Nodes()
        self._states: dict[ObjectKey, ServiceSlices] = {}
        self._hinted: set[ObjectKey] = set()  # services that hold hints by CPU share
        self._behind: set[ObjectKey] = set()  # services that wait for the cache
        self._triggers = TriggerTimes()
        self._expectations = SliceExpectations()
        self._writes = Writes(cluster, self._expectations, metrics.counted)
        self.workers: Workers[ObjectKey] = Workers(
            "endpoint_slice", controller_queue(), self._sync, surroundings.now
        )
        caches.services.listen(self._on_service)
        caches.pods.listen(self._on_pod)
        caches.nodes.listen(self._on_node)
        caches.slices.listen(self._on_slice)

    # --- what wakes whom ------------------------------------------------------------------

    def _on_service(self, delta: Delta[Service]) -> None:
        old, new = delta
        if new is None:
            assert old is not None
            self._forget(old.metadata.key)
            return
        key = new.metadata.key
        self._triggers.service_seen(new)
        state = self._states.get(key)
        if state is not None:
            if state.service.spec.selector == new.spec.selector and not why_not_reconciled(new):
                state.put_service(new)
            else:
                self._drop_state(key)  # other pods: built anew when it is looked at
        self.workers.add(key)

    def _on_pod(self, delta: Delta[Pod]) -> None:
        old, new = delta
        before, after = self._caches.selecting(old), self._caches.selecting(new)
        for key in sorted(before | after):
            self._triggers.pod_changed(
                key, old if key in before else None, new if key in after else None
            )
            state = self._states.get(key)
            news = True
            if state is not None:
                if new is not None and key in after:
                    news = state.put_pods([new])
                elif old is not None:
                    state.drop_pod(old.metadata.name)
            if news:
                self.workers.add(key, self._batching.after_pod)

    def _on_node(self, delta: Delta[Node]) -> None:
        old, new = delta
        if new is not None:
            self._nodes.put(new)
        elif old is not None:
            self._nodes.drop(old.metadata.name)
        if not wakes(old, new):
            return
        name = (new or old).metadata.name  # type: ignore[union-attr]
        on_it = {key for pod in self._caches.pods_on(name) for key in self._caches.selecting(pod)}
        for key in sorted(on_it & self._states.keys()):
            if self._states[key].node_changed(name):
                self.workers.add(key)  # its pods waited for the node, or changed zone with it
        threshold = self._rules.overload_threshold
        for key in sorted(self._hinted):
            memory = self._states[key].memory
            if any(overloaded(z, self._nodes.shares, threshold) for z in memory.zones.values()):
                self.workers.add(key)

    def _on_slice(self, delta: Delta[EndpointSlice]) -> None:
        old, new = delta
        was, now = _ours(old), _ours(new)
        seen = {service_key(one) for one in (was, now) if one is not None}
        for key in sorted(seen & self._behind):
            self._behind.remove(key)
            self.workers.add(key)  # the cache may show by now what it waits for
        if now is not None and (was is None or service_key(was) == service_key(now)):
            relabelled = was is not None and was.metadata.labels != now.metadata.labels
            if relabelled or not self._expectations.is_ours(now):
                self._foreign_change(service_key(now), now)
            return
        if was is not None and not self._expectations.saw_gone(was):
            self._lost(service_key(was), was.metadata.name)
        if now is not None:
            self._foreign_change(service_key(now), now)

    def _foreign_change(self, key: ObjectKey, slice_: EndpointSlice) -> None:
        state = self._states.get(key)
        if state is not None:
            state.put_slices([slice_])
        self.workers.add(key, self._batching.after_slice)

    def _lost(self, key: ObjectKey, name: str) -> None:
        state = self._states.get(key)
        if state is not None:
            state.drop_slice(name)
        self.workers.add(key, self._batching.after_slice)

    def _forget(self, key: ObjectKey) -> None:
        # The garbage collector removes the slices: they belong to the service.
        self._drop_state(key)
        self._behind.discard(key)
        self._triggers.forget(key)
        self._expectations.forget(key)
        self._metrics.forget(key)

    def _drop_state(self, key: ObjectKey) -> None:
        self._states.pop(key, None)
        self._hinted.discard(key)

    # --- the work on one service ----------------------------------------------------------

    async def _sync(self, key: ObjectKey) -> None:
        service = self._caches.services.cache.get(key)
        if service is None or why_not_reconciled(service) is not None:
            return
        try:
            await self._reconcile(key, service)
        except (StatusError, LostError, TryAgainError) as failure:
            quiet = isinstance(failure, TryAgainError) and failure.quiet
            self._metrics.synced("stale" if quiet else "error")
            if not quiet:
                self._recorder.tell(
                    service,
                    "Warning",
                    "FailedToUpdateEndpointSlices",
                    f"Error updating Endpoint Slices for Service {'/'.join(key)}: {failure}",
                )
            raise
        self._metrics.synced("success")

    async def _reconcile(self, key: ObjectKey, service: Service) -> None:
        every = [s for s in self._caches.slices_of(key) if _ours(s) is not None]
        if self._expectations.is_stale(key, every, self._caches.slices.seen):
            self._behind.add(key)
            raise TryAgainError("the cache is behind our own writes", quiet=True)
        cached = [slice_ for slice_ in every if slice_.metadata.deletion_timestamp is None]
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._build(service, cached)
        else:
            _catch_up(state, cached)
        trigger_time = self._triggers.take(key)
        plan = state.plan(trigger_time)
        self._metrics.planned(difference(cached, plan))
        try:
            complete = await self._writes.carry_out(plan, state.wrote, state.drop_slice)
        except (StatusError, LostError):
            self._triggers.give_back(key, trigger_time)
            raise
        if plan.creates and complete:
            self.workers.add(key, LOOK_AGAIN)
        state.remember(plan.memory)
        if self._states.get(key) is state:
            (self._hinted.add if plan.memory.populated else self._hinted.discard)(key)
            self._metrics.holds(key, Held(*state.counts()))
            distribution = state.asked.distribution or ""
            self._metrics.goes_by(key, distribution)
            topology = "Auto" if state.asked.mode is Mode.SHARES else "Disabled"
            self._metrics.wrote(plan.writes, topology, distribution)
        for event in plan.events:
            self._recorder.tell(service, event.type, event.reason, event.message)
        if plan.errors:
            raise TryAgainError("; ".join(plan.errors))

    def _build(self, service: Service, cached: list[EndpointSlice]) -> ServiceSlices:
        names = self._caches.slice_names(service.metadata.namespace)
        state = ServiceSlices(service, self._nodes, rules=self._rules, occupied=names)
        state.put_slices(cached)
        state.remember(None)
        state.put_pods(self._caches.pods_of(service))
        return state


def _catch_up(state: ServiceSlices, cached: list[EndpointSlice]) -> None:
    """Put in what the cache shows later than it is remembered, and drop what it shows no more.

    The answer to a write of ours may come after somebody else's next change was seen, and what is
    only noted on a slice is no reason to look at its service, but makes it another version.
    """
    held = {slice_.metadata.name: slice_.metadata.resource_version for slice_ in state.slices()}
    for slice_ in cached:
        version = held.pop(slice_.metadata.name, None)
        if version is None or is_later(slice_.metadata.resource_version, version):
            state.put_slices([slice_])
    for name in held:
        state.drop_slice(name)


def _ours(slice_: EndpointSlice | None) -> EndpointSlice | None:
    return managed(slice_, SLICE_CONTROLLER)
