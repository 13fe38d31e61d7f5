"""How a lab is: its nodes, services and pods, as ``nearwise lab status`` tells.

Law: pure. Where services go is said by the code that the proxies run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from nearwise.lab.addresses import Plan
from nearwise.lab.delays import Delay
from nearwise.lab.marks import POWER
from nearwise.lab.state import Place
from nearwise.model import EndpointSlice, Node, Pod, Service
from nearwise.model.objects import Objects
from nearwise.model.wellknown import SERVICE_NAME, TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE
from nearwise.proxy.dry_run import dry_run
from nearwise.proxy.node import Options

_OVER: Final = ("Succeeded", "Failed")


class NodeStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A node."""

    name: str
    zone: str
    state: str
    """``ready``, ``not ready``, or ``off`` as long as nobody has noticed that."""
    addresses: tuple[str, ...]
    pods: int
    ready_pods: int
    proxy: str
    """``in step``, ``behind``, ``none``; empty on a node without power."""


class Way(msgspec.Struct, frozen=True):
    """How some nodes choose among the endpoints of a service."""

    mode: str
    nodes: tuple[str, ...]
    endpoints: tuple[str, ...]


class ServiceStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A service."""

    name: str
    """``NAMESPACE/NAME``"""
    addresses: tuple[str, ...]
    ports: tuple[str, ...]
    asks_for: str
    endpoints: int
    ready: int
    hinted: int
    """How many of the ready ones have hints; all these in its first address family."""
    ways: tuple[Way, ...]
    """On its first port, in its first address family."""


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A pod."""

    name: str
    node: str
    zone: str
    addresses: tuple[str, ...]
    state: str


class LabStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A lab."""

    name: str
    kubeconfig: str
    nodes: tuple[NodeStatus, ...]
    services: tuple[ServiceStatus, ...]
    pods: tuple[PodStatus, ...]
    latency: tuple[Delay, ...]


def status_of(
    place: Place,
    objects: Objects,
    plan: Plan,
    *,
    proxies: Mapping[str, str],
    latency: Sequence[Delay],
) -> LabStatus:
    """Return how a lab is; ``proxies`` says it of the proxy on each node."""
    pods = [each for each in objects.pods if each.spec.node_name]
    zones = {node.metadata.name: node.zone for node in objects.nodes}
    return LabStatus(
        name=place.lab,
        kubeconfig=str(place.kubeconfig),
        nodes=tuple(_node(node, plan, pods, proxies) for node in objects.nodes),
        services=_services(objects),
        pods=tuple(_pod(pod, zones) for pod in pods if pod.status.phase not in _OVER),
        latency=tuple(latency),
    )


def _node(node: Node, plan: Plan, pods: Sequence[Pod], proxies: Mapping[str, str]) -> NodeStatus:
    name = node.metadata.name
    own = [pod for pod in pods if pod.spec.node_name == name and pod.status.phase not in _OVER]
    off = node.metadata.annotations.get(POWER) == "off"
    state = "ready" if node.ready else "not ready"
    seat = plan.nodes.get(name)
    return NodeStatus(
        name=name,
        zone=node.zone,
        state="off" if off and node.ready else state,
        addresses=tuple(seat.address(each) for each in plan.versions) if seat else (),
        pods=len(own),
        ready_pods=sum(pod.ready for pod in own),
        proxy=proxies.get(name, ""),
    )


def _pod(pod: Pod, zones: Mapping[str, str]) -> PodStatus:
    if pod.metadata.deletion_timestamp is not None:
        state = "terminating"
    else:
        state = "ready" if pod.ready else "not ready"
    return PodStatus(
        name="/".join(pod.metadata.key),
        node=pod.spec.node_name,
        zone=zones.get(pod.spec.node_name, ""),
        addresses=tuple(each.ip for each in pod.status.pod_ips),
        state=state,
    )


def _services(objects: Objects) -> tuple[ServiceStatus, ...]:
    slices: dict[tuple[str, str], list[EndpointSlice]] = defaultdict(list)
    for each in objects.slices:
        key = (each.metadata.namespace, each.metadata.labels.get(SERVICE_NAME, ""))
        slices[key].append(each)
    ways = _ways(objects)
    return tuple(
        _service(each, slices[each.metadata.key], ways.get(each.metadata.key, ()))
        for each in objects.services
    )


def _service(
    service: Service, slices: Sequence[EndpointSlice], ways: tuple[Way, ...]
) -> ServiceStatus:
    annotations = service.metadata.annotations
    asked = annotations.get(TOPOLOGY_AWARE_HINTS) or annotations.get(TOPOLOGY_MODE)
    first = service.spec.ip_families[:1]
    endpoints = [
        endpoint
        for each in slices
        if not first or each.address_type in first
        for endpoint in each.endpoints
    ]
    ready = [endpoint for endpoint in endpoints if endpoint.ready]
    return ServiceStatus(
        name="/".join(service.metadata.key),
        addresses=service.spec.cluster_ips,
        ports=tuple(_port(service, number) for number in range(len(service.spec.ports))),
        asks_for=asked or service.spec.traffic_distribution or "",
        endpoints=len(endpoints),
        ready=len(ready),
        hinted=sum(bool(each.hints and each.hints.places) for each in ready),
        ways=ways,
    )


def _port(service: Service, number: int) -> str:
    port = service.spec.ports[number]
    node = f":{port.node_port}" if port.node_port else ""
    return f"{port.port}{node}/{port.protocol or 'TCP'}"


def _ways(objects: Objects) -> dict[tuple[str, str], tuple[Way, ...]]:
    """Return how each service is chosen for, with the nodes that do it alike together."""
    found: dict[tuple[str, str], dict[tuple[str, tuple[str, ...]], list[str]]] = {}
    called = _pods_by_address(objects)
    for node in objects.nodes:
        if node.metadata.annotations.get(POWER) == "off":
            continue
        name = node.metadata.name
        for table in dry_run(objects.services, objects.slices, node, Options(node=name)).values():
            for key, routes in table.routes.items():
                selection = next(iter(routes.selections.values()), None)
                if selection is None or routes.service.spec.ip_families[:1] != (
                    table.ruleset.family.api,
                ):
                    continue
                mode = selection.mode if selection.cluster_used else selection.local_mode
                used = selection.cluster if selection.cluster_used else selection.local
                names = tuple(sorted(called.get(each.address, each.address) for each in used))
                found.setdefault(key, {}).setdefault((str(mode), names), []).append(name)
    return {
        key: tuple(Way(mode, tuple(nodes), names) for (mode, names), nodes in ways.items())
        for key, ways in found.items()
    }


def _pods_by_address(objects: Objects) -> dict[str, str]:
    return {address.ip: pod.metadata.name for pod in objects.pods for address in pod.status.pod_ips}
