"""Since when the hints of a service are as they are, as far as events tell.

Law: events say it, or nobody does; slices have no such time. The moment is handed in.

Kubernetes tells Enabled when hints come, and Disabled at each look while they are refused. Both are
kept for about an hour after they were last told, with the first and the last time. So hints are
there since Enabled was last told, and away since Disabled was first told after that; within one
second nobody knows what came first. An Enabled event that is forgotten may hide that hints were
back for a while.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from nearwise.insight.world import World, last_told
from nearwise.model import Event, Service

_EVENTS: Final = "TopologyAwareHints"  # Enabled or Disabled, as Kubernetes 1.36 names them
_ENABLED: Final = f"{_EVENTS}Enabled"
_SECOND: Final = 19  # characters of a time up to the second: some have fractions, some have none


class Since(msgspec.Struct, frozen=True):
    """A time (RFC 3339), and how many seconds ago it was; None if the present is not known."""

    time: str
    seconds: int | None


class Telling(NamedTuple):
    """An event, and one of the times at which it was told (RFC 3339)."""

    time: str
    event: Event


def hint_events(world: World, service: Service, family: str) -> tuple[Event, ...]:
    """Return what was told about the hints of an address family, the latest last."""
    return tuple(
        event
        for event in world.events_of("Service", service.metadata.key)
        if event.reason.startswith(_EVENTS)
        and event.message.rpartition("addressType: ")[2] == family
    )


def since(
    world: World, service: Service, family: str, *, hinted: bool, now: datetime | None
) -> Since | None:
    """Say since when hints are there, or refused; None when the events do not fit what is."""
    begun = beginning(world, service, family, hinted=hinted)
    return Since(begun.time, seconds_ago(begun.time, now)) if begun else None


def beginning(world: World, service: Service, family: str, *, hinted: bool) -> Telling | None:
    """Return when hints came, or went, and the event told then; None as ``since`` does."""
    events = hint_events(world, service, family)
    if not events or (events[-1].reason == _ENABLED) is not hinted:
        return None
    enabled = [Telling(last_told(each), each) for each in events if each.reason == _ENABLED]
    begun = max(enabled, key=_second, default=Telling("", events[-1]))
    if not hinted:
        disabled = [each for each in events if each.reason != _ENABLED]
        told = [Telling(_first_told(each), each) for each in disabled]
        told += [Telling(last_told(each), each) for each in disabled]
        later = [each for each in told if _second(each) > _second(begun)]
        begun = min(later, key=_second, default=Telling(last_told(events[-1]), events[-1]))
    return begun if begun.time else None


def seconds_ago(time: str, now: datetime | None) -> int | None:
    """Return how many seconds ago a time was; None if it or the present is not known."""
    if now is None:
        return None
    try:
        return max(int((now - datetime.fromisoformat(time)).total_seconds()), 0)
    except (ValueError, TypeError):  # no time, or one without its zone
        return None


def _first_told(event: Event) -> str:
    return event.first_timestamp or event.event_time or last_told(event)


def _second(told: Telling) -> str:
    return told.time[:_SECOND]
