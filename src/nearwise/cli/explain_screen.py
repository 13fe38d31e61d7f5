"""An explanation as a person reads it: the answer first, then who goes where, why, and what is off.

Law: layout only. Every sentence comes from a reason; here are headings, columns and bars.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.insight.explanation import Explanation, Group, Part, PortLine, Row, Traffic
from nearwise.model.reasons import Level, Reason

_WIDTH: Final = 100
_BAR: Final = 20  # characters of the longest bar
_ROWS: Final = 16  # endpoints shown unless wide
_LABEL: Final = 11  # columns for what a sentence is about
_NAMES: Final = 3  # names listed before "and 5 more"

_COLOURS: Final = {Level.WARNING: Colour.YELLOW, Level.ERROR: Colour.RED}
_HOW: Final = {
    Traffic.INSIDE: "from inside the cluster",
    Traffic.OUTSIDE: "from outside the cluster",
    Traffic.ANYWHERE: "",
    Traffic.DNS: "by DNS",
}


def print_explanation(found: Explanation, *, wide: bool) -> None:
    """Print all of it."""
    address = "" if found.type == "ExternalName" else ", ".join(found.cluster_ips)
    print_line(Painted(found.service, Colour.BOLD), *(f"   {word}" for word in (found.type, address) if word))
    for part in found.parts:
        print_line()
        _print_part(part, found, wide=wide)
    _print_sentences("Why", _why(found), found)
    _print_findings(found)


def _print_part(part: Part, found: Explanation, *, wide: bool) -> None:
    about = [
        part.family,
        _ports(part.ports),
        _HOW[part.traffic],
        f"as {part.profile} reads hints" if part.profile else "",
    ]
    print_line(Painted("   ".join(filter(None, about)), Colour.DIM))
    for sentence in part.headline:
        _print_wrapped(_sentence(sentence.text), colour=_COLOURS.get(sentence.level, Colour.GREEN))
    if part.endpoints:
        print_line()
        _print_endpoints(part.endpoints, wide=wide)
    if part.groups and part.traffic is not Traffic.DNS:
        print_line()
        _print_groups(part.groups, wide=wide)
    ...
