"""Two ways of doing one thing, timed in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Case(NamedTuple):
    """One comparison: what is measured, against what, and the two calls.

    Each call does the whole work once; what it returns is thrown away. Work that is too short to
    be timed alone is done ``repeat`` times in a row, ours only, and the time divided.
    """

    name: str
    against: str
    theirs: Callable[[], object]
    ours: Callable[[], object]
    rounds: int = 7
    repeat: int = 1


class Outcome(NamedTuple):
    """Medians in seconds."""

    case: Case
    theirs: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.theirs / self.ours


def run(case: Case) -> Outcome:
    """Time both sides in turn, so that whatever else the machine does hits both."""
    case.theirs()
    case.ours()
    theirs, ours = [], []
    for _ in range(case.rounds):
        theirs.append(_seconds(case.theirs, 1))
        ours.append(_seconds(case.ours, case.repeat))
    return Outcome(case, statistics.median(theirs), statistics.median(ours))


def _seconds(call: Callable[[], object], repeat: int) -> float:
    gc.collect()
    result = None  # taken apart after the clock was read
    begin = time.perf_counter()
    for _ in range(repeat):
        result = call()
    seconds = (time.perf_counter() - begin) / repeat
    del result
    return seconds


def tell(seconds: float) -> str:
    """Write a duration in the unit that reads best."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
