"""What nft lists of our table, back to a ruleset.

Law: whatever is not exactly what ``text`` writes comes out as something that is not ours: a rule
as ``Unknown``, a set without a key. So the difference to what should be there is seen, and the
smallest transaction puts it right. Nothing that nft may print raises an error.

Newer and older programs print some words otherwise (numbers for names, ``reject`` with its ICMP
type), and so does ``nft -n``; all of these are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Final

from nearwise.nft import ruleset as nft
from nearwise.nft.registers import (
    PROTOCOLS,
    is_address,
    is_port,
    pack_address,
    pack_drawn,
    pack_port,
)
from nearwise.nft.ruleset import (
    ENDPOINT,
    TABLE,
    Chain,
    Data,
    Draw,
    Elements,
    Family,
    Field,
    Hook,
    Key,
    Rule,
    Ruleset,
    Set,
    Statement,
    Value,
    Verdict,
)
from nearwise.nft.text import key_text

_BLOCK: Final = re.compile(r"^\t(set|map|chain) (\S+) \{[^\n]*\n(.*?)^\t\}$", re.M | re.S)
_ELEMENT: Final = re.compile(
    r"\s*(?P<key>[^\s,\"]+(?: \. [^\s,\"]+)*)"
    r"(?: (?:timeout|expires) [^\s,\"]+)*"
    r"(?: comment \"(?P<comment>[^\"]*)\")?"
    r"(?: : (?P<value>[^,\"]*[^\s,\"]))?\s*(?:,|$)"
)
_SECONDS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PRIORITIES: Final = {"dstnat": -100, "srcnat": 100}
_HOOK: Final = re.compile(r"type nat hook (\w+) priority (\S+); policy accept;")


def listed(text: str, family: Family) -> Ruleset | None:
    """Read what ``nft list table`` prints; None if it is no table, or one that is switched off."""
    head, _, rest = text.partition("\n")
    if not head.startswith(f"table {family} {TABLE} {{") or rest.startswith("\tflags "):
        return None
    words = _Words(family)
    ruleset = Ruleset(family, {}, {}, {})
    for block in _BLOCK.finditer(rest):
        kind, name, body = block.groups()
        if kind == "chain":
            ruleset.chains[name] = _chain(name, body, words)
            continue
        set_, elements = _set(name, body, words)
        ruleset.sets[name] = set_
        if elements:
            ruleset.elements[name] = elements
    return ruleset


def listed_elements(text: str, set_: Set, family: Family) -> Elements:
    """Read the elements of what ``nft list map`` prints, up to one that is not as ours are."""
    found: Elements = {}
    reader = _reader(set_, family)
    for block in _BLOCK.finditer(text):
        with suppress(ValueError):
            for each in _raw_elements(_split(block.group(3))[1]):
                found.update([reader(*each)])
    return found


def elements_as_listed(text: str) -> str:
    """Return the elements of what ``nft list map`` prints, with their times, unread."""
    return "".join(_split(block.group(3))[1] for block in _BLOCK.finditer(text)).strip()


# --- sets -----------------------------------------------------------------------------------


def _set(name: str, body: str, words: _Words) -> tuple[Set, Elements]:
    """Read a set with its elements. One with anything strange in it has no key."""
    head, inner = _split(body)
    try:
        set_ = _definition(name, head, words)
        if set_.dynamic:
            return set_, {}
        reader = _reader(set_, words.family)
        return set_, dict(reader(*each) for each in _raw_elements(inner))
    except ValueError:
        return Set(name, ()), {}


def _split(body: str) -> tuple[str, str]:
    """Part what a set is from its elements."""
    head, _, inner = body.partition("elements = {")
    return head, inner.rstrip().removesuffix("}").rstrip()


def _definition(name: str, head: str, words: _Words) -> Set:
    """Read what a set is. Raises ValueError for what is not ours."""
    key: Key = ()
    data, size, flags = Data.NOTHING, 0, frozenset[str]()
    for line in head.splitlines():
        what, _, value = line.partition("#")[0].strip().partition(" ")
        if what == "typeof":
            of, _, to = value.partition(" : ")
            key, data = words.key(of), words.data(to)
        elif what == "size":
            size = int(value)
        elif what == "flags":
            flags = frozenset(value.split(","))
        elif what:
            raise ValueError(f"not ours: {line.strip()}")
    if flags not in ({"interval"}, {"dynamic", "timeout"}, set()):
        raise ValueError(f"not ours: flags {flags}")
    return Set(name, key, data, "interval" in flags, "dynamic" in flags, size)


# --- elements -------------------------------------------------------------------------------


def _raw_elements(inner: str) -> Iterator[tuple[str, str, str]]:
    """Part elements: key, comment and value of each. Raises ValueError where it cannot."""
    place = 0
    while place < len(inner):
        found = _ELEMENT.match(inner, place)
        if found is None:
            raise ValueError(f"not ours: {inner[place : place + 40]}")
        place = found.end()
        yield found["key"], found["comment"] or "", found["value"] or ""


def _reader(set_: Set, family: Family) -> Callable[[str, str, str], tuple[bytes, Value]]:
    """Return what reads elements of a set. It raises ValueError for what is not ours."""
    read_key = _range_reader(set_.key) if set_.interval else _key_reader(set_.key)
    read_endpoint = _key_reader(ENDPOINT)

    def read(key: str, comment: str, value: str) -> tuple[bytes, Value]:
        if set_.data is Data.ENDPOINT and not comment:
            return read_key(key), read_endpoint(value)
        if set_.data is Data.VERDICT:
            return read_key(key), Verdict(_verdict(value), comment)
        if value or comment:
            raise ValueError(f"not ours: {comment} {value}")
        return read_key(key), None

    return read


def _verdict(text: str) -> nft.Goto | nft.Drop:
    what, _, chain = text.partition(" ")
    if text == "drop":
        return nft.Drop()
    if what == "goto":
        return nft.Goto(chain)
    raise ValueError(f"not ours: {text}")


def _key_reader(key: Key) -> Callable[[str], bytes]:
    """Return what reads a key; it reads each value of a field but once."""
    fields: list[tuple[Callable[[str], bytes], dict[str, bytes]]]
    fields = [(_field_reader(field), {}) for field in key]

    def read(text: str) -> bytes:
        packed = b""
        for (read_field, known), part in zip(fields, text.split(" . "), strict=True):
            if part not in known:
                known[part] = read_field(part)
            packed += known[part]
        return packed

    return read


def _range_reader(key: Key) -> Callable[[str], bytes]:
    """Return what reads ranges of keys: the first key and the last."""
    fields = [(_field_reader(field), is_address(field)) for field in key]

    def read(text: str) -> bytes:
        first = last = b""
        for (read_field, of_addresses), part in zip(fields, text.split(" . "), strict=True):
            low, dash, high = part.partition("-")
            if of_addresses and "/" in part:
                network = ip_network(part)
                ends = network.network_address.packed, network.broadcast_address.packed
            else:
                ends = read_field(low), read_field(high if dash else low)
            first, last = first + ends[0], last + ends[1]
        return first + last

    return read


def _field_reader(field: Field | Draw) -> Callable[[str], bytes]:
    if is_address(field):
        return pack_address
    if is_port(field):
        return lambda text: pack_port(_number(text, 0xFFFF))
    if isinstance(field, Draw):
        return lambda text: pack_drawn(_number(text, 0xFFFFFFFF))
    return lambda text: bytes((_protocol(text), 0, 0, 0))


def _number(text: str, most: int) -> int:
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError(f"not ours: {text}")
    return number


def _protocol(text: str) -> int:
    number = PROTOCOLS.get(text.upper())
    return int(text) if number is None else number


# --- chains and rules -----------------------------------------------------------------------


def _chain(name: str, body: str, words: _Words) -> Chain:
    """Read a chain."""
    hook = None
    rules: list[Rule] = []
    for line in body.splitlines():
        text = line.partition(" # handle ")[0].strip()
        if text.startswith("type "):
            hook = _hook(text)
            if hook is None:
                rules.append((nft.Unknown(text),))
        elif text:
            rules.append(words.rule(text))
    return Chain(name, tuple(rules), hook)


def _hook(text: str) -> Hook | None:
    """Read where a chain is hooked in; None if it is not as ours are."""
    found = _HOOK.fullmatch(text)
    if found is None or found[1] not in set(Hook):
        return None
    hook, priority = Hook(found[1]), found[2]
    return (
        hook if _PRIORITIES.get(priority, priority) in (hook.priority, str(hook.priority)) else None
    )


class _Words:
    """The words of rules, for one family."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._fields = {key_text((field,), family): field for field in Field}
        field = "|".join([*map(re.escape, self._fields), r"numgen random mod \d+"])
        key = rf"(?:(?:{field})(?: \. (?:{field}))*)"
        patterns: tuple[tuple[str, Callable[..., Statement]], ...] = (
            (rf"update @(\S+) {{ ({key}) timeout (\w+) : ({key}) }}", self._remember),
            (rf"dnat {family} to ({key}) map @(\S+)", self._lookup(nft.Translate)),
            (rf"({key}) vmap @(\S+)", self._lookup(nft.Switch)),
            (rf"({key}) (!= )?@(\S+)", self._match),
            (rf"({family} [sd]addr) (!= )?([0-9a-f.:]+(?:/\d+)?)", self._within),
            (r"fib saddr type (?:local|2)", nft.FromHost),
            (r"th dport != 0", nft.HasPort),
            (r"meta l4proto \{ ([\w, ]+) \}", _transport),
            (r"meta mark & (\w+) == (\w+)", _mark(nft.Marked)),
            (r"meta mark set meta mark \| (\w+)", _mark(nft.SetMark)),
            (r"meta mark set meta mark \^ (\w+)", _mark(nft.ClearMark)),
            (r"masquerade fully-random", nft.Masquerade),
            (r"reject(?: with icmp(?:v6)?(?: type)? port-unreachable)?", nft.Reject),
            (r"drop", nft.Drop),
            (r"jump (\S+)", nft.Jump),
            (r"goto (\S+)", nft.Goto),
        )
        self._statements = [
            (re.compile(rf"(?:{pattern})(?: |$)"), make) for pattern, make in patterns
        ]

    def rule(self, text: str) -> Rule:
        """Read a rule; one with anything strange in it is ``Unknown`` as a whole."""
        statements: list[Statement] = []
        place = 0
        try:
            while place < len(text):
                statement, place = self._statement(text, place)
                statements.append(statement)
        except ValueError:
            return (nft.Unknown(text),)
        return tuple(statements)

    def _statement(self, text: str, place: int) -> tuple[Statement, int]:
        """Read the statement at a place; return it and the place after it."""
        for pattern, make in self._statements:
            found = pattern.match(text, place)
            if found is not None:
                return make(*found.groups()), found.end()
        raise ValueError(f"not ours: {text[place:]}")

    def key(self, text: str) -> Key:
        """Read what is looked up. Raises ValueError for what is not ours."""
        return tuple(map(self._field, text.split(" . ")))

    def data(self, text: str) -> Data:
        """Read what a map has for a key. Raises ValueError for what is not ours."""
        for each, written in (
            (Data.NOTHING, ""),
            (Data.VERDICT, "verdict"),
            (Data.ENDPOINT, key_text(ENDPOINT, self.family)),
        ):
            if text == written:
                return each
        raise ValueError(f"not ours: {text}")

    def _field(self, text: str) -> Field | Draw:
        words, _, modulus = text.rpartition(" ")
        if words == "numgen random mod":
            return Draw(int(modulus))
        if text not in self._fields:
            raise ValueError(f"not ours: {text}")
        return self._fields[text]

    def _lookup(
        self, kind: type[nft.Switch] | type[nft.Translate]
    ) -> Callable[[str, str], nft.Switch | nft.Translate]:
        return lambda key, name: kind(self.key(key), name)

    def _match(self, key: str, inverted: str | None, name: str) -> nft.Match:
        return nft.Match(self.key(key), name, bool(inverted))

    def _within(self, field: str, inverted: str | None, network: str) -> nft.Within:
        return nft.Within(self._fields[field], str(ip_network(network)), bool(inverted))

    def _remember(self, name: str, key: str, duration: str, value: str) -> nft.Remember:
        return nft.Remember(self.key(key), self.key(value), name, _seconds(duration))


def _transport(names: str) -> nft.HasTransport:
    if {_protocol(each) for each in names.split(", ")} != set(PROTOCOLS.values()):
        raise ValueError(f"not ours: {names}")
    return nft.HasTransport()


def _mark(
    kind: type[nft.Marked] | type[nft.SetMark] | type[nft.ClearMark],
) -> Callable[..., nft.Marked | nft.SetMark | nft.ClearMark]:
    def make(*masks: str) -> nft.Marked | nft.SetMark | nft.ClearMark:
        (mask,) = {int(each, 0) for each in masks}
        bit = mask.bit_length() - 1
        if mask != 1 << bit:
            raise ValueError(f"not ours: {mask}")
        return kind(bit)

    return make


def _seconds(text: str) -> int:
    """Read a time: ``1d2h30m``, ``10800s``."""
    parts = re.findall(r"(\d+)([dhms])", text)
    if "".join(map("".join, parts)) != text:
        raise ValueError(f"not ours: {text}")
    return sum(int(count) * _SECONDS[unit] for count, unit in parts)
