"""The readable side of the revision log: objects now, at a past revision, and what was written.

Rules of this file: reading changes nothing, and what it gives are the stored values themselves.
A past state is the current one with the events since then undone, so it is exact, and it costs
as much as was written since. Writing is ``revisions.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

import msgspec

from nearwise.machinery.changes import Entry, Event, Key
from nearwise.machinery.eventlog import EventLog
from nearwise.machinery.keyspace import Cursor, Keyspace


class Page(msgspec.Struct, frozen=True):
    """Some objects in key order, as they were at a revision, and how many come after them."""

    entries: tuple[Entry, ...]
    revision: int
    remaining: int


class Reading:
    """Every object and its recent past. Proposed writes are not visible, but for ``latest``."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._resources: defaultdict[str, Keyspace] = defaultdict(Keyspace)
        self._proposed: dict[Key, Event] = {}  # the newest proposal of each object

    @property
    def revision(self) -> int:
        """The newest revision."""
        return self._events.revision

    @property
    def compacted(self) -> int:
        """The oldest readable revision."""
        return self._events.compacted

    def get(self, key: Key) -> Entry | None:
        """Return an object as it is now, or None."""
        return self._resources[key.resource].get(key.namespace, key.name)

    def latest(self, key: Key) -> Entry | None:
        """Return an object as it will be once all proposed writes are published, or None.

        Only to base a write on: one based on it never loses against a write under way.
        """
        proposed = self._proposed.get(key)
        if proposed is None:
            return self.get(key)
        return None if proposed.deleted else proposed.entry

    def page(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: Cursor | None = None,
        limit: int | None = None,
        revision: int | None = None,
    ) -> Page:
        """Return the objects of a resource, in one namespace or in all, in key order.

        Those behind a cursor, at most ``limit``, now or exactly as they were at a revision.
        CompactedError or FutureRevisionError when that revision cannot be read.
        """
        at = self.revision if revision is None else revision
        past = self._past(resource, namespace, at)
        walk = self._walk(resource, namespace, after, past)
        entries = tuple(islice(walk, limit))
        remaining = 0
        if next(walk, None) is not None:
            end = (entries[-1].key.namespace, entries[-1].key.name) if entries else after
            remaining = self._count(resource, namespace, end, past)
        return Page(entries, at, remaining)

    def after(self, resource: str, revision: int) -> list[Event]:
        """Return all writes to a resource after a revision, the oldest first.

        CompactedError or FutureRevisionError when that revision cannot be read.
        """
        return self._events.after(resource, revision)

    def _past(self, resource: str, namespace: str | None, at: int) -> _Past:
        past = _Past({}, set())
        for event in reversed(self._events.after(resource, at)):
            key = event.entry.key
            if namespace is None or key.namespace == namespace:
                past.then[key] = event.previous  # the oldest event comes last, and stays
                if event.deleted or event.previous is None:
                    past.moved.add(key)
        return past

    def _walk(
        self, resource: str, namespace: str | None, after: Cursor | None, past: _Past
    ) -> Iterator[Entry]:
        """Walk the objects as they were in the past; where it says nothing, as they are."""
        now = self._resources[resource].walk(namespace, after)
        if not past.then:
            return now
        kept = (then for entry in now if (then := past.then.get(entry.key, entry)))
        gone = [
            then
            for key in past.moved
            if (then := past.then[key]) and _is_behind(key, after) and self.get(key) is None
        ]
        return merge(kept, sorted(gone, key=_place), key=_place) if gone else kept

    def _count(
        self, resource: str, namespace: str | None, after: Cursor | None, past: _Past
    ) -> int:
        """Count what ``_walk`` yields."""
        count = self._resources[resource].count(namespace, after)
        for key in past.moved:
            if _is_behind(key, after):
                count += (past.then[key] is not None) - (self.get(key) is not None)
        return count


class _Past(NamedTuple):
    """What differs from now: the objects written since, as they were (None: not there).

    ``moved`` are those of them that came or went in between.
    """

    then: dict[Key, Entry | None]
    moved: set[Key]


def _place(entry: Entry) -> tuple[str, str]:
    return entry.key.place


def _is_behind(key: Key, after: Cursor | None) -> bool:
    return after is None or key.place > (f"{after[0]}/", after[1])
