"""Changes of an answer as they are printed: a line each, for people or for machines.

Law: layout only. Why something changed is told by reasons, in the sentences of the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final

from nearwise.cli.explain_screen import apart, how, print_answer
from nearwise.cli.output import Colour, Painted, Text, has_unicode, print_json_line, print_line
from nearwise.cli.sentences import COLOURS, counted
from nearwise.insight.changes import Change, Move, Way
from nearwise.insight.explanation import Explanation, Part

_MOVES: Final = 4  # told in a line
_NODES: Final = 3  # of a zone, called by name


def print_first(found: Explanation, *, wide: bool) -> None:
    """Print the answer as it is in the beginning."""
    print_answer(found, wide=wide)
    print_line()


def print_change(when: str, what: Change, found: Explanation, zone: tzinfo | None = None) -> None:
    """Print a change of the answer on one line. Without a time zone, it is that of this machine."""
    moves = _moves(what, found) if found.parts else "all clients: gone"
    line: list[Text] = [Painted(local(when, zone), Colour.DIM), "  ", moves]
    for number, why in enumerate(what.reasons):
        line.append("; " if number else ", because ")
        colour = COLOURS.get(why.level)
        line.append(Painted(why.text, colour) if colour else why.text)
    print_line(*line)


def print_first_json(when: str, found: Explanation, zone: tzinfo | None = None) -> None:
    """Print the answer as it is in the beginning as JSON on one line."""
    print_json_line("Explanation", found, time=local(when, zone))


def print_change_json(when: str, what: Change, zone: tzinfo | None = None) -> None:
    """Print a change of the answer as JSON on one line."""
    print_json_line("ExplanationChange", what, time=local(when, zone))


def local(when: str, zone: tzinfo | None = None) -> str:
    """Return a time as it is here, to the second, with its distance from UTC (RFC 3339)."""
    return datetime.fromisoformat(when).astimezone(zone).isoformat(timespec="seconds")


# --- Moves ------------------------------------------------------------------------------------


def _moves(what: Change, found: Explanation) -> str:
    parts: list[Part | Move] = [*found.parts, *what.moves]
    told = [_move(move, apart(move, parts), found.origin) for move in what.moves[:_MOVES]]
    more = len(what.moves) - len(told)
    return "; ".join([*told, f"and {more} more"] if more else told)


def _move(move: Move, part: str, origin: str) -> str:
    before, after = _way(move.before, "new"), _way(move.after, "gone")
    others = ", others than before" if before == after else ""
    arrow = "→" if has_unicode() else "->"
    return f"{part} {_whom(move, origin)}: {before} {arrow} {after}{others}".lstrip()


def _way(way: Way | None, nothing: str) -> str:
    if way is None:
        return nothing
    if not way.endpoints:
        return how(way.mode, way.fate)
    return f"{way.mode} ({counted(way.endpoints, 'endpoint')})"


def _whom(move: Move, origin: str) -> str:
    """Say which clients these are, in as few words as will do."""
    if move.everybody:
        return origin or "all clients"
    return ", ".join(_of_zone(move, zone, nodes) for zone, nodes in move.nodes.items())


def _of_zone(move: Move, zone: str, nodes: Sequence[str]) -> str:
    if zone and zone in move.zones:
        return zone
    if len(nodes) <= _NODES:
        return ", ".join(nodes)
    return f"{len(nodes)} nodes {f'of {zone}' if zone else 'without a zone'}"
