"""What a work queue tells of itself: the numbers behind client-go's ``workqueue_*`` metrics."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

BOUNDS: Final = tuple(10.0**power for power in range(-8, 4))
"""Upper bounds of the buckets in seconds, as client-go has them; what is longer is beyond."""


class Histogram(msgspec.Struct, frozen=True):
    """How long things took: how many in each bucket of ``BOUNDS`` and beyond, and seconds in all.

    The counts are of each bucket alone, not added up as Prometheus prints them.
    """

    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        """How many things there were."""
        return sum(self.counts)


class Durations:
    """Collects how long things took."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one more."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._total += seconds

    def histogram(self) -> Histogram:
        """Return what was collected so far."""
        return Histogram(tuple(self._counts), self._total)


class QueueMetrics(msgspec.Struct, frozen=True):
    """The state of a queue at one moment; each field is client-go's ``workqueue_<field>``.

    ``retries`` counts what came back after a failure. client-go counts delayed adds too, although
    nothing failed then.
    """

    depth: int
    adds: int
    retries: int
    queue_duration: Histogram
    work_duration: Histogram
    unfinished_work_seconds: float
    longest_running_processor_seconds: float
