"""Workers over one queue: they hand each key to a function and try again what failed.

Law: work is a key and a function of what is there now, never of what happened. So it may be done
too often, and what was missed while it failed is not lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from math import inf
from typing import Generic, TypeVar

from nearwise.machinery.queue import WorkQueue
from nearwise.machinery.wait import Wait
from nearwise.model.errors import LostError, StatusError

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)


class TryAgainError(Exception):
    """A key cannot be done now. ``quiet`` when that is nothing to tell anybody."""

    def __init__(self, why: str, *, quiet: bool = False) -> None:
        self.quiet = quiet
        super().__init__(why)


def loop_time() -> float:
    """Return the time of the event loop that runs, in seconds."""
    return asyncio.get_running_loop().time()


class Workers(Generic[K]):
    """A queue of keys and those who work on it."""

    def __init__(
        self,
        name: str,
        queue: WorkQueue[K],
        do: Callable[[K], Awaitable[None]],
        now: Callable[[], float] = loop_time,
        *,
        quiet: tuple[type[Exception], ...] = (),
    ) -> None:
        """Have ``do`` called with the keys of a queue; ``quiet`` failures are told to nobody."""
        self.name = name
        self.queue = queue
        self._do = do
        self._now = now
        self._quiet = quiet
        self._news = asyncio.Event()
        self._begun = False
        self._before: dict[K, None] = {}  # keys added while nobody works yet
        self._stopping = False

    def add(self, key: K, after: float = 0.0) -> None:
        """Have a key worked on, after some seconds; if nobody works yet, when work begins."""
        if not self._begun:
            self._before[key] = None  # the queue's numbers are about work, and a standby does none
            return
        self.queue.add_after(key, after, self._now())
        self._news.set()

    async def run(self, workers: int) -> None:
        """Work until stopped and the queue is drained, or until cancelled."""
        self._begun = True
        for key in self._before:
            self.add(key)
        self._before.clear()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(workers):
                tasks.create_task(self._work())

    def stop(self) -> None:
        """Take in nothing more; what is ready is still done."""
        self._stopping = True
        self.queue.shut_down()
        self._news.set()

    async def _work(self) -> None:
        while True:
            key = await self._next()
            if key is None:
                return
            try:
                await self._do(key)
            except Exception as failure:  # a mistake about one key must not stop the others
                asked = getattr(failure, "retry_after", 0.0)
                delay = self.queue.retry(key, self._now(), at_least=asked)
                self._tell(key, failure, delay)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key, self._now())
                self._news.set()
            await asyncio.sleep(0)  # others have their turn, also when nothing was waited for

    def _tell(self, key: K, failure: Exception, delay: float) -> None:
        which = "/".join(key) if isinstance(key, tuple) else str(key)
        if isinstance(failure, (TryAgainError, StatusError, LostError, *self._quiet)):
            quiet = isinstance(failure, self._quiet) or getattr(failure, "quiet", False)
            level = logging.DEBUG if quiet else logging.WARNING
            _log.log(level, "%s %s: %s; again in %g s", self.name, which, failure, delay)
        else:
            _log.error("%s %s failed; again in %g s", self.name, which, delay, exc_info=failure)

    async def _next(self) -> K | None:
        """Wait for a key; None when there will be no more."""
        while True:
            step = self.queue.next(self._now())
            if not isinstance(step, Wait):
                return step
            if self._stopping and self.queue.drained:
                return None
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if step.seconds == inf else step.seconds):
                    await self._news.wait()
