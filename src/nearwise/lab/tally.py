"""Answers of many connections, counted: who answered, from where, how fast, and what failed.

Law: pure. Who answers most stands first; ties are broken by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import ceil

import msgspec

from nearwise.lab.probe import Answer


class Latency(msgspec.Struct, frozen=True):
    """How long connections took, in seconds: to connect, to ask, and to be answered."""

    median: float
    p99: float


class PodTally(msgspec.Struct, frozen=True):
    """The answers of one pod."""

    pod: str
    node: str
    zone: str
    terminating: bool
    """Whether it was told to end when it answered last."""
    count: int
    share: float
    """Of all connections that were answered."""
    latency: Latency


class Share(msgspec.Struct, frozen=True):
    """How many answers came out of a zone, or failed in a way."""

    name: str
    count: int
    share: float


class Tally(msgspec.Struct, frozen=True):
    """What became of some connections."""

    connections: int
    answered: int
    pods: tuple[PodTally, ...]
    zones: tuple[Share, ...]
    failures: tuple[Share, ...]
    """By kind, with their shares of all connections."""


def tally(answers: Iterable[Answer]) -> Tally:
    """Count answers."""
    every = list(answers)
    by_pod: dict[tuple[str, str, str], list[Answer]] = defaultdict(list)
    for each in every:
        if each.failure is None:
            by_pod[each.pod, each.node, each.zone].append(each)
    answered = sum(map(len, by_pod.values()))
    pods = [
        PodTally(*key, some[-1].terminating, len(some), len(some) / answered, _latency(some))
        for key, some in by_pod.items()
    ]
    return Tally(
        connections=len(every),
        answered=answered,
        pods=tuple(sorted(pods, key=lambda each: (-each.count, each.pod, each.node))),
        zones=_shares((each.zone for each in every if each.failure is None), answered),
        failures=_shares((str(each.failure) for each in every if each.failure), len(every)),
    )


def _shares(names: Iterable[str], whole: int) -> tuple[Share, ...]:
    counts = Counter(names)
    shares = [Share(name, count, count / whole) for name, count in counts.items()]
    return tuple(sorted(shares, key=lambda each: (-each.count, each.name)))


def _latency(answers: Sequence[Answer]) -> Latency:
    ordered = sorted(each.seconds for each in answers)
    return Latency(_quantile(ordered, 0.5), _quantile(ordered, 0.99))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest number that so large a share is not above (nearest rank)."""
    return ordered[ceil(share * len(ordered)) - 1]
