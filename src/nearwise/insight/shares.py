"""What every endpoint gets: expected shares of the traffic, in closed form.

Law: this file knows numbers, no Kubernetes. A stream is a part of the traffic, by the zones that
it comes from, that is spread evenly over some endpoints, for that is what a proxy does with the
endpoints it has chosen. Nothing is simulated and nothing is drawn: the shares are exact
expectations, and the work grows with streams, their zones and their targets, never with clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Final

import msgspec

MATRIX: Final = 100
"""Zones up to which traffic is told from zone to zone; of more, nobody reads a matrix."""


class Stream(msgspec.Struct, frozen=True):
    """Traffic that is spread evenly over ``targets``, which are positions in a list of endpoints.

    ``zones`` has the part of all traffic that comes from each zone, the empty one being unknown;
    all parts of all streams add up to 1. A stream without targets is traffic with no answer.
    """

    zones: Mapping[str, float]
    targets: tuple[int, ...]

    @property
    def weight(self) -> float:
        """Its part of all traffic."""
        return fsum(self.zones.values())


class ZonePair(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """The part of all traffic that goes from one zone to another; an empty zone is unknown."""

    source: str
    target: str
    share: float


class Shares(msgspec.Struct, frozen=True):
    """What comes of some streams.

    ``endpoints`` holds one share an endpoint, in their order. Endpoint shares and ``unanswered``
    add up to 1. ``crossing`` and ``unknown`` are parts of all traffic: from one known zone to
    another known one, and where one of the two is not known. ``pairs`` are left out when clients
    are in more than ``MATRIX`` zones.
    """

    endpoints: tuple[float, ...]
    unanswered: float
    crossing: float
    unknown: float
    pairs: tuple[ZonePair, ...]


def mean(parts: Sequence[float]) -> float:
    """Return the share an endpoint gets on average: what an autoscaler sees."""
    return fsum(parts) / len(parts) if parts else 0.0


def skew(parts: Sequence[float]) -> float:
    """Return the hottest share against the mean: 1.0 where all are alike, 0.0 without traffic."""
    middle = mean(parts)
    return max(parts) / middle if middle else 0.0


def shares(streams: Sequence[Stream], zones: Sequence[str]) -> Shares:
    """Add up what each endpoint gets; ``zones`` names the zone of every endpoint, or is empty."""
    parts: list[list[float]] = [[] for _ in zones]
    crossing: list[float] = []
    unknown: list[float] = []
    unanswered: list[float] = []
    for stream in streams:
        weight, count = stream.weight, len(stream.targets)
        if not count:
            unanswered.append(weight)
            continue
        for target in stream.targets:
            parts[target].append(weight / count)
        there = Counter(zones[target] for target in stream.targets)
        for zone, part in stream.zones.items():
            lost = there[""] if zone else count
            unknown.append(part * lost / count)
            crossing.append(part * (count - lost - there[zone]) / count if zone else 0.0)
    return Shares(
        endpoints=tuple(map(fsum, parts)),
        unanswered=fsum(unanswered),
        crossing=fsum(crossing),
        unknown=fsum(unknown),
        pairs=_pairs(streams, zones),
    )


def sources(streams: Iterable[Stream], endpoints: int) -> tuple[Mapping[str, float], ...]:
    """Return, for every endpoint, which part of all traffic comes to it from which zone.

    Nothing is told when clients are in more than ``MATRIX`` zones.
    """
    streams = [stream for stream in streams if stream.targets]
    found: list[dict[str, list[float]]] = [{} for _ in range(endpoints)]
    if len({zone for stream in streams for zone in stream.zones}) <= MATRIX:
        for stream in streams:
            each = {zone: part / len(stream.targets) for zone, part in stream.zones.items()}
            for target in stream.targets:
                for zone, part in each.items():
                    found[target].setdefault(zone, []).append(part)
    return tuple({zone: fsum(got) for zone, got in sorted(zones.items())} for zones in found)


def _pairs(streams: Iterable[Stream], zones: Sequence[str]) -> tuple[ZonePair, ...]:
    streams = [stream for stream in streams if stream.targets]
    if len({zone for stream in streams for zone in stream.zones}) > MATRIX:
        return ()
    found: dict[tuple[str, str], list[float]] = {}
    for stream in streams:
        there = Counter(zones[target] for target in stream.targets)
        for source, part in stream.zones.items():
            for target, count in there.items():
                share = part * count / len(stream.targets)
                found.setdefault((source, target), []).append(share)
    return tuple(
        ZonePair(source, target, fsum(got)) for (source, target), got in sorted(found.items())
    )
