"""A service on a node: what should be in the kernel there for it, and what a kernel has.

Law: pure; tables, pins and flows are handed in as they were read. ``programmed_elements`` says what
is other at a frontend, ``programmed_ways`` where connections go, ``programmed_rules`` what is about
the table as such; here it is put in order and into words. The JSON form is documented in
``docs/explain.md`` and may grow, but not change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from nearwise.insight.explanation import Value
from nearwise.insight.programmed_elements import Compared, Difference, Slots, differences, left_over
from nearwise.insight.programmed_rules import changed_parts
from nearwise.insight.programmed_ways import Clients, Goal, Goals, goals
from nearwise.model import Node, Reason, Service, reason
from nearwise.model.reasons import Level
from nearwise.nft.addresses import parsed_for
from nearwise.nft.choices import Flow, stale_flows, stale_pins
from nearwise.nft.frontends import Frontend, Kind, frontends, written
from nearwise.nft.layout import CLUSTER_ADDRESSES, OWN_ENDPOINTS, Settings
from nearwise.nft.registers import address_of, port_of
from nearwise.nft.registers import endpoint as packed
from nearwise.nft.ruleset import TABLE, Ruleset
from nearwise.routing import Backend, Client, Selection, is_routed, select
from nearwise.routing.backend import PortKey
from nearwise.slices.endpoints import families_of


class Seen(msgspec.Struct, frozen=True):
    """What was read of a kernel for a family. ``table`` is None if there is none in force."""

    table: Ruleset | None
    pins: Mapping[bytes, bytes] = {}
    flows: tuple[Flow, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    """What should be there for a service: the table with all services in it, and the choices."""

    service: Service
    settings: Settings
    table: Ruleset
    selections: Mapping[PortKey, Selection]
    left_out: tuple[Reason, ...] = ()


class Way(Value, frozen=True):
    """Where new connections go: as it should be, and by what the kernel has."""

    clients: Clients
    should: tuple[Goal, ...]
    kernel: tuple[Goal, ...]


class FrontendLine(Value, frozen=True):
    """Something that clients connect to. ``kind`` is empty for one that should not be there."""

    frontend: str
    kind: str
    port: str
    agrees: bool
    ways: tuple[Way, ...]


class Chosen(Value, frozen=True):
    """Why the endpoints of a port were chosen as they were."""

    port: str
    protocol: str
    reasons: tuple[Reason, ...]


class FamilyLines(Value, frozen=True):
    """One address family. ``table`` says whether the kernel has our table at all."""

    family: str
    table: bool
    headline: Reason
    chosen: tuple[Chosen, ...]
    frontends: tuple[FrontendLine, ...]
    notes: tuple[Reason, ...]
    findings: tuple[Reason, ...]


class NodeExplanation(Value, frozen=True):
    """The whole answer about a service on a node."""

    service: str
    type: str
    cluster_ips: tuple[str, ...] = msgspec.field(name="clusterIPs")
    node: str
    zone: str
    agrees: bool
    families: tuple[FamilyLines, ...]
    notes: tuple[Reason, ...]
    findings: tuple[Reason, ...]


def programmed(wanted: Wanted, seen: Seen) -> FamilyLines:
    """Compare what should be there for a service in a family with what a kernel has."""
    family, has = wanted.settings.family, seen.table
    found, _ = frontends(wanted.service, wanted.settings)
    lost = {text for why in wanted.left_out for text in _contested(why)}
    mine = [each for each in found if written(each.key) not in lost]
    backends = _backends(wanted)
    lines: tuple[FrontendLine, ...] = ()
    findings: list[Reason] = []
    table = f"{family} {TABLE}"
    if has is None:
        nothing = Ruleset(family)
        lines = tuple(
            _line(wanted, nothing, each.key, backends, each, agrees=False) for each in mine
        )
        if mine:
            findings.append(reason("kernel-table-missing", table=table))
    elif unreadable := sorted(name for name, set_ in has.sets.items() if not set_.key):
        findings.append(reason("kernel-sets-unreadable", table=table, sets=unreadable))
    else:
        lines, findings = _compared(wanted, seen, has, mine, backends)
        if changed := changed_parts(has, wanted.settings):
            findings.append(reason("kernel-rules-changed", table=table, parts=changed))
    return FamilyLines(
        family=family.api,
        table=has is not None,
        headline=_headline(lines, findings),
        chosen=tuple(_chosen(wanted)),
        frontends=lines,
        notes=wanted.left_out,
        findings=tuple(sorted(findings, key=_severity)),
    )


def node_explanation(
    service: Service,
    node: Node,
    machine: Iterable[str],
    families: Sequence[FamilyLines],
    notes: Sequence[Reason],
) -> NodeExplanation:
    """Put the families of a service together; ``machine`` are the addresses of this machine."""
    findings: list[Reason] = []
    addresses = sorted({each.address for each in node.status.addresses if "IP" in each.type})
    if addresses and not set(addresses) & set(machine):
        findings.append(reason("kernel-elsewhere", node=node.metadata.name, addresses=addresses))
    absent = [
        reason("kernel-family-none", family=family)
        for family in families_of(service)
        if family not in {each.family for each in families}
    ]
    shown = tuple(each for each in families if each.frontends or each.findings or each.notes)
    worries = [why for each in shown for why in each.findings] + findings
    return NodeExplanation(
        service="/".join(service.metadata.key),
        type=service.spec.type or "ClusterIP",
        cluster_ips=service.spec.cluster_ips or tuple(filter(None, [service.spec.cluster_ip])),
        node=node.metadata.name,
        zone=node.zone,
        agrees=all(why.level is Level.INFO for why in worries),
        families=shown,
        notes=(*_not_routed(service), *absent, *notes),
        findings=tuple(findings),
    )


def _not_routed(service: Service) -> tuple[Reason, ...]:
    return () if is_routed(service) else select(service, (), Client("")).reasons


def _compared(
    wanted: Wanted,
    seen: Seen,
    has: Ruleset,
    mine: Sequence[Frontend],
    backends: Mapping[bytes, Backend],
) -> tuple[tuple[FrontendLine, ...], list[Reason]]:
    """Compare the frontends of a service, and what a kernel remembers of its clients."""
    name = "/".join(wanted.service.metadata.key)
    left = left_over(has, {each.key for each in mine}, name)
    keys = [*(each.key for each in mine), *left]
    slots, slots_there = Slots.of(wanted.table, keys), Slots.of(has, keys)
    compared = Compared(wanted.table, has, slots, slots_there, frozenset(backends))
    other: dict[bytes, list[Difference]] = {
        each.key: differences(compared, each.key, name) for each in mine
    }
    other |= {key: [Difference("kernel-frontends-left")] for key in left}
    known = {each.key: each for each in mine}
    lines = []
    for key, found in other.items():
        line = _line(wanted, has, key, backends, known.get(key), agrees=not found)
        if line.agrees and any(way.should != way.kernel for way in line.ways):
            found.append(Difference("kernel-rules-mislead"))  # for the elements are as they should
            line = msgspec.structs.replace(line, agrees=False)
        lines.append(line)
    return tuple(lines), [
        *_told(other, backends),
        *_shared(wanted, has, mine, backends),
        *_stale(wanted.table, seen, set(keys), backends),
    ]


def _line(
    wanted: Wanted,
    has: Ruleset,
    key: bytes,
    backends: Mapping[bytes, Backend],
    frontend: Frontend | None,
    *,
    agrees: bool,
) -> FrontendLine:
    """Say where connections to a key go; without a frontend it is left over in the kernel."""
    own = wanted.settings.node_addresses

    def way(clients: Clients) -> Way:
        should, there = (
            _goals(goals(table, key, clients, own, allowed=wanted.table), backends)
            for table in (wanted.table, has)
        )
        return Way(clients, should, there)

    outside = frontend is not None and frontend.kind is not Kind.CLUSTER
    return FrontendLine(
        frontend=written(key),
        kind=str(frontend.kind) if frontend else "",
        port=frontend.port[0] if frontend else "",
        agrees=agrees,
        ways=tuple(map(way, Clients if outside else (Clients.HERE,))),
    )


def _goals(found: Goals, backends: Mapping[bytes, Backend]) -> tuple[Goal, ...]:
    return tuple(
        Goal(becomes, _written(to), _name(to, backends), float(share))
        for (becomes, to), share in found.items()
    )


# --- in words -------------------------------------------------------------------------------


def _headline(lines: Sequence[FrontendLine], findings: Sequence[Reason]) -> Reason:
    if other := sum(not line.agrees for line in lines):
        return reason("kernel-differs", other=other, frontends=len(lines))
    if findings and not lines:
        return findings[0]
    if findings:
        return reason("kernel-agrees-but", findings=len(findings))
    return reason("kernel-agrees", frontends=len(lines))


def _chosen(wanted: Wanted) -> Iterator[Chosen]:
    for (port, protocol), selection in wanted.selections.items():
        yield Chosen(port, protocol, selection.reasons)


def _told(
    other: Mapping[bytes, Iterable[Difference]], backends: Mapping[bytes, Backend]
) -> Iterator[Reason]:
    """Tell what is other, once for all frontends at which it is."""
    alike: dict[Difference, list[str]] = {}
    for key, found in other.items():
        for each in found:
            alike.setdefault(each, []).append(written(key))
    for difference, keys in alike.items():
        facts = dict(difference.facts)
        if difference.endpoints:
            facts["endpoints"] = _labels(difference.endpoints, backends)
        yield reason(difference.code, frontends=keys, **facts)


def _shared(
    wanted: Wanted, has: Ruleset, mine: Iterable[Frontend], backends: Iterable[bytes]
) -> Iterator[Reason]:
    """Tell what is missing that a service shares with others."""
    width = wanted.settings.family.width

    def missing(name: str, keys: Iterable[bytes]) -> list[str]:
        should, there = (table.elements.get(name, {}) for table in (wanted.table, has))
        return sorted(
            {address_of(key[:width]) for key in keys if key in should and key not in there}
        )

    addresses = (each.key[:width] for each in mine)
    if found := missing(CLUSTER_ADDRESSES, addresses):
        yield reason("kernel-cluster-addresses-missing", addresses=found)
    if found := missing(OWN_ENDPOINTS, (each[:width] * 2 for each in backends)):
        yield reason("kernel-own-endpoints-missing", addresses=found)


def _stale(
    should: Ruleset, seen: Seen, keys: set[bytes], backends: Mapping[bytes, Backend]
) -> Iterator[Reason]:
    """Tell what a kernel remembers of clients that are led where nobody is sent any more."""
    width = should.family.width
    pins = {key: to for key, to in seen.pins.items() if key[width:] in keys}
    pinned = ((key[width:], pins[key]) for key in stale_pins(should, pins))
    flows = [each for each in seen.flows if each.frontend in keys]
    flowing = ((each.frontend, each.endpoint) for each in stale_flows(should, flows, keys))
    for code, found in (("kernel-pins-stale", pinned), ("kernel-flows-stale", flowing)):
        for (key, to), count in sorted(Counter(found).items()):
            who = _labels([to], backends)[0]
            yield reason(code, frontend=written(key), endpoint=who, count=count)


def _contested(why: Reason) -> Sequence[str]:
    """Return the frontends that a reason says another service got."""
    found = why.facts["frontends"] if why.code == "frontend-contested" else ()
    return [str(each) for each in found] if isinstance(found, Sequence) else ()


# --- who is who -----------------------------------------------------------------------------


def _backends(wanted: Wanted) -> dict[bytes, Backend]:
    """Return everybody whom the slices of a service list, by endpoint."""
    return {
        packed(address, each.port): each
        for selection in wanted.selections.values()
        for each in selection.pool
        if (address := parsed_for(wanted.settings.family, each.address)) and 0 < each.port < 65536
    }


def _labels(endpoints: Iterable[bytes], backends: Mapping[bytes, Backend]) -> tuple[str, ...]:
    return tuple(backends[each].label if each in backends else _written(each) for each in endpoints)


def _name(endpoint: bytes, backends: Mapping[bytes, Backend]) -> str:
    target = backends[endpoint].target if endpoint in backends else None
    return target.name if target else _written(endpoint)


def _written(endpoint: bytes) -> str:
    """Write an endpoint as people do: ``[fd00::1]:80``; nothing for none."""
    if not endpoint:
        return ""
    address = address_of(endpoint[:-4])
    return (
        f"[{address}]:{port_of(endpoint[-4:])}"
        if ":" in address
        else (f"{address}:{port_of(endpoint[-4:])}")
    )


def _severity(why: Reason) -> int:
    return (Level.ERROR, Level.WARNING, Level.INFO).index(why.level)
