"""An explanation as a person reads it: the answer first, then who goes where, why, and what is off.

Law: layout only. Every sentence comes from a reason; here are headings, columns and bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, has_unicode, print_line, print_table
from nearwise.cli.sentences import COLOURS, print_reasons, wrapped
from nearwise.insight.changes import Move
from nearwise.insight.explanation import Explanation, Group, Part, PortLine, Row, Traffic
from nearwise.insight.states import State
from nearwise.model.reasons import CATALOGUE, Level, Reason
from nearwise.routing import KUBE_PROXY, Fate, Mode

_BAR: Final = 10  # characters of the longest bar
_ROWS: Final = 16  # endpoints, and groups of clients, that are shown unless wide
_ALIKE: Final = 3  # sentences of one kind at the top, unless wide
_FEW: Final = 8  # ports, and hints of an endpoint, that are listed unless wide
_ROOM: Final = 42  # characters for a list of endpoints, unless wide
_NOTHING: Final = 1e-9  # a share that is only what adding up leaves
_LESS_ROOM: Final = 27  # and of nodes

_TRAFFIC: Final = {
    Traffic.INSIDE: "from inside the cluster",
    Traffic.OUTSIDE: "from outside the cluster",
    Traffic.ANYWHERE: "",
    Traffic.DNS: "by DNS",
}
_FATES: Final = {str(Fate.REJECT): "rejected", str(Fate.DROP): "dropped"}
_OWN_NODE: Final = str(Mode.SAME_NODE)


def print_explanation(found: Explanation, *, wide: bool) -> None:
    """Print all of it."""
    _print_title(found)
    for part in found.parts:
        print_line()
        _print_part(part, wide=wide)
    findings = [*(why for part in found.parts for why in part.findings), *found.findings]
    told = {why.text for part in found.parts for why in part.headline}
    told |= {why.text for why in findings}
    print_why((label, why) for label, why in _why(found) if why.text not in told)
    if findings:
        print_line()
        print_line(Painted("FINDINGS", Colour.BOLD))
        print_reasons(sorted(findings, key=severity), wide=wide)


def print_answer(found: Explanation, *, wide: bool) -> None:
    """Print the answer and who goes where, but not why, nor what each endpoint gets."""
    _print_title(found)
    for part in found.parts:
        print_line()
        _print_headline(part, wide=wide)
        if part.endpoints and part.traffic is not Traffic.DNS:
            _print_assumption(part)
            print_line()
            _print_groups(part, wide=wide)


def how(mode: str, fate: str) -> str:
    """Say how connections are sent, or what else becomes of them."""
    return mode if fate == Fate.FORWARD else _FATES[fate]


def apart(part: Part | Move, parts: Sequence[Part | Move]) -> str:
    """Say what tells a part from the others."""
    words = []
    if len({each.family for each in parts}) > 1:
        words.append(part.family)
    if len({each.traffic for each in parts}) > 1:
        words.append(part.traffic)
    if len({each.profile for each in parts}) > 1:
        words.append(part.profile)
    if len({each.ports for each in parts}) > 1:
        words.append(_few([port.name or str(port.port) for port in part.ports], wide=False))
    return " ".join(words)


def _print_title(found: Explanation) -> None:
    about = [found.type, ", ".join(ip for ip in found.cluster_ips if ip != "None")]
    print_line(Painted(found.service, Colour.BOLD), *(f"   {word}" for word in about if word))


# --- One part ---------------------------------------------------------------------------------


def _print_part(part: Part, *, wide: bool) -> None:
    _print_headline(part, wide=wide)
    if not part.endpoints:
        return
    print_line()
    _print_endpoints(part.endpoints, wide=wide)
    print_line()
    _print_assumption(part)
    for why in part.notes:
        print_wrapped(_sentence(why), Colour.DIM)
    if part.traffic is not Traffic.DNS:
        print_line()
        _print_groups(part, wide=wide)


def _print_headline(part: Part, *, wide: bool) -> None:
    words = [
        part.family,
        _tell_ports(part.ports, wide=wide),
        _TRAFFIC[part.traffic],
        f"as {part.profile} does it" if part.profile else "",
    ]
    print_wrapped("   ".join(filter(None, words)), Colour.DIM)
    for _, group in groupby(part.headline, key=lambda why: why.code):
        alike = list(group)
        shown = alike if wide else alike[:_ALIKE]
        for why in shown:
            print_wrapped(_sentence(why), COLOURS.get(why.level, Colour.GREEN))
        if more := len(alike) - len(shown):
            print_line(Painted(f"and {more} more like these (-o wide)", Colour.DIM), indent=2)


def _print_assumption(part: Part) -> None:
    print_wrapped(f"Assumed traffic: {part.clients.text}.", Colour.DIM)


def _print_endpoints(rows: Sequence[Row], *, wide: bool) -> None:
    """Print who gets how much, the most first."""
    ordered = sorted(
        rows, key=lambda row: (row.state != State.READY, -round(row.share, 9), natural(row.name))
    )
    shown = ordered if wide else ordered[:_ROWS]
    most = max(row.share for row in rows)
    columns: dict[str, list[Text]] = {
        "ENDPOINT": [row.name for row in shown],
        "SHARE": [f"{percent(row.share)} {_bar(row.share / (most or 1.0))}" for row in shown],
        "ZONE": [row.zone or "-" for row in shown],
        "NODE": [row.node or "-" for row in shown],
    }
    if wide or any(row.state != State.READY for row in rows):
        columns["STATE"] = [_state(row) for row in shown]
    if wide or any(row.hint_zones or row.hint_nodes for row in rows):
        columns["HINTED FOR"] = [_hinted_for(row, wide=wide) for row in shown]
    if wide:
        columns["TRAFFIC FROM"] = [_from_zones(row) for row in shown]
        columns["NODES"] = [str(row.nodes) for row in shown]
        columns["ADDRESS"] = [row.address for row in shown]
        columns["SLICE"] = [row.slice for row in shown]
    print_table(list(columns), zip(*columns.values(), strict=True))
    if more := len(ordered) - len(shown):
        print_line(Painted(f"and {more} more (-o wide)", Colour.DIM))


def _print_groups(part: Part, *, wide: bool) -> None:
    """Print who goes where; clients that use what runs on their own node are one line."""
    everybody = sum(row.state == State.READY for row in part.endpoints)
    table: list[list[Text]] = []
    for groups in _together(part.groups, wide=wide):
        group = groups[0]
        names = _shortened(sorted(group.endpoints, key=natural), wide=wide)
        if not group.endpoints:
            names = "nobody"
        elif len(groups) > 1:
            names = "what runs on their own node"
        elif len(group.endpoints) == everybody > 1:
            names = f"all {everybody}"
        pods = [pod for each in groups for pod in each.pods]
        traffic = percent(sum(each.traffic for each in groups))
        way = _way(group, told=part.profile)
        line: list[Text] = [_clients(groups, wide=wide), str(len(pods)), traffic, names, way]
        table.append([*line, ", ".join(pods)] if wide else line)
    shown = table if wide else table[:_ROWS]
    headers = ["CLIENTS ON", "PODS", "TRAFFIC", "GO TO", "HOW"]
    print_table([*headers, "CLIENT PODS"] if wide else headers, shown)
    if more := len(table) - len(shown):
        print_line(Painted(f"and {more} more (-o wide)", Colour.DIM))


def _together(groups: Sequence[Group], *, wide: bool) -> list[list[Group]]:
    """Return the groups that are shown as one, those with most traffic first."""
    own = [group for group in groups if group.mode == _OWN_NODE]
    others = [[group] for group in groups if wide or group.mode != _OWN_NODE]
    found = others if wide or not own else [own, *others]
    return sorted(found, key=lambda together: -sum(group.traffic for group in together))


# --- Why --------------------------------------------------------------------------------------


def _why(found: Explanation) -> Iterator[tuple[str, Reason]]:
    """Yield what was asked for, what the slices carry, and how that was read, each with a label."""
    for why in found.asked:
        yield "asked for", why
    for carried in found.hints:
        label = "hints" if len(found.hints) == 1 else f"{carried.family} hints"
        for why in carried.reasons:
            yield label, why
    for part in found.parts:
        if part.traffic is Traffic.DNS:
            continue
        together = _together(part.groups, wide=False)
        texts = {tuple(why.text for why in groups[0].reasons) for groups in together}
        for groups in together[:_ROWS] if len(texts) > 1 else together[:1]:
            place = _place(groups) if len(texts) > 1 else "chosen"
            for why in groups[0].reasons:
                yield f"{apart(part, found.parts)} {place}".lstrip(), why


def print_why(labelled: Iterable[tuple[str, Reason]]) -> None:
    """Print sentences, each once, with what they are about in front."""
    lines = list(dict.fromkeys((label, why.text) for label, why in labelled))
    if not lines:
        return
    print_line()
    print_line(Painted("WHY", Colour.BOLD))
    column = max(len(label) for label, _ in lines) + 3
    before = ""
    for label, text in lines:
        head = "" if label == before else label
        before = label
        for line in wrapped(text, beside=column + 2):
            print_line(Painted(head.ljust(column), Colour.DIM), line, indent=2)
            head = ""


def severity(why: Reason) -> int:
    """Order reasons, the worst first."""
    return [Level.ERROR, Level.WARNING, Level.INFO].index(why.level)


# --- Words ------------------------------------------------------------------------------------


def _sentence(why: Reason) -> str:
    """Return a reason as a sentence of its own; a name in front keeps its letters."""
    text = why.text
    begins_with_name = re.match(r"\{\w+\}", CATALOGUE[why.code].sentence)
    return f"{text if begins_with_name else text[0].upper() + text[1:]}."


def print_wrapped(text: str, colour: Colour) -> None:
    """Print a paragraph."""
    for number, line in enumerate(wrapped(text, beside=2)):
        print_line(Painted(line, colour), indent=2 if number else 0)


def natural(name: str) -> list[tuple[int, str]]:
    """Order names as people do: web-2 before web-10."""
    words = re.split(r"([0-9]+)", name)
    return [(len(word) if word.isdecimal() else -1, word) for word in words]


def percent(share: float) -> str:
    """Write a share so that shares below one another are in line; one that is not nothing shows."""
    shown = f"{share * 100:5.1f} %"
    return shown if float(shown[:-1]) or share < _NOTHING else "< 0.1 %"


def _bar(part: float) -> str:
    """Return a bar; one that is not nothing shows at least a little."""
    block = "█" if has_unicode() else "#"
    return block * max(round(part * _BAR), 1 if part > 0 else 0)


def _state(row: Row) -> Text:
    return row.state if row.state == State.READY else Painted(row.state, Colour.YELLOW)


def _hinted_for(row: Row, *, wide: bool) -> str:
    if row.lent_to:
        return f"{row.lent_to} (lent)"
    return _few([*row.hint_zones, *row.hint_nodes], wide=wide) or "-"


def _from_zones(row: Row) -> str:
    parts = [f"{zone or '?'} {percent(share).strip()}" for zone, share in row.reached_from.items()]
    return ", ".join(parts) or "-"


def _way(group: Group, told: str) -> str:
    """Say how they get there, and what kind of proxy does it unless that was told or is usual."""
    way = how(group.mode, group.fate)
    usual = group.profile in {"", KUBE_PROXY.name, told}
    return way if usual else f"{way} ({group.profile})"


def _tell_ports(ports: Sequence[PortLine], *, wide: bool) -> str:
    told = [
        f"{port.name} {port.port}/{port.protocol}".strip()
        + (f" -> {_few(list(map(str, port.targets)), wide=wide)}" if port.targets else "")
        for port in ports
    ]
    return _few(told, wide=wide)


def _clients(groups: Sequence[Group], *, wide: bool) -> str:
    """Say which nodes these are, by zone."""
    zones: dict[str, list[str]] = {}
    for group in groups:
        for zone, names in group.nodes.items():
            zones.setdefault(zone, []).extend(names)
    if len(zones) > 1 and not wide:
        return f"{sum(map(len, zones.values()))} nodes in {len(zones)} zones"
    told = []
    for zone, nodes in sorted(zones.items()):
        text = f"{zone or 'no zone'}: {', '.join(sorted(nodes))}"
        if not wide and len(text) > _LESS_ROOM:
            text = f"{zone or 'no zone'}: {len(nodes)} nodes" if len(nodes) > 1 else nodes[0]
        told.append(text)
    return "; ".join(told)


def _place(groups: Sequence[Group]) -> str:
    """Say in a word or two where these clients are."""
    if len(groups) > 1:
        return "own node"
    zones = groups[0].nodes
    nodes = [node for names in zones.values() for node in names]
    if len(nodes) == 1:
        return nodes[0] or "client"
    return next(iter(zones)) or "no zone" if len(zones) == 1 else f"{len(nodes)} nodes"


def _few(names: Sequence[str], *, wide: bool) -> str:
    """List names, unless wide the first ones only."""
    if wide or len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[: _FEW - 1])} + {len(names) - _FEW + 1} more"


def _shortened(names: Sequence[str], *, wide: bool) -> str:
    """List names as far as there is room."""
    text = ", ".join(names)
    if wide or len(text) <= _ROOM:
        return text
    fitting = sum(total <= _ROOM - 10 for total in accumulate(len(name) + 2 for name in names))
    shown = names[: max(fitting, 1)]
    return f"{', '.join(shown)} + {len(names) - len(shown)} more"
