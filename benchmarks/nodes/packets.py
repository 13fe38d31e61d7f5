"""What the rules cost the packets: the first of a connection, and all others.

A datagram is sent from a socket of its own to one service after the other, and then a second one;
the kernel has done all it does about it when ``sendto`` returns. Hosts with few and with many
services take turns, so that whatever else the machine does hits all of them.
"""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.live.case import Case, Measured
from benchmarks.nodes.host import Host, hosts, join
from benchmarks.nodes.loading import Chains, Maps
from benchmarks.nodes.services import PORT, Shape, cluster_address, endpoint_address
from benchmarks.timing import tell
from nearwise.proxy.netlink import NetlinkKernel

_FLOWS = 500  # in a round
_ROUNDS = 21
_FEW = Shape(10, 10, "UDP")


class _Sent(NamedTuple):
    """Seconds a packet."""

    first: float
    second: float


def cases(many: Shape) -> Iterator[Case]:
    """Yield the measurement."""
    name = f"first packet, and others, with {_FEW.services} and {many.services:,} services"
    yield Case(name, lambda: _measure(many._replace(protocol="UDP")))


def _measure(many: Shape) -> Measured:
    with hosts(5) as (few_maps, many_maps, few_chains, bare, far):
        for number, host in enumerate((few_maps, many_maps, few_chains, bare), 1):
            join(host, far, f"192.168.{number}")
            host.ip(f"route add default via 192.168.{number}.2")
        Maps(few_maps, NetlinkKernel, _FEW).load()
        Maps(many_maps, NetlinkKernel, many).load()
        Chains(few_chains, _FEW).load()
        few, much, all_of_them, rival, none = _in_turn(
            (few_maps, _FEW, cluster_address),
            (many_maps, _FEW, cluster_address),
            (many_maps, many, cluster_address),
            (few_chains, _FEW, cluster_address),
            (bare, _FEW, endpoint_address),
        )
    return Measured(
        f"{_told(few)}; {_told(much)}; {_told(all_of_them)} when all of them are used",
        f"chains with {_FEW.services}: {_told(rival)}; no rules: {_told(none)}",
    )


def _in_turn(*targets: tuple[Host, Shape, Callable[[int], str]]) -> list[_Sent]:
    """Send from each host to addresses of the services of a shape; return the medians."""
    rounds: list[list[_Sent]] = [[] for _ in targets]
    for number in range(_ROUNDS):
        for (host, shape, address), found in zip(targets, rounds, strict=True):
            services = (address((number * _FLOWS + n) % shape.services) for n in range(_FLOWS))
            sent = _send(host, [(each, PORT) for each in services])
            if number:  # the first round warms up
                found.append(sent)
    return [
        _Sent(*(statistics.median(column) for column in zip(*found, strict=True)))
        for found in rounds
    ]


def _send(host: Host, places: list[tuple[str, int]]) -> _Sent:
    with host.entered():
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in places]
    try:
        for each in sockets:
            each.bind(("", 0))
        return _Sent(*(_once(sockets, places) for _ in range(2)))
    finally:
        for each in sockets:
            each.close()


def _once(sockets: list[socket.socket], places: list[tuple[str, int]]) -> float:
    began = time.perf_counter()
    for each, place in zip(sockets, places, strict=True):
        each.sendto(b"x", place)
    return (time.perf_counter() - began) / len(places)


def _told(sent: _Sent) -> str:
    return f"{tell(sent.first)}, then {tell(sent.second)}"
