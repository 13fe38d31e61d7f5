"""How many numbers lay within which bounds: a histogram, until somebody asks for it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily


class Distribution:
    """Counts numbers by the bounds between which they lie."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def observe(self, number: float) -> None:
        """Count one more."""
        self._counts[bisect_left(self._bounds, number)] += 1
        self._total += number

    def add_to(self, family: HistogramMetricFamily, *labels: str) -> None:
        """Write it into a family of metrics."""
        family.add_metric(labels, cumulative(self._bounds, self._counts), self._total)


def cumulative(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Add up the counts of buckets and what is beyond, as the exposition formats want them."""
    names = (*map(str, bounds), "+Inf")
    return list(zip(names, map(float, accumulate(counts)), strict=True))
