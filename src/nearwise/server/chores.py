"""What the server does by itself, beside requests: one key at a time, and again when it failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Final, TypeVar

from nearwise.loops.workers import Workers
from nearwise.machinery.queue import WorkQueue
from nearwise.server.statuses import Refusal

K = TypeVar("K", bound=Hashable)

_FIRST_DELAY: Final = 0.05  # seconds; another write came in between, most of the time
_LONGEST_DELAY: Final = 30.0


def chores(name: str, do: Callable[[K], Awaitable[None]]) -> Workers[K]:
    """Return workers that soon try again; that a request of theirs is refused is told to nobody."""
    queue: WorkQueue[K] = WorkQueue(first_delay=_FIRST_DELAY, longest_delay=_LONGEST_DELAY)
    return Workers(name, queue, do, quiet=(Refusal,))
