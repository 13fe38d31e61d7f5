"""What the EndpointSlice controller writes for one service.

Law: there is one way from a service's objects to its slices. ``reconcile`` takes whole objects and
walks it once; ``ServiceSlices`` remembers, takes in one change at a time and walks only as far as
the change reaches. Both are the same code, so both give the same plan.

The behaviour is the one recorded from Kubernetes 1.36 (KEP-752, KEP-2433, KEP-3015, KEP-4444).
Where Kubernetes picks at random (which endpoint goes to which slice, which one is lent to another
zone), names decide here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final

import msgspec

from nearwise.model import EndpointSlice, Pod, Reason, Service, reason
from nearwise.model.wellknown import SERVICE_NAME, SLICE_CONTROLLER
from nearwise.slices.allocation import allocate
from nearwise.slices.asked import Asked, Mode, asked
from nearwise.slices.endpoints import EndpointRule, Placement, families_of
from nearwise.slices.family import Family, SliceShape, Writes, with_trigger_time
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import Event, Plan


class Rules(msgspec.Struct, frozen=True):
    """What an operator may choose.

    ``max_endpoints`` a slice holds at most (1 to 1000); ``overload_threshold`` is how much more
    than its fair share of traffic an endpoint may get before hints by CPU share are refused.
    """

    max_endpoints: int = 100
    overload_threshold: float = 0.2


class HintMemory(msgspec.Struct, frozen=True):
    """What is remembered of hints by CPU share from one plan to the next.

    ``populated`` is kept a service, not a family, as Kubernetes does: on a dual-stack service one
    family losing its hints lets the other tell again that they are enabled. ``zones`` has the
    hints given by family and zone: with them a node change is weighed.
    """

    populated: bool = False
    zones: Mapping[str, Mapping[str, int]] = {}

    def given(self, family: str, zones: Mapping[str, int]) -> HintMemory:
        """Return the memory after a family got hints."""
        return HintMemory(True, {**self.zones, family: dict(zones)})

    def taken(self, family: str) -> HintMemory:
        """Return the memory after a family lost its hints, or never had any."""
        return HintMemory(False, {f: zones for f, zones in self.zones.items() if f != family})


class ServicePlan(Plan, frozen=True):
    """A plan for a service, with the memory that the next one needs."""

    memory: HintMemory = HintMemory()


_RULES: Final = Rules()


def is_managed(slice_: EndpointSlice, service: Service) -> bool:
    """Whether a slice is the EndpointSlice controller's for the service, by its labels."""
    meta = slice_.metadata
    return (
        meta.namespace == service.metadata.namespace
        and meta.labels.get(SERVICE_NAME) == service.metadata.name
        and slice_.manager == SLICE_CONTROLLER
    )


def why_not_reconciled(service: Service) -> Reason | None:
    """Say why the service gets no slices made of pods; None when it does."""
    name = "/".join(service.metadata.key)
    if service.spec.type == "ExternalName":
        return reason("service-external-name", service=name)
    if not service.spec.selector:
        return reason("service-without-selector", service=name)
    return None


def reconcile(
    service: Service,
    pods: Iterable[Pod],
    nodes: Nodes,
    slices: Iterable[EndpointSlice],
    *,
    rules: Rules = _RULES,
    memory: HintMemory | None = None,
    trigger_time: str | None = None,
) -> ServicePlan:
    """Say what is to be written so that the slices list what the service selects.

    ``pods`` are those the selector matches, in any order; of ``slices`` those of other managers
    are left alone, and their names not taken. Without a ``memory`` it is read back from the
    slices. ``trigger_time`` (RFC 3339) is noted on what is written.
    """
    slices = tuple(slices)
    occupied = frozenset(slice_.metadata.name for slice_ in slices)
    state = ServiceSlices(service, nodes, rules=rules, occupied=occupied)
    state.put_slices(slices)
    state.remember(memory)
    state.put_pods(pods)
    return state.plan(trigger_time)


class ServiceSlices:
    """The slices of one service, remembered: changes go in, plans come out.

    A plan changes nothing here. After it was carried out, ``commit`` it, or tell each slice as the
    API server returned it (``wrote``, ``drop_slice``); what was not written is in the next plan
    again, and so is what came up meanwhile.
    """

    def __init__(
        self,
        service: Service,
        nodes: Nodes,
        *,
        rules: Rules = _RULES,
        occupied: Container[str] = (),
    ) -> None:
        """Begin with a service and nothing stored.

        ``occupied`` tells which names slices of the namespace have by now, whosever they are: a
        slice that is being deleted, or was given to another manager, still has its name.
        """
        self._nodes = nodes
        self._occupied = occupied
        self._rules = rules
        self._pods: dict[str, Pod] = {}
        self._placed: dict[str, Placement] = {}
        self._remarks: dict[str, tuple[Reason, ...]] = {}  # by pod: why it is out, or differs
        self._unsupported: dict[str, EndpointSlice] = {}  # of a family the service has not
        self._families: dict[str, Family] = {}
        self._memory = HintMemory()
        self._pods_on: dict[str, set[str]] | None = None  # by node; built when a node changes
        self._take_service(service)

    @property
    def service(self) -> Service:
        """The service as it was last put in."""
        return self._service

    @property
    def memory(self) -> HintMemory:
        """What is remembered of hints by CPU share."""
        return self._memory

    @property
    def asked(self) -> Asked:
        """Which hints the service asks for."""
        return self._asked

    def counts(self) -> tuple[int, int, int]:
        """Return how many endpoints are wanted, how many slices there are, and would be if full."""
        counts = [f.counts(self._rules.max_endpoints) for f in self._families.values()]
        return (sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts))

    def slices(self) -> tuple[EndpointSlice, ...]:
        """All slices as stored now, by name."""
        held = [s for family in self._families.values() for s in family.all_slices()]
        held += self._unsupported.values()
        return tuple(sorted(held, key=lambda s: s.metadata.name))

    # --- changes --------------------------------------------------------------------------

    def put_service(self, service: Service) -> None:
        """Take in a changed service: everything about it is looked at again."""
        slices, pods = self.slices(), list(self._pods.values())
        self._pods.clear()
        self._placed.clear()
        self._remarks.clear()
        self._unsupported.clear()
        self._families.clear()
        self._take_service(service)
        self.put_slices(slices)
        self.put_pods(pods)

    def put_slices(self, slices: Iterable[EndpointSlice]) -> None:
        """Take in slices as they are stored now: new ones, and whatever somebody changed."""
        for slice_ in slices:
            self._put_slice(slice_, ours=False)

    def drop_slice(self, name: str) -> None:
        """Forget a slice that is gone."""
        self._unsupported.pop(name, None)
        for family in self._families.values():
            family.drop_slice(name)

    def put_pods(self, pods: Iterable[Pod]) -> bool:
        """Take in new or changed pods that the service selects; say whether it matters."""
        place, placed, known = self._rule.place, self._placed, self._pods
        remarks = self._remarks
        families = tuple(self._families.values())
        matters = False
        for pod in pods:
            name = pod.metadata.name
            where = place(pod)
            if name in known:
                before = known[name]
                if where == placed.get(name) and before.spec.node_name == pod.spec.node_name:
                    known[name] = pod
                    continue
                self.drop_pod(name)
            matters = True
            known[name] = pod
            placed[name] = where
            if where.reasons:
                remarks[name] = where.reasons
            if where.ports is not None:
                for family, endpoint in zip(families, where.endpoints):  # noqa: B905 (hot, equal)
                    family.add(name, where.ports, endpoint)
            if self._pods_on is not None:
                self._pods_on.setdefault(pod.spec.node_name, set()).add(name)
        return matters

    def drop_pod(self, name: str) -> None:
        """Forget a pod that is gone or is selected no longer."""
        pod = self._pods.pop(name, None)
        self._remarks.pop(name, None)
        before = self._placed.pop(name, None)
        if before is not None and before.ports is not None:
            for family in self._families.values():
                family.remove(name, before.ports)
        if pod is not None and self._pods_on is not None:
            self._pods_on.get(pod.spec.node_name, set()).discard(name)

    def node_changed(self, name: str) -> bool:
        """Look again at the pods of a node that came, went or changed; say whether it matters."""
        if self._pods_on is None:
            self._pods_on = {}
            for pod_name, pod in self._pods.items():
                self._pods_on.setdefault(pod.spec.node_name, set()).add(pod_name)
        return self.put_pods([self._pods[pod] for pod in sorted(self._pods_on.get(name, ()))])

    def remember(self, memory: HintMemory | None) -> None:
        """Set what is remembered of hints; None reads it back from the slices."""
        if memory is not None:
            self._memory = memory
        elif self._asked.mode is Mode.SHARES:
            zones = {f.family: f.standing.zones for f in self._families.values() if f.standing}
            zones = {family: hints for family, hints in zones.items() if hints}
            self._memory = HintMemory(bool(zones), zones)
        else:
            self._memory = HintMemory()

    # --- plans ----------------------------------------------------------------------------

    def plan(self, trigger_time: str | None = None) -> ServicePlan:
        """Say what is to be written now, and why."""
        meta = self._service.metadata
        memory = self._memory
        events: list[Event] = []
        reasons: list[Reason] = list(self._asked.reasons)
        for pod in sorted(self._remarks):
            reasons += self._remarks[pod]
        all_writes: list[Writes] = []
        for name in sorted(self._unsupported):
            memory = memory.taken(self._unsupported[name].address_type)
        for family in self._families.values():
            shares = None
            if self._asked.mode is Mode.SHARES:
                shares = allocate(self._nodes.shares, family.ready, self._rules.overload_threshold)
            writes = family.plan(self._shape, self._rules.max_endpoints, shares)
            memory = _tell_hints(family.family, writes, memory, events)
            all_writes.append(writes)
            reasons += writes.reasons
            if writes.refused is not None:
                reasons += writes.refused.reasons
        creates: list[EndpointSlice] = []
        if meta.deletion_timestamp is not None:
            # The garbage collector is taking the slices away: new ones would block the deletion.
            reasons.append(reason("service-being-deleted", service=f"{meta.namespace}/{meta.name}"))
        else:
            for writes in all_writes:
                creates += writes.creates
                reasons += writes.why_created
        deletes = [slice_ for writes in all_writes for slice_ in writes.deletes]
        for name, slice_ in sorted(self._unsupported.items()):
            deletes.append(slice_)
            reasons.append(reason("slice-delete-family", slice=name, family=slice_.address_type))
        return ServicePlan(
            creates=tuple(with_trigger_time(slice_, trigger_time) for slice_ in creates),
            updates=tuple(
                with_trigger_time(slice_, trigger_time)
                for writes in all_writes
                for slice_ in writes.updates
            ),
            deletes=tuple(deletes),
            events=tuple(events),
            reasons=tuple(reasons),
            errors=self._errors(),
            memory=memory,
        )

    def wrote(self, slice_: EndpointSlice) -> None:
        """Take note of one slice that was written as a plan asked for it."""
        self._put_slice(slice_, ours=True)

    def commit(self, plan: ServicePlan) -> None:
        """Take note that all of a plan was written, and that nothing else happened meanwhile."""
        for slice_ in plan.deletes:
            self.drop_slice(slice_.metadata.name)
        for slice_ in (*plan.updates, *plan.creates):
            self.wrote(slice_)
        if self._service.metadata.deletion_timestamp is None:  # else something was left out
            for family in self._families.values():
                family.settle()
        self._memory = plan.memory

    # --- inside ---------------------------------------------------------------------------

    def _take_service(self, service: Service) -> None:
        self._service = service
        self._shape = SliceShape(service, self._occupied)
        self._asked: Asked = asked(service)
        distribution = self._asked.distribution
        self._rule = EndpointRule(service, self._nodes.zones, distribution)
        self._families = {family: Family(family) for family in families_of(service)}
        for family in self._families.values():
            family.count_hints(self._asked.mode is Mode.SHARES)

    def _put_slice(self, slice_: EndpointSlice, *, ours: bool) -> None:
        name = slice_.metadata.name
        if not is_managed(slice_, self._service) or slice_.metadata.deletion_timestamp is not None:
            self.drop_slice(name)
            return
        family = self._families.get(slice_.address_type)
        if family is None:
            self._unsupported[name] = slice_
        else:
            family.put_slice(slice_, self._shape, ours=ours)

    def _errors(self) -> tuple[str, ...]:
        meta = self._service.metadata
        waiting = [
            why.facts
            for pod in sorted(self._remarks)
            for why in self._remarks[pod]
            if why.code == "pod-node-missing"
        ]
        return tuple(
            f"skipping Pod {facts['pod']} for Service {meta.namespace}/{meta.name}: "
            f"Node {facts['node']} Not Found"
            for facts in waiting
        )


def _tell_hints(family: str, writes: Writes, memory: HintMemory, events: list[Event]) -> HintMemory:
    """Add the events of one family's hints, and return what is remembered after it."""
    if writes.refused is not None:
        events.append(_event("Warning", "Disabled", writes.refused.text, family))
        return memory.taken(family)
    if writes.granted is not None:
        if not memory.populated:
            events.append(
                _event("Normal", "Enabled", "Topology Aware Hints has been enabled", family)
            )
        return memory.given(family, writes.granted)
    if memory.populated:
        events.append(
            _event("Warning", "Disabled", "Topology Aware Hints has been disabled", family)
        )
    return memory.taken(family)


def _event(level: str, outcome: str, message: str, family: str) -> Event:
    return Event(level, f"TopologyAwareHints{outcome}", f"{message}, addressType: {family}")
