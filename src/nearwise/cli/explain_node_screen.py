"""What a kernel has for a service, as a person reads it: whether it agrees first, then what is off.

Law: layout only. Every sentence comes from a reason; here are headings and columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nearwise.cli.explain_screen import natural, percent, print_why, print_wrapped, severity
from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.cli.sentences import COLOURS, counted, print_reasons
from nearwise.insight.programmed import FamilyLines, FrontendLine, NodeExplanation, Way
from nearwise.insight.programmed_ways import Becomes, Clients, Goal
from nearwise.model.reasons import Reason

_ROWS: Final = 16  # frontends, and endpoints, that are shown unless wide
_CLIENTS: Final = {Clients.HERE: "this machine", Clients.OUTSIDE: "outside"}
_WORDS: Final = {
    Becomes.REJECTED: "rejected",
    Becomes.DROPPED: "dropped",
    Becomes.UNTRANSLATED: "left as it is",
    Becomes.UNKNOWN: "unknown",
}


def print_node_explanation(found: NodeExplanation, *, wide: bool) -> None:
    """Print all of it."""
    about = [found.type, ", ".join(ip for ip in found.cluster_ips if ip != "None")]
    place = f"on {found.node}" + (f" ({found.zone})" if found.zone else "")
    words = [*filter(None, about), place]
    print_line(Painted(found.service, Colour.BOLD), *(f"   {word}" for word in words))
    for each in found.families:
        print_line()
        _print_family(each, wide=wide)
    print_why(_why(found))
    findings = [*found.findings, *(why for each in found.families for why in each.findings)]
    if findings:
        print_line()
        print_line(Painted("FINDINGS", Colour.BOLD))
        print_reasons(sorted(findings, key=severity), wide=wide)


def _print_family(lines: FamilyLines, *, wide: bool) -> None:
    print_wrapped(lines.family, Colour.DIM)
    why = lines.headline
    print_wrapped(f"{why.text[0].upper()}{why.text[1:]}.", COLOURS.get(why.level, Colour.GREEN))
    if not lines.frontends:
        return
    print_line()
    _print_frontends(lines.frontends, wide=wide)
    for together in _alike(lines.frontends):
        print_line()
        _print_endpoints(together, wide=wide)


def _print_frontends(frontends: Sequence[FrontendLine], *, wide: bool) -> None:
    """Print where connections go, those that are not as they should be first."""
    rows: list[list[Text]] = []
    for line in sorted(frontends, key=lambda each: each.agrees):
        for way in line.ways:
            should, kernel = _summed(way.should), _summed(way.kernel)
            has: Text = "the same"
            if way.should != way.kernel:
                has = Painted(kernel if kernel != should else f"{kernel}, but others", Colour.RED)
            where = (line.frontend, line.kind or "-", line.port or "-", _CLIENTS[way.clients])
            rows.append([*where, should, has])
    _print_rows(["FRONTEND", "KIND", "PORT", "FROM", "SHOULD GO TO", "IN THE KERNEL"], rows, wide)


def _alike(frontends: Sequence[FrontendLine]) -> list[list[tuple[FrontendLine, Way]]]:
    """Return the ways that lead to endpoints, those alike together."""
    found: dict[tuple[object, object], list[tuple[FrontendLine, Way]]] = {}
    for line in frontends:
        for way in line.ways:
            if any(goal.endpoint for goal in (*way.should, *way.kernel)):
                found.setdefault((way.should, way.kernel), []).append((line, way))
    return list(found.values())


def _print_endpoints(together: Sequence[tuple[FrontendLine, Way]], *, wide: bool) -> None:
    """Print who gets which part of the new connections, and who should."""
    names = [f"{line.frontend} from {_CLIENTS[way.clients]}" for line, way in together]
    more = f" and {len(names) - 1} more" if len(names) > 1 and not wide else ""
    shown = ", ".join(names) if wide else names[0]
    print_wrapped(f"New connections to {shown}{more}:", Colour.DIM)
    way = together[0][1]
    should, kernel = ({_who(goal): goal for goal in goals} for goals in (way.should, way.kernel))
    rows: list[list[Text]] = []
    for who in sorted({**should, **kernel}, key=lambda each: (not each[1], natural(each[0]))):
        has: Text = _share(kernel.get(who))
        if should.get(who) != kernel.get(who):
            has = Painted(str(has), Colour.RED)
        rows.append([who[0], who[1] or "-", _share(should.get(who)), has])
    _print_rows(["ENDPOINT", "ADDRESS", "SHOULD GET", "GETS"], rows, wide)


def _print_rows(headers: Sequence[str], rows: Sequence[Sequence[Text]], wide: bool) -> None:
    shown = rows if wide else rows[:_ROWS]
    print_table(headers, shown)
    if more := len(rows) - len(shown):
        print_line(Painted(f"and {more} more (-o wide)", Colour.DIM))


def _who(goal: Goal) -> tuple[str, str]:
    """Return the name and the address of a goal, for one that is no endpoint what becomes of it."""
    return (goal.name, goal.endpoint) if goal.endpoint else (_WORDS[goal.becomes], "")


def _share(goal: Goal | None) -> str:
    return percent(goal.share) if goal else "     -"


def _summed(goals: Sequence[Goal]) -> str:
    """Say in short where connections go."""
    endpoints = [goal.name for goal in goals if goal.endpoint]
    words = [_WORDS[goal.becomes] for goal in goals if not goal.endpoint]
    if len(endpoints) == 1:
        words.insert(0, endpoints[0])
    elif endpoints:
        words.insert(0, counted(len(endpoints), "endpoint"))
    return ", ".join(words)


def _why(found: NodeExplanation) -> Iterator[tuple[str, Reason]]:
    """Yield how the endpoints were chosen, and what else is to be said, with a label each."""
    several = len(found.families) > 1
    for each in found.families:
        family = f"{each.family} " if several else ""
        for chosen in each.chosen:
            port = chosen.port if len(each.chosen) > 1 else "chosen"
            for why in chosen.reasons:
                yield f"{family}{port or chosen.protocol}", why
        for why in each.notes:
            yield f"{family}left out", why
    for why in found.notes:
        yield "note", why
