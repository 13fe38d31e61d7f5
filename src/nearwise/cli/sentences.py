"""Words on a screen: how wide they run, how they are coloured, and reasons with their levels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final

from nearwise.cli.output import Colour, Painted, print_line
from nearwise.model.reasons import Level, Reason

WIDTH: Final = 100
COLOURS: Final = {Level.WARNING: Colour.YELLOW, Level.ERROR: Colour.RED}
"""Of what should worry; what is only told has the colour of its place."""

_ALIKE: Final = 10  # reasons of one code shown in a row unless wide
_LEVEL: Final = max(map(len, Level)) + 2  # columns for the level


def print_reasons(reasons: Iterable[Reason], *, wide: bool, indent: int = 2) -> None:
    """Print each reason once, in the order given, wrapped under its level.

    Unless wide, only the first of a row of reasons with the same code are shown.
    """
    once = dict.fromkeys((each.code, each.level, each.text) for each in reasons)
    for _, group in groupby(once, key=itemgetter(0)):
        alike = list(group)
        shown = alike if wide else alike[:_ALIKE]
        for _, level, text in shown:
            lines = wrapped(text, WIDTH - indent - _LEVEL)
            head = Painted(f"{level:<{_LEVEL}}", COLOURS.get(level, Colour.DIM))
            print_line(head, *lines[:1], indent=indent)
            for line in lines[1:]:
                print_line(line, indent=indent + _LEVEL)
        if more := len(alike) - len(shown):
            print_line(f"and {more} more like these (-o wide shows all)", indent=indent + _LEVEL)


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of this width; a longer word stays whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def counted(number: int, noun: str) -> str:
    """Return ``1 service``, ``3 services``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
