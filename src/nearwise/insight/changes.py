"""What changed between two explanations of one service: whose answers, and for which reasons.

Law: values are compared, nothing is explained anew. An answer is where one client's connections
go; it changed when they go to other endpoints, or are chosen in another way. What that does to the
shares, which rest on an assumption, is no change of an answer.

Work follows the change: of clients whose answer stayed the same nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from nearwise.insight.explanation import Explanation, Group, Part, PortLine, Row, Traffic, Value
from nearwise.insight.states import State
from nearwise.insight.world import Key
from nearwise.model import Reason, reason


class Way(Value, frozen=True):
    """How clients get somewhere, and to how many endpoints: see ``explanation.Group``."""

    mode: str
    fate: str
    endpoints: int


class Move(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """Clients whose answers for the same ports changed in the same way.

    ``nodes`` are by zone (empty: no label). ``zones`` are those all of whose clients are among
    them, and ``everybody`` says that all clients are. ``before`` is None for clients that were not
    there or had no such answer, ``after`` for those that are gone. ``gained`` and ``lost`` name the
    endpoints that some of the clients got and lost.
    """

    family: str
    traffic: Traffic
    profile: str
    ports: tuple[PortLine, ...]
    nodes: Mapping[str, tuple[str, ...]]
    zones: tuple[str, ...]
    everybody: bool
    before: Way | None
    after: Way | None
    gained: tuple[str, ...]
    lost: tuple[str, ...]


class Change(Value, frozen=True):
    """What became of the answers of a service.

    ``reasons`` is why, in as few reasons as will do. ``came`` and ``went`` are all that were told
    of the hints and of the clients concerned after but not before, and the other way round.
    ``headline`` says who gets the traffic now.
    """

    service: str
    moves: tuple[Move, ...]
    reasons: tuple[Reason, ...]
    came: tuple[Reason, ...]
    went: tuple[Reason, ...]
    headline: tuple[Reason, ...]


def change(before: Explanation, after: Explanation) -> Change | None:
    """Say what changed; None when every client has the answer that it had."""
    turns = [turn for pair in _pairs(before, after) for turn in _turns(*pair)]
    if not turns:
        return None
    pairs = [pair for turn in turns for pair in turn.ways]
    told = [*_wish(before), *_numbers(before), *_routes(was for was, _ in pairs)]
    tells = [*_wish(after), *_numbers(after), *_routes(now for _, now in pairs)]
    return Change(
        after.service,
        tuple(turn.move for turn in turns),
        tuple(_why(before, after, turns)),
        _without(tells, told),
        _without(told, tells),
        _without((why for part in after.parts for why in part.headline), ()),
    )


def absent(key: Key) -> Explanation:
    """Return the explanation of a service that is not there, or no longer."""
    name = "/".join(key)
    return Explanation(
        service=name,
        type="",
        cluster_ips=(),
        origin="",
        asked=(reason("service-absent", service=name),),
        hints=(),
        parts=(),
        findings=(),
    )


# --- Whose answers ----------------------------------------------------------------------------

_Pair = tuple[Group | None, Group | None]  # as it was, and as it is


class _Turn(msgspec.Struct, frozen=True):
    """A move, the groups that its clients were and are in, and the endpoints then and now.

    Of ports that came or went as a whole nothing became of the endpoints: there are none here.
    """

    move: Move
    ways: tuple[_Pair, ...]
    was: Mapping[str, Row]
    now: Mapping[str, Row]


def _pairs(
    before: Explanation, after: Explanation
) -> Iterator[tuple[Part | None, Part | None, tuple[PortLine, ...]]]:
    """Yield what was and what is the answer for the same ports, in the order of the parts."""
    was, now = _by_port(before), _by_port(after)
    alike: dict[tuple[int, int], tuple[Part | None, Part | None, list[PortLine]]] = {}
    for key in dict.fromkeys([*now, *was]):
        old, port = was.get(key, (None, None))
        new, port = now.get(key, (None, port))
        assert port is not None
        alike.setdefault((id(old), id(new)), (old, new, []))[2].append(port)
    return ((old, new, tuple(ports)) for old, new, ports in alike.values())


def _by_port(found: Explanation) -> dict[tuple[object, ...], tuple[Part, PortLine]]:
    return {
        (part.family, part.traffic, part.profile, port.name, port.port, port.protocol): (part, port)
        for part in found.parts
        for port in part.ports
    }


def _turns(old: Part | None, new: Part | None, ports: tuple[PortLine, ...]) -> Iterator[_Turn]:
    """Yield the moves of the clients of some ports, by their first node."""
    part = new or old
    assert part is not None, "a port of neither"
    was, now = _Side(old), _Side(new)
    moved: dict[tuple[int | None, int | None], list[str]] = {}
    for node in sorted(was.places.keys() | now.places.keys()):
        moved.setdefault((was.group_of(node), now.group_of(node)), []).append(node)
    alike: dict[tuple[Way | None, Way | None], list[tuple[int | None, int | None]]] = {}
    for at, then in moved:
        if (was.way(at), was.endpoints(at)) != (now.way(then), now.endpoints(then)):
            alike.setdefault((was.way(at), now.way(then)), []).append((at, then))
    for (before, after), pairs in alike.items():
        nodes = {node for pair in pairs for node in moved[pair]}
        changes = [(was.endpoints(at), now.endpoints(then)) for at, then in pairs]
        move = Move(
            part.family,
            part.traffic,
            part.profile,
            ports,
            *_where(nodes, was, now),
            before,
            after,
            gained=tuple(sorted({name for had, has in changes for name, _ in has - had})),
            lost=tuple(sorted({name for had, has in changes for name, _ in had - has})),
        )
        ways = tuple((was.group(at), now.group(then)) for at, then in pairs)
        yield _Turn(move, ways, was.rows if new else {}, now.rows if old else {})


class _Side:
    """One part as it was, or is: who gets which answer, and the endpoints by name."""

    def __init__(self, part: Part | None) -> None:
        self.rows: Mapping[str, Row] = {row.name: row for row in part.endpoints} if part else {}
        self.places: dict[str, str] = {}  # the zone of each client's node
        self._groups = part.groups if part else ()
        self._positions: dict[str, int] = {}
        for position, group in enumerate(self._groups):
            for zone, nodes in group.nodes.items():
                self.places |= dict.fromkeys(nodes, zone)
                self._positions |= dict.fromkeys(nodes, position)
        self._endpoints = [
            frozenset((name, self.rows[name].address) for name in group.endpoints)
            for group in self._groups
        ]

    def group_of(self, node: str) -> int | None:
        """Return the position of the group that the clients on a node are in."""
        return self._positions.get(node)

    def group(self, position: int | None) -> Group | None:
        """Return a group, if there is one."""
        return None if position is None else self._groups[position]

    def way(self, position: int | None) -> Way | None:
        """Return the way of a group, if there is one."""
        if position is None:
            return None
        group = self._groups[position]
        return Way(group.mode, group.fate, len(group.endpoints))

    def endpoints(self, position: int | None) -> frozenset[tuple[str, str]]:
        """Return names and addresses of what the clients of a group get."""
        return frozenset() if position is None else self._endpoints[position]


def _where(
    nodes: set[str], was: _Side, now: _Side
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...], bool]:
    """Return the nodes by zone, the zones of which these are all nodes, and whether all are.

    Where clients changed, those that are new or gone do not count.
    """
    both = was.places.keys() & now.places.keys()
    everybody = next(each for each in (both, now.places.keys(), was.places.keys()) if nodes <= each)
    zones: dict[str, list[str]] = {}
    others = set()
    for node in sorted(everybody):
        zone = now.places[node] if node in now.places else was.places[node]
        if node in nodes:
            zones.setdefault(zone, []).append(node)
        else:
            others.add(zone)
    by_zone = {zone: tuple(names) for zone, names in sorted(zones.items())}
    return by_zone, tuple(zone for zone in by_zone if zone not in others), nodes == everybody


# --- For which reasons ------------------------------------------------------------------------


def _why(before: Explanation, after: Explanation, turns: Sequence[_Turn]) -> Iterator[Reason]:
    """Yield what became of the endpoints, and what is told that was not; one reason of a code.

    The last reason of a client says how it was chosen, which the answer says too. It is told, and
    what is only told with other facts than before, when there is nothing else.
    """
    pairs = [pair for turn in turns for pair in turn.ways]
    known = {why.code for why in _wish(before)}
    found = [*_of_states(turns), *(why for why in _wish(after) if why.code not in known)]
    for was, now in pairs:
        known = {why.code for why in was.reasons} if was else set()
        found += [why for why in now.reasons[:-1] if why.code not in known] if now else []
    if not found:
        found += _of_hints(turns)
        for was, now in pairs:
            found += _without(now.reasons, was.reasons) if was and now else ()
    once: dict[str, Reason] = {}
    for why in found:
        once.setdefault(why.code, why)
    yield from once.values()


def _of_states(turns: Iterable[_Turn]) -> Iterator[Reason]:
    """Yield what became of the endpoints that clients got or lost."""
    found: dict[str, set[str]] = {}
    for name, row, now in _concerned(turns):
        if code := _became(row, now):
            found.setdefault(code, set()).add(name)
    for code, names in sorted(found.items()):
        yield reason(code, endpoints=sorted(names))


def _of_hints(turns: Iterable[_Turn]) -> Iterator[Reason]:
    """Yield which endpoints got other hints, of those that clients got or lost."""
    names = {
        name
        for name, row, now in _concerned(turns)
        if row and now and (row.hint_zones, row.hint_nodes) != (now.hint_zones, now.hint_nodes)
    }
    if names:
        yield reason("endpoints-rehinted", endpoints=sorted(names))


def _concerned(turns: Iterable[_Turn]) -> Iterator[tuple[str, Row | None, Row | None]]:
    for turn in turns:
        for name in {*turn.move.gained, *turn.move.lost}:
            row, now = turn.was.get(name), turn.now.get(name)
            if row or now:
                yield name, row, now


def _became(row: Row | None, now: Row | None) -> str:
    """Say what became of an endpoint as the code of a reason; nothing if it is as it was."""
    if row is None or now is None:
        return "endpoints-joined" if row is None else "endpoints-left"
    if row.address != now.address:
        return "endpoints-readdressed"
    if row.state == now.state:
        return ""
    if now.state == State.READY:
        return "endpoints-became-ready"
    if not now.state.is_terminating:
        return "endpoints-lost-readiness"
    going = row.state.is_terminating
    return "endpoints-stopped-serving" if going else "endpoints-began-terminating"


def _wish(found: Explanation) -> Iterator[Reason]:
    """Yield which hints are asked for, why they are off or whom they lend, and what is wrong."""
    yield from found.asked
    for hints in found.hints:
        yield from hints.outline
        yield from hints.findings


def _numbers(found: Explanation) -> Iterator[Reason]:
    for hints in found.hints:
        yield from hints.reasons


def _routes(groups: Iterable[Group | None]) -> Iterator[Reason]:
    for group in groups:
        yield from group.reasons if group else ()


def _without(reasons: Iterable[Reason], others: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the reasons that are not among others, each once."""
    known = {_identity(why) for why in others}
    return tuple({key: why for why in reasons if (key := _identity(why)) not in known}.values())


def _identity(why: Reason) -> tuple[str, bytes]:
    return why.code, msgspec.json.encode(why.facts)
