"""An event loop whose time passes at once: when everybody waits, it is as late as they wait for."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# Who waits for less than a rounding error would do so for ever if time stood still meanwhile.
_ROUNDS = 10_000
_TICK = 1e-9


class _ImpatientSelector(selectors.DefaultSelector):
    """Waits for nothing; tells how long it was to have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0.0
        self._rounds = 0  # since time last passed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        self._rounds += 1
        if not found and timeout:
            self.slept += timeout
            self._rounds = 0
        elif self._rounds > _ROUNDS:
            self.slept += _TICK
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time begins at 0 and passes only while everybody waits. Not for threads and networks."""

    def __init__(self) -> None:
        self._impatient = _ImpatientSelector()
        super().__init__(self._impatient)

    def time(self) -> float:
        """Return how late it is, in seconds."""
        return self._impatient.slept


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
