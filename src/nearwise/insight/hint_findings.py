"""What a user should know about the hints of a service, beside what the slices carry.

Law: one function a subject, each of which asks ``slices`` what would be and holds that against
what is. The catalogue has the sentences. What is wrong with stored hints is ``carried``'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from nearwise.insight.carried import Carried
from nearwise.insight.since import beginning
from nearwise.insight.sync import next_sync
from nearwise.insight.world import World
from nearwise.model import Endpoint, EndpointSlice, Node, Pod, Reason, Service, reason
from nearwise.model.wellknown import (
    ASKING,
    NODE_STATE,
    NOT_ASKING,
    PREFER_CLOSE,
    PREFER_SAME_ZONE,
    SLICE_CONTROLLER,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)
from nearwise.slices.allocation import Refusal, ZoneShares, allocate, zone_shares
from nearwise.slices.asked import Asked, Mode
from nearwise.slices.distribution import is_known
from nearwise.slices.nodes import Nodes
from nearwise.slices.reconcile import reconcile, why_not_reconciled
from nearwise.slices.schedulable import schedulable
from nearwise.slices.thresholds import Nearness, granted, spans

_ANNOTATIONS: Final = (TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE)
_LOOK_AHEAD: Final = 32  # endpoints more or fewer, when a number is looked for
_CORE: Final = 1000  # milli-CPU


# --- The nodes, which all services share --------------------------------------------------


def of_cluster(shares: ZoneShares) -> Iterator[Reason]:
    """Say what CPU shares there are, which nodes do not count, and which stop everything."""
    if shares.cpu:
        yield reason("cpu-shares", cpu=_cores(shares.cpu.items()))
    for why in sorted({node.why for node in shares.excluded}):
        nodes = _cores((node.name, node.cpu) for node in shares.excluded if node.why == why)
        yield reason("cpu-nodes-excluded", why=why, nodes=nodes)
    refused = allocate(shares, len(shares.cpu))
    if isinstance(refused, Refusal) and not shares.ratios:
        yield from refused.reasons
        yield reason("hints-event-text", message=refused.text)


def of_places(world: World) -> Iterator[Reason]:
    """Say on which ready nodes no client is reached by zone hints, once for all services."""
    nodes = [name for name, node in world.nodes.items() if node.ready and not world.zones[name]]
    if nodes:
        yield reason("node-without-zone", nodes=nodes)


def _cores(amounts: Iterable[tuple[str, int]]) -> dict[str, float]:
    return {name: milli / _CORE for name, milli in amounts}


# --- A service ----------------------------------------------------------------------------


def of_service(service: Service, wish: Asked, families: Sequence[Carried]) -> Iterator[Reason]:
    """Return what is to be said about the wish itself, and about the families together."""
    for annotation in _ANNOTATIONS:
        value = service.metadata.annotations.get(annotation)
        if value is not None and value not in ASKING | NOT_ASKING:
            yield reason("hints-annotation-unknown", annotation=annotation, value=value)
    if service.spec.traffic_distribution == PREFER_CLOSE:
        yield reason("deprecated-value", value=PREFER_CLOSE, now=PREFER_SAME_ZONE)
    if wish.mode is not Mode.NONE and service.spec.internal_traffic_policy == "Local":
        yield reason("local-overrides-hints", value=wish.value)
    hinted = [each.family for each in families if each.hinted]
    unhinted = [each.family for each in families if each.ready and not each.hinted]
    if wish.mode is not Mode.NONE and hinted and unhinted:
        yield reason("hints-families-differ", hinted=hinted, unhinted=unhinted)


# --- One address family of a service ------------------------------------------------------


def of_family(
    world: World, nodes: Nodes, service: Service, wish: Asked, found: Carried
) -> Iterator[Reason]:
    """Return what is to be said about the hints of one family, beside what ``found`` says."""
    slices = [s for s in world.slices_of(service.metadata.key) if s.address_type == found.family]
    codes = {each.code for each in found.findings}
    if wish.mode is Mode.SHARES and why_not_reconciled(service) is None:
        yield from _refused(world, nodes, service, wish, found)
        yield from _stuck(world, service, found)
        yield from _not_counted(nodes.shares, slices)
        yield from _tolerated(world, nodes, service, found.family)
    if codes & {"endpoint-without-hint-node", "endpoint-without-hint-zone"}:
        yield reason("hints-no-event")
    if wish.mode is not Mode.NONE:
        yield from _others(slices)
    yield from _stale(world, slices)


def _refused(
    world: World, nodes: Nodes, service: Service, wish: Asked, found: Carried
) -> Iterator[Reason]:
    """Say how Kubernetes tells of refused hints, and what the annotation keeps away with them."""
    told = f"addressType: {found.family}"
    events = next_sync(world, nodes, service.metadata.key).events
    refusals = [e for e in events if e.type == "Warning" and e.message.endswith(told)]
    if nodes.shares.ratios:  # else it is told once for all services
        yield from (reason("hints-event-text", message=event.message) for event in refusals)
    field = service.spec.traffic_distribution
    if not refusals or not is_known(field):
        return
    others = {
        name: value
        for name, value in service.metadata.annotations.items()
        if name not in _ANNOTATIONS
    }
    metadata = msgspec.structs.replace(service.metadata, annotations=others)
    without = msgspec.structs.replace(service, metadata=metadata)
    ready = _ready(_planned(world, nodes, without, found.family))
    if hinted := sum(each.hints is not None for each in ready):
        yield reason(
            "hints-annotation-refuses",
            annotation=wish.by,
            field=field,
            hinted=hinted,
            ready=len(ready),
        )


def _stuck(world: World, service: Service, found: Carried) -> Iterator[Reason]:
    """Say since when hints are not those of today, and what makes Kubernetes look again."""
    codes = {each.code for each in found.findings}
    if not codes & {"hints-stuck-off", "hints-stuck-on", "hints-outdated"}:
        return
    if "hints-stuck-off" in codes:
        went = beginning(world, service, found.family, hinted=False)
        if went is not None:
            yield reason("hints-off-since", time=went.time, message=went.event.message)
        else:
            yield reason("hints-off-since-unknown")
    namespace, name = service.metadata.key
    yield reason("hints-touch", namespace=namespace, service=name)


def _not_counted(shares: ZoneShares, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Find ready endpoints in zones whose nodes the shares do not count."""
    if not shares.ratios:
        return
    there: dict[str, list[str]] = {}
    for endpoint in _ready(_endpoints(slices)):
        if endpoint.zone and endpoint.zone not in shares.cpu:
            there.setdefault(endpoint.zone, []).append(endpoint.called)
    for zone, names in sorted(there.items()):
        nodes = _cores((node.name, node.cpu) for node in shares.excluded if node.zone == zone)
        yield reason("hints-zone-not-counted", endpoints=sorted(names), zone=zone, nodes=nodes)


def _tolerated(world: World, nodes: Nodes, service: Service, family: str) -> Iterator[Reason]:
    """Say which hints there would be if only nodes counted on which the pods may run."""
    pods = world.pods_of(service)
    usable = _usable(world.nodes.values(), pods)
    if {pod.spec.node_name for pod in pods} - usable.keys() - {""}:
        return  # the pods run where they may not: taints tell nothing then
    if usable.keys() == world.nodes.keys():
        return
    if zone_shares(usable.values()).cpu == nodes.shares.cpu:
        return
    counted = _by_zone(_planned(world, nodes, service, family))
    tolerated = _by_zone(_planned(world, Nodes(usable.values()), service, family))
    if counted != tolerated:
        yield reason("hints-nodes-tolerated", counted=counted, tolerated=tolerated)


def _usable(nodes: Iterable[Node], pods: Iterable[Pod]) -> dict[str, Node]:
    """Return the nodes on which one of the pods may run, whatever the nodes' state is."""
    lasting = [
        msgspec.structs.replace(
            node,
            spec=msgspec.structs.replace(
                node.spec,
                taints=tuple(
                    taint for taint in node.spec.taints if not taint.key.startswith(NODE_STATE)
                ),
            ),
        )
        for node in nodes
    ]
    alike = {(p.spec.tolerations, tuple(sorted(p.spec.node_selector.items()))): p for p in pods}
    return {
        node.metadata.name: node for pod in alike.values() for node in schedulable(lasting, pod)
    }


def _others(slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Find ready endpoints without hints in slices that the EndpointSlice controller has not."""
    unhinted: Counter[str] = Counter()
    for slice_ in slices:
        if slice_.manager != SLICE_CONTROLLER:
            unhinted[slice_.manager] += sum(each.hints is None for each in _ready(slice_.endpoints))
    for manager, endpoints in sorted(unhinted.items()):
        if endpoints:
            yield reason(
                "hints-none-of-others", manager=manager or "nobody's slice", endpoints=endpoints
            )


def _stale(world: World, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Find hints of ready endpoints for places where no client can be."""
    if not world.nodes:
        return
    alive = {name for name, node in world.nodes.items() if node.ready}
    zones_alive = {world.zones[name] for name in alive}
    hints = [each.hints for each in _ready(_endpoints(slices)) if each.hints is not None]
    zones = Counter(zone.name for hint in hints for zone in hint.for_zones)
    for zone, endpoints in sorted(zones.items()):
        if zone not in zones_alive:
            yield reason("hint-stale-zone", zone=zone, endpoints=endpoints)
    nodes = Counter(node.name for hint in hints for node in hint.for_nodes)
    for node, endpoints in sorted(nodes.items()):
        if node not in alive:
            state = "is not ready" if node in world.nodes else "does not exist"
            yield reason("hint-stale-node", node=node, state=state, endpoints=endpoints)


# --- How near the thresholds are ----------------------------------------------------------


def of_thresholds(shares: ZoneShares, near: Nearness) -> Iterator[Reason]:
    """Say between which ratios hints are off, and at which numbers of endpoints they would go."""
    off = [span for span in spans(shares, near.endpoints) if not span.granted]
    if off:
        nearest = min(off, key=lambda s: max(s.low - near.ratio, near.ratio - s.high, 0.0))
        yield reason(
            "hints-threshold",
            endpoints=near.endpoints,
            low=nearest.low,
            high=nearest.high,
            ratio=near.ratio,
            zone=near.zone,
        )
    if near.granted:
        fewer = range(near.endpoints - 1, max(near.endpoints - _LOOK_AHEAD, 1), -1)
        more = range(near.endpoints + 1, near.endpoints + _LOOK_AHEAD)
        first = (next((n for n in way if not granted(shares, n)), None) for way in (fewer, more))
        if counts := [str(number) for number in first if number is not None]:
            yield reason("hints-lost-at", counts=counts)


# --- Endpoints ----------------------------------------------------------------------------


def _planned(world: World, nodes: Nodes, service: Service, family: str) -> list[Endpoint]:
    """Return the endpoints of a family as they would be if they were written anew."""
    plan = reconcile(service, world.pods_of(service), nodes, ())
    return list(_endpoints(s for s in plan.creates if s.address_type == family))


def _endpoints(slices: Iterable[EndpointSlice]) -> Iterator[Endpoint]:
    return (endpoint for slice_ in slices for endpoint in slice_.endpoints)


def _ready(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    return [each for each in endpoints if each.ready]


def _by_zone(endpoints: Iterable[Endpoint]) -> dict[str, int]:
    hints = (each.hints for each in endpoints if each.hints is not None)
    return dict(sorted(Counter(zone.name for hint in hints for zone in hint.for_zones).items()))
