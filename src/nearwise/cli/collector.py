"""Python's collector of garbage, in processes that run for long and hold much."""

from __future__ import annotations

import gc
from typing import Final

_NEW: Final = 10_000  # values made and not gone since the collector looked last; else it is 700


def collect_rarely() -> None:
    """Have the collector look rarely for values that hold each other and nobody else.

    One sync of a service makes thousands of values, and nearly all go by themselves. But each few
    hundred of them would have the collector look, and each few syncs at everything there is: some
    20 ms in which nobody is answered.
    """
    gc.set_threshold(_NEW)
