"""Which hints the slices of a service carry, and whether today's objects would give the same.

Law: what the hints ought to be is for ``slices`` to say (``asked``, ``allocation``,
``distribution``); here that is held against what is stored, one address family at a time.

Hints by CPU share are only looked at again when something happens to the service, so stored and
recomputed may differ for days: that is a finding, and these are its names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from nearwise.insight.since import hint_events
from nearwise.insight.world import World, last_told
from nearwise.model import EndpointSlice, Reason, Service, reason, wellknown
from nearwise.slices.allocation import Allocations, Assigned, Refusal, allocate, assign
from nearwise.slices.asked import Asked, Mode
from nearwise.slices.distribution import fits, hints_for
from nearwise.slices.reconcile import is_managed
from nearwise.slices.standing import Standing
from nearwise.slices.thresholds import nearness


class Carried(msgspec.Struct, frozen=True, rename="camel"):
    """The hints of one address family: what is stored, why, and what is wrong with it.

    ``zones`` counts the zone hints of ready endpoints. ``lent`` has, by address, the zone that an
    endpoint serves though it is in another. ``outline`` is what nobody should miss: why hints by
    CPU share are off, or who is lent.
    """

    family: str
    ready: int
    hinted: int
    zones: Mapping[str, int]
    lent: Mapping[str, str]
    outline: tuple[Reason, ...]
    reasons: tuple[Reason, ...]
    findings: tuple[Reason, ...]


def carried(world: World, service: Service, family: str, wish: Asked) -> Carried:
    """Say which hints the service's slices of a family carry, why, and what is wrong with them."""
    slices = [s for s in world.slices_of(service.metadata.key) if s.address_type == family]
    ready = [e for s in slices for e in s.endpoints if e.ready]
    managed = [slice_ for slice_ in slices if is_managed(slice_, service)]
    hinted = [e for e in ready if e.hints and (e.hints.for_zones or e.hints.for_nodes)]
    zones = Counter(zone.name for e in hinted if e.hints for zone in e.hints.for_zones)
    nodes = {node.name for e in hinted if e.hints for node in e.hints.for_nodes}
    outline: tuple[Reason, ...] = ()
    reasons: list[Reason] = []
    findings: tuple[Reason, ...] = ()
    lent: dict[str, str] = {}
    if ready and (hinted or wish.mode is not Mode.NONE):
        reasons.append(_carries(len(ready), len(hinted), zones, len(nodes)))
    if wish.mode is Mode.SHARES:
        now = _Today(world, managed)
        lent = _lent(managed)
        outline = (*now.refusal, *_tell_lent(managed, lent, now.ratios))
        reasons += [*now.standing(hinted=bool(hinted)), *_last_event(world, service, family)]
        findings = tuple(now.differences(hinted=bool(hinted)))
    else:
        findings = tuple(_by_distribution(world, managed, wish))
    return Carried(
        family,
        len(ready),
        len(hinted),
        dict(sorted(zones.items())),
        lent,
        outline,
        tuple(reasons),
        findings,
    )


def _carries(ready: int, hinted: int, zones: Mapping[str, int], nodes: int) -> Reason:
    if not hinted:
        return reason("hints-carried-none", ready=ready)
    by_zone = dict(sorted(zones.items()))
    if nodes:
        return reason("hints-carried-nodes", ready=ready, hinted=hinted, zones=by_zone, nodes=nodes)
    return reason("hints-carried-zones", ready=ready, hinted=hinted, zones=by_zone)


class _Today:
    """The hints by CPU share that today's nodes would give to the slices as they are."""

    def __init__(self, world: World, slices: Sequence[EndpointSlice]) -> None:
        endpoints = [slice_.endpoints for slice_ in slices]
        self.ready = sum(bool(e.conditions.ready) for group in endpoints for e in group)
        self.stored = Standing()
        for slice_ in slices:
            self.stored.put(slice_.metadata.name, slice_.endpoints)
        self._shares = world.shares
        self.ratios = self._shares.ratios
        outcome = allocate(self._shares, self.ready)
        refused: Allocations | Assigned | Refusal = outcome
        if isinstance(outcome, Allocations):
            refused = assign(outcome, endpoints, {})
        self._allocations = outcome if isinstance(outcome, Allocations) else None
        self.refusal = refused.reasons if isinstance(refused, Refusal) else ()

    def standing(self, *, hinted: bool) -> Iterator[Reason]:
        """Yield what today's CPU shares say of hints that are as they should be."""
        if hinted and self._allocations and not self.refusal and not self._rewritten():
            yield reason(
                "hints-by-share",
                endpoints=self.ready,
                allocated=self.stored.zones,
                ratios=self.ratios,
            )
        near = nearness(self._shares, self.ready) if self.ready else None
        yield from near.reasons if near else ()

    def differences(self, *, hinted: bool) -> Iterator[Reason]:
        """Yield what is stored, but would not be today, or the other way round."""
        if self.refusal or self._allocations is None:
            if hinted:
                yield reason("hints-stuck-on", zones=self.stored.zones)
        elif not hinted:
            yield reason("hints-stuck-off", endpoints=self.ready, ratios=self.ratios)
        elif self._rewritten():
            wanted = {zone: each.desired for zone, each in self._allocations.zones.items()}
            yield reason(
                "hints-outdated", stored=self.stored.zones, wanted=wanted, ratios=self.ratios
            )

    def _rewritten(self) -> bool:
        """Tell whether some slice would not keep its hints."""
        return self._allocations is not None and bool(self.stored.keep(self._allocations, ())[1])


def _lent(slices: Iterable[EndpointSlice]) -> dict[str, str]:
    """Return the zone that each endpoint, by its address, serves though it is in another."""
    found = (
        (endpoint.addresses[0], endpoint.hints.for_zones[0].name)
        for slice_ in slices
        for endpoint in slice_.endpoints
        if endpoint.addresses
        and endpoint.zone
        and endpoint.hints
        and endpoint.hints.for_zones
        and endpoint.zone not in {zone.name for zone in endpoint.hints.for_zones}
    )
    return dict(sorted(found))


def _tell_lent(
    slices: Iterable[EndpointSlice], lent: Mapping[str, str], ratios: Mapping[str, float]
) -> Iterator[Reason]:
    ways: dict[tuple[str, str], list[str]] = {}
    for slice_ in slices:
        for endpoint in slice_.endpoints:
            to = lent.get(next(iter(endpoint.addresses), ""))
            if to and endpoint.zone:
                ways.setdefault((endpoint.zone, to), []).append(endpoint.called)
    for (zone, to), names in sorted(ways.items()):
        both = {name: ratios[name] for name in sorted((zone, to)) if name in ratios}
        yield reason("hints-lent", zone=zone, to=to, ratios=both, endpoints=sorted(names))


def _by_distribution(
    world: World, managed: Iterable[EndpointSlice], wish: Asked
) -> Iterator[Reason]:
    """Find the endpoints whose hints are not those that trafficDistribution gives them."""
    placeless: list[tuple[str, str]] = []
    missing: list[str] = []
    wrong: list[str] = []
    for slice_ in managed:
        for endpoint in slice_.endpoints:
            if not fits(endpoint, wish.distribution):
                (wrong if endpoint.hints else missing).append(endpoint.called)
            elif (
                wish.distribution
                and endpoint.conditions.ready
                and not (hints_for(endpoint, wish.distribution) and endpoint.zone)
            ):
                placeless.append((endpoint.called, endpoint.node_name or ""))
    for name, node in sorted(placeless):
        unlabelled = node in world.nodes and not world.zones[node]
        code = "endpoint-without-hint-node" if unlabelled else "endpoint-without-hint-zone"
        yield reason(code, endpoint=name, node=node or "none", label=wellknown.ZONE)
    if missing:
        yield reason("hints-missing", endpoints=sorted(missing), value=wish.value)
    if wrong:
        code = "hints-wrong" if wish.distribution else "hints-left-over"
        yield reason(code, endpoints=sorted(wrong), value=wish.value)


def _last_event(world: World, service: Service, family: str) -> Iterator[Reason]:
    """Yield what the controller last told about hints of this family, if the snapshot has it."""
    for event in hint_events(world, service, family)[-1:]:
        yield reason(
            "hints-last-event",
            time=last_told(event),
            event=event.reason,
            message=event.message,
            count=max(event.count, 1),
        )
