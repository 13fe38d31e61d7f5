"""The ranges of cluster addresses and node ports that a cluster gives its Services.

Law: a number is taken or free; who has it, and what a Service needs, is not known here. What is
not asked for by name is given out in turn, so that a number that was just given back is not used
again at once. The same calls give the same answers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final, Protocol

from nearwise.model.validation.addresses import parsed

CLUSTER_NETWORKS: Final = ("10.96.0.0/16",)
NODE_PORTS: Final = (30000, 32767)
_MOST_ADDRESSES: Final = 2**16  # of a network this many are given out at most

Number = str | int
"""An address as text, or a port."""


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
    """Ranges of which nothing is taken yet."""

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

    def hold(self, numbers: Iterable[Number]) -> None:
        """Take numbers that somebody has already."""
        self._taken.update(numbers)

    def give_back(self, numbers: Iterable[Number]) -> None:
        """Have numbers free again."""
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
