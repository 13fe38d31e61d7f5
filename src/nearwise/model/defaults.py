"""What the API server fills in before it validates (``SetDefaults_*`` of Kubernetes 1.36).

Addresses and ports that come out of a range are not defaults; see ``validation.ranges``.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from nearwise.model.core import (
    ClientIPConfig,
    Service,
    ServicePort,
    ServiceSpec,
    SessionAffinityConfig,
)
from nearwise.model.discovery import EndpointPort, EndpointSlice

_AFFINITY_SECONDS: Final = 3 * 60 * 60


def with_slice_defaults(given: EndpointSlice) -> EndpointSlice:
    """Return the slice with names and protocols of its ports filled in."""
    return replace(given, ports=tuple(_endpoint_port(port) for port in given.ports))


def _endpoint_port(port: EndpointPort) -> EndpointPort:
    name = "" if port.name is None else port.name
    protocol = "TCP" if port.protocol is None else port.protocol
    return replace(port, name=name, protocol=protocol)


def with_service_defaults(given: Service) -> Service:
    """Return the service with its type, ports, policies and session affinity filled in."""
    spec = given.spec
    kind = spec.type or "ClusterIP"
    affinity = spec.session_affinity or "None"
    spec = replace(
        spec,
        type=kind,
        ports=tuple(_service_port(port) for port in spec.ports),
        session_affinity=affinity,
        session_affinity_config=_affinity_config(spec, affinity),
    )
    if not spec.external_traffic_policy and is_reached_from_outside(spec):
        spec = replace(spec, external_traffic_policy="Cluster")
    if spec.internal_traffic_policy is None and kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec = replace(spec, internal_traffic_policy="Cluster")
    if spec.allocate_load_balancer_node_ports is None and kind == "LoadBalancer":
        spec = replace(spec, allocate_load_balancer_node_ports=True)
    return replace(given, spec=spec)


def is_reached_from_outside(spec: ServiceSpec) -> bool:
    """Tell whether clients outside the cluster may reach the service: it has such addresses."""
    return spec.type in ("LoadBalancer", "NodePort") or (
        spec.type == "ClusterIP" and bool(spec.external_ips)
    )


def _service_port(port: ServicePort) -> ServicePort:
    return replace(port, protocol=port.protocol or "TCP", target_port=port.target_port or port.port)


def _affinity_config(spec: ServiceSpec, affinity: str) -> SessionAffinityConfig | None:
    if affinity == "None":
        return None
    given = spec.session_affinity_config
    if affinity != "ClientIP" or (
        given and given.client_ip and given.client_ip.timeout_seconds is not None
    ):
        return given
    return SessionAffinityConfig(ClientIPConfig(_AFFINITY_SECONDS))
