"""Made-up services and their endpoints, as objects of the API."""

from __future__ import annotations

from typing import NamedTuple

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Node,
    ObjectMeta,
    ObjectReference,
    Service,
)
from nearwise.model.core import NodeAddress, NodeStatus, ServicePort, ServiceSpec
from nearwise.model.wellknown import SERVICE_NAME, ZONE
from nearwise.routing import Client

NAMESPACE = "shop"
PORT, TARGET = 80, 8080

HERE = Client("node-7", "zone-1")
"""The node whose rules are made. No service has hints, so all endpoints are used."""

NODE = Node(
    api_version="v1",
    kind="Node",
    metadata=ObjectMeta(name=HERE.node, uid=HERE.node, labels={ZONE: HERE.zone or ""}),
    status=NodeStatus(addresses=(NodeAddress("InternalIP", "192.168.1.1"),)),
)

_NODES, _ZONES = 100, 3
_FULL = 100  # endpoints of a slice at most, as Kubernetes has it


class Shape(NamedTuple):
    """So many services, each of so many endpoints."""

    services: int
    endpoints: int
    protocol: str = "TCP"

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.services:,} services of {self.endpoints}"

    def numbers(self, of: int) -> range:
        """Return the numbers of a service's endpoints, counted through all services."""
        return range(of * self.endpoints, (of + 1) * self.endpoints)

    def service(self, number: int) -> Service:
        """Make a service of one port, by its number."""
        return Service(
            api_version="v1",
            kind="Service",
            metadata=ObjectMeta(name=f"web-{number}", namespace=NAMESPACE, uid=f"web-{number}"),
            spec=ServiceSpec(
                type="ClusterIP",
                ports=(ServicePort("http", self.protocol, None, PORT, TARGET),),
                selector={"app": f"web-{number}"},
                cluster_ip=cluster_address(number),
                cluster_ips=(cluster_address(number),),
                session_affinity="None",
                internal_traffic_policy="Cluster",
                ip_families=("IPv4",),
                ip_family_policy="SingleStack",
            ),
        )

    def slices(self, of: int) -> tuple[EndpointSlice, ...]:
        """Make the slices of a service, by its number."""
        endpoints = [_endpoint(of, each) for each in self.numbers(of)]
        return tuple(
            EndpointSlice(
                api_version="discovery.k8s.io/v1",
                kind="EndpointSlice",
                metadata=ObjectMeta(
                    name=f"web-{of}-{first // _FULL}",
                    namespace=NAMESPACE,
                    uid=f"web-{of}-{first // _FULL}",
                    labels={SERVICE_NAME: f"web-{of}"},
                ),
                address_type="IPv4",
                endpoints=tuple(endpoints[first : first + _FULL]),
                ports=(EndpointPort("http", self.protocol, TARGET),),
            )
            for first in range(0, self.endpoints, _FULL)
        )


def cluster_address(number: int) -> str:
    """Return the cluster address of a service."""
    return f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def endpoint_address(number: int) -> str:
    """Return the address of an endpoint, counted through all services."""
    return f"10.{128 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _endpoint(of: int, number: int) -> Endpoint:
    return Endpoint(
        addresses=(endpoint_address(number),),
        conditions=EndpointConditions(True, True, False),
        node_name=f"node-{number % _NODES}",
        zone=f"zone-{number % _ZONES}",
        target_ref=ObjectReference(
            "Pod", NAMESPACE, f"web-{of}-{number}", f"{number:08x}-1111-2222-3333-44445555"
        ),
    )
