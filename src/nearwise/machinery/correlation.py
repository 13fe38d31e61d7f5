"""Which events are told anew, which are counted, and which are swallowed.

The rules and numbers are client-go's, so that events look alike whoever tells them: what was told
before is counted up, many events of one kind about one object become one, and an object about
which too much is told is left alone for a while.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeVar

import msgspec

from nearwise.model import Event

_MOST: Final = 4096  # events and objects remembered
_SIMILAR_MOST: Final = 10  # events alike but for their message, within ...
_SIMILAR_SECONDS: Final = 600.0
_BURST: Final = 25.0
_REFILL: Final = 1 / 300.0  # a second
_COMBINED: Final = "(combined from similar events): "

_Key = tuple[str, ...]
V = TypeVar("V")


class _Similar(msgspec.Struct):
    messages: set[str]
    since: float


class _Budget(msgspec.Struct):
    tokens: float
    at: float


class Correlator:
    """Remembers the latest events told, so as to say what becomes of the next."""

    def __init__(self) -> None:
        self._told: OrderedDict[_Key, Event] = OrderedDict()
        self._similar: OrderedDict[_Key, _Similar] = OrderedDict()
        self._budgets: OrderedDict[_Key, _Budget] = OrderedDict()

    def next(self, event: Event, now: float) -> Event | None:
        """Return what is to be stored for an event, or None if it is one too many.

        An event without a resource version is to be created, one with it to be updated: it is the
        one told before, counted up.
        """
        if not self._affordable(event, now):
            return None
        event = self._combined(event, now)
        before = self._told.get(_identity(event))
        if before is None or not before.metadata.resource_version:
            return event
        return msgspec.structs.replace(
            before,
            count=before.count + 1,
            last_timestamp=event.last_timestamp,
            message=event.message,
        )

    def stored(self, event: Event) -> None:
        """Remember an event as the API server stored it."""
        _remember(self._told, _identity(event), event)

    def lost(self, event: Event) -> None:
        """Forget an event that the API server does not have any more."""
        self._told.pop(_identity(event), None)

    def _affordable(self, event: Event, now: float) -> bool:
        budget = self._budgets.get(_about(event)) or _Budget(_BURST, now)
        _remember(self._budgets, _about(event), budget)
        budget.tokens = min(_BURST, budget.tokens + (now - budget.at) * _REFILL)
        budget.at = now
        if budget.tokens < 1:
            return False
        budget.tokens -= 1
        return True

    def _combined(self, event: Event, now: float) -> Event:
        kind = (*_about(event), event.type, event.reason)
        similar = self._similar.get(kind)
        if similar is None or now - similar.since > _SIMILAR_SECONDS:
            similar = _Similar(set(), now)
        _remember(self._similar, kind, similar)
        similar.messages.add(event.message)
        if len(similar.messages) < _SIMILAR_MOST:
            return event
        return msgspec.structs.replace(event, message=_COMBINED + event.message)


def _remember(memory: OrderedDict[_Key, V], key: _Key, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _MOST:
        memory.popitem(last=False)


def _about(event: Event) -> _Key:
    target = event.involved_object
    return (event.source.component, target.kind, target.namespace, target.name, target.uid)


def _identity(event: Event) -> _Key:
    # Combined events differ in what follows, and are one all the same.
    message = _COMBINED if event.message.startswith(_COMBINED) else event.message
    return (*_about(event), event.type, event.reason, message)
