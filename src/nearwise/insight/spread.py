"""What the shares of a service's endpoints mean: the sentence on top, and what should worry.

Law: rows come in, reasons go out. What is worth a warning stands here, as constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nearwise.insight.explanation import Group, Row
from nearwise.insight.shares import Shares, mean, skew
from nearwise.insight.states import State
from nearwise.model import Reason, reason

HOT: Final = 2.0  # times the mean from which an endpoint is called hot
_EXACT: Final = 1e-9  # shares that differ by less are the same
_ALIKE: Final = 1.005  # skew up to which shares count as even


def headline(rows: Sequence[Row]) -> Iterator[Reason]:
    """Yield the sentence that says who gets the traffic, if anybody does."""
    ready = [row for row in rows if row.state == State.READY]
    used = [row.share for row in rows if row.share > 0]
    if not used:
        return
    if not ready:
        yield reason("traffic-terminating", total=len(used))
    elif len(ready) == 1:
        yield reason("traffic-one", endpoint=ready[0].name)
    elif len(used) < len(ready):
        idle = len(ready) - len(used)
        yield reason("traffic-part", reached=len(used), total=len(ready), idle=idle)
    elif skew(used) <= _ALIKE:
        yield reason("traffic-even", total=len(ready), percent=percent(mean(used)))
    else:
        least, most = percent(min(used)), percent(max(used))
        yield reason("traffic-uneven", total=len(ready), least=least, most=most)


def findings(rows: Sequence[Row], groups: Iterable[Group]) -> Iterator[Reason]:
    """Yield what should worry: endpoints that nobody reaches, hot ones, nodes without a zone."""
    ready = [row for row in rows if row.state == State.READY]
    middle = mean([row.share for row in ready])
    if not middle:
        return
    if idle := [row.name for row in ready if not row.share]:
        yield reason("endpoints-nobody-reaches", endpoints=idle)
    if hot := [row for row in ready if row.share >= middle * HOT * (1 - _EXACT)]:
        most = max(row.share for row in hot)
        yield reason(
            "hot-endpoints",
            endpoints=[row.name for row in hot],
            percent=percent(most),
            times=round(most / middle, 1),
            mean=percent(middle),
        )
    if any(row.hint_zones for row in ready):
        unlabelled = [node for group in groups if group.traffic for node in group.nodes.get("", ())]
        if unlabelled:
            yield reason("node-without-zone", nodes=sorted(unlabelled))


def crossing(now: Shares, without_hints: Shares) -> Iterator[Reason]:
    """Yield how much of the traffic crosses zones, and how much would if all endpoints shared."""
    if now.unknown + now.unanswered < 1 - _EXACT:
        percent_now, then = percent(now.crossing), percent(without_hints.crossing)
        if percent_now == then:
            yield reason("cross-zone", percent=then)
        else:
            yield reason("cross-zone-saved", percent=percent_now, without=then)
    if now.unknown > _EXACT:
        yield reason("cross-zone-unknown", percent=percent(now.unknown))


def idle(rows: Iterable[Row]) -> Iterator[Reason]:
    """Yield which endpoints are listed though they are not to be used."""
    unused = [row for row in rows if not row.share]
    if draining := [row.name for row in unused if row.state.is_terminating]:
        yield reason("endpoints-terminating", endpoints=draining)
    if waiting := [row.name for row in unused if row.state == State.NOT_READY]:
        yield reason("endpoints-not-ready", endpoints=waiting)


def percent(share: float) -> float:
    """Return a share as it is shown: in percent, with one digit, or three where one says 0."""
    return round(share * 100, 1) or round(share * 100, 3)
