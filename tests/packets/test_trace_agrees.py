"""Packets that are really sent go where ``trace`` says they do.

Services are drawn at random and compiled; then every kind of client connects to every address of
every service, from hosts around a node whose kernel has the table. The kernel draws its own lots,
so a connection has to end in one of the traced outcomes, and many of them in all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, log
from random import Random
from typing import NamedTuple

import msgspec
import pytest
from netns import Namespace
from node_lab import Heard, Lab, Reply, Silence

from nearwise.nft.compile import Routes, compiled
from nearwise.nft.diff import diff
from nearwise.nft.ruleset import Ruleset
from nearwise.nft.trace import End, Memory, Outcome, Packet, outcomes, trace
from proxied_services import V4, V6, Place, random_service

SERVICES = 20  # of each family
AT_A_TIME = 300
FOREIGN = 0
"""The bit with which somebody else marks all packets here."""


class Talk(NamedTuple):
    """One client connecting to one address of a service, several times in a row."""

    ruleset: Ruleset
    packet: Packet
    until_all: bool
    """Go on until everything that can happen should have happened."""


@pytest.mark.parametrize("seed", range(3))
def test_real_packets_go_where_the_trace_says(host: Callable[[], Namespace], seed: int) -> None:
    lab = Lab(host)
    lab.node.nft(MARKED_BY_OTHERS)
    random = Random(seed)
    talks: list[Talk] = []
    for place in (V4, V6):
        own = tuple(each for each in lab.own if (":" in each) == (place is V6))
        settings = msgspec.structs.replace(place.settings, node_addresses=own)
        services = [random_service(random, place, number) for number in range(1, SERVICES + 1)]
        ruleset = compiled(settings, {each.service.metadata.key: each for each in services})
        lab.load(diff(None, ruleset))
        packets = list(dict.fromkeys(packets_to(services, place)))
        talks += [Talk(ruleset, packet, random.random() < 0.1) for packet in packets]

    disagreements, seen = asyncio.run(hold(lab, talks))

    assert not disagreements, "\n".join(disagreements[:10])
    assert seen == {End.SENT, End.REJECTED, End.DROPPED}
    assert counted(lab, "kept") > len(talks)
    assert counted(lab, "lost") == 0
    assert counted(lab, "leaked") == 0


MARKED_BY_OTHERS = f"""
table inet foreign {{
    counter kept {{ }}
    counter lost {{ }}
    counter leaked {{ }}
    chain prerouting {{
        type filter hook prerouting priority mangle
        meta mark set meta mark | {1 << FOREIGN}
    }}
    chain output {{
        type filter hook output priority mangle
        meta mark set meta mark | {1 << FOREIGN}
    }}
    chain postrouting {{
        type filter hook postrouting priority 200
        meta mark & {1 << FOREIGN} != 0 counter name kept
        meta mark & {1 << FOREIGN} == 0 counter name lost
        meta mark & {1 << V4.settings.masquerade_bit} != 0 counter name leaked
    }}
}}
"""
"""Somebody else's table: marks what comes, and counts which marks packets have as they leave."""


def counted(lab: Lab, counter: str) -> int:
    words = lab.node.run("nft", "list", "counter", "inet", "foreign", counter).split()
    return int(words[words.index("packets") + 1])


def packets_to(services: list[Routes], place: Place) -> Iterator[Packet]:
    """Return packets of all clients to all that services answer on, and to what they do not."""
    clients = {
        f"{place.near}1": False,  # a pod of this node, which may get itself
        f"{place.near}77": False,
        f"{place.far}77": False,
        f"{place.node}1": True,
        f"{place.outside}9": False,
    }
    for source, from_host in clients.items():
        for address, port, protocol in targets(services, place):
            yield Packet(source, address, port, protocol, from_host, mark=1 << FOREIGN)


def targets(services: list[Routes], place: Place) -> Iterator[tuple[str, int, str]]:
    yield f"{place.near}2", 8080, "TCP"  # a pod itself
    for routes in services:
        spec, ingress = routes.service.spec, routes.service.status.load_balancer.ingress
        addresses = (spec.cluster_ip, *spec.external_ips, *(each.ip for each in ingress))
        for port in spec.ports:
            for address in addresses:
                yield address, port.port, port.protocol
            if port.node_port:
                yield f"{place.node}1", port.node_port, port.protocol
                yield f"{place.node}2", port.node_port, port.protocol
        yield spec.cluster_ip, 4711, "TCP"


# --- Sending and comparing ------------------------------------------------------------------


async def hold(lab: Lab, talks: list[Talk]) -> tuple[list[str], set[End]]:
    """Hold all talks, many at a time; returns what came out otherwise, and all that came out."""
    turn = asyncio.Semaphore(AT_A_TIME)
    ends: set[End] = set()

    async def one(talk: Talk) -> str | None:
        async with turn:
            return await converse(lab, talk, ends)

    async with lab.answering():
        found = await asyncio.gather(*map(one, talks))
    return [each for each in found if each], ends


async def converse(lab: Lab, talk: Talk, ends: set[End]) -> str | None:
    """Connect again and again; returns what came out otherwise than traced."""
    ruleset, packet = talk.ruleset, talk.packet
    memory: Memory = {}
    expected = outcomes(ruleset, packet, lab.own)
    missing = set(expected)
    for _ in range(tries(expected) if talk.until_all else 2):
        expected = outcomes(ruleset, packet, lab.own, memory=memory)
        heard = await lab.ask(
            packet.source, packet.destination, packet.port, packet.protocol, patience(lab, expected)
        )
        happened = next((each for each in expected if agrees(lab, packet, heard, each)), None)
        if happened is None:
            return f"{packet}: {heard}, but expected {list(expected)}"
        ends.add(happened.end)
        missing.discard(happened)
        memory = remembered(ruleset, packet, lab, memory, happened)
    if talk.until_all and not memory and missing:
        return f"{packet}: never came to {missing}"
    return None


def agrees(lab: Lab, packet: Packet, heard: Heard, outcome: Outcome) -> bool:
    """Say whether that is how it looks when a packet comes to this outcome."""
    if outcome.end is not End.SENT:
        silent = outcome.end is End.DROPPED
        return heard is (Silence.SILENT if silent else Silence.REFUSED)
    if not answers(lab, outcome):
        return not isinstance(heard, Reply)
    if not isinstance(heard, Reply) or heard[:2] != (outcome.address, outcome.port):
        return False
    if not outcome.masqueraded:
        return heard.source == packet.source
    stays = outcome.address in lab.own  # then the node's address may be the one it had
    return heard.source in lab.own and (stays or heard.source != packet.source)


def answers(lab: Lab, outcome: Outcome) -> bool:
    """Say whether somebody is where it goes."""
    return outcome.address in lab.endpoints and outcome.port in (8080, 8081)


def patience(lab: Lab, expected: dict[Outcome, Fraction]) -> float:
    """Return for how many seconds to wait: long for what should come, not for what should not."""
    silent = all(
        each.end is End.DROPPED or (each.end is End.SENT and not answers(lab, each))
        for each in expected
    )
    return 0.5 if silent else 20


def tries(expected: dict[Outcome, Fraction]) -> int:
    """Return after how many tries even the rarest outcome is missing once in a billion runs."""
    rarest = float(min(expected.values()))
    return 2 if rarest == 1 else ceil(log(1e-9) / log(1 - rarest))


def remembered(
    ruleset: Ruleset, packet: Packet, lab: Lab, memory: Memory, happened: Outcome
) -> Memory:
    """Return what is remembered after what happened: whatever was drawn, it led to this."""
    for number in range(100):
        found = trace(ruleset, packet, lab.own, lambda n, it=number: it % n, memory=memory)  # type: ignore[misc]
        if found.outcome == happened:
            return found.memory
    raise AssertionError(f"{happened} cannot be drawn")
