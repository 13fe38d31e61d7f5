"""Cluster addresses and node ports: who has which, and which are free.

Law: what a Service needs is decided in ``model.validation``; here is only kept what is taken.
A number is taken when it is given to a Service that is about to be written, and free again when
no Service has it any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from nearwise.machinery.changes import Entry, Event
from nearwise.model.core import ServiceSpec
from nearwise.model.meta import Object
from nearwise.model.validation.ranges import Number, Ranges


class Pool(Ranges):
    """The cluster addresses and node ports of one cluster."""

    def claim(self) -> Claim:
        """Begin to take numbers for one Service."""
        return Claim(self)

    def restore(self, services: Iterable[Entry]) -> None:
        """Take what the stored Services have."""
        for service in services:
            self.hold(held(service.value))

    def follow(self, event: Event) -> None:
        """Take note of a write to a Service: what it no longer has is free."""
        now = frozenset() if event.deleted else held(event.entry.value)
        before = held(event.previous.value) if event.previous else frozenset()
        self.give_back(before - now)
        self.hold(now)


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
