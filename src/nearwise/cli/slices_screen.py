"""Slices and their differences as a person reads them.

Law: layout only. Every sentence comes from a reason; here are headings and columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.cli.sentences import print_reasons
from nearwise.insight.disagreements import state_of
from nearwise.insight.drift import Drift
from nearwise.model.discovery import Endpoint, EndpointSlice
from nearwise.model.reasons import Reason
from nearwise.model.wellknown import MANAGED_BY

_HEADERS: Final = ("SLICE", "FAMILY", "PORTS", "ENDPOINTS", "HINTS", "MANAGED BY", "WRITE")
_ROWS: Final = 20  # differences of one service shown unless wide


def print_slices(drifts: Sequence[Drift], *, wide: bool) -> None:
    """Print a line a slice, wide with its endpoints under it; then services without slices."""
    if wide:
        for drift in drifts:
            for slice_ in drift.slices:
                print_table(_HEADERS, [_row(drift, slice_)])
                print_table((), map(_endpoint_row, slice_.endpoints), indent=2)
                print_line()
    elif rows := [_row(drift, slice_) for drift in drifts for slice_ in drift.slices]:
        print_table(_HEADERS, rows)
    for drift in drifts:
        for name in drift.deleted:
            print_line(f"{drift.service}: {name} is deleted")
        if not drift.slices:
            print_line()
            print_line(f"{drift.service}: no slices")
            print_reasons(drift.reasons)
    _print_unjudged(drifts)


def print_differences(drifts: Sequence[Drift], *, wide: bool) -> None:
    """Print what differs, service by service, and at the end how many services do."""
    for drift in drifts:
        told = [*drift.differences, *drift.notes]
        writes = _writes(drift)
        if not (writes or told):
            continue
        print_line(Painted(drift.service, Colour.BOLD), f": {writes}" if writes else "")
        if writes:
            print_reasons(drift.reasons)
        shown = len(told) if wide else _ROWS
        print_reasons(told[:shown])
        if more := told[shown:]:
            print_line(f"and {len(more)} more: see -o wide", indent=2)
        print_line()
    differing = sum(drift.differs for drift in drifts)
    verdict: Text = f"{differing} of {len(drifts)} services differ."
    if not differing:
        verdict = Painted(f"Nothing differs in {len(drifts)} services.", Colour.GREEN)
    print_line(verdict)


def _writes(drift: Drift) -> str:
    parts = (("create", drift.created), ("update", drift.updated), ("delete", drift.deleted))
    return "; ".join(f"{verb} {', '.join(names)}" for verb, names in parts if names)
