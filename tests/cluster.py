"""Short ways to write down pods, nodes, services and slices in tests."""

from __future__ import annotations

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForZone,
    Node,
    ObjectMeta,
    ObjectReference,
    OwnerReference,
    Pod,
    Service,
)
from nearwise.model.core import (
    Condition,
    Container,
    ContainerPort,
    NodeStatus,
    PodIP,
    PodSpec,
    PodStatus,
    ServicePort,
    ServiceSpec,
)
from nearwise.model.wellknown import MANAGED_BY, SERVICE_NAME, SLICE_CONTROLLER, ZONE


def node(name: str, zone: str = "a", cpu: str = "4", *, ready: bool = True) -> Node:
    """Make a worker node."""
    return Node(
        metadata=ObjectMeta(name=name, labels={ZONE: zone} if zone else {}),
        status=NodeStatus(
            allocatable={"cpu": cpu},
            conditions=(Condition(type="Ready", status="True" if ready else "False"),),
        ),
    )


def pod(
    name: str,
    on: str = "n0",
    *,
    ips: tuple[str, ...] | None = None,
    ready: bool = True,
    phase: str = "Running",
    terminating: bool = False,
    ports: tuple[ContainerPort, ...] = (),
    init: tuple[Container, ...] = (),
    hostname: str = "",
    subdomain: str = "",
) -> Pod:
    """Make a pod ``web-7`` with the address 10.0.0.7."""
    number = name.rpartition("-")[2]
    ips = (f"10.0.0.{number}",) if ips is None else ips
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="shop",
            uid=f"uid-{name}",
            labels={"app": "web"},
            deletion_timestamp="2026-01-01T00:00:00Z" if terminating else None,
        ),
        spec=PodSpec(
            node_name=on,
            hostname=hostname,
            subdomain=subdomain,
            containers=(Container("c", ports),),
            init_containers=init,
        ),
        status=PodStatus(
            phase=phase,
            pod_ip=ips[0] if ips else "",
            pod_ips=tuple(PodIP(ip) for ip in ips),
            conditions=(Condition(type="Ready", status="True" if ready else "False"),),
        ),
    )


def service(
    *,
    name: str = "web",
    ports: tuple[ServicePort, ...] = (ServicePort("http", "TCP", None, 80, 8080),),
    families: tuple[str, ...] = ("IPv4",),
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    distribution: str | None = None,
    cluster_ip: str = "10.96.0.1",
    publish: bool = False,
    deleted: bool = False,
) -> Service:
    """Make the service ``shop/web`` that selects app=web."""
    return Service(
        metadata=ObjectMeta(
            name=name,
            namespace="shop",
            uid="service-uid",
            labels=labels or {},
            annotations=annotations or {},
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
        ),
        spec=ServiceSpec(
            ports=ports,
            selector={"app": "web"},
            cluster_ip=cluster_ip,
            ip_families=families,
            publish_not_ready_addresses=publish,
            traffic_distribution=distribution,
        ),
    )


def endpoint(pod_name: str, zone: str = "a", on: str = "n0", hint: str = "") -> Endpoint:
    """Make a ready endpoint of a pod as the controller writes it."""
    number = pod_name.rpartition("-")[2]
    return Endpoint(
        (f"10.0.0.{number}",),
        EndpointConditions(True, True, False),
        target_ref=ObjectReference("Pod", "shop", pod_name, f"uid-{pod_name}"),
        node_name=on,
        zone=zone,
        hints=EndpointHints((ForZone(hint),)) if hint else None,
    )


def slice_of(
    name: str,
    *endpoints: Endpoint,
    ports: tuple[EndpointPort, ...] = (EndpointPort("http", "TCP", 8080),),
    labels: dict[str, str] | None = None,
    owner: str = "service-uid",
    family: str = "IPv4",
) -> EndpointSlice:
    """Make a slice of ``shop/web`` as the controller writes it."""
    return EndpointSlice(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        ObjectMeta(
            name=name,
            namespace="shop",
            labels={SERVICE_NAME: "web", MANAGED_BY: SLICE_CONTROLLER, **(labels or {})},
            owner_references=(
                OwnerReference(
                    "v1", "Service", "web", owner, controller=True, block_owner_deletion=True
                ),
            ),
        ),
        family,
        endpoints,
        ports,
    )
