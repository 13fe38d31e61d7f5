"""Options and arguments that are durations, written as Kubernetes' flags have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import click

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_option(
    name: str, default: str, text: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option such as ``500ms``, ``15s`` or ``1m30s`` to a command, which gets seconds."""
    return click.option(
        name, metavar="DURATION", default=default, show_default=True, callback=_seconds, help=text
    )


def duration_argument(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add such an argument, which may be left out: the command then gets None."""
    return click.argument(name, required=False, metavar="[DURATION]", callback=_optional)


def _optional(context: click.Context, argument: click.Parameter, text: str | None) -> float | None:
    return None if text is None else _seconds(context, argument, text)


def _seconds(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Read a duration; a number without a unit means seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise click.BadParameter(f"{text!r} is not a duration such as 500ms, 15s or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
