"""Events, leases, ConfigMaps and ServiceAccounts as tables, and whatever has none of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables import descriptions
from nearwise.server.tables.ages import UNKNOWN, parse_time, since
from nearwise.server.tables.columns import AGE, NAME, Column, Layout, age_of, name_of, wide
from nearwise.server.tables.reading import number, part, parts, text


def _event(event: Object, now: datetime) -> list[Json]:
    """Show an event, in either group: the same things have other names in events.k8s.io."""
    about = part(event, "involvedObject") or part(event, "regarding")
    source = part(event, "source") or part(event, "deprecatedSource")
    component = text(source, "component") or text(
        event, "reportingComponent", "reportingController"
    )
    instance = text(source, "host") or text(event, "reportingInstance")
    kind, name = text(about, "kind").lower(), text(about, "name")
    first, last, times = _times(event)
    return [
        since(last, now),
        text(event, "type"),
        text(event, "reason"),
        f"{kind}/{name}" if name else kind,
        text(about, "fieldPath"),
        f"{component}, {instance}" if instance else component,
        text(event, "message", "note").strip(),
        since(first, now),
        times,
        name_of(event),
    ]


def _times(event: Object) -> tuple[str, str, int]:
    """Return when an event was first and last seen, and how often."""
    first = text(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime")
    if series := part(event, "series"):
        return first, text(series, "lastObservedTime"), number(series, "count")
    last = text(event, "lastTimestamp", "deprecatedLastTimestamp") or first
    return first, last, number(event, "count") or number(event, "deprecatedCount") or 1


EVENTS: Final = Layout(
    (
        Column("Last Seen", descriptions.LAST_SEEN),
        Column("Type", descriptions.EVENT_TYPE),
        Column("Reason", descriptions.EVENT_REASON),
        Column("Object", "The object that this event is about."),
        wide("Subobject", descriptions.SUBOBJECT),
        wide("Source", descriptions.EVENT_SOURCE),
        Column("Message", descriptions.EVENT_MESSAGE),
        wide("First Seen", descriptions.FIRST_SEEN),
        wide("Count", "The number of times this event has occurred."),
        wide("Name", descriptions.NAME, format="name"),
    ),
    _event,
)


def _lease(lease: Object, now: datetime) -> list[Json]:
    return [name_of(lease), text(part(lease, "spec"), "holderIdentity"), age_of(lease, now)]


LEASES: Final = Layout((NAME, Column("Holder", descriptions.HOLDER), AGE), _lease)


def _config_map(config_map: Object, now: datetime) -> list[Json]:
    keys = len(part(config_map, "data")) + len(part(config_map, "binaryData"))
    return [name_of(config_map), keys, age_of(config_map, now)]


CONFIG_MAPS: Final = Layout((NAME, Column("Data", "How many keys it has."), AGE), _config_map)


def _service_account(account: Object, now: datetime) -> list[Json]:
    return [name_of(account), len(parts(account, "secrets")), age_of(account, now)]


SERVICE_ACCOUNTS: Final = Layout(
    (NAME, Column("Secrets", "How many secrets its pods may use."), AGE), _service_account
)


def _any(obj: Object, _now: datetime) -> list[Json]:
    created = text(part(obj, "metadata"), "creationTimestamp")
    return [name_of(obj), UNKNOWN if parse_time(created) is None else created]


ANYTHING: Final = Layout(
    (NAME, Column("Created At", descriptions.CREATED, type="date")),
    _any,
)
"""For resources without a layout of their own."""
