"""Workers over one queue: they hand each key to a function and try again what failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf

from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.queue import WorkQueue
from nearwise.machinery.wait import Wait
from nearwise.model.errors import LostError, StatusError

Sync = Callable[[ObjectKey], Awaitable[None]]

_log = logging.getLogger(__name__)


class TryAgainError(Exception):
    """A key cannot be done now. ``quiet`` when that is nothing to tell anybody."""

    def __init__(self, why: str, *, quiet: bool = False) -> None:
        self.quiet = quiet
        super().__init__(why)


class Workers:
    """A queue of services and those who work on it."""

    def __init__(self, name: str, sync: Sync, surroundings: Surroundings) -> None:
        self.name = name
        self.queue: WorkQueue[ObjectKey] = WorkQueue()
        self._sync = sync
        self._now = surroundings.now
        self._news = asyncio.Event()
        self._begun = False
        self._before: set[ObjectKey] = set()  # keys added while nobody works yet
        self._stopping = False

    def add(self, key: ObjectKey, after: float = 0.0) -> None:
        """Have a key worked on, after some seconds; if nobody works yet, when work begins."""
        if not self._begun:
            self._before.add(key)  # the queue's numbers are about work, and a standby does none
            return
        self.queue.add_after(key, after, self._now())
        self._news.set()

    async def run(self, workers: int) -> None:
        """Work until stopped and the queue is drained."""
        self._begun = True
        for key in sorted(self._before):
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
                await self._sync(key)
            except (TryAgainError, StatusError, LostError) as failure:
                asked = getattr(failure, "retry_after", 0.0)
                delay = self.queue.retry(key, self._now(), at_least=asked)
                level = logging.DEBUG if getattr(failure, "quiet", False) else logging.WARNING
                _log.log(
                    level, "%s %s: %s; again in %g s", self.name, "/".join(key), failure, delay
                )
            except Exception:  # a mistake of ours about one service must not stop the others
                delay = self.queue.retry(key, self._now())
                _log.exception("%s %s failed; again in %g s", self.name, "/".join(key), delay)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key, self._now())
                self._news.set()

    async def _next(self) -> ObjectKey | None:
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
