"""What the shares of a service's endpoints mean: the sentence on top, and what should worry.

Law: numbers come in, reasons go out. What is worth a warning stands here, as constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import Final

from nearwise.insight.explanation import Group, Row
from nearwise.insight.shares import Shares
from nearwise.model import Reason, reason

HOT: Final = 2.0  # times the mean from which an endpoint is called hot
_ALIKE: Final = 1.005  # skew up to which shares count as even


def headline(rows: Sequence[Row], spread: Shares, *, local: bool, lost: Sequence[str]) -> Iterator[Reason]:
    """Yield the sentences that answer at a glance: who gets the traffic, and what is lost.

    ``lost`` names the nodes whose traffic finds no endpoint, under policy Local.
    """
    ready = [row for row in rows if row.state == "ready"]
    used = [row for row in rows if row.share > 0]
    if used:
        yield _who(ready, used)
    if spread.unanswered > 0:
        if local and rows:
            yield reason("traffic-dropped", percent=percent(spread.unanswered), nodes=lost)
        else:
            yield reason("traffic-refused")


def _who(ready: Sequence[Row], used: Sequence[Row]) -> Reason:
    if not ready:
        return reason("traffic-terminating", total=len(used))
    if len(ready) == 1:
        return reason("traffic-one", endpoint=ready[0].name)
    if len(used) < len(ready):
        idle = len(ready) - len(used)
        return reason("traffic-part", reached=len(used), total=len(ready), idle=idle)
    shares = [row.share for row in used]
    mean = fsum(shares) / len(shares)
    if max(shares) <= mean * _ALIKE:
        return reason("traffic-even", total=len(ready), percent=percent(mean))
    return reason(
        "traffic-uneven",
        total=len(ready),
        least=percent(min(shares)),
        most=percent(max(shares)),
    )


def findings(rows: Sequence[Row], groups: Iterable[Group]) -> Iterator[Reason]:
    """Yield what should worry about the shares: endpoints that nobody reaches, and hot ones."""
    ready = [row for row in rows if row.state == "ready"]
    if not any(row.share for row in ready):
        return
    if idle := [row.name for row in ready if not row.share]:
        yield reason("endpoints-nobody-reaches", endpoints=idle)
    middle = mean([row.share for row in ready])
    hot = [row for row in ready if row.share > middle * HOT * (1 - _EXACT)]
    if hot:
        most = max(row.share for row in hot)
        yield reason(
            "hot-endpoints",
            endpoints=[row.name for row in hot],
            percent=percent(most),
            times=round(most / middle, 1),
            mean=percent(middle),
        )
    for group in groups:
        ...


def crossing(spread: Shares, without_hints: Shares) -> Iterator[Reason]:
    """Yield how much of the traffic crosses zones, and how much would if all endpoints shared."""
    if spread.unknown:
        yield reason("cross-zone-unknown", percent=percent(spread.unknown))
    if spread.unknown + spread.unanswered >= 1 - _EXACT:
        return
    now, then = percent(spread.crossing), percent(without_hints.crossing)
    if now == then:
        yield reason("cross-zone", percent=now)
    else:
        yield reason("cross-zone-saved", percent=now, without=then)


def percent(share: float) -> float:
    """Return a share as it is shown: in percent, with one digit."""
    return round(share * 100, 1)
