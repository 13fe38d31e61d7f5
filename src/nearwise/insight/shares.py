"""What every endpoint gets: expected shares of the traffic, in closed form.

Law: this file knows numbers, no Kubernetes. A stream is a part of the traffic that comes from one
zone and is spread evenly over some endpoints, for that is what a proxy does with the endpoints it
has chosen. Nothing is simulated and nothing is drawn: the shares are exact expectations, and the
work grows with streams and endpoints, never with clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

import msgspec


class Stream(msgspec.Struct, frozen=True):
    """Traffic of clients in ``zone`` (empty: unknown), spread evenly over ``targets``.

    ``weight`` is its part of all traffic (the weights of all streams add up to 1), ``targets``
    are positions in the list of endpoints. A stream without targets is traffic with no answer.
    """

    zone: str
    weight: float
    targets: tuple[int, ...]


class ZonePair(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """The part of all traffic that goes from one zone to another; an empty zone is unknown."""

    source: str
    target: str
    share: float


class Shares(msgspec.Struct, frozen=True):
    """What comes of some streams.

    ``endpoints`` holds one share an endpoint, in their order. Endpoint shares and ``unanswered``
    add up to 1. ``crossing`` and ``unknown`` are parts of all traffic: from one known zone to
    another known one, and where one of the two is not known.
    """

    endpoints: tuple[float, ...]
    unanswered: float
    pairs: tuple[ZonePair, ...]

    @property
    def crossing(self) -> float:
        """The part of all traffic that leaves its zone, as far as zones are known."""
        return fsum(
            pair.share
            for pair in self.pairs
            if pair.source and pair.target and pair.source != pair.target
        )

    @property
    def unknown(self) -> float:
        """The part of all traffic of which one end has no known zone."""
        return fsum(pair.share for pair in self.pairs if not (pair.source and pair.target))


def mean(parts: Sequence[float]) -> float:
    """Return the share an endpoint gets on average: what an autoscaler sees."""
    return fsum(parts) / len(parts) if parts else 0.0


def skew(parts: Sequence[float]) -> float:
    """Return the hottest share against the mean: 1.0 where all are alike, 0.0 without traffic."""
    middle = mean(parts)
    return max(parts) / middle if middle else 0.0


def shares(streams: Iterable[Stream], zones: Sequence[str]) -> Shares:
    """Add up what each endpoint gets; ``zones`` names the zone of every endpoint, or is empty."""
    parts: list[list[float]] = [[] for _ in zones]
    pairs: dict[tuple[str, str], list[float]] = {}
    unanswered: list[float] = []
    for stream in streams:
        if not stream.targets:
            unanswered.append(stream.weight)
            continue
        each = stream.weight / len(stream.targets)
        for target in stream.targets:
            parts[target].append(each)
            pairs.setdefault((stream.zone, zones[target]), []).append(each)
    return Shares(
        endpoints=tuple(map(fsum, parts)),
        unanswered=fsum(unanswered),
        pairs=tuple(
            ZonePair(source, target, total)
            for (source, target), weights in sorted(pairs.items())
            if (total := fsum(weights))
        ),
    )
