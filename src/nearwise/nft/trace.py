"""The first packet of a connection on its way through a ruleset, as the kernel takes it.

Law: nothing in here knows a service, nor what the layout is for: statements mean what they mean in
the kernel, and what becomes of the packet follows from that. So a trace says what a ruleset does,
be it ours or what somebody made of it.

How the kernel does it, for who has never seen it:

- A packet comes to two hooks of type ``nat``. Where it goes may be changed at the first one:
  ``prerouting`` if it comes from a device (the pods of this machine are behind one, too),
  ``output`` if it comes from a program on this machine. Where it seems to come from may be changed
  at the second one: ``input`` if it goes to a program on this machine, else ``postrouting``.
  A packet from this machine to itself passes ``output`` and ``postrouting``, and no others.
- At a hook it goes through the rules of the chain there in order, and through the chains that they
  name. Whoever comes to the end goes on as it is.
- A rule is left at the first statement that does not hold; then comes the next rule. Looking for
  something that is not in a map is a statement that does not hold.
- Translated or masqueraded, it is through with this hook. Dropped or rejected, it is gone.
- Connection tracking keeps what was decided, so later packets of the connection come here no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from fractions import Fraction
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

import msgspec

from nearwise.nft import ruleset as nft
from nearwise.nft.registers import (
    PROTOCOLS,
    address_of,
    pack_address,
    pack_drawn,
    pack_port,
    pack_protocol,
    port_of,
    width,
)
from nearwise.nft.ruleset import (
    Draw,
    Family,
    Field,
    Hook,
    Key,
    Rule,
    Ruleset,
    Statement,
    Value,
    Verdict,
)
from nearwise.nft.text import rule_text

# --- question and answer ------------------------------------------------------------------


class Packet(msgspec.Struct, frozen=True):
    """The first packet of a connection: from where, and to where."""

    source: str
    destination: str
    port: int
    protocol: str = "TCP"
    """``TCP``, ``UDP`` or ``SCTP``."""
    from_host: bool = False
    """A program on this machine sends it (also a pod on the host's network), no device."""
    mark: int = 0
    """What others marked it with before."""


class Remembered(NamedTuple):
    """An element that rules put into a map, and when it goes (seconds, on the clock handed in)."""

    value: bytes
    until: float


Memory = Mapping[tuple[str, bytes], Remembered]
"""What rules remember, by map and key; what is out of date does no harm."""


class End(StrEnum):
    """What becomes of a packet."""

    SENT = "sent"
    REJECTED = "rejected"  # and the sender is told so
    DROPPED = "dropped"
    UNKNOWN = "unknown"  # it met a statement that we never write: we cannot say


class Outcome(msgspec.Struct, frozen=True):
    """What becomes of a packet."""

    end: End
    address: str
    """Where it goes; where it would have gone, if it is dropped or rejected."""
    port: int
    translated: bool = False
    """Whether a rule said so; else that is where it was sent to."""
    masqueraded: bool = False
    """Whether it comes from this machine now."""
    mark: int = 0
    """What it is marked with in the end."""
    unknown: str = ""
    """The statement that we do not know."""


class Step(msgspec.Struct, frozen=True):
    """A rule that the packet came to."""

    chain: str
    rule: Rule
    failed: Statement | None = None
    """The statement that did not hold, so that those after it were not carried out."""
    drawn: tuple[int, ...] = ()
    """Numbers that were drawn."""
    found: Value = None
    """What a map had: a verdict or an endpoint."""

    def words(self, family: Family) -> str:
        """Write it on one line: ``spread-2: ... map @endpoints -> 10.0.0.1 . 8080``."""
        line = f"{self.chain}: {' '.join(_words(each, family) for each in self.rule)}"
        if self.failed:
            return f"{line} (not so: {_words(self.failed, family)})"
        match self.found:
            case Verdict(what=what, comment=comment):
                return f"{line} -> {_words(what, family)}" + (f" ({comment})" if comment else "")
            case bytes(endpoint):
                width = family.width
                address, port = address_of(endpoint[:width]), port_of(endpoint[width:])
                return f"{line} -> {address} . {port}"
            case _:
                return line


def _words(statement: Statement, family: Family) -> str:
    return statement.what if isinstance(statement, nft.Unknown) else rule_text((statement,), family)


class Trace(msgspec.Struct, frozen=True):
    """The way of a packet: every rule it came to, what became of it, what is remembered now."""

    steps: tuple[Step, ...]
    outcome: Outcome
    memory: Memory


def trace(
    ruleset: Ruleset,
    packet: Packet,
    own: Collection[str],
    draw: Callable[[int], int],
    *,
    memory: Memory | None = None,
    now: float = 0.0,
) -> Trace:
    """Follow a packet.

    ``own`` are the addresses of this machine, besides those of its loopback device. ``draw`` is
    asked for a number from 0 up to what it is given. ``memory`` is what earlier packets left, and
    ``now`` when this one comes. Raises ValueError if the packet is of another family.
    """
    for address in (packet.source, packet.destination):
        if len(pack_address(address)) != ruleset.family.width:
            raise ValueError(f"{address} is no {ruleset.family.api} address, as the table's are")
    walk = _Walk(ruleset, packet, own, draw, memory=dict(memory or {}), now=now)
    outcome = walk.outcome()
    return Trace(tuple(walk.steps), outcome, walk.memory)


def outcomes(
    ruleset: Ruleset,
    packet: Packet,
    own: Collection[str],
    *,
    memory: Memory | None = None,
    now: float = 0.0,
) -> dict[Outcome, Fraction]:
    """Return all that can become of a packet, with the share of such packets of which it does.

    The arguments are those of ``trace``; instead of drawing numbers every number is tried.
    """
    shares: dict[Outcome, Fraction] = {}
    open_: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while open_:
        numbers, share = open_.pop()
        try:
            outcome = trace(ruleset, packet, own, _Given(numbers), memory=memory, now=now).outcome
        except _NotDrawnError as more:
            open_ += [((*numbers, each), share / more.modulus) for each in range(more.modulus)]
        else:
            shares[outcome] = shares.get(outcome, Fraction(0)) + share
    return dict(sorted(shares.items(), key=lambda item: _order(item[0])))


class _NotDrawnError(Exception):
    """A number is asked for that nobody has drawn yet."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus


class _Given:
    """Instead of drawing, give these numbers."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = iter(numbers)

    def __call__(self, modulus: int) -> int:
        for number in self._numbers:
            return number
        raise _NotDrawnError(modulus)


def _order(outcome: Outcome) -> tuple[End, bytes, int, bool]:
    address = pack_address(outcome.address)
    return (outcome.end, address, outcome.port, outcome.masqueraded)


# --- the way through ------------------------------------------------------------------------

_Ended = End | None
"""How the way ended; None: it goes on."""
_Result = bool | nft.Jump | nft.Goto | End
"""Of a statement: whether it holds, or where to go instead of on, or how the way ended."""
_ABSENT: Final = object()


class _Walk:
    """A packet on its way: the one thing here that changes."""

    def __init__(
        self,
        ruleset: Ruleset,
        packet: Packet,
        own: Collection[str],
        draw: Callable[[int], int],
        *,
        memory: dict[tuple[str, bytes], Remembered],
        now: float,
    ) -> None:
        self.ruleset, self.packet, self.draw = ruleset, packet, draw
        self.own = frozenset(map(pack_address, own))
        self.memory, self.now = memory, now
        source, destination = pack_address(packet.source), pack_address(packet.destination)
        port = pack_port(packet.port)
        self.fields: dict[Field, bytes] = {
            Field.SOURCE: source,
            Field.DESTINATION: destination,
            Field.PROTOCOL: pack_protocol(packet.protocol),
            Field.PORT: port,
            Field.FIRST_SOURCE: source,
            Field.FIRST_DESTINATION: destination,
            Field.FIRST_PORT: port,
        }
        self.mark = packet.mark
        self.translated = self.masqueraded = False
        self.unknown = ""
        self.steps: list[Step] = []
        self.drawn: list[int] = []  # in this rule
        self.found: Value = None  # in this rule

    def outcome(self) -> Outcome:
        """Go all the way, and say how it ended."""
        end = self._hook(Hook.OUTPUT if self.packet.from_host else Hook.PREROUTING)
        if end is End.SENT:
            stays = not self.packet.from_host and self._is_own(Field.DESTINATION)
            end = self._hook(Hook.INPUT if stays else Hook.POSTROUTING)
        return Outcome(
            end,
            address_of(self.fields[Field.DESTINATION]),
            port_of(self.fields[Field.PORT]),
            self.translated,
            self.masqueraded,
            self.mark,
            self.unknown,
        )

    def _hook(self, hook: Hook) -> End:
        for chain in self.ruleset.chains.values():
            if chain.hook is hook and (end := self._chain(chain.name)):
                return end
        return End.SENT

    def _chain(self, name: str) -> _Ended:
        for rule in self.ruleset.chains[name].rules:
            match self._rule(name, rule):
                case nft.Goto(chain=other):
                    return self._chain(other)
                case nft.Jump(chain=other):
                    if end := self._chain(other):
                        return end
                case End() as end:
                    return end
        return None

    def _rule(self, chain: str, rule: Rule) -> _Result:
        self.drawn, self.found = [], None
        result: _Result = True
        failed = None
        for statement in rule:
            result = self._holds(statement)
            if result is False:
                failed = statement
            if result is not True:
                break
        self.steps.append(Step(chain, rule, failed, tuple(self.drawn), self.found))
        return result

    # --- what statements mean ---------------------------------------------------------------

    def _holds(self, statement: Statement) -> _Result:
        """Carry out a statement."""
        match statement:
            case nft.Match(key=key, set=name, inverted=inverted):
                return (self._look_up(name, key) is _ABSENT) is inverted
            case nft.Within(field=field, network=network, inverted=inverted):
                address = ip_address(self.fields[field])
                return (address not in ip_network(network)) is inverted
            case nft.FromHost():
                return self._is_own(Field.SOURCE)
            case nft.HasPort():
                return self.fields[Field.PORT] != pack_port(0)
            case nft.HasTransport():
                return self.packet.protocol in PROTOCOLS
            case nft.Marked(bit=bit):
                return bool(self.mark & 1 << bit)
            case _:
                return self._changes(statement)

    def _changes(self, statement: Statement) -> _Result:
        """Carry out a statement that always holds."""
        match statement:
            case nft.SetMark(bit=bit):
                self.mark |= 1 << bit
            case nft.ClearMark(bit=bit):
                self.mark &= ~(1 << bit)
            case nft.Remember():
                self._remember(statement)
            case _:
                return self._leads(statement)
        return True

    def _leads(self, statement: Statement) -> _Result:
        """Carry out a statement after which it goes on elsewhere, or not at all."""
        match statement:
            case nft.Jump() | nft.Goto():
                return statement
            case nft.Switch(key=key, map=name):
                return self._switch(name, key)
            case nft.Translate(key=key, map=name):
                return self._translate(name, key)
            case nft.Masquerade():
                self.masqueraded = True
                return End.SENT
            case nft.Reject():
                return End.REJECTED
            case nft.Drop():
                return End.DROPPED
            case nft.Unknown(what=what):
                self.unknown = what
                return End.UNKNOWN
            case _:
                raise TypeError(f"{statement!r} is no statement")

    def _switch(self, name: str, key: Key) -> _Result:
        verdict = self._look_up(name, key)
        if not isinstance(verdict, Verdict):
            return False
        self.found = verdict
        return End.DROPPED if isinstance(verdict.what, nft.Drop) else verdict.what

    def _translate(self, name: str, key: Key) -> _Result:
        endpoint = self._look_up(name, key)
        if not isinstance(endpoint, bytes):
            return False
        self.found = endpoint
        width = self.ruleset.family.width
        self.fields[Field.DESTINATION], self.fields[Field.PORT] = endpoint[:width], endpoint[width:]
        self.translated = True
        return End.SENT

    def _remember(self, statement: nft.Remember) -> None:
        key = (statement.map, self._pack(statement.key))
        value = self._pack(statement.value)
        known = self.memory.get(key)
        if known and self.now < known.until:
            value = known.value
        self.memory[key] = Remembered(value, self.now + statement.seconds)

    # --- what statements look at ------------------------------------------------------------

    def _is_own(self, field: Field) -> bool:
        address = self.fields[field]
        return address in self.own or ip_address(address).is_loopback

    def _pack(self, key: Key) -> bytes:
        return b"".join([self._register(field) for field in key])

    def _register(self, field: Field | Draw) -> bytes:
        if isinstance(field, Field):
            return self.fields[field]
        self.drawn.append(self.draw(field.modulus))
        return pack_drawn(self.drawn[-1])

    def _look_up(self, name: str, key: Key) -> object:
        set_ = self.ruleset.sets[name]
        packed = self._pack(key)
        if set_.dynamic:
            known = self.memory.get((name, packed))
            return known.value if known and self.now < known.until else _ABSENT
        elements = self.ruleset.elements.get(name, {})
        if not set_.interval:
            return elements.get(packed, _ABSENT)
        ranges = (each for each in elements.items() if self._is_between(packed, each[0], set_.key))
        return next((value for _, value in ranges), _ABSENT)

    def _is_between(self, packed: bytes, ends: bytes, key: Key) -> bool:
        """Say whether every field of a key lies between the same fields of two keys."""
        start = 0
        for field in key:
            end = start + width(field, self.ruleset.family)
            one, first, last = packed[start:end], ends[start:end], ends[len(packed) :][start:end]
            if not first <= one <= last:
                return False
            start = end
        return True
