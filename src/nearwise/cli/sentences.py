"""Reasons as a person reads them: one sentence each, with its level in front."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

from nearwise.cli.output import Colour, Painted, print_line
from nearwise.model.reasons import Level, Reason

_WIDTH: Final = 100
_LEVEL: Final = max(map(len, Level)) + 2  # columns for the level
_COLOURS: Final = {
    Level.INFO: Colour.DIM,
    Level.WARNING: Colour.YELLOW,
    Level.ERROR: Colour.RED,
}


def print_reasons(reasons: Iterable[Reason], *, indent: int = 2) -> None:
    """Print each reason once, in the order given, wrapped under its level."""
    for each in dict.fromkeys((each.level, each.text) for each in reasons):
        level, text = each
        lines = textwrap.wrap(
            text, _WIDTH - indent - _LEVEL, break_long_words=False, break_on_hyphens=False
        )
        print_line(Painted(f"{level:<{_LEVEL}}", _COLOURS[level]), *lines[:1], indent=indent)
        for line in lines[1:]:
            print_line(line, indent=indent + _LEVEL)
