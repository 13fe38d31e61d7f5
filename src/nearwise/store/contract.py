"""What the API server may rely on, whatever keeps its objects.

1. A write has lasted, as far as the backend promises, before it is visible to anybody: before
   ``write`` returns, before ``read`` shows it, before a subscriber is told.
2. Writes become visible in the order of their revisions, without gaps.
3. A refusal (``RefusedError``) rests on what has lasted, never on a write that may still fail.
4. A write that cannot be made to last never becomes visible, its caller gets
   ``StoreFailedError``, and so does everybody who writes afterwards: a store that missed one
   write takes no other. Reading goes on.

All of it belongs to one event loop. Between two awaits nothing changes, so a list and a
subscription made without an await in between leave no gap and no overlap.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from nearwise.machinery.changes import Change, Event
from nearwise.machinery.reading import Reading
from nearwise.machinery.revisions import RevisionLog

Subscriber = Callable[[Event], None]
"""Told each write, in order. It returns quickly and raises nothing."""


class StoreFailedError(Exception):
    """The write was not made, and no other will be. The text says why and what to do."""


class Store(ABC):
    """Objects under one counter of revisions."""

    def __init__(self, log: RevisionLog) -> None:
        self._log = log
        self._subscribers: list[Subscriber] = []
        self._refusal = ""  # why no more writes are taken

    @property
    def read(self) -> Reading:
        """What is stored; always in memory."""
        return self._log

    @property
    def refusal(self) -> str:
        """Why no more writes are taken; empty as long as they are."""
        return self._refusal

    @abstractmethod
    async def write(self, change: Change) -> Event:
        """Make a change, and return it when it has lasted.

        A caller that is cancelled while it waits does not take its write back.
        RefusedError when the change does not fit what is stored; StoreFailedError.
        """

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have all writes from now on told; the function returned ends that."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    @abstractmethod
    def compact(self, revision: int | None = None) -> None:
        """Forget the past before a revision, or as much as the limits ask for.

        CompactedError or FutureRevisionError when the revision cannot be read.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finish the writes under way and take no more. Closing twice is fine."""

    def _check(self) -> None:
        """Raise StoreFailedError when no more writes are taken."""
        if self._refusal:
            raise StoreFailedError(self._refusal)

    def _refuse(self, why: str) -> None:
        """Take no more writes; the first reason stays."""
        self._refusal = self._refusal or why

    def _publish(self, event: Event) -> None:
        """Make a write that has lasted visible, and tell it."""
        self._log.publish(event)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception as error:  # one that fails must not keep the write from the others
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a subscriber failed on {event.key}", "exception": error}
                )
