"""One part of an explanation: where traffic to some ports goes, and what every endpoint gets.

Law: ``answers`` says who gets which endpoints, ``shares`` adds up what that makes of the traffic;
here the two become rows and groups with the names that users know. Ports whose parts are the same
become one part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Final

import msgspec

from nearwise.insight import spread
from nearwise.insight.answers import Answer, answers
from nearwise.insight.carried import Carried
from nearwise.insight.clients import Assumption, through_nodes
from nearwise.insight.explanation import Group, Part, PortLine, Row, Traffic
from nearwise.insight.shares import Shares, Stream, mean, shares, skew, sources
from nearwise.insight.states import State, state_of
from nearwise.insight.world import World
from nearwise.model import Reason, Service, reason
from nearwise.model.core import ServicePort
from nearwise.routing import Client, Fate, Pool, Profile, ServiceView, is_routed, select

_DNS: Final = "dns"  # in place of a routing mode, where no proxy chooses
_LOCAL: Final = "Local"


class Question(msgspec.Struct, frozen=True):
    """What is asked about a service: where its clients are, and how much comes from each place.

    ``origin`` is what the user called the places, empty for everywhere.
    """

    world: World
    origin: str
    places: tuple[Client, ...]
    assumed: Assumption


class Way(msgspec.Struct, frozen=True):
    """How traffic comes, and who chooses: ``plane`` gives the data plane of a node.

    ``profile`` is empty when that is each node's own kube-proxy.
    """

    traffic: Traffic
    profile: str
    plane: Callable[[str], Profile]


def parts(
    question: Question, view: ServiceView, carries: Carried | None, way: Way
) -> tuple[Part, ...]:
    """Return the parts of one way, in the order of the service's ports.

    Choosing looks at endpoints, not at port numbers, so ports that have the very same endpoints
    have the same answers.
    """
    alike: dict[tuple[int, ...], list[tuple[ServicePort, Pool]]] = {}
    for port in view.service.spec.ports:
        pool = view.backends[port.name, port.protocol or "TCP"]
        alike.setdefault(tuple(id(b.source) for b in pool), []).append((port, pool))
    return tuple(_part(question, view, carries, way, ports) for ports in alike.values())


def kinds(service: Service) -> tuple[Traffic, ...]:
    """Return the kinds of traffic of a service whose answers may differ."""
    if not is_routed(service):
        return (Traffic.DNS,)
    alike = _is_local(service, Traffic.INSIDE) is _is_local(service, Traffic.OUTSIDE)
    occurring = select(service, (), Client(""))
    if not alike and occurring.cluster_used and occurring.local_used:
        return (Traffic.INSIDE, Traffic.OUTSIDE)
    exposed = service.spec.type in {"NodePort", "LoadBalancer"} or service.spec.external_ips
    return (Traffic.ANYWHERE,) if alike and exposed else (Traffic.INSIDE,)


def _is_local(service: Service, traffic: Traffic) -> bool:
    outside = traffic is Traffic.OUTSIDE
    spec = service.spec
    return (spec.external_traffic_policy if outside else spec.internal_traffic_policy) == _LOCAL


def _part(
    question: Question,
    view: ServiceView,
    carries: Carried | None,
    way: Way,
    ports: Sequence[tuple[ServicePort, Pool]],
) -> Part:
    world, pool = question.world, ports[0][1]
    local = _is_local(view.service, way.traffic)
    if way.traffic is Traffic.DNS:
        found: tuple[Answer, ...] = (_dns(view.service, pool, question.places),)
    else:
        # Reasons name one of the places that they hold for: let it be one that sends something.
        places = sorted(question.places, key=lambda at: at.node not in question.assumed.weights)
        found = answers(view.service, pool, places, way.plane, local=local)
    assumed = question.assumed
    if way.traffic is Traffic.OUTSIDE:
        taking = (answer for answer in found if answer.healthy or not local)
        nodes = {place.node for answer in taking for place in answer.places}
        assumed = through_nodes(world, question.places, nodes)

    zones = [b.zone or world.zones.get(b.node_name or "", "") for b in pool]
    streams = [_stream(answer, assumed.weights) for answer in found]
    total = shares(streams, zones)
    traffic = _Traffic(zones, total, sources(streams, len(zones)))
    rows = _rows(pool, traffic, found, carries)
    groups = tuple(
        _group(answer, rows, stream, assumed) for answer, stream in zip(found, streams, strict=True)
    )
    ready = [row.share for row in rows if row.state == State.READY]
    who = _who(question, rows, groups)
    if way.traffic is Traffic.DNS:
        who = (reason("dns-answers", count=sum(bool(row.share) for row in rows)),)
    return Part(
        family=view.family,
        traffic=way.traffic,
        profile=way.profile,
        ports=tuple(_port_line(port, own) for port, own in ports),
        headline=(
            *who,
            *_lost(pool, groups, total.unanswered),
            *(carries.outline if carries else ()),
        ),
        clients=assumed.reason,
        groups=groups,
        endpoints=rows,
        crossing=total.crossing,
        unknown=total.unknown,
        unanswered=total.unanswered,
        mean=mean(ready),
        skew=skew(ready),
        zones=total.pairs,
        notes=(*spread.crossing(total, _without_hints(rows, streams, zones)), *spread.idle(rows)),
        findings=() if question.origin else tuple(spread.findings(rows, groups)),
    )


def _dns(service: Service, pool: Pool, places: tuple[Client, ...]) -> Answer:
    """Answer for a service that no proxy knows: DNS tells everybody all ready addresses."""
    everybody = tuple(i for i, backend in enumerate(pool) if backend.ready)
    why = select(service, pool, places[0]).reasons
    return Answer(places, everybody, _DNS, str(Fate.FORWARD), "", healthy=False, reasons=why)


def _stream(answer: Answer, weights: Mapping[str, float]) -> Stream:
    """Return the traffic that has this answer, by the zone that it comes from."""
    parts: dict[str, list[float]] = {}
    for place in answer.places:
        if weight := weights.get(place.node):
            parts.setdefault(place.zone or "", []).append(weight)
    return Stream({zone: fsum(part) for zone, part in sorted(parts.items())}, answer.backends)


class _Traffic(msgspec.Struct, frozen=True):
    """What the endpoints of a pool get: their zones, shares, and where the traffic comes from."""

    zones: Sequence[str]
    total: Shares
    sources: Sequence[Mapping[str, float]]


def _rows(
    pool: Pool, traffic: _Traffic, found: Iterable[Answer], carries: Carried | None
) -> tuple[Row, ...]:
    nodes = [0] * len(traffic.zones)
    for answer in found:
        for position in answer.backends:
            nodes[position] += len(answer.places)
    lent = carries.lent if carries else {}
    names = Counter(backend.source.called for backend in pool)
    return tuple(
        Row(
            name=name if names[name] == 1 else f"{name} ({backend.endpoint})",
            address=backend.address,
            node=backend.node_name or "",
            zone=traffic.zones[position],
            state=state_of(backend.source),
            slice=backend.slice_name,
            hint_zones=backend.zones,
            hint_nodes=backend.nodes,
            lent_to=lent.get(backend.address, ""),
            share=traffic.total.endpoints[position],
            reached_from=traffic.sources[position],
            nodes=nodes[position],
        )
        for position, backend in enumerate(pool)
        for name in (backend.source.called,)
    )


def _group(answer: Answer, rows: Sequence[Row], stream: Stream, assumed: Assumption) -> Group:
    nodes: dict[str, list[str]] = {}
    for place in answer.places:
        nodes.setdefault(place.zone or "", []).append(place.node)
    here = Counter(rows[position].zone for position in answer.backends)
    stays = fsum(
        part * here[zone] / len(answer.backends)
        for zone, part in stream.zones.items()
        if zone and answer.backends
    )
    traffic = stream.weight
    return Group(
        nodes={zone: tuple(names) for zone, names in sorted(nodes.items())},
        pods=tuple(pod for at in answer.places for pod in assumed.pods.get(at.node, ())),
        traffic=traffic,
        mode=answer.mode,
        fate=answer.fate,
        profile=answer.profile,
        endpoints=tuple(rows[position].name for position in answer.backends),
        in_zone=stays / traffic if traffic else 0.0,
        reasons=answer.reasons,
    )


def _who(question: Question, rows: Sequence[Row], groups: Sequence[Group]) -> tuple[Reason, ...]:
    """Say who gets the traffic: of everybody, or of the place that was asked about."""
    if not question.origin:
        return tuple(spread.headline(rows))
    return tuple(
        reason(
            "traffic-from",
            place=question.origin if len(groups) == 1 else _nodes(group),
            endpoints=group.endpoints,
        )
        for group in groups
        if group.endpoints
    )


def _lost(pool: Pool, groups: Iterable[Group], unanswered: float) -> Iterator[Reason]:
    """Yield what becomes of traffic without an endpoint: dropped while there is one elsewhere."""
    if not unanswered:
        return
    if any(backend.ready or backend.draining for backend in pool):
        nodes = [node for group in groups if not group.endpoints for node in _nodes(group)]
        yield reason("traffic-dropped", percent=spread.percent(unanswered), nodes=sorted(nodes))
    else:
        yield reason("traffic-refused")


def _nodes(group: Group) -> tuple[str, ...]:
    return tuple(node for nodes in group.nodes.values() for node in nodes)


def _without_hints(rows: Sequence[Row], streams: Iterable[Stream], zones: Sequence[str]) -> Shares:
    """Return the shares as if every client used all ready endpoints."""
    everybody = tuple(position for position, row in enumerate(rows) if row.state == State.READY)
    weights: dict[str, list[float]] = {}
    for stream in streams:
        for zone, part in stream.zones.items():
            weights.setdefault(zone, []).append(part)
    return shares([Stream({zone: fsum(part) for zone, part in weights.items()}, everybody)], zones)


def _port_line(port: ServicePort, pool: Pool) -> PortLine:
    targets = tuple(sorted({backend.port for backend in pool}))
    return PortLine(port.name, port.port, port.protocol or "TCP", targets)
