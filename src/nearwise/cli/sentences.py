"""Words on a screen: how wide they run, how they are coloured, and reasons with their levels."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from shutil import get_terminal_size
from typing import Final

from nearwise.cli.output import Colour, Painted, print_line
from nearwise.model.reasons import Level, Reason

COLOURS: Final = {Level.WARNING: Colour.YELLOW, Level.ERROR: Colour.RED}
"""Of what should worry; what is only told has the colour of its place."""

_WIDTH: Final = 100
_NARROWEST: Final = 40
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
            lines = wrapped(text, beside=indent + _LEVEL)
            head = Painted(f"{level:<{_LEVEL}}", COLOURS.get(level, Colour.DIM))
            print_line(head, *lines[:1], indent=indent)
            for line in lines[1:]:
                print_line(line, indent=indent + _LEVEL)
        if more := len(alike) - len(shown):
            print_line(f"and {more} more like these (-o wide shows all)", indent=indent + _LEVEL)


def wrapped(text: str, *, beside: int) -> list[str]:
    """Return the text in lines that fit beside so many columns; a longer word stays whole."""
    width = max(_width() - beside, _NARROWEST)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _width() -> int:
    """Return how wide sentences run: as the terminal is, where there is one and it is narrow."""
    return min(get_terminal_size().columns, _WIDTH) if sys.stdout.isatty() else _WIDTH


def counted(number: int, noun: str) -> str:
    """Return ``1 service``, ``3 services``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
