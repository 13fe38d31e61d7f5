"""What is measured on the running system, and how many times are summed up."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Measured(NamedTuple):
    """What came out, and what stands beside it to compare it with."""

    ours: str
    beside: str


class Case(NamedTuple):
    """One measurement, made when it is called."""

    name: str
    measure: Callable[[], Measured]


def spread(seconds: Sequence[float]) -> str:
    """Say the median and the 99th percentile of many times."""
    ms = sorted(1000 * each for each in seconds)
    last = ms[min(len(ms) - 1, int(0.99 * len(ms)))]
    return f"{statistics.median(ms):.3g} ms, p99 {last:.3g} ms"
