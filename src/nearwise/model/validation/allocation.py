"""Addresses and ports that a Service gets out of the ranges of its cluster.

Law: the ranges belong to whoever keeps the cluster, so they are handed in as an ``Allocator``;
what a Service needs of them is decided here.
"""

from __future__ import annotations

from msgspec.structs import replace

from nearwise.model.core import Service, ServicePort
from nearwise.model.validation.cluster_ips import NONE, in_step, with_families
from nearwise.model.validation.fields import Errors, invalid
from nearwise.model.validation.ranges import Allocator, Refused
from nearwise.model.validation.services import needs_health_check


class Unavailable(Exception):  # noqa: N818 - like Refused
    """A range is used up: the API server answers with an internal error."""


def allocated(new: Service, old: Service | None, allocator: Allocator) -> tuple[Service, Errors]:
    """Give a service the families, addresses and ports it needs, or say what cannot be had.

    What the old service holds already is not taken again. When validation refuses the service
    after all, giving back what was taken is the allocator's business. Raises Unavailable.
    """
    new, errors = with_families(in_step(new, old), old, allocator.families)
    if not errors:
        new, errors = _with_addresses(new, old, allocator)
    if not errors:
        new, errors = _with_node_ports(new, old, allocator)
    if not errors:
        new = _with_health_check_port(new, old, allocator)
    return new, errors


def _with_addresses(
    new: Service, old: Service | None, allocator: Allocator
) -> tuple[Service, Errors]:
    spec = new.spec
    if spec.type == "ExternalName" or spec.cluster_ips[:1] == (NONE,):
        return new, []
    held = old.spec.cluster_ips if old else ()
    given = list(spec.cluster_ips)
    for place, family in enumerate(spec.ip_families):
        wanted = given[place] if place < len(given) else ""
        if wanted and place < len(held):
            continue  # the same as before, or validation will refuse the change
        try:
            address = allocator.address(family, wanted)
        except Refused as refused:
            if not wanted:
                raise Unavailable(f"failed to allocate a serviceIP: {refused}") from None
            detail = f"failed to allocate IP {wanted}: {refused}"
            return new, [invalid("spec.clusterIPs", spec.cluster_ips, detail)]
        given[place : place + 1] = [address]
    ips = tuple(given)
    return replace(new, spec=replace(spec, cluster_ip=(*ips, "")[0], cluster_ips=ips)), []


def _with_node_ports(
    new: Service, old: Service | None, allocator: Allocator
) -> tuple[Service, Errors]:
    if new.spec.type not in ("NodePort", "LoadBalancer"):
        return new, []
    before = {port.node_port for port in old.spec.ports} if old else set()
    # One number serves one service port in all its protocols.
    numbers = {port.port: port.node_port for port in reversed(new.spec.ports) if port.node_port}
    got: set[tuple[int, int]] = set()
    automatic = new.spec.allocate_load_balancer_node_ports is not False
    ports: list[ServicePort] = []
    for place, port in enumerate(new.spec.ports):
        wanted = port.node_port or (numbers.get(port.port, 0) if automatic else 0)
        number = wanted
        if automatic and not wanted:
            number = _any_port(allocator)
        elif wanted and wanted not in before and (port.port, wanted) not in got:
            try:
                allocator.port(wanted)
            except Refused as refused:
                path = f"spec.ports[{place}].nodePort"
                return new, [invalid(path, wanted, str(refused))]
        numbers.setdefault(port.port, number)
        got.add((port.port, number))
        ports.append(replace(port, node_port=number))
    return replace(new, spec=replace(new.spec, ports=tuple(ports))), []


def _any_port(allocator: Allocator) -> int:
    try:
        return allocator.port(0)
    except Refused as refused:
        raise Unavailable(f"failed to allocate a nodePort: {refused}") from None


def _with_health_check_port(new: Service, old: Service | None, allocator: Allocator) -> Service:
    spec = new.spec
    held = old.spec.health_check_node_port if old else 0
    if not needs_health_check(spec) or (held and spec.health_check_node_port == held):
        return new
    try:
        port = allocator.port(spec.health_check_node_port)
    except Refused as refused:
        wanted = spec.health_check_node_port
        which = f"requested HealthCheck NodePort {wanted}" if wanted else "a HealthCheck NodePort"
        raise Unavailable(f"failed to allocate {which}: {refused}") from None
    return replace(new, spec=replace(spec, health_check_node_port=port))
