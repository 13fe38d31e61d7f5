"""Slices and their differences as a person reads them.

Law: layout only. Every sentence comes from a reason; here are headings and columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.cli.sentences import counted, print_reasons
from nearwise.insight.drift import Drift
from nearwise.insight.states import state_of
from nearwise.model.discovery import Endpoint, EndpointHints, EndpointPort, EndpointSlice

_NAMES: Final = 8  # slices named in a line unless wide
_ROWS: Final = 20  # differences of one service shown unless wide
_NARROW: Final = ("SLICE", "FAMILY", "PORTS", "ENDPOINTS", "HINTS", "MANAGED BY", "WRITE")
_WIDE: Final = (
    *("SLICE", "FAMILY", "PORTS", "ADDRESS", "STATE", "TARGET", "NODE", "ZONE", "HINTS"),
    "WRITE",
)


def print_slices(drifts: Sequence[Drift], *, wide: bool) -> None:
    """Print a line a slice, or, when wide, a line an endpoint; then what there is no line for."""
    row = _endpoint_rows if wide else _slice_row
    rows = [line for drift in drifts for slice_ in drift.slices for line in row(drift, slice_)]
    if rows:
        print_table(_WIDE if wide else _NARROW, rows)
    for drift in drifts:
        for name in drift.deleted:
            print_line(f"{drift.service}: {name} would be deleted.")
        if not drift.slices:
            print_line(f"{drift.service}: no slices.")
            print_reasons(drift.reasons, wide=wide)
    _print_unjudged(drifts)


def print_differences(drifts: Sequence[Drift], *, wide: bool) -> None:
    """Print what differs, service by service, and at the end how many services do."""
    for drift in drifts:
        writes = _writes(drift, wide=wide)
        told = [*drift.differences, *drift.notes]
        if not (writes or told):
            continue
        print_line(Painted(drift.service, Colour.BOLD), f": {writes}" if writes else "")
        if writes:
            print_reasons(drift.reasons, wide=wide)
        shown = len(told) if wide else _ROWS
        print_reasons(told[:shown], wide=wide)
        if more := len(told[shown:]):
            print_line(f"and {more} more (-o wide shows all)", indent=2)
        print_line()
    _print_unjudged(drifts)
    judged = [drift for drift in drifts if drift.unjudged is None]
    if differing := sum(drift.differs for drift in judged):
        verb = "differs" if differing == 1 else "differ"
        print_line(f"{differing} of {len(judged)} services {verb}.")
    elif judged:
        print_line(Painted(f"Nothing differs in {counted(len(judged), 'service')}.", Colour.GREEN))


def _print_unjudged(drifts: Iterable[Drift]) -> None:
    """Print what keeps services from being compared, once for all of them."""
    unjudged = Counter(drift.unjudged.text for drift in drifts if drift.unjudged)
    for text, services in sorted(unjudged.items()):
        print_line(
            Painted(f"Not compared: {counted(services, 'service')}, for {text}.", Colour.YELLOW)
        )


def _writes(drift: Drift, *, wide: bool) -> str:
    parts = (("create", drift.created), ("update", drift.updated), ("delete", drift.deleted))
    told = []
    for verb, names in parts:
        shown = names if wide else names[:_NAMES]
        more = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
        if names:
            told.append(f"{verb} {', '.join([*shown, *more])}")
    return "; ".join(told)


def _slice_row(drift: Drift, slice_: EndpointSlice) -> Iterator[Sequence[Text]]:
    ready = sum(each.ready for each in slice_.endpoints)
    some = f" ({ready} ready)" if ready < len(slice_.endpoints) else ""
    yield (
        *_head(slice_),
        f"{len(slice_.endpoints)}{some}",
        _sum_hints(each.hints for each in slice_.endpoints if each.hints),
        slice_.manager or "-",
        _write(drift, slice_),
    )


def _endpoint_rows(drift: Drift, slice_: EndpointSlice) -> Iterator[Sequence[Text]]:
    for endpoint in slice_.endpoints or (Endpoint(),):
        target = endpoint.target_ref
        yield (
            *_head(slice_),
            ", ".join(endpoint.addresses) or "-",
            state_of(endpoint) if endpoint.addresses else "-",
            f"{target.kind}/{target.name}" if target else "-",
            endpoint.node_name or "-",
            endpoint.zone or "-",
            ", ".join(endpoint.hints.places if endpoint.hints else ()) or "-",
            _write(drift, slice_),
        )


def _head(slice_: EndpointSlice) -> tuple[str, str, str]:
    ports = ", ".join(map(_tell_port, slice_.ports))
    return "/".join(slice_.metadata.key), slice_.address_type, ports or "-"


def _tell_port(port: EndpointPort) -> str:
    number = "all" if port.port is None else port.port  # no number: all ports (API field)
    return f"{port.name}:{number}/{port.protocol}" if port.name else f"{number}/{port.protocol}"


def _sum_hints(hints: Iterable[EndpointHints]) -> str:
    """Count the hints of a slice by zone, and the nodes in them."""
    found = list(hints)
    zones = Counter(zone.name for each in found for zone in each.for_zones)
    nodes = {node.name for each in found for node in each.for_nodes}
    told = [f"{zone} {count}" for zone, count in sorted(zones.items())]
    return ", ".join(told + ([counted(len(nodes), "node")] if nodes else [])) or "-"


def _write(drift: Drift, slice_: EndpointSlice) -> Text:
    name = slice_.metadata.name
    if name in drift.created:
        return Painted("create", Colour.GREEN)
    return Painted("update", Colour.YELLOW) if name in drift.updated else "-"
