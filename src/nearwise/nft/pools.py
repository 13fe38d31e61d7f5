"""The endpoints of a service port as they are drawn: each in a slot, slots 0 to N-1.

Law: who stays keeps its slot, unless it is needed to fill a hole. So one endpoint more is one slot
more, one less is the last slot moved into its place, one replaced is one slot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, count, takewhile
from typing import Final, cast

import msgspec

from nearwise.model import Reason, reason
from nearwise.nft.addresses import OCTETS, parsed, parsed_for
from nearwise.nft.frontends import Frontend, Kind
from nearwise.nft.layout import ENDPOINTS, LOCAL_ENDPOINTS
from nearwise.nft.registers import endpoint, pack_drawn, pack_port
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.routing import Backend, Selection
from nearwise.routing.backend import PortKey

Slots = tuple[bytes, ...]
"""Endpoints, packed as a map has them; the number of each is its slot."""

_octet: Final = OCTETS.__getitem__


class _Ports(dict[int, bytes]):
    """Packed ports, each packed once."""

    def __missing__(self, port: int) -> bytes:
        if not 0 < port < 65536:
            raise ValueError(port)
        packed = self[port] = pack_port(port)
        return packed


_ports: Final = _Ports()


class Pools(msgspec.Struct, frozen=True, gc=False):
    """Who can be drawn on a service port, under policy Cluster and under policy Local."""

    port: PortKey
    cluster: Slots = ()
    local: Slots = ()
    elsewhere: bool = False
    """Somebody could answer, be it on another node."""


def pools(
    port: PortKey, selection: Selection | None, before: Pools, family: Family
) -> tuple[Pools, dict[bytes, None], tuple[Reason, ...]]:
    """Put who was selected into slots, and keep who was there ``before`` where it was.

    Returns as well the addresses of those that are, or may be, on the node itself; and who was
    left out because it cannot be connected to: that is as if it were not there.
    """
    if selection is None:
        return Pools(port), {}, ()
    node = selection.client.node
    values, usable, broken = _packed(selection.cluster, family)
    own = _own(values, usable, node)
    cluster = kept(before.cluster, values)
    local: Slots = ()
    if selection.local:
        values, usable, broken_here = _packed(selection.local, family)
        own |= _own(values, usable, node)
        local = kept(before.local, values)
        broken = {*broken, *broken_here}
    if not broken:
        return Pools(port, cluster, local, selection.has_any), own, ()
    elsewhere = any(
        (each.ready or each.draining) and _packed_one(each, family) for each in selection.pool
    )
    told = reason(
        "backend-unusable",
        port=port[0] or "without name",
        family=family.api,
        backends=sorted(broken),
    )
    return Pools(port, cluster, local, elsewhere), own, (told,)


def kept(before: Slots, wanted: Iterable[bytes]) -> Slots:
    """Return ``wanted`` in slots, each once; who was there ``before`` stays where it can."""
    names = dict.fromkeys(wanted)
    if not before:
        return tuple(names)
    there = set(before)
    if there == names.keys():
        return before
    movers = [each for each in before[len(names) :] if each in names]
    fill = chain(movers, [each for each in names if each not in there])
    stay = [each if each in names else next(fill) for each in before[: len(names)]]
    return (*stay, *fill)


def pools_before(
    ruleset: Ruleset, port: PortKey, found: Iterable[Frontend], *, internal_local: bool
) -> Pools:
    """Return who is in which slot of a port by a ruleset that may be anybody's."""
    ports = [each for each in found if each.port == port]
    inner = next((each.key for each in ports if each.kind is Kind.CLUSTER), b"")
    outer = next((each.key for each in ports if each.kind is not Kind.CLUSTER), b"")
    if internal_local:
        cluster, local = (outer, ENDPOINTS), (inner, ENDPOINTS)
    else:
        cluster, local = (inner, ENDPOINTS), (outer, LOCAL_ENDPOINTS)
    return Pools(port, _read(ruleset, *cluster), _read(ruleset, *local))


def _read(ruleset: Ruleset, frontend: bytes, map_: str) -> Slots:
    elements = ruleset.elements.get(map_, {})
    values = (elements.get(frontend + pack_drawn(slot)) for slot in count())
    slots = takewhile(lambda value: isinstance(value, bytes), values)
    return tuple(dict.fromkeys(cast("Iterator[bytes]", slots)))


def _packed(
    backends: Sequence[Backend], family: Family
) -> tuple[list[bytes], Sequence[Backend], Collection[str]]:
    """Pack backends; returns also which they are, and what the others are called."""
    try:
        if family is Family.IPV4:  # no call for each: this goes through all endpoints of a cluster
            values = [
                bytes(map(_octet, each.address.split("."))) + _ports[each.port] for each in backends
            ]
        else:
            values = [(parsed(each.address) or b"") + _ports[each.port] for each in backends]
    except (KeyError, ValueError):
        pass  # something is written in another way, or broken: that is seen below
    else:
        if set(map(len, values)) <= {family.width + 4}:
            return values, backends, ()
    packed = [(_packed_one(each, family), each) for each in backends]
    usable = [(value, each) for value, each in packed if value]
    return (
        [value for value, _ in usable],
        [each for _, each in usable],
        {each.label for value, each in packed if not value},
    )


def _packed_one(backend: Backend, family: Family) -> bytes | None:
    """Pack a backend; None if it cannot be connected to in the family."""
    address = parsed_for(family, backend.address)
    return endpoint(address, backend.port) if address and 0 < backend.port < 65536 else None


def _own(values: Sequence[bytes], backends: Sequence[Backend], node: str) -> dict[bytes, None]:
    """Return, twice each, the addresses of backends on the node, or on one that is not told."""
    return {
        value[:-4] * 2: None
        for value, each in zip(values, backends, strict=True)
        if not (on := each.source.node_name) or on == node
    }
