"""Whole small clusters for tests: what the control plane would have written is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from cluster import node, pod
from nearwise.insight.explain import explain
from nearwise.insight.explanation import Explanation, Part, Row
from nearwise.insight.world import World
from nearwise.model import Endpoints, EndpointSlice, Event, Node, Pod, Service
from nearwise.model.codec import to_dict
from nearwise.model.objects import Objects
from nearwise.slices.nodes import Nodes
from nearwise.slices.reconcile import reconcile

KEY = ("shop", "web")


def settled(
    service: Service,
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    *,
    others: Sequence[Pod] = (),
    events: Sequence[Event] = (),
) -> World:
    """Make a world in which the slices of the service are as the controller writes them."""
    return stored(
        service,
        nodes,
        pods=(*pods, *others),
        slices=reconcile(service, pods, Nodes(nodes), ()).creates,
        events=events,
    )


def stored(
    service: Service | None,
    nodes: Iterable[Node] = (),
    *,
    pods: Iterable[Pod] = (),
    slices: Iterable[EndpointSlice] = (),
    endpoints: Iterable[Endpoints] = (),
    events: Iterable[Event] = (),
) -> World:
    """Make a world of just these objects."""
    return World(
        Objects(
            services=(service,) if service is not None else (),
            pods=tuple(pods),
            nodes=tuple(nodes),
            endpoints=tuple(endpoints),
            slices=tuple(slices),
            events=tuple(events),
        )
    )


_KINDS = {
    "services": ("v1", "Service"),
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "endpoints": ("v1", "Endpoints"),
    "slices": ("discovery.k8s.io/v1", "EndpointSlice"),
    "events": ("v1", "Event"),
}


def dump_of(*worlds: World) -> bytes:
    """Write worlds as one dump in JSON."""
    items = [
        to_dict(obj) | {"apiVersion": version, "kind": kind}
        for world in worlds
        for field, (version, kind) in _KINDS.items()
        for obj in getattr(world.objects, field)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def client(name: str, on: str) -> Pod:
    """Make a running pod that is not the service's."""
    made = pod(name, on, ips=(f"10.9.0.{name.rpartition('-')[2]}",))
    return replace(made, metadata=replace(made.metadata, labels={"app": "client"}))


def web(*places: str) -> list[Pod]:
    """Make the pods web-0, web-1, ... on these nodes."""
    return [pod(f"web-{number}", on) for number, on in enumerate(places)]


def nodes_in(**zones: int) -> list[Node]:
    """Make nodes: ``nodes_in(a=2)`` is a-0 and a-1 in zone a."""
    return [
        node(f"{zone}-{number}", zone) for zone, count in zones.items() for number in range(count)
    ]


def explained(world: World, **how: object) -> Explanation:
    """Explain ``shop/web``."""
    return explain(world, KEY, **how)  # type: ignore[arg-type]


def only_part(found: Explanation) -> Part:
    """Return the part of an explanation that must have one."""
    assert len(found.parts) == 1
    return found.parts[0]


def rows(part: Part) -> dict[str, Row]:
    """Return the endpoints of a part by name."""
    return {row.name: row for row in part.endpoints}


def gets(part: Part) -> dict[str, float]:
    """Return the share of every endpoint in percent, with one digit."""
    return {row.name: round(row.share * 100, 1) for row in part.endpoints}


def goes(part: Part) -> dict[str, tuple[str, ...]]:
    """Return, for each node, the endpoints that its connections go to."""
    return {
        node: group.endpoints
        for group in part.groups
        for nodes in group.nodes.values()
        for node in nodes
    }


def why(part: Part, node: str) -> list[str]:
    """Return the sentences that say why a node's connections go where they go."""
    return [
        reason.text
        for group in part.groups
        if any(node in nodes for nodes in group.nodes.values())
        for reason in group.reasons
    ]


def findings(found: Explanation) -> dict[str, str]:
    """Return all findings, as sentences by code."""
    told = [*(each for part in found.parts for each in part.findings), *found.findings]
    return {reason.code: reason.text for reason in told}


def headlines(found: Explanation) -> list[str]:
    """Return the first sentences of all parts."""
    return [reason.text for part in found.parts for reason in part.headline]
