"""The slices of one service and one address family: packing and hints put together into writes."""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from nearwise.model import (
    Endpoint,
    EndpointPort,
    EndpointSlice,
    ObjectMeta,
    OwnerReference,
    Reason,
    Service,
    reason,
)
from nearwise.model.wellknown import (
    HEADLESS,
    LAST_CHANGE_TRIGGER_TIME,
    MANAGED_BY,
    SERVICE_NAME,
    SLICE_CONTROLLER,
)
from nearwise.slices.allocation import Allocations, Assigned, Refusal, assign
from nearwise.slices.endpoints import PortSet, port_key
from nearwise.slices.packing import Filled, Group, own_labels
from nearwise.slices.plan import name_for
from nearwise.slices.standing import Standing


class Writes(msgspec.Struct):
    """What is to be written for one family, why, and what became of its hints by CPU share.

    ``granted`` and ``refused`` are None for a service that does not ask for such hints.
    """

    creates: list[EndpointSlice]
    updates: list[EndpointSlice]
    deletes: list[EndpointSlice]
    reasons: list[Reason]
    why_created: list[Reason]
    granted: dict[str, int] | None = None
    refused: Refusal | None = None


class SliceShape:
    """What all slices of a service have in common: labels, owner, names.

    ``occupied`` are names that no new slice can have.
    """

    def __init__(self, service: Service, occupied: Container[str]) -> None:
        meta = service.metadata
        self.occupied = occupied
        self.namespace = meta.namespace
        self.service = meta.name
        self.uid = meta.uid
        self.own_labels = own_labels(meta.labels)
        self.labels = {**self.own_labels, SERVICE_NAME: meta.name, MANAGED_BY: SLICE_CONTROLLER}
        if service.spec.cluster_ip in ("None", ""):
            self.labels[HEADLESS] = ""
        self._owners = (
            OwnerReference(
                "v1", "Service", meta.name, meta.uid, controller=True, block_owner_deletion=True
            ),
        )

    def owns(self, slice_: EndpointSlice) -> bool:
        """Whether the slice belongs to this very service, not to one before it of its name."""
        return any(
            owner.uid == self.uid and owner.kind == "Service" and owner.api_version == "v1"
            for owner in slice_.metadata.owner_references
        )

    def new_slice(
        self, name: str, family: str, ports: Iterable[EndpointPort], endpoints: Iterable[Endpoint]
    ) -> EndpointSlice:
        """Make a slice that does not exist yet."""
        return EndpointSlice(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            ObjectMeta(
                name=name,
                generate_name=f"{self.service}-",
                namespace=self.namespace,
                labels=self.labels,
                owner_references=self._owners,
            ),
            family,
            tuple(endpoints),
            tuple(ports),
        )


class Family:
    """The groups and slices of one address family, kept between plans."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.ready = 0  # wanted endpoints that are ready
        self.standing: Standing | None = None  # counted only while hints follow CPU shares
        self._groups: dict[PortSet, Group] = {}
        self._by_ports: dict[PortSet, Group] = {}  # the same groups, by ports as they came
        self._holder: dict[str, Group] = {}  # slice name to the group that holds it
        self._foreign: dict[str, EndpointSlice] = {}  # of another owner: to be removed
        self._latest: Group | None = None

    # --- what is wanted ---------------------------------------------------------------------

    def add(self, pod: str, ports: PortSet, endpoint: Endpoint | None) -> None:
        """Want a pod's endpoint; None for a pod that is in but has no address, or must wait."""
        group = self._latest
        if group is None or ports is not group.ports:  # mostly the pod before had the same ports
            group = self._latest = self._by_ports.get(ports) or self._group(ports)
            if not group.members:
                group.ports = ports
        group.members += 1
        if endpoint is not None:
            group.wanted[pod] = endpoint
            group.dirty.add(pod)
            if endpoint.conditions.ready:
                self.ready += 1

    def remove(self, pod: str, ports: PortSet) -> None:
        """Want a pod's endpoint no longer."""
        group = self._by_ports[ports]
        group.members -= 1
        endpoint = group.wanted.pop(pod, None)
        if endpoint is not None:
            group.dirty.add(pod)
            if endpoint.conditions.ready:
                self.ready -= 1

    def _group(self, ports: PortSet) -> Group:
        """Return the group of a port set, in whatever order its ports are written."""
        group = self._groups.setdefault(port_key(ports), Group(ports))
        self._by_ports[ports] = group
        return group

    # --- what is stored ---------------------------------------------------------------------

    def put_slice(self, new: EndpointSlice, shape: SliceShape, *, ours: bool) -> None:
        """Take in a slice as it is stored now; ``ours``: as a plan asked for it."""
        name = new.metadata.name
        if not shape.owns(new):
            self.drop_slice(name)
            self._foreign[name] = new
            return
        self._foreign.pop(name, None)
        group = self._by_ports.get(new.ports) or self._group(new.ports)
        if self._holder.get(name, group) is not group:
            self.drop_slice(name)
        self._holder[name] = group
        if ours:
            group.wrote_slice(new)
        else:
            group.put_slice(new)
        if self.standing is not None:
            self.standing.put(name, new.endpoints)

    def drop_slice(self, name: str) -> None:
        """Forget a slice that is gone."""
        self._foreign.pop(name, None)
        group = self._holder.pop(name, None)
        if group is not None:
            group.drop_slice(name)
            if self.standing is not None:
                self.standing.drop(name)

    def recheck(self) -> None:
        """Look at every slice again in the next plan: the service changed."""
        for group in self._groups.values():
            group.recheck()

    def count_hints(self, wanted: bool) -> None:
        """Begin or stop counting the hints in the stored slices."""
        if not wanted:
            self.standing = None
        elif self.standing is None:
            self.standing = Standing()
            for slice_ in self.slices():
                self.standing.put(slice_.metadata.name, slice_.endpoints)

    def slices(self) -> list[EndpointSlice]:
        """All slices that are ours, by name."""
        return [self._holder[name].slices[name] for name in sorted(self._holder)]

    def counts(self, most: int) -> tuple[int, int, int]:
        """Return how many endpoints are wanted, how many slices there are, and would be if full."""
        sizes = [len(group.wanted) for group in self._groups.values()]
        ideal = sum(-(-size // most) for size in sizes)
        return (sum(sizes), len(self._holder), max(ideal, 1))

    def all_slices(self) -> list[EndpointSlice]:
        """All slices, those of another owner included."""
        return self.slices() + [self._foreign[name] for name in sorted(self._foreign)]

    def settle(self) -> None:
        """Declare all that is open done."""
        for group in self._groups.values():
            group.settle()

    # --- what is to be written --------------------------------------------------------------

    def plan(self, shape: SliceShape, most: int, shares: Allocations | Refusal | None) -> Writes:
        """Say what is to be written; ``shares`` is None unless hints follow CPU shares."""
        draft = self._pack(shape, most, hints_follow_endpoints=shares is None)
        writes = Writes([], [], [], [], [])
        if isinstance(shares, Allocations):
            outcome = self._assign(draft, shares)
            if isinstance(outcome, Refusal):
                shares = outcome
            else:
                writes.granted = dict(outcome.hints)
                writes.reasons += outcome.reasons
        if isinstance(shares, Refusal):
            writes.refused = shares
            self._strip(draft)
        self._write(draft, shape, writes)
        return writes

    def _pack(self, shape: SliceShape, most: int, *, hints_follow_endpoints: bool) -> _Draft:
        draft = _Draft()
        for group in sorted(self._groups.values(), key=_group_order):
            if not group.members:
                for name, slice_ in sorted(group.slices.items()):
                    draft.delete(slice_, reason("slice-delete-ports", slice=name))
                continue
            if group.settled:
                continue
            for filled in group.pack(shape.own_labels, most, hints=hints_follow_endpoints):
                if filled.name is None:
                    draft.creates.append((group, filled))
                elif filled.emptied:
                    slice_ = group.slices[filled.name]
                    draft.delete(slice_, reason("slice-delete-empty", slice=filled.name))
                else:
                    draft.updates[filled.name] = filled
        for name, slice_ in sorted(self._foreign.items()):
            draft.delete(slice_, reason("slice-delete-foreign-owner", slice=name))
        if not draft.creates and len(draft.deletes) == len(self._holder) + len(self._foreign):
            self._keep_one_empty(draft, shape)
        return draft

    def _keep_one_empty(self, draft: _Draft, shape: SliceShape) -> None:
        """See to it that a service with nothing to list keeps one empty slice."""
        if len(draft.deletes) == 1:
            only, _ = next(iter(draft.deletes.values()))
            if not only.endpoints and not only.ports and only.metadata.labels == shape.labels:
                draft.deletes.clear()
                return
        draft.creates.append((Group(()), Filled(None, [])))

    def _assign(self, draft: _Draft, allocations: Allocations) -> Assigned | Refusal:
        assert self.standing is not None
        busy = {*draft.updates, *draft.deletes}
        kept, rewritten = self.standing.keep(allocations, busy)
        # Written whatever comes out, even the same again, as recorded from Kubernetes: the API
        # server takes an unchanged object for no change.
        for name in rewritten:
            stored = self._holder[name].slices[name]
            draft.updates[name] = Filled(name, list(stored.endpoints), hints=True)
        open_slices = [
            *(filled for _, filled in draft.creates),
            *(draft.updates[name] for name in sorted(draft.updates)),
        ]
        outcome = assign(allocations, [tuple(f.endpoints) for f in open_slices], kept)
        if isinstance(outcome, Assigned):
            for filled, endpoints in zip(open_slices, outcome.slices, strict=True):
                filled.endpoints = list(endpoints)
        return outcome

    def _strip(self, draft: _Draft) -> None:
        """Take the hints out of every slice."""
        assert self.standing is not None
        for name in self.standing.hinted({*draft.updates, *draft.deletes}):
            stored = self._holder[name].slices[name]
            draft.updates[name] = Filled(name, list(stored.endpoints), hints=True)
        for filled in [f for _, f in draft.creates] + list(draft.updates.values()):
            filled.endpoints = [_without_hints(endpoint) for endpoint in filled.endpoints]

    def _write(self, draft: _Draft, shape: SliceShape, writes: Writes) -> None:
        """Make slices of the draft; one to delete and one to create become an update."""
        for name in sorted(draft.updates):
            filled = draft.updates[name]
            stored = self._holder[name].slices[name]
            updated = msgspec.structs.replace(
                stored,
                endpoints=tuple(filled.endpoints),
                metadata=msgspec.structs.replace(stored.metadata, labels=shape.labels),
            )
            writes.updates.append(updated)
            writes.reasons += _why_updated(filled)
        reusable = [s for s, _ in draft.deletes.values() if shape.owns(s)]
        recycled = set()
        for old, (group, filled) in zip(reusable, reversed(draft.creates), strict=False):
            new = shape.new_slice(old.metadata.name, self.family, group.ports, filled.endpoints)
            metadata = msgspec.structs.replace(
                old.metadata,
                labels=new.metadata.labels,
                annotations={},
                owner_references=new.metadata.owner_references,
            )
            writes.updates.append(msgspec.structs.replace(new, metadata=metadata))
            writes.reasons.append(reason("slice-recycle", slice=old.metadata.name))
            recycled.add(old.metadata.name)
        for slice_, why in draft.deletes.values():
            if slice_.metadata.name not in recycled:
                writes.deletes.append(slice_)
                writes.reasons.append(why)
        taken = {*self._holder, *self._foreign}
        for group, filled in draft.creates[: len(draft.creates) - len(recycled)]:
            identity = f"{shape.uid}/{self.family}/{_tell(group.ports)}/{_first_pod(filled)}"
            name = name_for(shape.service, identity, taken, shape.occupied)
            taken.add(name)
            writes.creates.append(shape.new_slice(name, self.family, group.ports, filled.endpoints))
            writes.why_created.append(self._why_created(group, filled))

    def _why_created(self, group: Group, filled: Filled) -> Reason:
        if not filled.endpoints:
            return reason("slice-create-empty", family=self.family)
        if not group.slices:
            return reason("slice-create-ports", ports=_tell(group.ports))
        return reason("slice-create-full", endpoints=len(filled.endpoints))


class _Draft:
    """A plan in the making: slices by what is to become of them."""

    def __init__(self) -> None:
        self.creates: list[tuple[Group, Filled]] = []
        self.updates: dict[str, Filled] = {}
        self.deletes: dict[str, tuple[EndpointSlice, Reason]] = {}

    def delete(self, slice_: EndpointSlice, why: Reason) -> None:
        self.deletes[slice_.metadata.name] = (slice_, why)


def with_trigger_time(slice_: EndpointSlice, time: str | None) -> EndpointSlice:
    """Note on a slice which change caused its write (RFC 3339), or that none is known."""
    noted = slice_.metadata.annotations.get(LAST_CHANGE_TRIGGER_TIME)
    if noted == time:
        return slice_
    annotations = dict(slice_.metadata.annotations)
    if time is None:
        del annotations[LAST_CHANGE_TRIGGER_TIME]
    else:
        annotations[LAST_CHANGE_TRIGGER_TIME] = time
    metadata = msgspec.structs.replace(slice_.metadata, annotations=annotations)
    return msgspec.structs.replace(slice_, metadata=metadata)


def _first_pod(filled: Filled) -> str:
    target = filled.endpoints[0].target_ref if filled.endpoints else None
    return target.name if target is not None else ""


def _group_order(group: Group) -> str:
    return _tell(port_key(group.ports))


def _tell(ports: Iterable[EndpointPort]) -> str:
    return ",".join(f"{port.name or ''}:{port.port}/{port.protocol}" for port in ports)


def _without_hints(endpoint: Endpoint) -> Endpoint:
    return endpoint if endpoint.hints is None else msgspec.structs.replace(endpoint, hints=None)


def _why_updated(filled: Filled) -> list[Reason]:
    name = filled.name or ""
    why = []
    if filled.moved:
        why.append(
            reason(
                "slice-update-endpoints",
                slice=name,
                added=filled.added,
                removed=filled.removed,
                changed=filled.changed,
            )
        )
    if filled.labels:
        why.append(reason("slice-update-labels", slice=name))
    if not why:
        why.append(reason("slice-update-hints", slice=name))
    return why
