"""What the server does by itself, beside requests: one key at a time, and again when it failed.

Law: a chore is a key and a function of what is stored now, never of what happened. So it may be
done too often, and what was missed while it failed is not lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from math import inf
from typing import Final, Generic, TypeVar

from nearwise.machinery.queue import WorkQueue
from nearwise.machinery.wait import Wait
from nearwise.server.statuses import Refusal

K = TypeVar("K", bound=Hashable)

_FIRST_DELAY: Final = 0.05  # seconds; another write came in between, most of the time
_LONGEST_DELAY: Final = 30.0

_log = logging.getLogger(__name__)


class Chores(Generic[K]):
    """Keys to look at, and what to do with each."""

    def __init__(self, name: str, do: Callable[[K], Awaitable[None]]) -> None:
        self._name = name
        self._do = do
        self._queue: WorkQueue[K] = WorkQueue(
            first_delay=_FIRST_DELAY, longest_delay=_LONGEST_DELAY
        )
        self._news = asyncio.Event()

    def add(self, key: K, after: float = 0.0) -> None:
        """Have a key looked at, in some seconds."""
        self._queue.add_after(key, after, _now())
        self._news.set()

    async def run(self, workers: int) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(workers):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._next()
            try:
                await self._do(key)
            except Refusal as refused:
                delay = self._queue.retry(key, _now())
                _log.debug("%s %s: %s; again in %g s", self._name, key, refused, delay)
            except Exception:
                delay = self._queue.retry(key, _now())
                _log.exception("%s %s failed; again in %g s", self._name, key, delay)
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key, _now())
                self._news.set()
            await asyncio.sleep(0)  # requests have their turn, also when nothing was waited for

    async def _next(self) -> K:
        while True:
            step = self._queue.next(_now())
            if not isinstance(step, Wait):
                return step
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if step.seconds == inf else step.seconds):
                    await self._news.wait()


def _now() -> float:
    return asyncio.get_running_loop().time()
