"""Hints by CPU share: which zone gets how many endpoints, and when nobody gets any.

Law: the arithmetic is Kubernetes', to the bit. Ratios, shares and minimums are float64 in the
order in which Kubernetes 1.36 computes them, because some answers are decided by the last bit;
exact fractions are used only to say so. Where Kubernetes picks at random, names decide.

``topology-mode: Auto`` (KEP-2433) spreads the ready endpoints of a service over the zones by the
CPU of their ready nodes. A zone's share is ratio x endpoints; it must get at least as many that
none is overloaded by more than the threshold, ``ceil(share / (1 + threshold))``. Then each
endpoint starts with its own zone, and zones with too many lend to those with too few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heapreplace
from math import ceil
from typing import Final

import msgspec

from nearwise.model import Endpoint, EndpointHints, ForZone, Node, Reason, reason

THRESHOLD: Final = 0.2  # how much a zone's endpoints may be overloaded before hints go

# What Kubernetes 1.36 says in the event TopologyAwareHintsDisabled; the address family follows.
_NODE_INFO: Final = (
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
)
_TOO_FEW: Final = "Insufficient number of endpoints"
_MINIMUMS: Final = (
    "Unable to allocate minimum required endpoints to each zone without exceeding overload "
    "threshold"
)
_NO_ZONE: Final = "One or more endpoints do not have a zone specified"


class ExcludedNode(msgspec.Struct, frozen=True):
    """A node that the shares do not count: ``control-plane`` or ``not ready``."""

    name: str
    why: str
    zone: str
    cpu: int  # milli-CPU


class LackingNode(msgspec.Struct, frozen=True):
    """A ready worker node without which the shares would be known."""

    name: str
    missing: tuple[str, ...]  # "zone", "CPU"


class ZoneShares(msgspec.Struct, frozen=True):
    """The CPU of the ready worker nodes by zone, and what part of all that is.

    ``ratios`` is empty when hints by share are impossible: a node lacks zone or CPU, or there
    are fewer than two zones. ``cpu`` and ``total`` (milli-CPU) are given even then, for the nodes
    that have both. All are sorted by name.
    """

    cpu: Mapping[str, int]
    ratios: Mapping[str, float]
    total: int
    excluded: tuple[ExcludedNode, ...] = ()
    lacking: tuple[LackingNode, ...] = ()

    @property
    def largest(self) -> str:
        """The zone with most CPU, the first by name of equal ones; empty when there is none."""
        return max(self.cpu, key=lambda zone: self.cpu[zone], default="")


class Allocation(msgspec.Struct, frozen=True):
    """How many ready endpoints a zone is to get; ``desired`` is its share, at least the minimum."""

    minimum: int
    maximum: int
    desired: float


class Allocations(msgspec.Struct, frozen=True):
    """How many ready endpoints each zone is to get, and the CPU ratios that say so."""

    zones: Mapping[str, Allocation]
    ratios: Mapping[str, float]
    endpoints: int


class Refusal(msgspec.Struct, frozen=True):
    """No hints for anybody: Kubernetes' words (without the family), and the true reasons."""

    text: str
    reasons: tuple[Reason, ...]


class Assigned(msgspec.Struct, frozen=True):
    """The endpoints with their hints, in the order given, and all hints by zone.

    ``reasons`` say how the endpoints are spread, and name each that is lent to another zone.
    """

    slices: tuple[tuple[Endpoint, ...], ...]
    hints: Mapping[str, int]
    reasons: tuple[Reason, ...]


def zone_shares(nodes: Iterable[Node]) -> ZoneShares:
    """Count the CPU of the ready worker nodes by zone.

    Control-plane nodes and nodes that are not ready drop out first. Then one node without zone
    or allocatable CPU is enough to stop everything.
    """
    cpu: dict[str, int] = {}
    excluded: list[ExcludedNode] = []
    lacking: list[LackingNode] = []
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        name, zone, amount = node.metadata.name, node.zone, node.cpu
        if why := _excluded(node):
            excluded.append(ExcludedNode(name, why, zone, amount))
        elif not zone or not amount:
            missing = [word for word, there in (("zone", zone), ("CPU", amount)) if not there]
            lacking.append(LackingNode(name, tuple(missing)))
        else:
            cpu[zone] = cpu.get(zone, 0) + amount
    cpu = dict(sorted(cpu.items()))
    total = sum(cpu.values())
    known = not lacking and len(cpu) > 1 and total
    ratios = {zone: amount / total for zone, amount in cpu.items()} if known else {}
    return ZoneShares(cpu, ratios, total, tuple(excluded), tuple(lacking))


def allocate(
    shares: ZoneShares, ready_endpoints: int, threshold: float = THRESHOLD
) -> Allocations | Refusal:
    """Say how many of the ready endpoints each zone is to get, or why there are no hints."""
    ratios, zones = shares.ratios, len(shares.ratios)
    if not ratios:
        return Refusal(_NODE_INFO, _why_no_ratios(shares))
    numbers = f"({ready_endpoints} endpoints, {zones} zones)"
    if ready_endpoints < zones:
        why = reason("hints-off-too-few", endpoints=ready_endpoints, zones=zones)
        return Refusal(f"{_TOO_FEW} {numbers}", (why,))

    minimums = {zone: minimum(ratio, ready_endpoints, threshold) for zone, ratio in ratios.items()}
    spare = ready_endpoints - sum(minimums.values())
    if spare < 0:
        reasons = [
            reason(
                "hints-off-minimums",
                minimums=minimums,
                endpoints=ready_endpoints,
                ratios=ratios,
                shares={zone: ratio * ready_endpoints for zone, ratio in ratios.items()},
                total=sum(minimums.values()),
            )
        ]
        if _exact_minimums(shares, ready_endpoints, threshold) <= ready_endpoints:
            reasons.append(reason("hints-off-rounding"))
        return Refusal(f"{_MINIMUMS} {numbers}", tuple(reasons))
    zones_ = {
        zone: Allocation(least, least + spare, max(ratios[zone] * ready_endpoints, float(least)))
        for zone, least in minimums.items()
    }
    return Allocations(zones_, ratios, ready_endpoints)


def assign(
    allocations: Allocations,
    rewritten: Sequence[Sequence[Endpoint]],
    standing: Mapping[str, int],
) -> Assigned | Refusal:
    """Give each ready endpoint of the slices that are written anyway one zone hint.

    ``standing`` counts the hints in the slices that stay as they are. An endpoint in a zone
    without an allocation keeps its own zone: nobody borrows from there (recorded behaviour of
    Kubernetes 1.36). Refused when a ready endpoint has no zone.
    """
    allocated = Counter(standing)
    for endpoints in rewritten:
        for endpoint in endpoints:
            if endpoint.conditions.ready:
                if not endpoint.zone:
                    why = reason("hints-off-no-zone", endpoint=endpoint.called)
                    return Refusal(_NO_ZONE, (why,))
                allocated[endpoint.zone] += 1

    giving, takers = _exchange(allocations.zones, allocated)
    hints: dict[str, EndpointHints] = {}
    reasons: list[Reason] = []
    slices = []
    for endpoints in rewritten:
        hinted = []
        for endpoint in endpoints:
            zone = endpoint.zone if endpoint.conditions.ready else None
            to = zone
            if zone and giving[zone] and takers:
                to = takers.pop()
                giving[zone] -= 1
                allocated[zone] -= 1
                allocated[to] += 1
                ratios = {name: allocations.ratios[name] for name in sorted((zone, to))}
                reasons.append(
                    reason("hint-lent", endpoint=endpoint.called, zone=zone, to=to, ratios=ratios)
                )
            wanted = hints.setdefault(to, EndpointHints((ForZone(to),))) if to else None
            if endpoint.hints != wanted:
                endpoint = msgspec.structs.replace(endpoint, hints=wanted)  # noqa: PLW2901
            hinted.append(endpoint)
        slices.append(tuple(hinted))
    by_zone = {zone: count for zone, count in sorted(allocated.items()) if count}
    spread = reason(
        "hints-by-share",
        endpoints=allocations.endpoints,
        allocated=by_zone,
        ratios=allocations.ratios,
    )
    return Assigned(tuple(slices), by_zone, (spread, *reasons))


def overloaded(hints: Mapping[str, int], shares: ZoneShares, threshold: float = THRESHOLD) -> bool:
    """Tell whether hints given before are out of line with the CPU shares now.

    ``hints`` are those of one family by zone. After a change of nodes only services of which this
    holds are looked at (recorded behaviour of Kubernetes 1.36): so hints that were refused do not
    come back by a node's return alone.
    """
    if not hints or not shares.ratios:
        return bool(hints)
    total = sum(hints.values())
    return any(
        zone not in hints or hints[zone] < minimum(ratio, total, threshold)
        for zone, ratio in shares.ratios.items()
    )


def minimum(ratio: float, endpoints: int, threshold: float) -> int:
    """Return the fewest endpoints that a zone may get, in Kubernetes' arithmetic."""
    return ceil(ratio * endpoints * (1 / (1 + threshold)))


def _exact_minimums(shares: ZoneShares, endpoints: int, threshold: float) -> int:
    """Return the sum of the zones' minimums as it would be without rounding."""
    # The threshold as written: 0.2 is a fifth, not the binary number beside it.
    load = 1 + Fraction(repr(threshold))
    return sum(
        ceil(Fraction(amount, shares.total) * endpoints / load) for amount in shares.cpu.values()
    )


def _exchange(
    zones: Mapping[str, Allocation], allocated: Mapping[str, int]
) -> tuple[Counter[str], list[str]]:
    """Return how many endpoints each zone lends, and the zones that borrow, the first one last.

    One endpoint a step, from the zone with most to give to the zone that lacks most, until one
    side has less than half an endpoint or both have less than one.
    """
    over = [(allocated.get(zone, 0) - each.desired, zone) for zone, each in zones.items()]
    to_give = [(-amount, zone) for amount, zone in over if amount > 0]
    to_take = [(amount, zone) for amount, zone in over if amount < 0]
    heapify(to_give)
    heapify(to_take)
    giving: Counter[str] = Counter()
    takers: list[str] = []
    while to_give and to_take:
        (give, giver), (take, taker) = to_give[0], to_take[0]
        if max(give, take) > -0.5 or min(give, take) > -1.0:
            break
        giving[giver] += 1
        takers.append(taker)
        heapreplace(to_give, (give + 1, giver))
        heapreplace(to_take, (take + 1, taker))
    return giving, sorted(takers, reverse=True)


def _why_no_ratios(shares: ZoneShares) -> tuple[Reason, ...]:
    if shares.lacking:
        return tuple(
            reason("hints-off-node-info", node=node.name, missing=" and no ".join(node.missing))
            for node in shares.lacking
        )
    if not shares.cpu:
        return (reason("hints-off-no-nodes"),)
    return (reason("hints-off-one-zone", zone=shares.largest),)


def _excluded(node: Node) -> str:
    if node.control_plane:
        return "control-plane"
    return "" if node.ready else "not ready"
