"""Who has which address in a lab.

Law: pure. An address says where it is::

    10.89.Z.N     node N of zone Z, 10.89.Z.254 the router of that zone
    10.(240+Z).N.P   pod P on that node
    10.89.0.1     the API server, and clients outside the cluster
    10.96.0.0/16  cluster addresses of services, or what the services of a dump have

and the same in IPv6: fd89::Z:N, fd89:240:Z:N::P, fd00:10:96::/112. Numbers are hexadecimal there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Final

import msgspec

from nearwise.model.errors import InputError

API: Final = "10.89.0.1"
API_6: Final = "fd89::1"
POD_NETWORKS: Final = {4: "10.240.0.0/12", 6: "fd89:240::/32"}
"""Where pods have their addresses, by IP version."""
SERVICE_NETWORKS: Final = {4: "10.96.0.0/16", 6: "fd00:10:96::/112"}
NODE_NETWORKS: Final = {4: "10.89.0.0/16", 6: "fd89::/64"}

_ZONES: Final = 15
_NODES: Final = 250  # in a zone
MOST_PODS: Final = 250
"""On a node."""


class Seat(msgspec.Struct, frozen=True):
    """Where a node is: its zone ("" for none), and the numbers of both."""

    zone: str
    zone_number: int
    number: int

    def address(self, version: int) -> str:
        """Return the address of the node."""
        return node_address(version, self.zone_number, self.number)

    def pods(self, version: int) -> str:
        """Return the network of its pods."""
        z, n = self.zone_number, self.number
        return f"10.{240 + z}.{n}.0/24" if version == 4 else f"fd89:240:{z:x}:{n:x}::/64"

    def pod(self, version: int, pod: int) -> str:
        """Return the address of a pod by its number, from 1 to ``MOST_PODS``."""
        z, n = self.zone_number, self.number
        return f"10.{240 + z}.{n}.{pod}" if version == 4 else f"fd89:240:{z:x}:{n:x}::{pod:x}"


def node_address(version: int, zone: int, number: int) -> str:
    """Return the address of a node by its numbers; the router of a zone is number 254."""
    return f"10.89.{zone}.{number}" if version == 4 else f"fd89::{zone:x}:{number:x}"


def zone_networks(version: int, zone: int) -> tuple[str, str]:
    """Return the networks of a zone: that of its nodes, that of its pods."""
    if version == 4:
        return f"10.89.{zone}.0/24", f"10.{240 + zone}.0.0/16"
    return f"fd89::{zone:x}:0/112", f"fd89:240:{zone:x}::/48"


class Plan(msgspec.Struct):
    """Who has which seat. What has one keeps it."""

    versions: tuple[int, ...] = (4,)
    """Which IP versions there are."""
    zones: dict[str, int] = {}
    nodes: dict[str, Seat] = {}

    def add_zone(self, zone: str) -> int:
        """Return the number of a zone, a new one if it has none. InputError when all are given."""
        if zone not in self.zones:
            self.zones[zone] = _free(self.zones.values(), _ZONES, "zones")
        return self.zones[zone]

    def add_node(self, node: str, zone: str) -> Seat:
        """Return the seat of a node, a new one if it has none. InputError when all are taken."""
        if node not in self.nodes:
            number = self.add_zone(zone)
            taken = [seat.number for seat in self.nodes.values() if seat.zone == zone]
            self.nodes[node] = Seat(zone, number, _free(taken, _NODES, f"nodes in zone {zone}"))
        return self.nodes[node]


def check_service_networks(networks: Iterable[str]) -> None:
    """Raise InputError when cluster addresses would lie among those of nodes or pods."""
    for text in networks:
        network = ip_network(text)
        for taken in (NODE_NETWORKS, POD_NETWORKS):
            if network.overlaps(ip_network(taken[network.version])):
                raise InputError(
                    f"cluster addresses in {text} overlap with {taken[network.version]}, "
                    "which a lab uses for its nodes and pods",
                    hint="leave spec.clusterIP and spec.clusterIPs out, so that others are given",
                )


def _free(taken: Iterable[int], most: int, what: str) -> int:
    used = set(taken)
    for number in range(1, most + 1):
        if number not in used:
            return number
    raise InputError(f"a lab has at most {most} {what}")


def pod_networks(versions: Iterable[int]) -> tuple[str, ...]:
    """Return where pods have their addresses."""
    return _of(POD_NETWORKS, versions)


def service_networks(versions: Iterable[int]) -> tuple[str, ...]:
    """Return where services have their cluster addresses, unless a dump says otherwise."""
    return _of(SERVICE_NETWORKS, versions)


def _of(networks: Mapping[int, str], versions: Iterable[int]) -> tuple[str, ...]:
    return tuple(networks[version] for version in versions)
