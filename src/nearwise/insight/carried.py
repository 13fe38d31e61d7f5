"""Which hints the slices of a service carry, and whether today's objects would give the same.

Law: what the hints ought to be is asked of ``slices`` (``asked``, ``allocation``, ``distribution``);
here the answer is held against what is stored, one address family at a time.

Hints by CPU share are only looked at again when something happens to the service, so stored and
recomputed may differ for days: that is a finding, and these are its names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from nearwise.insight.world import World, last_told
from nearwise.model import Endpoint, EndpointSlice, Reason, Service, reason, wellknown
from nearwise.slices.allocation import Allocations, Refusal, allocate, assign, zone_shares
from nearwise.slices.asked import Asked, Mode
from nearwise.slices.distribution import fits, hints_for
from nearwise.slices.hinting import Standing
from nearwise.slices.thresholds import nearness

_EVENTS: Final = "TopologyAwareHints"  # Enabled or Disabled, as Kubernetes 1.36 names them


class Carried(msgspec.Struct, frozen=True, rename="camel"):
    """The hints of one address family: what is stored, why, and what is wrong with it.

    ``zones`` counts the zone hints of ready endpoints. ``lent`` has the reason for each endpoint,
    by its address, that serves another zone than its own.
    """

    family: str
    ready: int
    hinted: int
    zones: Mapping[str, int]
    reasons: tuple[Reason, ...]
    findings: tuple[Reason, ...]
    lent: Mapping[str, Reason]


def carried(world: World, service: Service, family: str, wish: Asked) -> Carried:
    """Say which hints the service's slices of a family carry, why, and what is wrong with them."""
    slices = [s for s in world.slices_of(service.metadata.key) if s.address_type == family]
    ready = [e for s in slices for e in s.endpoints if e.conditions.ready is not False]
    managed = [
        s for s in slices if s.metadata.labels.get(wellknown.MANAGED_BY) == wellknown.SLICE_CONTROLLER
    ]
    hinted = [e for e in ready if e.hints and (e.hints.for_zones or e.hints.for_nodes)]
    zones = Counter(zone.name for e in hinted if e.hints for zone in e.hints.for_zones)
    nodes = {node.name for e in hinted if e.hints for node in e.hints.for_nodes}
    reasons: list[Reason] = []
    findings: list[Reason] = []
    if ready and (hinted or wish.mode is not Mode.NONE):
        reasons.append(_carries(len(ready), len(hinted), zones, len(nodes)))

    lent: dict[str, Reason] = {}
    if wish.mode is Mode.SHARES and managed:
        _by_share(world, managed, hinted, reasons, findings)
        lent = _lent(world, managed)
    else:
        findings += _by_distribution(world, managed, wish)
    if wish.mode is Mode.SHARES:
        reasons += _last_event(world, service, family)
    return Carried(
        family,
        len(ready),
        len(hinted),
        dict(sorted(zones.items())),
        tuple(reasons),
        tuple(findings),
        lent,
    )


def _carries(ready: int, hinted: int, zones: Mapping[str, int], nodes: int) -> Reason:
    if not hinted:
        return reason("hints-carried-none", ready=ready)
    by_zone = dict(sorted(zones.items()))
    if nodes:
        return reason(
            "hints-carried-nodes", ready=ready, hinted=hinted, zones=by_zone, nodes=nodes
        )
    return reason("hints-carried-zones", ready=ready, hinted=hinted, zones=by_zone)


def _by_share(
    world: World,
    managed: Iterable[EndpointSlice],
    hinted: Iterable[Endpoint],
    reasons: list[Reason],
    findings: list[Reason],
) -> None:
    """Compare stored hints with those that today's nodes would give."""
    stored = Standing()
    endpoints: list[tuple[Endpoint, ...]] = []
    for slice_ in managed:
        stored.put(slice_.metadata.name, slice_.endpoints)
        endpoints.append(slice_.endpoints)
    ready = sum(bool(e.conditions.ready) for group in endpoints for e in group)
    shares = zone_shares(world.nodes.values())
    now: Allocations | Refusal = allocate(shares, ready)
    if isinstance(now, Allocations):
        outcome = assign(now, endpoints, {})
        if isinstance(outcome, Refusal):
            now = outcome

    if isinstance(now, Refusal):
        reasons += now.reasons
        if hinted:
            findings.append(reason("hints-stuck-on", zones=stored.zones))
    else:
        wanted = {zone: allocation.desired for zone, allocation in now.zones.items()}
        if not hinted:
            findings.append(reason("hints-stuck-off", endpoints=ready, ratios=now.ratios))
        elif stored.keep(now, ())[1]:
            findings.append(
                reason("hints-outdated", stored=stored.zones, wanted=wanted, ratios=now.ratios)
            )
        else:
            reasons.append(
                reason(
                    "hints-by-share", endpoints=ready, allocated=stored.zones, ratios=now.ratios
                )
            )
    near = nearness(shares, ready)
    if near is not None:
        reasons += near.reasons


def _lent(world: World, managed: Iterable[EndpointSlice]) -> dict[str, Reason]:
    ratios = zone_shares(world.nodes.values()).ratios
    return {
        endpoint.addresses[0]: reason(
            "hint-lent",
            endpoint=name_of(endpoint),
            zone=endpoint.zone,
            to=endpoint.hints.for_zones[0].name,
            ratios=ratios,
        )
        for slice_ in managed
        for endpoint in slice_.endpoints
        if endpoint.addresses
        and endpoint.zone
        and endpoint.hints
        and endpoint.hints.for_zones
        and endpoint.zone not in {zone.name for zone in endpoint.hints.for_zones}
    }


def _by_distribution(
    world: World, managed: Iterable[EndpointSlice], wish: Asked
) -> Iterable[Reason]:
    """Find the endpoints whose hints are not those that trafficDistribution gives them."""
    placeless: list[tuple[str, str]] = []
    missing: list[str] = []
    wrong: list[str] = []
    for slice_ in managed:
        for endpoint in slice_.endpoints:
            if not fits(endpoint, wish.distribution):
                (wrong if endpoint.hints else missing).append(name_of(endpoint))
            elif (
                wish.distribution
                and endpoint.conditions.ready
                and not (hints_for(endpoint, wish.distribution) and endpoint.zone)
            ):
                placeless.append((name_of(endpoint), endpoint.node_name or ""))
    for name, node in sorted(placeless):
        unlabelled = node in world.nodes and not world.zones[node]
        code = "endpoint-without-hint-node" if unlabelled else "endpoint-without-hint-zone"
        yield reason(code, endpoint=name, node=node or "none", label=wellknown.ZONE)
    if missing:
        yield reason("hints-missing", endpoints=sorted(missing), value=wish.value)
    if wrong:
        code = "hints-wrong" if wish.distribution else "hints-left-over"
        yield reason(code, endpoints=sorted(wrong), value=wish.value)


def _last_event(world: World, service: Service, family: str) -> Iterable[Reason]:
    """Return what the controller last told about hints of this family, if the snapshot has it."""
    for event in reversed(world.events_of("Service", service.metadata.key)):
        told_for = event.message.rpartition("addressType: ")[2]
        if event.reason.startswith(_EVENTS) and told_for == family:
            yield reason(
                "hints-last-event",
                time=last_told(event),
                event=event.reason,
                message=event.message,
                count=max(event.count, 1),
            )
            return


def name_of(endpoint: Endpoint) -> str:
    """Return what a user calls the endpoint: its pod, or its address."""
    if endpoint.target_ref is not None and endpoint.target_ref.name:
        return endpoint.target_ref.name
    return next(iter(endpoint.addresses), "")
