"""Stored slices against those that the controllers would write: what differs, and why.

Law: what should be written is asked of ``sync``, and compared here with what is stored, endpoint
by endpoint; nothing is decided. Which slice holds an endpoint, and what a slice is called, is no
difference, and neither is which one of equal endpoints is lent to another zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from nearwise.insight.disagreements import disagreements, orphans
from nearwise.insight.states import state_of
from nearwise.insight.sync import next_sync, unjudged, writer
from nearwise.insight.world import Key, World
from nearwise.model import Endpoint, EndpointHints, EndpointPort, EndpointSlice, Reason, reason
from nearwise.model.reasons import Level
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, SLICE_CONTROLLER
from nearwise.slices.endpoints import PortSet, port_key
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import Plan, apply

_ABOUT_SLICES: Final = frozenset(
    ["frozen-slice", "orphan-slice", "slice-foreign", "two-writers", "two-writers-mirror"]
)
"""The disagreements that are about who writes which slice; the rest is in the comparison."""


class Drift(msgspec.Struct, frozen=True):
    """What would change in the slices of one service, ``namespace/name``.

    ``slices`` are all slices of the service as they would be. ``created``, ``updated`` and
    ``deleted`` name those that are written, ``reasons`` say why. ``differences`` go endpoint by
    endpoint, ``notes`` tell who else writes slices here, and whether fewer would do. ``unjudged``
    is set, and nothing compared, when the snapshot lacks what slices are made of.
    """

    service: str
    slices: tuple[EndpointSlice, ...]
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    differences: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    unjudged: Reason | None = None

    @property
    def differs(self) -> bool:
        """Whether anything is to be written, or should not be as it is."""
        found = (*self.differences, *self.notes)
        writes = self.created or self.updated or self.deleted
        return bool(writes) or any(each.level is not Level.INFO for each in found)


def drift(world: World, nodes: Nodes, key: Key) -> Drift:
    """Compare the stored slices of a service with those after the controllers' next look.

    ``nodes`` are those of the world, taken in once for all services.
    """
    stored = world.slices_of(key)
    why_not = unjudged(world, key)
    plan = Plan() if why_not else next_sync(world, nodes, key)
    after = apply(stored, plan)
    before = {slice_.metadata.name: slice_ for slice_ in stored}
    return Drift(
        "/".join(key),
        after,
        _names(plan.creates),
        _names(new for new in plan.updates if not _same(before[new.metadata.name], new)),
        _names(plan.deletes),
        plan.reasons,
        tuple(_explained(world, key, plan, compare(stored, after))),
        (*_notes(world, key), *(() if why_not else _sparse(world, nodes, key, after))),
        why_not,
    )


def drift_from_scratch(world: World, nodes: Nodes, key: Key) -> Drift:
    """Compare the stored slices of a service with those that would be written if there were none.

    Only slices of the controller that writes for the service are compared, as long as they are
    not being deleted. Their number and names may differ, so none is named as created, updated or
    deleted.
    """
    why_not = unjudged(world, key)
    plan = Plan() if why_not else next_sync(world, nodes, key, ())
    by = writer(world, key)
    stored = [
        slice_
        for slice_ in world.slices_of(key)
        if by and slice_.manager == by
        if slice_.metadata.deletion_timestamp is None
    ]
    service = world.services.get(key)
    going = service is not None and service.metadata.deletion_timestamp is not None
    compared = () if why_not or going else compare(stored, plan.creates)
    return Drift(
        "/".join(key),
        plan.creates,
        reasons=plan.reasons,
        differences=tuple(_explained(world, key, plan, compared)),
        notes=tuple(_notes(world, key)),
        unjudged=why_not,
    )


# --- The comparison -----------------------------------------------------------------------


class _Identity(NamedTuple):
    """What tells endpoints of one family apart: the object behind it, else the address."""

    namespace: str
    target: str
    addresses: tuple[str, ...]


class _Listed(NamedTuple):
    """An endpoint where it lies."""

    slice: str
    ports: PortSet
    endpoint: Endpoint


def compare(
    stored: Iterable[EndpointSlice], planned: Iterable[EndpointSlice]
) -> tuple[Reason, ...]:
    """Say which endpoints differ between two lists of slices of one service, family by family.

    Addresses, conditions, places, ports and hints are compared. Where each zone and node has as
    many hints in both, an endpoint with another hint is told as lent elsewhere.
    """
    found: list[Reason] = []
    before, after = _by_family(stored), _by_family(planned)
    for family in sorted(before.keys() | after.keys()):
        found += _compare(family, before.get(family, {}), after.get(family, {}))
    return tuple(found)


_Listing = dict[_Identity, list[_Listed]]


def _by_family(slices: Iterable[EndpointSlice]) -> dict[str, _Listing]:
    found: dict[str, _Listing] = {}
    for slice_ in sorted(slices, key=lambda each: each.metadata.name):
        ports = port_key(slice_.ports)
        listing = found.setdefault(slice_.address_type, {})
        for endpoint in slice_.endpoints:
            listed = _Listed(slice_.metadata.name, ports, endpoint)
            listing.setdefault(_identity(endpoint), []).append(listed)
    return found


def _compare(family: str, before: _Listing, after: _Listing) -> Iterator[Reason]:
    as_many = _hints(before) == _hints(after)
    for identity in sorted(before.keys() | after.keys()):
        old, new = before.get(identity, []), after.get(identity, [])
        name = (old or new)[0].endpoint.called
        if len(old) > max(len(new), 1):
            slices = [each.slice for each in old]
            yield reason("diff-endpoint-twice", endpoint=name, family=family, slices=slices)
        if not old:
            yield reason("diff-endpoint-missing", endpoint=name, family=family)
        elif not new:
            yield reason("diff-endpoint-extra", endpoint=name, family=family, slice=old[0].slice)
        else:
            yield from _changes(name, old[0], new[0], as_many=as_many)


def _changes(name: str, old: _Listed, new: _Listed, *, as_many: bool) -> Iterator[Reason]:
    """Say what differs between an endpoint as it is listed and as it would be."""
    if old.ports != new.ports:
        yield reason(
            "diff-endpoint-ports",
            endpoint=name,
            slice=old.slice,
            listed=_tell_ports(old.ports),
            wanted=_tell_ports(new.ports),
        )
    facts = zip(_facts(old.endpoint).items(), _facts(new.endpoint).values(), strict=True)
    changes = {field: f"{was} -> {now}" for (field, was), now in facts if was != now}
    if changes:
        yield reason("diff-endpoint-changed", endpoint=name, slice=old.slice, changes=changes)
    was, now = (each.endpoint.hints or EndpointHints() for each in (old, new))
    if was != now:
        code = "diff-lent-elsewhere" if as_many else "diff-hints"
        yield reason(code, endpoint=name, slice=old.slice, listed=was.places, wanted=now.places)


def _identity(endpoint: Endpoint) -> _Identity:
    target = endpoint.target_ref
    if target is None or not target.name:
        return _Identity("", "", endpoint.addresses)
    return _Identity(target.namespace, f"{target.name} {target.kind}", ())


def _facts(endpoint: Endpoint) -> dict[str, str]:
    target = endpoint.target_ref
    return {
        "address": "+".join(endpoint.addresses),
        "hostname": endpoint.hostname or "none",
        "state": state_of(endpoint),
        "node": endpoint.node_name or "none",
        "zone": endpoint.zone or "none",
        "uid": target.uid if target else "none",
    }


def _hints(listing: _Listing) -> Counter[EndpointHints]:
    """Count the hints of all endpoints."""
    return Counter(
        each.endpoint.hints for same in listing.values() for each in same if each.endpoint.hints
    )


def _tell_ports(ports: Iterable[EndpointPort]) -> list[str]:
    return [f"{port.name or 'unnamed'} {port.port}/{port.protocol}" for port in ports]


# --- What is said beside it ---------------------------------------------------------------


def _explained(
    world: World, key: Key, plan: Plan, differences: Iterable[Reason]
) -> Iterator[Reason]:
    """Add to each difference what is known of the pod behind it."""
    told: dict[object, list[Reason]] = {}
    for why in plan.reasons:
        told.setdefault(why.facts.get("pod"), []).append(why)
    service = world.services.get(key)
    selected = {pod.metadata.name for pod in world.pods_of(service)} if service else set()
    for difference in differences:
        yield difference
        pod = str(difference.facts["endpoint"])
        yield from told.get(pod, ())
        if difference.code == "diff-endpoint-extra" and writer(world, key) == SLICE_CONTROLLER:
            if (key[0], pod) not in world.pods:
                yield reason("diff-pod-gone", pod=pod)
            elif pod not in selected:
                yield reason("diff-pod-not-selected", pod=pod)


def _notes(world: World, key: Key) -> Iterator[Reason]:
    """Say who else writes slices here, and what is wrong with that."""
    service = world.services.get(key)
    found = orphans(world, key) if service is None else disagreements(world, service)
    yield from (each for each in found if each.code in _ABOUT_SLICES)
    managers = sorted({str(r.facts["manager"]) for r in found if r.code == "slice-foreign"})
    if managers and (by := writer(world, key)):
        yield reason("slices-beside-foreign", writer=by, managers=managers)
    elif managers and service is not None:
        yield reason("slices-foreign-only")


def _sparse(
    world: World, nodes: Nodes, key: Key, slices: Iterable[EndpointSlice]
) -> Iterator[Reason]:
    """Compare the number of slices with how many the endpoints would fill (KEP-752, packing)."""
    used = [s for s in slices if s.manager == SLICE_CONTROLLER]
    if len(used) < 2 or writer(world, key) != SLICE_CONTROLLER:
        return
    ideal = len(next_sync(world, nodes, key, ()).creates)
    if ideal and len(used) > ideal:
        yield reason(
            "slices-could-be-fewer",
            endpoints=sum(len(slice_.endpoints) for slice_ in used),
            slices=len(used),
            ideal=ideal,
            writes=len(used),  # ideal ones are filled, all others deleted
        )


def _names(slices: Iterable[EndpointSlice]) -> tuple[str, ...]:
    return tuple(slice_.metadata.name for slice_ in slices)


def _same(stored: EndpointSlice, written: EndpointSlice) -> bool:
    """Whether a write changes nothing but the note which change caused it."""
    return _without_time(stored) == _without_time(written)


def _without_time(slice_: EndpointSlice) -> EndpointSlice:
    annotations = dict(slice_.metadata.annotations)
    annotations.pop(LAST_CHANGE_TRIGGER_TIME, None)
    metadata = msgspec.structs.replace(slice_.metadata, annotations=annotations)
    return msgspec.structs.replace(slice_, metadata=metadata)
