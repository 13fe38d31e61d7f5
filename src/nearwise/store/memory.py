"""A store that keeps nothing: its objects last as long as the process."""

from __future__ import annotations

from nearwise.machinery.changes import Change, Event
from nearwise.machinery.eventlog import Limits
from nearwise.machinery.revisions import RevisionLog
from nearwise.store.contract import Store


class MemoryStore(Store):
    """Objects in memory."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(RevisionLog(limits))

    async def write(self, change: Change) -> Event:
        """Make a change, at once."""
        self._check()
        event = self._log.propose(change)
        self._publish(event)
        self._log.compact()
        return event

    def compact(self, revision: int | None = None) -> None:
        """Forget the past before a revision, or as much as the limits ask for."""
        self._log.compact(revision)

    async def close(self) -> None:
        """Take no more writes."""
        self._refuse("the store is closed")
