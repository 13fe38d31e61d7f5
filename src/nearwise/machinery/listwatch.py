"""List and watch one resource: what to ask the API server next, and what its answers change.

Law: here is decided what is asked, when, and what an answer means for the cache. Sending and
decoding are the caller's. Nothing is remembered of a connection but what is in this file.

States, and what leads from one to another (KEP-3157: streaming lists, KEP-956: bookmarks)::

                 all objects, then the bookmark that ends them
    STREAM ---------------------------------------------------> WATCH ---+
      |  ^                                                      |  ^  ^  | ended or failed: from
      |  +----------------- gone: list anew --------------------+  |  +--+ the version last seen
      |                                                            |
      | refused, ended early or silent: from now on by pages       |
      v                                                            |
    LIST ----------------------------------------------------------+
     |  ^                     the last page
     +--+ the next page; from the start if gone or refused

What a failure means is in one table, ``_MOVES``; whatever is not in it is asked again as it was.
Before that the machine waits: what the server asks for (``Retry-After``), else 0.8 s doubling to
30 s, times 1 to 2 by lot, as client-go does. After two quiet minutes it begins at 0.8 s again.

A version that the server called gone is never asked for again: everything is listed anew, and what
is no longer there is reported as deleted with the last state known. Objects of one name but another
uid are two objects. What a watch tells again, or too late, is recognised by the object's version
and passed over; in a list the server has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from math import inf
from typing import Final, Generic

import msgspec

from nearwise.machinery.cache import Cache, Delta, K, ObjectKey
from nearwise.machinery.resource_version import is_later
from nearwise.machinery.wait import Wait
from nearwise.model import ObjectMeta, Status
from nearwise.model.meta import ListMeta
from nearwise.model.wellknown import INITIAL_EVENTS_END

_PAGE: Final = "500"  # objects, as client-go has it
_WATCH_SECONDS: Final = 300.0  # to twice that, by lot, so that watches do not end all at once
_OVERDUE: Final = 15.0  # seconds after which a watch that should have ended is held to be dead
_SILENCE: Final = 30.0  # seconds without anything, before a streaming list is given up
_LIST_SECONDS: Final = 60.0  # the API server's own limit for a request that is no watch
_SHORT: Final = 1.0  # seconds; a watch that brings nothing and ends sooner is a failure

_FIRST_DELAY: Final = 0.8
_LONGEST_DELAY: Final = 30.0
_CALM: Final = 120.0
_MOST_DOUBLINGS: Final = 10
_MOST_DOUBTS: Final = 5  # failures in a row that may be of the version's making

_MOST_TOMBSTONES: Final = 1_000


class Phase(StrEnum):
    """What is being asked for."""

    STREAM = "stream"
    LIST = "list"
    WATCH = "watch"


class Request(msgspec.Struct, frozen=True):
    """A request for the resource: a list, or a watch whose events are to be handed in.

    If nothing at all comes for ``patience`` seconds, close the connection: a list has then failed,
    a watch has ended. Once a watch has brought something, the machine's ``patience`` counts.
    """

    watch: bool
    query: dict[str, str]
    patience: float


class _Fault(StrEnum):
    """What a failure means."""

    GONE = "gone"  # 410: the version, or the token of the next page, is no longer known
    REFUSED = "refused"  # 400 or 422: the server does not understand the request
    DOUBTFUL = "doubtful"  # too large a version, or 500: may pass, and may be so for ever
    OTHER = "other"


class _Move(StrEnum):
    """How to go on after a failure."""

    AGAIN = "again"
    ANEW = "anew"
    BY_PAGES = "by pages"  # for ever: the server cannot stream lists
    IN_ONE_PIECE = "in one piece"  # such a list has no token that could expire


_MOVES: Final = {
    (Phase.STREAM, _Fault.GONE): _Move.ANEW,
    (Phase.STREAM, _Fault.REFUSED): _Move.BY_PAGES,
    (Phase.LIST, _Fault.GONE): _Move.IN_ONE_PIECE,
    (Phase.LIST, _Fault.REFUSED): _Move.ANEW,
    (Phase.WATCH, _Fault.GONE): _Move.ANEW,
    (Phase.WATCH, _Fault.REFUSED): _Move.ANEW,
}


class ListWatch(Generic[K]):
    """Keeps a cache equal to the API server's objects of one resource.

    Ask ``next`` what to do, do it, and hand in what came of it: ``listed`` a page, ``event`` what
    a watch brought, ``ended`` when it was closed in good order, ``failed`` for everything else.
    ``listed`` and ``event`` apply what changed to the cache and return it.
    """

    def __init__(
        self,
        cache: Cache[K],
        *,
        lot: Callable[[], float],
        trim: Callable[[K], K] = lambda obj: obj,
    ) -> None:
        """Begin with nothing seen.

        ``lot`` draws a number from 0 up to 1; ``trim`` says what is kept of an object.
        """
        self._cache = cache
        self._lot = lot
        self._trim = trim
        self._streams = True  # whether the server streams lists, as far as is known
        self._version = ""  # up to which everything is in the cache
        self._tombstones: dict[ObjectKey, str] = {}  # versions of the latest deletions
        self._failures = 0
        self._failed_at = -inf
        self._ask_at = -inf
        self._asked_at = 0.0
        self._seconds = 0  # after which the latest watch ends
        self._heard = False  # whether anything came of the latest request
        self._synced = False
        self._trouble: Status | None = None
        self._anew()

    @property
    def phase(self) -> Phase:
        """What is being asked for now."""
        return self._phase

    @property
    def version(self) -> str:
        """The resource version from which a watch goes on; empty while objects are listed."""
        return self._version

    @property
    def patience(self) -> float:
        """For how many seconds the latest watch may bring nothing by now."""
        return _SILENCE if self._phase is Phase.STREAM else self._seconds + _OVERDUE

    @property
    def has_synced(self) -> bool:
        """Whether the cache has once held all objects there were."""
        return self._synced

    @property
    def trouble(self) -> Status | None:
        """Why the latest request failed, while nothing has come since."""
        return self._trouble

    # --- what to ask ----------------------------------------------------------------------

    def next(self, now: float) -> Request | Wait:
        """Say what to ask the server now, or how long not to."""
        if now < self._ask_at:
            return Wait(self._ask_at - now)
        self._asked_at = now
        self._heard = False
        if self._phase is Phase.LIST:
            query = {"limit": _PAGE} if self._paged else {}
            if self._continue:
                query["continue"] = self._continue
            return Request(False, query, _LIST_SECONDS)
        self._seconds = seconds = int(_WATCH_SECONDS * (1 + self._lot()))
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if self._phase is Phase.STREAM:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            return Request(True, query, self.patience)
        query["resourceVersion"] = self._version
        return Request(True, query, self.patience)

    # --- what came of it ------------------------------------------------------------------

    def listed(self, items: Iterable[K], meta: ListMeta) -> list[Delta[K]]:
        """Take in a page. Nothing changes before the last one is there."""
        self._hear()
        for item in items:
            self._collect(item)
        self._continue = meta.continue_
        if self._continue:
            return []
        return self._complete(meta.resource_version)

    def event(self, kind: str, obj: K) -> list[Delta[K]]:
        """Take in an event of a watch: ADDED, MODIFIED, DELETED or BOOKMARK.

        The Status of an ERROR event goes to ``failed``. If ``phase`` is LIST afterwards the watch
        is of no use, and is to be closed.
        """
        assert self._phase is not Phase.LIST, "this watch was to be closed"
        self._hear()
        if self._phase is Phase.STREAM:
            return self._initial(kind, obj)
        self._version = _later(obj.metadata.resource_version, self._version)
        match kind:
            case "ADDED" | "MODIFIED":
                return self._changed(obj)
            case "DELETED":
                return self._deleted(obj.metadata)
            case _:
                return []

    def ended(self, now: float) -> None:
        """Take note that the server closed the watch in good order, or was silent for too long."""
        if self._phase is Phase.STREAM:
            self._move(_Move.BY_PAGES)
        elif not self._heard and now - self._asked_at < _SHORT:
            self._ask_at = now + self._delay(now)

    def failed(self, now: float, status: Status | None = None, retry_after: float = 0.0) -> None:
        """Take note of an answer that was none: an HTTP error, an ERROR event, a lost connection.

        ``status`` is None when the connection broke. ``retry_after`` are the seconds of that
        header, for an answer whose Status does not name them.
        """
        self._trouble = status or Status(message="the connection was lost")
        fault = _fault(self._trouble)
        move = _MOVES.get((self._phase, fault), _Move.AGAIN)
        if fault is _Fault.DOUBTFUL and self._failures >= _MOST_DOUBTS:
            move = _Move.ANEW
        details = self._trouble.details
        asked = retry_after or (details.retry_after_seconds if details else 0)
        delay = self._delay(now)
        if asked > 0:
            delay = min(asked, _LONGEST_DELAY)
        elif move is not _Move.AGAIN and self._failures == 1:
            delay = 0.0  # it is another request, so there is no reason to wait
        self._ask_at = now + delay
        self._move(move)

    # --- phases ---------------------------------------------------------------------------

    def _move(self, move: _Move) -> None:
        if move is _Move.BY_PAGES:
            self._streams = False
        if move is not _Move.AGAIN:
            self._anew(paged=move is not _Move.IN_ONE_PIECE)
        elif self._phase is Phase.STREAM:
            self._collected.clear()  # a stream cannot go on in the middle, a list can

    def _anew(self, *, paged: bool = True) -> None:
        """Begin to collect all objects."""
        self._phase = Phase.STREAM if self._streams else Phase.LIST
        self._paged = paged
        self._continue = ""
        self._version = ""
        self._collected: dict[ObjectKey, K] = {}

    def _initial(self, kind: str, obj: K) -> list[Delta[K]]:
        """Take in an event of a streaming list: all objects, then the bookmark that says so."""
        if kind == "BOOKMARK":
            if obj.metadata.annotations.get(INITIAL_EVENTS_END) == "true":
                return self._complete(obj.metadata.resource_version)
            self._move(_Move.BY_PAGES)
        elif kind == "DELETED":
            self._collected.pop(obj.metadata.key, None)
        else:
            self._collect(obj)
        return []

    def _collect(self, obj: K) -> None:
        self._collected[obj.metadata.key] = self._trim(obj)

    def _complete(self, version: str) -> list[Delta[K]]:
        """Make the cache what was collected, and go on from there."""
        seen = [obj.metadata.key for obj in self._cache]
        lost = [key for key in seen if key not in self._collected]
        deltas = [self._cache.drop(key) for key in lost]
        for key in sorted(self._collected):
            held, obj = self._cache.get(key), self._collected[key]
            if held is None or held.metadata.resource_version != obj.metadata.resource_version:
                deltas += self._put(obj)
        self._collected = {}
        self._tombstones.clear()
        self._phase = Phase.WATCH
        self._version = version
        self._synced = True
        return deltas

    # --- changes --------------------------------------------------------------------------

    def _changed(self, obj: K) -> list[Delta[K]]:
        key = obj.metadata.key
        held = self._cache.get(key)
        known = held.metadata.resource_version if held else self._tombstones.get(key)
        if known is not None and not is_later(obj.metadata.resource_version, known):
            return []
        return self._put(self._trim(obj))

    def _deleted(self, meta: ObjectMeta) -> list[Delta[K]]:
        held = self._cache.get(meta.key)
        if held and is_later(held.metadata.resource_version, meta.resource_version):
            return []
        self._tombstones[meta.key] = meta.resource_version
        if len(self._tombstones) > _MOST_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]
        return [self._cache.drop(meta.key)] if held else []

    def _put(self, obj: K) -> list[Delta[K]]:
        held = self._cache.get(obj.metadata.key)
        if held and held.metadata.uid != obj.metadata.uid:
            return [self._cache.drop(obj.metadata.key), self._cache.put(obj)]
        return [self._cache.put(obj)]

    # --- patience -------------------------------------------------------------------------

    def _hear(self) -> None:
        self._heard = True
        self._trouble = None

    def _delay(self, now: float) -> float:
        """Count a failure; return for how many seconds to leave the server alone."""
        if now - self._failed_at > _CALM:
            self._failures = 0
        self._failed_at = now
        delay = _FIRST_DELAY * 2.0 ** min(self._failures, _MOST_DOUBLINGS)
        self._failures += 1
        return min(delay, _LONGEST_DELAY) * (1 + self._lot())


def _fault(status: Status) -> _Fault:
    if status.code == 410 or status.reason in ("Expired", "Gone"):
        return _Fault.GONE
    if status.code == 500 or _is_too_large(status):
        return _Fault.DOUBTFUL
    if status.code in (400, 422):
        return _Fault.REFUSED
    return _Fault.OTHER


def _is_too_large(status: Status) -> bool:
    """Tell whether the server has not come to the version asked for, or never will."""
    causes = status.details.causes if status.details else ()
    # Servers before 1.19 say it in the message only.
    return "Too large resource version" in status.message or any(
        cause.reason == "ResourceVersionTooLarge" for cause in causes
    )


def _later(version: str, known: str) -> str:
    """Return the later of two versions; an empty one says nothing."""
    return version if version and is_later(version, known) else known
