"""A store on disk: what was acknowledged is there after a crash, at the same revision.

Rules of this file: changes are decided and published in the event loop, and only the commit runs
elsewhere, in one thread. While a commit runs, the changes that arrive gather for the next one: one
flush to the disk serves all who wait, however many they are. SQL is in ``database.py``.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nearwise.machinery.changes import Change, Event, RefusedError
from nearwise.machinery.eventlog import Limits
from nearwise.store.contract import Store, StoreFailedError
from nearwise.store.database import Database, Synchronous

_log = logging.getLogger(__name__)


class _Batch:
    """Writes that are committed together, and the sign that they were, or cannot be."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.settled = asyncio.Event()


class SqliteStore(Store):
    """Objects in memory, and in a SQLite file."""

    def __init__(
        self, path: Path, *, synchronous: Synchronous = "FULL", limits: Limits | None = None
    ) -> None:
        """Open the file or make it, and read all of it; InputError."""
        self._database = Database(path, synchronous)
        try:
            super().__init__(self._database.load(limits))
        except BaseException:
            self._database.close()
            raise
        self._unreadable = self._log.compact()  # revisions that the next commit drops
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nearwise-store")
        self._gathering = _Batch()
        self._committing = self._gathering
        self._due = False
        self._committer: asyncio.Task[None] | None = None

    async def write(self, change: Change) -> Event:
        """Make a change, and return it when it is on disk."""
        self._check()
        try:
            event = self._log.propose(change)
        except RefusedError:
            if self.read.latest(change.key) is not self.read.get(change.key):
                await self._under_way().settled.wait()
                self._check()
            raise
        self._gathering.events.append(event)
        self._start()
        await self._gathering.settled.wait()
        if event.revision > self.read.revision:
            raise StoreFailedError(self._refusal)
        return event

    def compact(self, revision: int | None = None) -> None:
        """Forget the past before a revision, or as much as the limits ask for.

        The file follows soon, but not before this returns: after a crash in between, more is
        readable.
        """
        self._unreadable += self._log.compact(revision)
        if not self._refusal:
            self._start()

    async def close(self) -> None:
        """Finish the writes under way and close the file."""
        self._refuse("the store is closed")
        if self._committer is not None:
            await asyncio.wait([self._committer])
        await asyncio.to_thread(self._thread.shutdown)
        await asyncio.to_thread(self._database.close)

    def _start(self) -> None:
        """Have a commit made of what gathers until it begins."""
        self._due = True
        if self._committer is None:
            self._committer = asyncio.create_task(self._commit())

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        while self._due:
            self._due = False
            batch = self._committing = self._gathering
            self._gathering = _Batch()
            unreadable, self._unreadable = self._unreadable, []
            work = (batch.events, unreadable, self._log.compacted)
            try:
                await loop.run_in_executor(self._thread, self._database.commit, *work)
            except Exception as error:
                self._fail(error)
                return
            for event in batch.events:
                self._publish(event)
            self._unreadable += self._log.compact()  # goes with the next writes
            batch.settled.set()
            await asyncio.sleep(0)  # who was answered may write again into the next commit
        self._committer = None

    def _fail(self, error: Exception) -> None:
        """Let nothing that is under way become visible, and take nothing more."""
        self._refusal = (
            f"{self._database.path} cannot be written: {error} (nothing more is stored until the "
            "cause is gone and the server is started again)"
        )
        _log.error("%s", self._refusal)
        self._log.withdraw()
        self._committing.settled.set()
        self._gathering.settled.set()

    def _under_way(self) -> _Batch:
        """Return the newest batch that has writes; with it all older ones are settled."""
        return self._gathering if self._gathering.events else self._committing
