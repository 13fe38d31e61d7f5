"""Short ways to write down endpoints, slices and services for tests of routing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForNode,
    ForZone,
    ObjectMeta,
    ObjectReference,
    Reason,
    Service,
)
from nearwise.model.core import ServicePort, ServiceSpec
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.routing import KUBE_PROXY, Backend, Client, Profile, Selection, merge, select

HTTP = ("http", "TCP")


def endpoint(
    number: int,
    on: str | None = "n1",
    zone: str | None = "a",
    *,
    zones: tuple[str, ...] = (),
    nodes: tuple[str, ...] = (),
    ready: bool | None = True,
    serving: bool | None = None,
    terminating: bool | None = None,
    pod: str = "",
) -> Endpoint:
    """Make the endpoint 10.0.0.NUMBER of the pod web-NUMBER, hinted to ``zones`` and ``nodes``."""
    hints = EndpointHints(tuple(map(ForZone, zones)), tuple(map(ForNode, nodes)))
    return Endpoint(
        (f"10.0.0.{number}",),
        EndpointConditions(ready, serving, terminating),
        target_ref=ObjectReference("Pod", "shop", pod or f"web-{number}"),
        node_name=on,
        zone=zone,
        hints=hints if zones or nodes else None,
    )


def draining(number: int, on: str = "n1", zone: str = "a") -> Endpoint:
    """Make an endpoint that terminates and still serves."""
    return endpoint(number, on, zone, ready=False, serving=True, terminating=True)


def slice_of(
    *endpoints: Endpoint,
    name: str = "web-1",
    ports: tuple[tuple[str | None, int | None], ...] = (("http", 8080),),
    family: str = "IPv4",
    label: str | None = "web",
) -> EndpointSlice:
    """Make a slice of ``shop/web``."""
    return EndpointSlice(
        metadata=ObjectMeta(
            name=name, namespace="shop", labels={} if label is None else {SERVICE_NAME: label}
        ),
        address_type=family,
        endpoints=endpoints,
        ports=tuple(EndpointPort(port, "TCP", number) for port, number in ports),
    )


def service(
    *,
    ports: tuple[ServicePort, ...] = (ServicePort("http", "TCP", None, 80, 8080),),
    kind: str = "ClusterIP",
    cluster_ip: str = "10.96.0.1",
    internal: str = "Cluster",
    external: str = "",
    external_ips: tuple[str, ...] = (),
    distribution: str | None = None,
    annotations: dict[str, str] | None = None,
) -> Service:
    """Make the service ``shop/web``."""
    return Service(
        metadata=ObjectMeta(name="web", namespace="shop", annotations=annotations or {}),
        spec=ServiceSpec(
            ports=ports,
            type=kind,
            cluster_ip=cluster_ip,
            internal_traffic_policy=internal,
            external_traffic_policy=external,
            external_ips=external_ips,
            traffic_distribution=distribution,
        ),
    )


def node_port(**settings: str) -> Service:
    """Make the service reachable from outside."""
    made = service(kind="NodePort", **settings)  # type: ignore[arg-type]
    ports = (ServicePort("http", "TCP", None, 80, 8080, 30080),)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, ports=ports))


def choose(
    of: Service,
    endpoints: Iterable[Endpoint],
    node: str = "n1",
    zone: str | None = "a",
    profile: Profile = KUBE_PROXY,
) -> Selection:
    """Choose for a client among endpoints that lie in one slice."""
    view = merge(of, [slice_of(*endpoints)], "IPv4")
    return select(of, view.backends[HTTP], Client(node, zone), profile)


def numbers(backends: Iterable[Backend]) -> list[int]:
    """Return the last byte of each address, in order."""
    return sorted(int(backend.address.rpartition(".")[2]) for backend in backends)


def texts(reasons: Iterable[Reason]) -> list[str]:
    """Return the sentences."""
    return [reason.text for reason in reasons]


def codes(reasons: Iterable[Reason]) -> list[str]:
    """Return the codes."""
    return [reason.code for reason in reasons]
