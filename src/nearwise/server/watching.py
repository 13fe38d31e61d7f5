"""Watches: every write told to who asked for it, once, in order, and to nobody who is too slow.

Law: work follows the writes, not the watchers. All watches of the same objects in the same form
are one group. A write is looked at once a group; the bytes that come of it are made once, joined
with others of the same round, and shared by all watches of the group. While little happens a write
is told at once. When much happens, a group is told in rounds, and the pause between them grows with
its watches: so telling them leaves time for the writes, and one watcher hardly ever waits.

A watch holds a bounded number of bytes that its client has not taken yet. One that is over it is
cut off: its client lists again, or watches on from what it saw.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

import msgspec

from nearwise.machinery.changes import CompactedError, Entry, Event, FutureRevisionError, Key
from nearwise.machinery.reading import Reading
from nearwise.server.objects.selection import Selection
from nearwise.server.objects.stored import at_revision
from nearwise.server.objects.views import View
from nearwise.server.options import ListOptions, watch_errors
from nearwise.server.reading import parse_version
from nearwise.server.statuses import invalid_options, version_too_large, watch_too_old

PAUSE: Final = 0.00005
"""Seconds between two rounds of telling, for each watch: about as long as telling it takes."""

BOOKMARKS: Final = 60.0
"""Seconds between bookmarks."""

MAX_WAITING: Final = 16 << 20
"""Bytes that a client may be behind."""

_LONGEST: Final = 45 * 60.0  # seconds; a watch ends by itself, so that clients spread out again
_CHUNK: Final = 500  # objects of the beginning that are told at a time
_PIECE: Final = 64 << 10  # bytes that are handed to a client at a time; what waits is shared


class Scope(msgspec.Struct, frozen=True):
    """What is watched, and in which form it is told."""

    view: View
    namespace: str
    """Empty for all."""
    selection: Selection


class Watch:
    """An open watch: chunks of whole lines, each line an event as JSON.

    Iterate over it, then it has ended: by its time, by ``close``, or because it was ``cut_off``.
    """

    def __init__(self, beginning: Iterator[bytes], on_end: Callable[[Watch], None]) -> None:
        self.cut_off = False
        self.on_cut: Callable[[], None] = _nothing
        """Called when the watch is cut off; may have nothing to do with other watches."""
        self._beginning = beginning
        self._chunks: deque[bytes] = deque()
        self._waiting = 0
        self._ended = False
        self._on_end = on_end
        self._wake = asyncio.Event()
        self._timer: asyncio.Handle | None = None

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> bytes:
        """Return what was written since, as soon as there is something."""
        if beginning := b"".join(islice(self._beginning, _CHUNK)):
            return beginning
        while not self._chunks:
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        piece = [self._chunks.popleft()]
        size = len(piece[0])
        while self._chunks and size + len(self._chunks[0]) <= _PIECE:
            piece.append(self._chunks.popleft())
            size += len(piece[-1])
        self._waiting -= size
        return b"".join(piece)

    def tell(self, chunk: bytes) -> None:
        """Add to what the client is to be told; cuts it off when that is too much."""
        if self._ended:
            return
        self._waiting += len(chunk)
        if self._waiting > MAX_WAITING:
            self.cut_off = True
            self._chunks.clear()
            self._beginning = iter(())
            self.close()
            self.on_cut()
            return
        self._chunks.append(chunk)
        self._wake.set()

    def end_after(self, seconds: float) -> None:
        """End the watch in so many seconds."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close)

    def close(self) -> None:
        """End the watch; what was told before can still be taken."""
        if not self._ended:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            self._on_end(self)
            self._wake.set()


class _Group:
    """Watches of the same objects in the same form."""

    def __init__(self, scope: Scope, clock: Callable[[], datetime]) -> None:
        self.scope = scope
        self.watches: dict[Watch, bool] = {}  # and whether it wants bookmarks
        self._clock = clock
        self._lines: list[bytes] = []
        self._told = 0.0  # when something was told last, in the time of the loop
        self._round: asyncio.Handle | None = None

    def note(self, event: Event) -> None:
        """Take in a write, and tell it soon if it is one for these watches."""
        line = self.line(event)
        if line is None:
            return
        self._lines.append(line)
        if self._round is None:
            due = self._told + PAUSE * len(self.watches)
            self._round = asyncio.get_running_loop().call_at(due, self.tell)

    def tell(self) -> None:
        """Tell all watches what was written since the last time."""
        if self._round is not None:
            self._round.cancel()
            self._round = None
        if self._lines:
            self._told = asyncio.get_running_loop().time()
            chunk = b"".join(self._lines)
            self._lines.clear()
            for watch in tuple(self.watches):
                watch.tell(chunk)

    def bookmark(self, revision: int) -> None:
        """Tell those who want to know it how far they have come."""
        self.tell()
        chunk = self.bookmark_line(revision)
        for watch in [watch for watch, wants in self.watches.items() if wants]:
            watch.tell(chunk)

    def line(self, event: Event) -> bytes | None:
        """Return the line for a write, None when it is none of these objects."""
        scope, entry, before = self.scope, event.entry, event.previous
        if scope.namespace and entry.key.namespace != scope.namespace:
            return None
        picks = scope.selection.picks
        was_in = before is not None and picks(before)
        if event.deleted:
            return self._shown("DELETED", entry.value) if was_in else None
        if picks(entry):
            return self._shown("MODIFIED" if was_in else "ADDED", entry.value)
        if not was_in or before is None:
            return None
        # It is still there, but not for those who watch: they are told its last state for them.
        return self._shown("DELETED", at_revision(before.value, event.revision))

    def added(self, entry: Entry) -> bytes:
        """Return the line for an object that was there before the watch."""
        return self._shown("ADDED", entry.value)

    def bookmark_line(self, revision: int, *, initial_events_end: bool = False) -> bytes:
        """Return the line that tells how far a watch has come."""
        view = self.scope.view
        return _line("BOOKMARK", view.bookmark(revision, initial_events_end=initial_events_end))

    def _shown(self, type_: str, value: bytes) -> bytes:
        return _line(type_, self.scope.view.show(value, self._clock()))


class Hub:
    """All watches of a server."""

    def __init__(self, reading: Reading, clock: Callable[[], datetime]) -> None:
        self._reading = reading
        self._clock = clock
        self._groups: dict[Scope, _Group] = {}
        self._by_resource: defaultdict[str, list[_Group]] = defaultdict(list)
        self._early: list[tuple[int, Watch, Scope, bool]] = []
        self._bookmarks: asyncio.Handle | None = None
        self.open = 0
        """How many watches there are."""

    def watch(self, scope: Scope, options: ListOptions) -> Watch:
        """Open a watch. Raises Refusal: 410 when what was written since is no longer kept."""
        if errors := watch_errors(options):
            raise invalid_options("ListOptions", errors)
        version = parse_version(options.resource_version)
        group = self._groups.get(scope) or _Group(scope, self._clock)
        initially = options.send_initial_events
        if initially is None:
            initially = version == 0
        if initially and version > self._reading.revision:
            raise version_too_large(version, self._reading.revision)
        early = False
        if initially:
            beginning = self._all(group, options.allow_bookmarks)
        else:
            try:
                events = self._reading.after(scope.view.resource.storage, version)
            except CompactedError as error:
                raise watch_too_old(version, error.oldest) from None
            except FutureRevisionError:
                early, events = True, []
            beginning = (line for event in events if (line := group.line(event)) is not None)
        return self._opened(group, beginning, version if early else 0, options)

    def follow(self, event: Event) -> None:
        """Take in a write."""
        for group in self._by_resource.get(event.key.resource, ()):
            group.note(event)
        if self._early:
            self._admit(event.revision)

    def close(self) -> None:
        """End all watches."""
        for watch in [watch for group in self._groups.values() for watch in group.watches]:
            watch.close()
        for _, watch, _, _ in tuple(self._early):
            watch.close()

    def _all(self, group: _Group, bookmark: bool) -> Iterator[bytes]:
        """Tell of all objects there are, and then that these were all."""
        scope = group.scope
        resource, selection = scope.view.resource, scope.selection
        namespace = scope.namespace if scope.namespace or not resource.namespaced else None
        entries: Iterable[Entry]
        if selection.name and namespace is not None:
            one = self._reading.get(Key(resource.storage, namespace, selection.name))
            entries = (one,) if one else ()
        else:
            entries = self._reading.page(resource.storage, namespace).entries
        end = (
            (group.bookmark_line(self._reading.revision, initial_events_end=True),)
            if bookmark
            else ()
        )
        return _chained(map(group.added, filter(selection.picks, entries)), end)

    def _opened(
        self, group: _Group, beginning: Iterator[bytes], early: int, options: ListOptions
    ) -> Watch:
        """Open a watch that begins so; ``early`` is the version for which it has to wait."""
        scope = group.scope
        watch = Watch(beginning, lambda watch: self._leave(scope, watch))
        watch.end_after(options.timeout or _LONGEST)
        self.open += 1
        if early:
            self._early.append((early, watch, scope, options.allow_bookmarks))
        else:
            self._join(group, watch, options.allow_bookmarks)
        return watch

    def _join(self, group: _Group, watch: Watch, bookmarks: bool) -> None:
        """Have a watch told what is written from now on."""
        group.tell()  # what came before is not for it
        if not group.watches:
            self._groups[group.scope] = group
            self._by_resource[group.scope.view.resource.storage].append(group)
        group.watches[watch] = bookmarks
        if self._bookmarks is None:
            loop = asyncio.get_running_loop()
            self._bookmarks = loop.call_later(BOOKMARKS, self._bookmark)

    def _leave(self, scope: Scope, watch: Watch) -> None:
        self.open -= 1
        self._early = [one for one in self._early if one[1] is not watch]
        group = self._groups.get(scope)
        if group is None or group.watches.pop(watch, None) is None or group.watches:
            return
        del self._groups[scope]
        self._by_resource[scope.view.resource.storage].remove(group)

    def _admit(self, revision: int) -> None:
        """Have watches that wait for a version to be reached told what comes after it."""
        for at, watch, scope, bookmarks in tuple(self._early):
            if at <= revision:
                self._early.remove((at, watch, scope, bookmarks))
                self._join(self._groups.get(scope) or _Group(scope, self._clock), watch, bookmarks)

    def _bookmark(self) -> None:
        self._bookmarks = None
        for group in tuple(self._groups.values()):
            group.bookmark(self._reading.revision)
        if self._groups:
            loop = asyncio.get_running_loop()
            self._bookmarks = loop.call_later(BOOKMARKS, self._bookmark)


def _line(type_: str, shown: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), shown)


def _chained(*parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield from part


def _nothing() -> None:
    pass
