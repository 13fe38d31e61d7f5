"""Since when hints are as they are, as far as events tell."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster import node, service
from nearwise.insight.since import Since, since
from nearwise.model import Event, ObjectMeta, ObjectReference
from nearwise.model.core import EventSeries
from nearwise.model.wellknown import TOPOLOGY_MODE
from worlds import stored

OF = service(annotations={TOPOLOGY_MODE: "Auto"})
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def at(clock: str) -> str:
    return f"2026-11-30T{clock}Z"


def event(kind: str, first: str, last: str = "", family: str = "IPv4", number: int = 0) -> Event:
    """Make an event about hints, told first and last at these times of the day."""
    return Event(
        metadata=ObjectMeta(name=f"web.{kind}.{first}", namespace="shop", resource_version="7"),
        involved_object=ObjectReference("Service", "shop", "web"),
        reason=f"TopologyAwareHints{kind}",
        message=f"Why number {number}, addressType: {family}",
        first_timestamp=at(first),
        last_timestamp=at(last or first),
    )


def told(*events: Event, hinted: bool, now: datetime | None = None) -> Since | None:
    world = stored(OF, [node("n0")], events=events)
    return since(world, OF, "IPv4", hinted=hinted, now=now)


def test_hints_are_there_since_they_were_last_enabled() -> None:
    enabled, disabled = event("Enabled", "10:00:00", "10:25:00"), event("Disabled", "10:20:00")
    assert told(enabled, disabled, hinted=True) == Since(at("10:25:00"), None)


def test_they_are_away_since_they_were_first_refused_however_often_that_is_told_again() -> None:
    enabled, disabled = event("Enabled", "10:00:00"), event("Disabled", "10:20:00", "11:50:00")
    assert told(enabled, disabled, hinted=False) == Since(at("10:20:00"), None)


def test_a_refusal_before_they_were_enabled_again_does_not_count() -> None:
    """The one event stands for two: since when the second was told first, nobody knows."""
    enabled, disabled = event("Enabled", "10:20:00"), event("Disabled", "10:00:00", "10:40:00")
    assert told(enabled, disabled, hinted=False) == Since(at("10:40:00"), None)


def test_refusals_for_several_reasons_are_one_time_without_hints() -> None:
    enabled = event("Enabled", "10:00:00")
    few = event("Disabled", "10:20:00", "10:30:00", number=1)
    uneven = event("Disabled", "10:31:00", "11:40:00", number=2)
    assert told(enabled, few, uneven, hinted=False) == Since(at("10:20:00"), None)


def test_what_was_told_in_the_same_second_is_not_taken_to_come_after() -> None:
    """As when a service is made: refused while it has few pods, and enabled at once."""
    enabled = event("Enabled", "10:00:00")
    before = event("Disabled", "10:00:00", number=1)
    after = event("Disabled", "11:00:00", number=2)
    assert told(enabled, before, after, hinted=False) == Since(at("11:00:00"), None)


def test_where_all_was_told_in_one_second_it_is_that_second() -> None:
    enabled, disabled = event("Enabled", "10:00:00"), event("Disabled", "10:00:00")
    disabled = replace(disabled, metadata=replace(disabled.metadata, resource_version="8"))
    assert told(enabled, disabled, hinted=False) == Since(at("10:00:00"), None)


@pytest.mark.parametrize(
    ("events", "hinted"),
    [
        ([], True),
        ([], False),
        ([event("Disabled", "10:00:00")], True),
        ([event("Enabled", "10:00:00")], False),
        ([event("Enabled", "10:00:00", family="IPv6")], True),
    ],
)
def test_nothing_is_said_where_the_last_event_is_not_about_what_is(
    events: list[Event], hinted: bool
) -> None:
    assert told(*events, hinted=hinted) is None


@pytest.mark.parametrize(
    ("now", "seconds"),
    [(NOON, 5400), (datetime(2026, 11, 30, 10, 0, tzinfo=UTC), 0), (None, None)],
)
def test_how_long_ago_is_counted_to_the_moment_that_is_handed_in(
    now: datetime | None, seconds: int | None
) -> None:
    enabled = event("Enabled", "10:30:00")
    assert told(enabled, hinted=True, now=now) == Since(at("10:30:00"), seconds)


def test_events_of_the_newer_api_count_with_their_series() -> None:
    newer = Event(
        metadata=ObjectMeta(name="web.newer", namespace="shop"),
        involved_object=ObjectReference("Service", "shop", "web"),
        reason="TopologyAwareHintsDisabled",
        message="Why, addressType: IPv4",
        event_time=at("10:00:00.123456"),
        series=EventSeries(3, at("11:00:00.654321")),
    )
    assert told(newer, hinted=False, now=NOON) == Since(at("10:00:00.123456"), 7199)


def test_a_time_that_cannot_be_read_has_no_age() -> None:
    odd = Event(
        metadata=ObjectMeta(name="web.odd", namespace="shop"),
        involved_object=ObjectReference("Service", "shop", "web"),
        reason="TopologyAwareHintsEnabled",
        message="Why, addressType: IPv4",
        last_timestamp="yesterday",
    )
    assert told(odd, hinted=True, now=NOON) == Since("yesterday", None)
