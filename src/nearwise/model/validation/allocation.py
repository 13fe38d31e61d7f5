"""Addresses and ports that a Service gets out of the ranges of its cluster.

Law: the ranges belong to whoever keeps the cluster, so they are handed in as an ``Allocator``;
what a Service needs of them is decided here.
"""

from __future__ import annotations

import ipaddress
from typing import Final, Protocol

from msgspec.structs import replace

from nearwise.model.core import Service, ServicePort
from nearwise.model.validation.addresses import parsed
from nearwise.model.validation.cluster_ips import NONE, in_step, with_families
from nearwise.model.validation.fields import Errors, invalid
from nearwise.model.validation.services import needs_health_check


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """An address or port cannot be had; the text says why, as the API server does."""


class Allocator(Protocol):
    """Keeps the ranges of a cluster."""

    @property
    def families(self) -> tuple[str, ...]:
        """The address families of the cluster, its own one first."""
        ...

    def address(self, family: str, wanted: str) -> str:
        """Take an address: the wanted one, or with "" any. Raises Refused."""
        ...

    def port(self, wanted: int) -> int:
        """Take a node port: the wanted one, or with 0 any. Raises Refused."""
        ...


class Ranges:
    """Ranges of which nothing is taken yet. The same calls give the same answers.

    What nobody asked for by name comes from above the part that is kept for those who do
    (KEP-3070 for addresses, KEP-3668 for node ports).
    """

    def __init__(
        self,
        networks: tuple[str, ...] = ("10.96.0.0/16",),
        node_ports: tuple[int, int] = (30000, 32767),
    ) -> None:
        self._networks = {
            f"IPv{network.version}": network for network in map(ipaddress.ip_network, networks)
        }
        self._first_port, self._last_port = node_ports
        self._taken: set[str | int] = set()

    @property
    def families(self) -> tuple[str, ...]:
        """The address families of the cluster, its own one first."""
        return tuple(self._networks)

    def address(self, family: str, wanted: str) -> str:
        """Take an address: the wanted one, or with "" the lowest free one."""
        network = self._networks[family]
        if wanted:
            address = parsed(wanted)
            if address is None or address not in network:
                raise Refused("the provided network does not match the current range")
            if wanted in self._taken:
                raise Refused("provided IP is already allocated")
        else:
            kept = _kept_back(network.num_addresses, 16, 256)
            last = min(network.num_addresses - 1, _MOST_ADDRESSES)
            free = (str(network[place]) for place in range(kept, last))
            wanted = next((one for one in free if one not in self._taken), "")
        if not wanted:
            raise Refused("range is full")
        self._taken.add(wanted)
        return wanted

    def port(self, wanted: int) -> int:
        """Take a node port: the wanted one, or with 0 the lowest free one."""
        first, last = self._first_port, self._last_port
        if wanted:
            if not first <= wanted <= last:
                raise Refused(
                    "provided port is not in the valid range. The range of valid ports is "
                    f"{first}-{last}"
                )
            if wanted in self._taken:
                raise Refused("provided port is already allocated")
        else:
            ports = range(first + _kept_back(last - first + 1, 32, 128), last + 1)
            wanted = next((port for port in ports if port not in self._taken), 0)
        if not wanted:
            raise Refused("range is full")
        self._taken.add(wanted)
        return wanted


_MOST_ADDRESSES: Final = 2**16


def _kept_back(size: int, share: int, most: int) -> int:
    """Say how much of a range is for those who ask: a share, at least 16 and at most ``most``."""
    return min(max(16, size // share), most)


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
