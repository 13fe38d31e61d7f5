"""How long ago something was, as kubectl says it: ``45s``, ``5m3s``, ``3d4h``, ``2y10d``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

UNKNOWN: Final = "<unknown>"

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Up to how many seconds, what is counted, and what of the rest is told as well."""


def human_duration(seconds: float) -> str:
    """Say a duration in two or three characters of precision.

    ``<invalid>`` from two seconds below zero on: up to there clocks may differ.
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    for limit, unit, letter, part, part_letter in _STEPS:
        if whole < limit:
            rest = whole % unit // part if part else 0
            return f"{whole // unit}{letter}" + (f"{rest}{part_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def parse_time(text: str) -> datetime | None:
    """Read an RFC 3339 time; None for anything else, and for the first year: Go's zero time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None or moment.year == 1 else moment


def since(time: str, now: datetime) -> str:
    """Say how long ago a time was; ``<unknown>`` when there is none."""
    then = parse_time(time)
    return UNKNOWN if then is None else human_duration((now - then) / timedelta(seconds=1))
