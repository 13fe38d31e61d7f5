"""The rules of a table in a kernel: what they were made with, and whether they are ours still.

Law: about the table as such, never about a service. What an operator chose for the proxy stands in
no object of the cluster; it is read off the rules, so that no choice counts as a fault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from nearwise.model import Service
from nearwise.nft.layout import (
    CLUSTER_ADDRESSES,
    POLICY_LOCAL,
    SERVICES,
    Settings,
    fixed_chains,
    fixed_sets,
    remember_chain,
    spread_chain,
    spread_of,
    sticky_set,
)
from nearwise.nft.registers import address_of, pack_address, port_of, protocol_of
from nearwise.nft.ruleset import Field, Hook, Marked, Match, Ruleset, SetMark, Within

_STICKY: Final = re.compile(r"sticky-([1-9][0-9]*)")


def settings_in(table: Ruleset, usual: Settings, services: Iterable[Service]) -> Settings:
    """Return the settings that a table was made with; what it does not tell is as ``usual``.

    Node ports answer on those addresses of the machine where most node ports of the services do.
    """
    bit = _bit(table)
    return replace(
        usual,
        pod_networks=_pod_networks(table),
        masquerade_all=_masquerades_all(table),
        masquerade_bit=usual.masquerade_bit if bit is None else bit,
        node_port_addresses=_node_port_addresses(table, usual, services)
        or usual.node_port_addresses,
    )


def changed_parts(table: Ruleset, settings: Settings) -> tuple[str, ...]:
    """Return the chains, sets and maps of a table that are not as the proxy makes them."""
    timeouts = tuple([seconds for name in table.sets if (seconds := _seconds(name))])
    chains = {each.name: each for each in (*fixed_chains(settings), remember_chain(timeouts))}
    for name in table.chains:
        if spread := spread_of(name):
            chains[name] = spread_chain(spread, settings)
    sets = {each.name: each for each in (*fixed_sets(), *map(sticky_set, timeouts))}
    other_chains = _other(chains, table.chains)
    other_sets = _other(sets, table.sets)
    return (*(f"chain {name}" for name in other_chains), *(f"set {name}" for name in other_sets))


def seconds_at(table: Ruleset, frontend: bytes) -> tuple[int, ...]:
    """Return for how long clients stay with their endpoint at a frontend: once, if at all."""
    return tuple(
        sorted(
            seconds
            for name, elements in table.elements.items()
            if (seconds := _seconds(name)) and frontend in elements
        )
    )


def _seconds(name: str) -> int:
    """Return for how long clients in a set of that name are remembered; 0: it is no such set."""
    found = _STICKY.fullmatch(name)
    return int(found[1]) if found else 0


def _other(should: Mapping[str, object], has: Mapping[str, object]) -> list[str]:
    return sorted(name for name in {*should, *has} if should.get(name) != has.get(name))


def _bit(table: Ruleset) -> int | None:
    bits = [
        statement.bit
        for chain in table.chains.values()
        if chain.hook is Hook.POSTROUTING
        for rule in chain.rules
        for statement in rule
        if isinstance(statement, Marked)
    ]
    return bits[0] if bits else None


def _pod_networks(table: Ruleset) -> tuple[str, ...]:
    chain = table.chains.get(POLICY_LOCAL)
    return tuple(
        rule[0].network
        for rule in (chain.rules if chain else ())
        if rule and isinstance(rule[0], Within) and not rule[0].inverted
    )


def _masquerades_all(table: Ruleset) -> bool:
    chain = table.chains.get(SERVICES)
    to_cluster = Match((Field.DESTINATION,), CLUSTER_ADDRESSES)
    return any(
        len(rule) == 2 and rule[0] == to_cluster and isinstance(rule[1], SetMark)
        for rule in (chain.rules if chain else ())
    )


def _node_port_addresses(
    table: Ruleset, usual: Settings, services: Iterable[Service]
) -> tuple[str, ...]:
    ports = {
        (port.protocol, port.node_port)
        for service in services
        for port in service.spec.ports
        if port.node_port
    }
    machine = set(map(pack_address, usual.node_addresses))
    width = usual.family.width
    answering = Counter(
        key[:width]
        for key in table.elements.get(SERVICES, ())
        if key[:width] in machine
        and (protocol_of(key[width : width + 4]), port_of(key[width + 4 :])) in ports
    )
    found = sorted(each for each, count in answering.items() if 2 * count > len(ports))
    return tuple(map(address_of, found))
