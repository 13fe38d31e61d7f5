"""What an update takes over from the object it replaces, and what it leaves behind.

Clients send whole objects and leave out what the server once gave; and a Service that changes its
type drops what only the old type needs, unless the client touched it (service registry of the API
server: ``patchAllocatedValues``, ``dropTypeDependentFields``).
"""

from __future__ import annotations

from msgspec.structs import replace

from nearwise.model.core import Service, ServicePort, ServiceSpec
from nearwise.model.discovery import EndpointSlice
from nearwise.model.meta import ObjectMeta
from nearwise.model.validation.services import needs_health_check


def carried_metadata(new: ObjectMeta, old: ObjectMeta) -> ObjectMeta:
    """Fill in what identifies the object; its generation and deletion are not the client's."""
    return replace(
        new,
        name=new.name or old.name,
        namespace=new.namespace or old.namespace,
        uid=new.uid or old.uid,
        creation_timestamp=new.creation_timestamp or old.creation_timestamp,
        deletion_timestamp=old.deletion_timestamp or new.deletion_timestamp,
        deletion_grace_period_seconds=(
            new.deletion_grace_period_seconds
            if old.deletion_grace_period_seconds is None
            else old.deletion_grace_period_seconds
        ),
        generation=old.generation,
    )


def carried_slice(new: EndpointSlice, old: EndpointSlice) -> EndpointSlice:
    """Take over the metadata; the generation counts changes of content and labels."""
    metadata = carried_metadata(new.metadata, old.metadata)
    same = (new.address_type, new.endpoints, new.ports, metadata.labels) == (
        old.address_type,
        old.endpoints,
        old.ports,
        old.metadata.labels,
    )
    generation = old.metadata.generation + (0 if same else 1)
    return replace(new, metadata=replace(metadata, generation=generation))


def carried_service(new: Service, old: Service) -> Service:
    """Take over metadata and status, and addresses and ports that the client left out."""
    spec = _with_node_ports(_with_cluster_ips(new.spec, old.spec), old.spec)
    if needs_health_check(spec) and needs_health_check(old.spec):
        port = spec.health_check_node_port or old.spec.health_check_node_port
        spec = replace(spec, health_check_node_port=port)
    metadata = carried_metadata(new.metadata, old.metadata)
    return replace(new, metadata=metadata, spec=spec, status=old.status)


def _with_cluster_ips(spec: ServiceSpec, old: ServiceSpec) -> ServiceSpec:
    if "ExternalName" in (spec.type, old.type):
        return spec
    spec = replace(spec, cluster_ip=spec.cluster_ip or old.cluster_ip)
    if not spec.cluster_ips and spec.cluster_ip == old.cluster_ip:
        spec = replace(spec, cluster_ips=old.cluster_ips)
    return spec


def _with_node_ports(spec: ServiceSpec, old: ServiceSpec) -> ServiceSpec:
    """Give ports that lost their number the one that the port of that name had."""
    if not (_has_node_ports(spec) and _has_node_ports(old)):
        return spec
    used = {port.node_port for port in spec.ports if port.node_port}
    before = {port.name: port.node_port for port in old.ports}

    def with_number(port: ServicePort) -> ServicePort:
        number = before.get(port.name, 0)
        return port if port.node_port or number in used else replace(port, node_port=number)

    return replace(spec, ports=tuple(with_number(port) for port in spec.ports))


def without_leftovers(new: Service, old: Service) -> Service:
    """Drop what the new type has no use for, where the client did not change it."""
    spec, before = new.spec, old.spec
    if spec.type == "ExternalName" != before.type:
        spec = _without_addresses(spec, before)
    if _has_node_ports(before) and not _has_node_ports(spec):
        if {port.node_port for port in spec.ports} <= {
            0,
            *(port.node_port for port in before.ports),
        }:
            ports = tuple(replace(port, node_port=0) for port in spec.ports)
            spec = replace(spec, ports=ports)
        if spec.external_traffic_policy == before.external_traffic_policy:
            spec = replace(spec, external_traffic_policy="")
    unchecked = needs_health_check(before) and not needs_health_check(spec)
    if unchecked and spec.health_check_node_port == before.health_check_node_port:
        spec = replace(spec, health_check_node_port=0)
    if before.type == "LoadBalancer" != spec.type:
        spec = _without_load_balancer(spec, before)
        new = replace(new, status=Service().status)
    return replace(new, spec=spec)


def _without_addresses(spec: ServiceSpec, before: ServiceSpec) -> ServiceSpec:
    if (spec.cluster_ip, spec.cluster_ips) == (before.cluster_ip, before.cluster_ips):
        spec = replace(spec, cluster_ip="", cluster_ips=())
    if spec.ip_families == before.ip_families:
        spec = replace(spec, ip_families=())
    if spec.ip_family_policy == before.ip_family_policy:
        spec = replace(spec, ip_family_policy=None)
    return spec


def _without_load_balancer(spec: ServiceSpec, before: ServiceSpec) -> ServiceSpec:
    if spec.allocate_load_balancer_node_ports == before.allocate_load_balancer_node_ports:
        spec = replace(spec, allocate_load_balancer_node_ports=None)
    if spec.load_balancer_class == before.load_balancer_class:
        spec = replace(spec, load_balancer_class=None)
    return spec


def _has_node_ports(spec: ServiceSpec) -> bool:
    return spec.type in ("NodePort", "LoadBalancer")
