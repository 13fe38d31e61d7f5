"""Hints of services as a person reads them: a line each, then what should be known about them.

Law: layout only. Every sentence comes from a reason; here are headings and columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.cli.sentences import print_reasons
from nearwise.insight.hints import FamilyHints, LastEvent, ServiceHints
from nearwise.insight.since import Since, seconds_ago
from nearwise.model.reasons import Level, Reason
from nearwise.model.wellknown import TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE

_HEADERS: Final = ("SERVICE", "FAMILY", "ASKS FOR", "HINTS", "SINCE", "LAST EVENT", "FINDINGS")
_WORDS: Final = {TOPOLOGY_MODE: "annotation", TOPOLOGY_AWARE_HINTS: "older annotation"}
_EVENT: Final = "TopologyAwareHints"  # what the names of all these events begin with
_DAY: Final = 86_400
_UNITS: Final = (("d", _DAY), ("h", 3_600), ("min", 60), ("s", 1))
_NEARNESS: Final = frozenset(["hints-threshold", "hints-lost-at"])
_ZONES: Final = 5  # zones listed in a cell


def print_hints(
    services: Sequence[ServiceHints],
    cluster: Sequence[Reason],
    *,
    now: datetime | None,
    wide: bool,
) -> None:
    """Print the table, what holds for all services, and the findings; wide with all reasons.

    ``now`` is given for a live cluster: then events show their age instead of their time.
    """
    headers = (*_HEADERS, "THRESHOLDS") if wide else _HEADERS
    rows = [
        (*_row(service, family, now), *([_threshold(family)] if wide else []))
        for service in services
        for family in service.families
    ]
    if rows:
        print_table(headers, rows)
    if cluster:
        print_line()
        print_reasons(cluster, wide=wide, indent=0)
    common = frozenset(cluster)
    for service in services:
        _print_reasons(service, common, wide=wide)


def _print_reasons(service: ServiceHints, common: Collection[Reason], *, wide: bool) -> None:
    """Print the findings of a service and how near its hints are to going.

    What all services have in common is left out.
    """
    parts: list[ServiceHints | FamilyHints] = [service, *service.families]
    if len(service.families) == 1:
        titles = [service.service, ""]
    else:
        titles = [service.service, *(f"{service.service} {f.family}" for f in service.families)]
    begun = False
    for title, part in zip(titles, parts, strict=True):
        told = [*part.findings, *(r for r in part.reasons if wide or r.code in _NEARNESS)]
        told = [each for each in told if each not in common]
        if not told:
            continue
        if title or not begun:
            print_line()
            print_line(Painted(title or service.service, Colour.BOLD))
        print_reasons(told, wide=wide)
        begun = True


def _row(service: ServiceHints, family: FamilyHints, now: datetime | None) -> tuple[Text, ...]:
    alarms = [
        each for each in (*service.findings, *family.findings) if each.level is not Level.INFO
    ]
    worst = Colour.RED if any(a.level is Level.ERROR for a in alarms) else Colour.YELLOW
    return (
        service.service,
        family.family,
        _asks(service),
        _carries(family),
        _since(family.since),
        _last(family.last_event, now),
        Painted(str(len(alarms)), worst) if alarms else "-",
    )


def _asks(service: ServiceHints) -> str:
    if not service.by:
        return "nothing"
    by, field = _WORDS.get(service.by), service.traffic_distribution
    if by is None:
        return f"{service.value} (field)"
    return f"{service.value} ({by} over {field})" if field else f"{service.value} ({by})"


def _carries(family: FamilyHints) -> str:
    if not family.ready:
        return "nothing is ready"
    if not family.hinted:
        return f"none of {family.ready}"
    many = f"all {family.ready}" if family.hinted == family.ready else ""
    zones = [f"{zone} {count}" for zone, count in family.zones.items()]
    more = [f"{len(zones) - _ZONES} more zones"] if len(zones) > _ZONES else []
    nodes = [f"{len(family.nodes)} nodes"] if family.nodes else []
    places = ", ".join([*zones[:_ZONES], *more, *nodes])
    return f"{many or f'{family.hinted} of {family.ready}'}: {places}"


def _since(since: Since | None) -> str:
    """Tell a time, and how long ago it was; the day only when that is not clear by itself."""
    if since is None:
        return "-"
    if since.seconds is None:
        return since.time
    then = datetime.fromisoformat(since.time).astimezone(UTC)
    told = then.strftime("%H:%M:%SZ" if since.seconds < _DAY else "%Y-%m-%dT%H:%M:%SZ")
    return f"{told} ({_age(since.seconds)})"


def _last(event: LastEvent | None, now: datetime | None) -> str:
    if event is None:
        return "-"
    ago = seconds_ago(event.time, now)
    when = event.time if ago is None else f"{_age(ago)} ago"
    return f"{event.event.removeprefix(_EVENT)} {when}"


def _age(seconds: int) -> str:
    """Tell a length of time in its largest unit."""
    unit, length = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{seconds // length} {unit}"


def _threshold(family: FamilyHints) -> str:
    found = [each.text for each in family.reasons if each.code == "hints-threshold"]
    return found[0] if found else "-"
