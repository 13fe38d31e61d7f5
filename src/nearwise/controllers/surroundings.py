"""What the controllers are handed from outside: the time, the calendar and the lot."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Surroundings(NamedTuple):
    """Everything that is not a decision. A simulation hands in its own.

    ``now`` counts seconds on a clock that never goes back, ``wall`` writes the time of day as
    RFC 3339 in UTC with microseconds, ``lot`` draws a number from 0 up to 1.
    """

    now: Callable[[], float]
    wall: Callable[[], str]
    lot: Callable[[], float]
