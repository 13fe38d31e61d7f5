"""The revision log: every object, and what was written lately, under one counter of revisions.

This is the whole behaviour of storage as the API server sees it; a store only makes writes last.

1. There is one counter for all resources, as in etcd. Each write takes the next revision.
2. A write has two steps. ``propose`` decides it, against all that was proposed before, and gives
   it its revision; ``publish`` makes it visible, in the same order. Between the two lies whatever
   makes it durable. Nothing that is read shows a proposal.
3. The past is readable back to ``compacted``, all of it, and not one revision further.
4. No I/O, no clock, no threads. One caller at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.machinery.changes import (
    AlreadyExistsError,
    Change,
    ConflictError,
    Create,
    Delete,
    Entry,
    Event,
    NotFoundError,
)
from nearwise.machinery.eventlog import EventLog, Limits
from nearwise.machinery.reading import Reading

FIRST = 1
"""The revision of an empty log, as in etcd; in the Kubernetes API 0 means any revision."""


class RevisionLog(Reading):
    """Objects and their recent past, and the writes that change them."""

    def __init__(self, limits: Limits | None = None, compacted: int = FIRST) -> None:
        super().__init__(EventLog(limits or Limits(), compacted))
        self._last = compacted  # the newest proposed revision

    @classmethod
    def restored(
        cls, versions: Iterable[tuple[Entry, bool]], compacted: int, limits: Limits | None = None
    ) -> RevisionLog:
        """Build the log from what a store kept: versions by revision, and whether each deletes.

        Up to ``compacted`` they are the objects that were there then; after it, every write.
        ValueError when they cannot be that.
        """
        log = cls(limits, compacted)
        for entry, deleted in versions:
            previous = log.get(entry.key)
            if entry.revision > compacted:
                log._apply(Event(entry, previous, deleted))
            elif previous or deleted:
                raise ValueError(f"revision {entry.revision} should have been dropped")
            else:
                log._resources[entry.key.resource].put(entry)
        log._last = log.revision
        return log

    def propose(self, change: Change) -> Event:
        """Decide a change and give it the next revision; it is not visible before ``publish``.

        AlreadyExistsError, NotFoundError or ConflictError when it does not fit what is stored and
        proposed.
        """
        current = self.latest(change.key)
        if isinstance(change, Create):
            if current is not None:
                raise AlreadyExistsError(change.key)
        elif current is None:
            raise NotFoundError(change.key)
        elif change.expected is not None and change.expected != current.revision:
            raise ConflictError(change.key, change.expected, current.revision)
        revision = self._last + 1
        entry = Entry(change.key, change.encode(revision), revision)
        event = Event(entry, current, isinstance(change, Delete))
        self._last = revision
        self._proposed[change.key] = event
        return event

    def publish(self, event: Event) -> None:
        """Make a proposed write visible. The oldest proposal goes first, else ValueError."""
        self._apply(event)
        if self._proposed.get(event.key) is event:
            del self._proposed[event.key]

    def withdraw(self) -> None:
        """Forget the proposals that were not published, because they cannot be made to last."""
        self._proposed.clear()
        self._last = self.revision

    def compact(self, revision: int | None = None) -> list[int]:
        """Forget the past before a revision, or as much as the limits ask for.

        Returns the revisions whose values nobody can read any more. CompactedError or
        FutureRevisionError when the revision cannot be read.
        """
        events = self._events
        dropped = events.trim() if revision is None else events.compact(revision)
        unreadable: list[int] = []
        for event in dropped:
            if event.previous is not None:
                unreadable.append(event.previous.revision)
            if event.deleted:
                unreadable.append(event.revision)
        return unreadable

    def _apply(self, event: Event) -> None:
        key = event.key
        if event.deleted and event.previous is None:
            raise ValueError(f"revision {event.revision} deletes {key}, which is not there")
        self._events.add(event)
        if event.deleted:
            self._resources[key.resource].remove(key.namespace, key.name)
        else:
            self._resources[key.resource].put(event.entry)
