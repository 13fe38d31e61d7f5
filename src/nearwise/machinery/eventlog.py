"""The last writes, in order: how far back the past can be read.

Rules of this file: revisions have no gaps, so that a missing one is noticed; what is kept is
bounded by number and by bytes, whatever is written; what is dropped is named, so that a store on
disk can drop it too.
"""

from __future__ import annotations

from collections import defaultdict, deque

import msgspec

from nearwise.machinery.changes import CompactedError, Event, FutureRevisionError


class Limits(msgspec.Struct, frozen=True):
    """How much of the past is kept: at most so many events, and at most so many bytes.

    Bytes are those which only the past holds: replaced and deleted values, not the current ones.
    """

    events: int = 50_000
    bytes: int = 64 << 20


class EventLog:
    """The writes after ``compacted``, up to and with ``revision``."""

    def __init__(self, limits: Limits, compacted: int) -> None:
        self.compacted = compacted
        self._limits = limits
        self._events: deque[Event] = deque()
        self._by_resource: defaultdict[str, deque[Event]] = defaultdict(deque)
        self._bytes = 0

    @property
    def revision(self) -> int:
        """The newest revision."""
        return self.compacted + len(self._events)

    def add(self, event: Event) -> None:
        """Append the next write; ValueError when its revision is not the next one."""
        if event.revision != self.revision + 1:
            raise ValueError(f"revision {event.revision} cannot follow {self.revision}")
        self._events.append(event)
        self._by_resource[event.key.resource].append(event)
        self._bytes += _bytes(event)

    def after(self, resource: str, revision: int) -> list[Event]:
        """Return the events of a resource after a revision, the oldest first.

        It costs as much as it returns. CompactedError when some of them are no longer kept,
        FutureRevisionError when the revision was not written yet.
        """
        self._check(revision)
        found: list[Event] = []
        for event in reversed(self._by_resource.get(resource, ())):
            if event.entry.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    def compact(self, revision: int) -> list[Event]:
        """Drop the events up to a revision, which must be readable, and return them."""
        self._check(revision)
        return [self._drop() for _ in range(revision - self.compacted)]

    def trim(self) -> list[Event]:
        """Drop the oldest events until the limits hold, and return them."""
        dropped: list[Event] = []
        while len(self._events) > self._limits.events or self._bytes > self._limits.bytes:
            dropped.append(self._drop())
        return dropped

    def _drop(self) -> Event:
        event = self._events.popleft()
        self._by_resource[event.key.resource].popleft()
        self._bytes -= _bytes(event)
        self.compacted = event.revision
        return event

    def _check(self, revision: int) -> None:
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)


def _bytes(event: Event) -> int:
    """Return the bytes of values that are kept for this event alone."""
    replaced = len(event.previous.value) if event.previous else 0
    return replaced + (len(event.entry.value) if event.deleted else 0)
