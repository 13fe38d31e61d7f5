"""How near hints by CPU share are to going, and to coming back.

Law: the present answer is ``allocation``'s, rounding and all. Where it changes is worked out in
exact fractions, so that a limit reads 0.6 and not 0.5999.

Two things change the answer: the number of ready endpoints, and a zone's part of the CPU. For the
second, the largest zone's ratio is moved while the others keep their proportions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor

import msgspec

from nearwise.model import Reason, reason
from nearwise.slices.allocation import THRESHOLD, ZoneShares, minimum


class Span(msgspec.Struct, frozen=True):
    """A range of the largest zone's ratio in which the answer is the same."""

    low: float
    high: float
    granted: bool


class Nearness(msgspec.Struct, frozen=True):
    """Where a number of ready endpoints stands at the present CPU shares.

    ``zone`` is the largest, ``ratio`` its part of the CPU; the answer stays as it is while that
    is between ``low`` and ``high``, and ``limit`` is the nearer of the two at which it changes
    (None: no ratio of this zone changes it). ``more`` and ``fewer`` are the next numbers of
    endpoints up and down that get hints.
    """

    endpoints: int
    granted: bool
    zone: str
    ratio: float
    low: float
    high: float
    limit: float | None
    more: int | None
    fewer: int | None
    reasons: tuple[Reason, ...]


def granted(shares: ZoneShares, endpoints: int, threshold: float = THRESHOLD) -> bool:
    """Tell whether so many ready endpoints get hints; what ``allocate`` says, without the rest."""
    zones = len(shares.ratios)
    return 0 < zones <= endpoints and _needed(shares, endpoints, threshold) <= endpoints


def next_more(shares: ZoneShares, endpoints: int, threshold: float = THRESHOLD) -> int | None:
    """Return the next larger number of endpoints that gets hints; None when none ever does."""
    if not shares.ratios:
        return None
    number = max(endpoints + 1, len(shares.ratios))
    # What n endpoints need never falls as n grows, so all numbers below it are refused too.
    while (needed := _needed(shares, number, threshold)) > number:
        number = needed
    return number


def next_fewer(shares: ZoneShares, endpoints: int, threshold: float = THRESHOLD) -> int | None:
    """Return the next smaller number of endpoints that gets hints; None when none does."""
    if not shares.ratios or endpoints <= len(shares.ratios):
        return None
    if granted(shares, endpoints - 1, threshold):
        return endpoints - 1
    needed = _needed_by(shares, endpoints - 1, threshold)
    numbers = range(endpoints - 1, len(shares.ratios) - 1, -1)
    return next((number for number in numbers if needed[number] <= number), None)


def spans(shares: ZoneShares, endpoints: int, threshold: float = THRESHOLD) -> tuple[Span, ...]:
    """Return for which ratios of the largest zone, from the even share to 1, there are hints.

    Four endpoints in two zones have them from 0.5 to 0.6 and from 0.7 to 0.9.
    """
    return tuple(
        Span(float(low), float(high), granted)
        for low, high, granted in _spans(shares, endpoints, threshold)
    )


def nearness(shares: ZoneShares, endpoints: int, threshold: float = THRESHOLD) -> Nearness | None:
    """Say how near so many endpoints are to losing or getting hints.

    None without ratios: then not a number but a node decides.
    """
    if not shares.ratios:
        return None
    now = granted(shares, endpoints, threshold)
    zone = shares.largest
    exact = Fraction(shares.cpu[zone], shares.total)
    # On a limit both neighbours hold the ratio, and rounding has decided which of them counts.
    low, high = next(
        (
            (low, high)
            for low, high, answer in _spans(shares, endpoints, threshold)
            if low <= exact <= high and answer is now
        ),
        (exact, exact),
    )
    even = Fraction(1, len(shares.cpu))
    limits = [edge for edge in (low, high) if even < edge < 1 or low == high]
    limit = min(limits, key=lambda edge: abs(edge - exact), default=None)
    more, fewer = next_more(shares, endpoints, threshold), next_fewer(shares, endpoints, threshold)

    reasons = []
    if limit is not None:
        reasons.append(
            reason(
                "hints-share-limit",
                zone=zone,
                percent=_percent(exact),
                limit=_percent(limit),
                endpoints=endpoints,
            )
        )
    if not now:
        numbers = [str(number) for number in (fewer, more) if number is not None]
        reasons.append(reason("hints-safe-counts", endpoints=endpoints, counts=numbers))
    return Nearness(
        endpoints,
        now,
        zone,
        shares.ratios[zone],
        float(low),
        float(high),
        None if limit is None else float(limit),
        more,
        fewer,
        tuple(reasons),
    )


def _needed(shares: ZoneShares, endpoints: int, threshold: float) -> int:
    """Return the sum of the zones' minimums."""
    alike = Counter(shares.ratios.values())
    return sum(zones * minimum(ratio, endpoints, threshold) for ratio, zones in alike.items())


def _needed_by(shares: ZoneShares, most: int, threshold: float) -> list[int]:
    """Return what ``_needed`` says of each number of endpoints, from 0 to ``most``.

    A zone's minimum rises by one at a time. Where it does is looked for, so the work grows with
    endpoints and zones, and not with the one times the other.
    """
    rises = [0] * (most + 1)
    for ratio, zones in Counter(shares.ratios.values()).items():
        for least in range(1, minimum(ratio, most, threshold) + 1):
            number = max(floor((least - 1) * (1 + threshold) / ratio) - 1, 0)
            while minimum(ratio, number, threshold) < least:
                number += 1
            rises[number] += zones
    return list(accumulate(rises))


def _spans(
    shares: ZoneShares, endpoints: int, threshold: float
) -> list[tuple[Fraction, Fraction, bool]]:
    zones = len(shares.ratios)
    even, one = Fraction(1, max(zones, 1)), Fraction(1)
    load = 1 + Fraction(repr(threshold))
    # Each minimum is less than one above its zone's share / load.
    if endpoints < zones or endpoints - endpoints / load >= zones or zones < 2:
        return [(even, one, endpoints >= zones > 1)]

    largest = shares.largest
    rest = shares.total - shares.cpu[largest]
    others = Counter(Fraction(cpu, rest) for zone, cpu in shares.cpu.items() if zone != largest)
    # As the largest zone grows, its minimum rises right after an edge, the others' fall at one.
    rises: Counter[Fraction] = Counter()
    falls: defaultdict[Fraction, int] = defaultdict(int)
    for least in range(1, floor(endpoints / load) + 1):
        rises[least * load / endpoints] += 1
    for part, count in others.items():
        for least in range(1, ceil((1 - even) * part * endpoints / load)):
            falls[1 - least * load / (part * endpoints)] += count
    needed = ceil(even * endpoints / load) + sum(
        count * ceil((1 - even) * part * endpoints / load) for part, count in others.items()
    )

    edges = sorted({even, one} | {edge for edge in (*rises, *falls) if even < edge < one})
    found: list[tuple[Fraction, Fraction, bool]] = []
    for low, high in pairwise(edges):
        needed += rises[low] - (falls[low] if low > even else 0)
        answer = needed <= endpoints
        if found and found[-1][2] is answer:
            low = found.pop()[0]  # noqa: PLW2901
        found.append((low, high, answer))
    return found


def _percent(ratio: Fraction) -> float:
    return round(float(ratio) * 100, 1) or round(float(ratio) * 100, 3)
