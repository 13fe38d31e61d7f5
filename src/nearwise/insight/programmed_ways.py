"""Where new connections to a frontend go by a table: what following their first packets tells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Final

from nearwise.insight.explanation import Value
from nearwise.nft.layout import ALLOWED, FENCED
from nearwise.nft.registers import (
    address_of,
    endpoint,
    pack_address,
    port_of,
    protocol_of,
)
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.nft.trace import End, Packet, outcomes

_STRANGERS: Final = {Family.IPV4: "192.0.2.1", Family.IPV6: "2001:db8::1"}
"""Somebody outside the cluster: addresses of documentation (RFC 5737, RFC 3849)."""


class Clients(StrEnum):
    """Who connects."""

    HERE = "here"  # a program on this machine
    OUTSIDE = "outside"  # somebody outside the cluster


class Becomes(StrEnum):
    """What becomes of a connection."""

    ENDPOINT = "endpoint"
    REJECTED = "rejected"
    DROPPED = "dropped"
    UNTRANSLATED = "untranslated"  # it goes on to the address it was sent to
    UNKNOWN = "unknown"  # by a rule that our proxy never writes


class Goal(Value, frozen=True):
    """What becomes of a part of the new connections.

    ``endpoint`` is its address and port, ``name`` what is behind it; both empty unless it goes to
    an endpoint. Of an endpoint that no slice lists the name is its address.
    """

    becomes: Becomes
    endpoint: str
    name: str
    share: float


Goals = Mapping[tuple[Becomes, bytes], Fraction]
"""Shares of connections by what becomes of them, and by endpoint."""


def goals(
    table: Ruleset, frontend: bytes, clients: Clients, own: Collection[str], allowed: Ruleset
) -> Goals:
    """Return where new connections of clients to a frontend go.

    ``own`` are the addresses of this machine. Where only some sources may come, a client outside
    is one of those whom ``allowed`` lets in.
    """
    width = table.family.width
    address = address_of(frontend[:width])
    here = clients is Clients.HERE
    packet = Packet(
        source=_here(address, own, table.family) if here else _stranger(allowed, frontend),
        destination=address,
        port=port_of(frontend[width + 4 :]),
        protocol=protocol_of(frontend[width : width + 4]),
        from_host=here,
    )
    found: dict[tuple[Becomes, bytes], Fraction] = {}
    for outcome, share in outcomes(table, packet, own).items():
        becomes, to = _BECOMES[outcome.end], b""
        if outcome.end is End.SENT:
            becomes = Becomes.ENDPOINT if outcome.translated else Becomes.UNTRANSLATED
        if becomes is Becomes.ENDPOINT:
            to = endpoint(pack_address(outcome.address), outcome.port)
        found[becomes, to] = found.get((becomes, to), Fraction(0)) + share
    return found


_BECOMES: Final = {
    End.SENT: Becomes.UNTRANSLATED,
    End.REJECTED: Becomes.REJECTED,
    End.DROPPED: Becomes.DROPPED,
    End.UNKNOWN: Becomes.UNKNOWN,
}


def _here(destination: str, own: Collection[str], family: Family) -> str:
    """Return the address that a connection from this machine comes from."""
    mine = [each for each in own if len(pack_address(each)) == family.width]
    if destination in mine:  # it talks to itself by the address that it talks to
        return destination
    loopback = ("127.", "::1")
    return next((each for each in mine if not each.startswith(loopback)), destination)


def _stranger(table: Ruleset, frontend: bytes) -> str:
    """Return an address outside, one that may come to the frontend if any may."""
    width = table.family.width
    if frontend in table.elements.get(FENCED, ()):
        ranges = sorted(table.elements.get(ALLOWED, ()))
        for each in ranges:
            if each.startswith(frontend):
                return address_of(each[len(frontend) : len(frontend) + width])
    return _STRANGERS[table.family]
