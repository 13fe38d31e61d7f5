"""Who the clients are: the places that traffic can come from, and how much comes from each.

Law: how much traffic a place sends is not written anywhere in a cluster. So it is an assumption,
chosen by the user, said in a sentence wherever a share is shown, and made here only. Where the
traffic then goes does not live here.

The caller of a service is seldom the service itself. So unless told otherwise the clients are the
nodes that run something else than the service's own pods; the pods of kube-system, which are on
every node and call hardly anybody, do not make a node a client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from nearwise.insight.world import Key, World
from nearwise.model import Node, Pod, Reason, Service, reason
from nearwise.model.core import Condition, NodeStatus
from nearwise.model.errors import InputError
from nearwise.model.selectors import matches, parse
from nearwise.model.suggestion import did_you_mean
from nearwise.routing import Client

EVERYWHERE: Final = ""
NODES: Final = "nodes"
CPU: Final = "cpu"
PODS: Final = "pods"

_SYSTEM: Final = "kube-system"
_UNKNOWN: Final = Node(status=NodeStatus(conditions=(Condition("Ready", "True"),)))
"""What a node of which nothing is known is taken for: a ready worker, with no CPU to weigh."""


class Assumption(msgspec.Struct, frozen=True):
    """How much of the traffic each node sends, and the sentence that says so.

    ``weights`` has the nodes that send some, and adds up to 1. ``pods`` has, by node, the running
    pods that may be clients, whether their node sends something or not.
    """

    reason: Reason
    weights: Mapping[str, float]
    pods: Mapping[str, tuple[str, ...]]


def places(world: World, service: Key, origin: str = EVERYWHERE) -> tuple[Client, ...]:
    """Return the places that ``origin`` names, by node: everywhere, a node, a zone, or a pod.

    A zone may be written ``zone=NAME``; a pod NAME or NAMESPACE/NAME, the service's namespace
    being looked at first. Raises InputError when there is no such thing, or more than one.
    """
    everywhere = tuple(Client(node, zone) for node, zone in world.zones.items())
    if origin == EVERYWHERE:
        return everywhere or (Client("", ""),)
    zone = origin.removeprefix("zone=")
    if zone == origin and origin in world.zones:
        return (Client(origin, world.zones[origin]),)
    if there := tuple(place for place in everywhere if place.zone == zone):
        return there
    pods = [] if zone != origin else _pods_named(world, service, origin)
    if len(pods) > 1:
        names = ", ".join("/".join(pod.metadata.key) for pod in pods[:5])
        raise InputError(f"{origin} is the name of {len(pods)} pods", hint=f"say which: {names}")
    if not pods:
        raise _unknown(world, origin)
    node = pods[0].spec.node_name
    if not node:
        raise InputError(f"pod {origin} is not on a node yet", hint="name a node or a zone")
    return (Client(node, world.zones.get(node, "")),)


def assume(world: World, service: Service, among: Sequence[Client], how: str = NODES) -> Assumption:
    """Say how much each of these places sends: ``nodes``, ``cpu``, ``pods`` or a label selector.

    ``nodes``: the same from each ready node that runs other pods than the service's own.
    ``cpu``: by the allocatable CPU of the ready worker nodes, as hints by CPU share assume.
    ``pods``: by the number of running pods other than the service's own.
    A selector: the same from each running pod that it picks, in any namespace.

    Raises InputError for a selector that is none or picks nobody.
    """
    nodes = [place.node for place in among]
    pods = {node: _callers(world, service, node) for node in nodes}
    ready = [node for node in nodes if _node(world, node).ready]
    workers = [node for node in ready if not _node(world, node).control_plane]
    busy = [node for node in ready if pods[node]]

    if how not in {NODES, CPU, PODS}:
        return _by_selector(world, nodes, how)
    weights: dict[str, float]
    if how == CPU and (weights := _some((node, _node(world, node).cpu) for node in workers)):
        said = reason("clients-by-cpu", nodes=len(weights))
    elif how == PODS and busy:
        weights = _some((node, len(pods[node])) for node in busy)
        said = reason("clients-by-pods", nodes=len(weights), pods=sum(len(pods[n]) for n in busy))
    elif len(among) == 1:
        weights, said = {nodes[0]: 1.0}, reason("clients-one-place", place=_tell(among[0]))
    elif busy:
        weights, said = _equal(busy), reason("clients-busy-nodes", nodes=len(busy))
    elif workers:
        weights, said = _equal(workers), reason("clients-worker-nodes", nodes=len(workers))
    else:
        weights, said = _equal(nodes), reason("clients-all-nodes", nodes=len(nodes))
    return Assumption(said, weights, pods)


def through_nodes(world: World, among: Sequence[Client], healthy: Collection[str]) -> Assumption:
    """Say how traffic from outside comes in: the same through each node that takes it.

    ``healthy`` are the nodes whose health check passes; when there is none, a load balancer
    mostly goes on with all that are ready.
    """
    ready = [place.node for place in among if _node(world, place.node).ready]
    nodes = [node for node in ready if node in healthy] or ready or [at.node for at in among]
    return Assumption(reason("clients-outside", nodes=len(nodes)), _equal(nodes), {})


def _by_selector(world: World, nodes: Sequence[str], text: str) -> Assumption:
    try:
        selector = parse(text)
    except ValueError as error:
        hint = "--clients takes nodes, cpu, pods or a label selector such as app=web"
        raise InputError(str(error), hint=hint) from error
    chosen = {
        node: tuple(
            "/".join(pod.metadata.key)
            for pod in world.pods_on(node)
            if _runs(pod) and selector.matches(pod.metadata.labels)
        )
        for node in nodes
    }
    weights = _some((node, len(pods)) for node, pods in chosen.items())
    if not weights:
        raise InputError(
            f"no running pod there has the labels {text}",
            hint="clients are looked for in all namespaces of the snapshot",
        )
    said = reason(
        "clients-by-selector",
        selector=text,
        pods=sum(map(len, chosen.values())),
        nodes=len(weights),
    )
    return Assumption(said, weights, chosen)


def _callers(world: World, service: Service, node: str) -> tuple[str, ...]:
    """Return the running pods on a node that may call the service."""
    namespace, selector = service.metadata.namespace, service.spec.selector
    return tuple(
        "/".join(pod.metadata.key)
        for pod in world.pods_on(node)
        if _runs(pod)
        and (pod.metadata.namespace != _SYSTEM or namespace == _SYSTEM)
        and not (pod.metadata.namespace == namespace and matches(selector, pod.metadata.labels))
    )


def _pods_named(world: World, service: Key, name: str) -> list[Pod]:
    """Return the pods that a user may mean; one in the service's namespace settles it."""
    if "/" in name:
        namespace, _, name = name.partition("/")
        found = world.pods.get((namespace, name))
        return [found] if found else []
    near_by = world.pods.get((service[0], name))
    if near_by:
        return [near_by]
    return [pod for key, pod in sorted(world.pods.items()) if key[1] == name]


def _unknown(world: World, origin: str) -> InputError:
    zones = {zone for zone in world.zones.values() if zone}
    if origin.startswith("zone="):
        hint = f"the zones are {', '.join(sorted(zones))}" if zones else "no node has a zone"
        return InputError(f"no node is in zone {origin.removeprefix('zone=')}", hint=hint)
    names = [*world.zones, *zones, *("/".join(key) for key in world.pods)]
    names += [key[1] for key in world.pods]
    hint = did_you_mean(origin, names) or "--from takes a node, a zone, or a pod"
    return InputError(f"no node, zone or pod is called {origin}", hint=hint)


def _some(amounts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return amounts as parts of their sum, those that are nothing left out."""
    found = {node: amount for node, amount in amounts if amount > 0}
    total = sum(found.values())
    return {node: amount / total for node, amount in found.items()}


def _equal(nodes: Sequence[str]) -> dict[str, float]:
    return _some((node, 1.0) for node in nodes)


def _runs(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def _node(world: World, name: str) -> Node:
    return world.nodes.get(name, _UNKNOWN)


def _tell(place: Client) -> str:
    return f"node {place.node}" if place.node else "a client of which no node is known"
