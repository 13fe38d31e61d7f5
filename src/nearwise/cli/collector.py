"""Python's collector of garbage, in processes that run for long and hold much."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

_LONGEST_START: Final = 60.0  # seconds
_NEW: Final = 10_000  # values made and not gone since the collector looked last; else it is 700


def collect_rarely() -> None:
    """Have the collector look rarely for values that hold each other and nobody else.

    One sync of a service makes thousands of values, and nearly all go by themselves. But each few
    hundred of them would have the collector look, and each few syncs at everything there is: some
    20 ms in which nobody is answered.
    """
    gc.set_threshold(_NEW)


async def collect_after(begun: asyncio.Event) -> None:
    """Have the collector wait until a process has begun, and leave alone what stays by then.

    What is read at the start stays, so to look at it is in vain: a third of the time of a large
    start, and the longest delays later. Without a start for a minute it no longer waits.
    """
    import asyncio

    gc.disable()
    try:
        async with asyncio.timeout(_LONGEST_START):
            await begun.wait()
        gc.collect()
        gc.freeze()
    except TimeoutError:
        pass
    finally:
        gc.enable()
