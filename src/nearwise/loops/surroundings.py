"""What the controllers are handed from outside: the time, the calendar and the lot."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

# Where there is one, a clock that goes on while the machine sleeps: who slept leads no longer.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Surroundings(NamedTuple):
    """Everything that is not a decision. A simulation hands in its own.

    ``now`` counts seconds on a clock that never goes back, ``wall`` writes the time of day as
    RFC 3339 in UTC with microseconds, ``lot`` draws a number from 0 up to 1.
    """

    now: Callable[[], float]
    wall: Callable[[], str]
    lot: Callable[[], float]


def real_surroundings() -> Surroundings:
    """Return the time, the calendar and the lot of this machine."""
    return Surroundings(lambda: time.clock_gettime(_CLOCK), _wall, random.random)


def _wall() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
