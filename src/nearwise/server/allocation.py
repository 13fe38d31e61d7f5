"""Cluster addresses and node ports: who has which, and which are free.

Law: what a Service needs is decided in ``model.validation``; here is only kept what is taken.
A number is taken when it is given to a Service that is about to be written, and free again when
no Service has it any more. What is not asked for by name is given out in turn, so that a number
that was just given back is not used again at once.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

import msgspec

from nearwise.machinery.changes import Entry, Event
from nearwise.model.core import ServiceSpec
from nearwise.model.meta import Object
from nearwise.model.validation.addresses import parsed
from nearwise.model.validation.allocation import Refused

CLUSTER_NETWORKS: Final = ("10.96.0.0/16",)
NODE_PORTS: Final = (30000, 32767)
_MOST_ADDRESSES: Final = 2**16  # of a network this many are given out at most

Number = str | int
"""An address as text, or a port."""


class Pool:
    """The cluster addresses and node ports of one cluster."""

    def __init__(
        self,
        networks: tuple[str, ...] = CLUSTER_NETWORKS,
        node_ports: tuple[int, int] = NODE_PORTS,
    ) -> None:
        parsed_networks = [ipaddress.ip_network(network) for network in networks]
        self._networks = {f"IPv{network.version}": network for network in parsed_networks}
        self._node_ports = node_ports
        self._taken: set[Number] = set()
        self._next: dict[str, int] = {}  # where the next search begins, for each kind of number

    @property
    def families(self) -> tuple[str, ...]:
        """The address families of the cluster, its own one first."""
        return tuple(self._networks)

    def claim(self) -> Claim:
        """Begin to take numbers for one Service."""
        return Claim(self)

    def restore(self, services: Iterable[Entry]) -> None:
        """Take what the stored Services have."""
        for service in services:
            self._taken |= held(service.value)

    def follow(self, event: Event) -> None:
        """Take note of a write to a Service: what it no longer has is free."""
        now = frozenset() if event.deleted else held(event.entry.value)
        before = held(event.previous.value) if event.previous else frozenset()
        self._taken -= before - now
        self._taken |= now

    def address(self, family: str, wanted: str) -> str:
        """Take an address, the wanted one or with "" any. Raises Refused."""
        network = self._networks[family]
        if wanted:
            address = parsed(wanted)
            if address is None or address not in network:
                raise Refused("the provided network does not match the current range")
            self._take(wanted, "provided IP is already allocated")
            return wanted
        size = min(network.num_addresses, _MOST_ADDRESSES)
        # The first is the network itself, the last of an IPv4 network its broadcast address.
        places = range(1, size - 1 if network.version == 4 else size)
        kept = min(max(16, size // 16), 256)
        for place in self._in_turn(family, places, kept):
            address_there = str(network[place])
            if address_there not in self._taken:
                self._next[family] = place + 1
                self._taken.add(address_there)
                return address_there
        raise Refused("range is full")

    def port(self, wanted: int) -> int:
        """Take a node port, the wanted one or with 0 any. Raises Refused."""
        first, last = self._node_ports
        if wanted:
            if not first <= wanted <= last:
                raise Refused(
                    "provided port is not in the valid range. The range of valid ports is "
                    f"{first}-{last}"
                )
            self._take(wanted, "provided port is already allocated")
            return wanted
        size = last - first + 1
        kept = min(max(16, size // 32), 128)
        for port in self._in_turn("port", range(first, last + 1), kept):
            if port not in self._taken:
                self._next["port"] = port + 1
                self._taken.add(port)
                return port
        raise Refused("range is full")

    def give_back(self, numbers: Iterable[Number]) -> None:
        """Have numbers free that were taken for a write that did not come about."""
        self._taken.difference_update(numbers)

    def _take(self, number: Number, refusal: str) -> None:
        if number in self._taken:
            raise Refused(refusal)
        self._taken.add(number)

    def _in_turn(self, what: str, places: range, kept: int) -> Iterable[int]:
        """Yield all places: first those above the part that is kept for who asks by name.

        Of these the ones after the last that was given out come first (KEP-3070, KEP-3668).
        """
        floor = places.start + min(kept, len(places))
        start = max(floor, min(self._next.get(what, floor), places.stop))
        yield from range(start, places.stop)
        yield from range(floor, start)
        yield from range(places.start, floor)


class Claim:
    """What is taken for one Service that is about to be written, until the claim is ended."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._numbers: list[Number] = []
        self._kept = False

    @property
    def families(self) -> tuple[str, ...]:
        """The address families of the cluster, its own one first."""
        return self._pool.families

    def address(self, family: str, wanted: str) -> str:
        """Take an address, the wanted one or with "" any. Raises Refused."""
        address = self._pool.address(family, wanted)
        self._numbers.append(address)
        return address

    def port(self, wanted: int) -> int:
        """Take a node port, the wanted one or with 0 any. Raises Refused."""
        port = self._pool.port(wanted)
        self._numbers.append(port)
        return port

    def keep(self) -> None:
        """Leave to the Service what was taken: it is written."""
        self._kept = True

    def end(self) -> None:
        """Have everything free again, unless it is kept."""
        if not self._kept:
            self._pool.give_back(self._numbers)


class _Service(Object, frozen=True):
    spec: ServiceSpec = ServiceSpec()


_SERVICE: Final = msgspec.json.Decoder(_Service)


def held(service: bytes) -> frozenset[Number]:
    """Return the addresses and ports that a stored Service has."""
    spec = _SERVICE.decode(service).spec
    addresses = {address for address in spec.cluster_ips if address != "None"}
    ports = {port.node_port for port in spec.ports} | {spec.health_check_node_port}
    return frozenset(addresses | (ports - {0}))
