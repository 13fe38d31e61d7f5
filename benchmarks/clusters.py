"""Made-up clusters of any size."""

from __future__ import annotations

import msgspec

from nearwise.model import Node, ObjectMeta, Pod, Service
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
from nearwise.model.wellknown import TOPOLOGY_MODE, ZONE
from nearwise.slices.nodes import Nodes

_CONDITIONS = tuple(
    Condition(type=kind, status="True")
    for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
)


def nodes(count: int, zones: int = 3) -> Nodes:
    """Make ready nodes of 4 CPUs, spread over zones."""
    return Nodes(
        Node(
            metadata=ObjectMeta(name=f"node-{i}", labels={ZONE: f"zone-{i % zones}"}),
            status=NodeStatus(
                allocatable={"cpu": "4"}, conditions=(Condition(type="Ready", status="True"),)
            ),
        )
        for i in range(count)
    )


def service(distribution: str | None = None, *, by_share: bool = False) -> Service:
    """Make a service with a named and a numbered target port."""
    return Service(
        metadata=ObjectMeta(
            name="web",
            namespace="shop",
            uid="service-uid",
            labels={"app": "web", "team": "x"},
            annotations={TOPOLOGY_MODE: "Auto"} if by_share else {},
        ),
        spec=ServiceSpec(
            ports=(
                ServicePort("http", "TCP", None, 80, 8080),
                ServicePort("metrics", "TCP", None, 9090, "metrics"),
            ),
            selector={"app": "web"},
            cluster_ip="10.96.0.1",
            ip_families=("IPv4",),
            traffic_distribution=distribution,
        ),
    )


def pods(count: int, on_nodes: int) -> list[Pod]:
    """Make ready pods of the service, spread over nodes."""
    return [
        Pod(
            metadata=ObjectMeta(
                name=f"web-{i}", namespace="shop", uid=f"pod-uid-{i}", labels={"app": "web"}
            ),
            spec=PodSpec(
                node_name=f"node-{i % on_nodes}",
                containers=(
                    Container(
                        "c",
                        (
                            ContainerPort("http", 8080, "TCP"),
                            ContainerPort("metrics", 9090, "TCP"),
                        ),
                    ),
                ),
            ),
            status=PodStatus(
                phase="Running",
                pod_ip=_address(i),
                pod_ips=(PodIP(_address(i)),),
                conditions=_CONDITIONS,
            ),
        )
        for i in range(count)
    ]


def flipped(pod: Pod) -> Pod:
    """Return the pod with its readiness lost."""
    status = msgspec.structs.replace(
        pod.status, conditions=(Condition(type="Ready", status="False"),)
    )
    return msgspec.structs.replace(pod, status=status)


def _address(i: int) -> str:
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"
