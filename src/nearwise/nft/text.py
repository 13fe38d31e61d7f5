"""Rulesets and transactions as nft writes them.

Law: the words are those of the nft manual, in the form in which ``nft list table`` prints them, so
that what is printed can be loaded with ``nft -f``, read back by ``listing`` and compared by eye.
What comes from objects of a cluster gets in here only as addresses, numbers and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address, summarize_address_range
from itertools import islice
from typing import Final

from nearwise.nft import ruleset as nft
from nearwise.nft.diff import Transaction, apply
from nearwise.nft.layout import AFFINITY, set_named
from nearwise.nft.registers import (
    address_of,
    drawn_of,
    is_address,
    is_port,
    port_of,
    protocol_of,
    size,
    width,
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
    Key,
    Rule,
    Ruleset,
    Set,
    Statement,
    Value,
    Verdict,
)

LONGEST_COMMENT: Final = 128
"""The most bytes that nft takes for a comment."""

_ELEMENTS_AT_ONCE: Final = 2000
_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def ruleset_text(ruleset: Ruleset) -> str:
    """Write a whole table, as ``nft list table`` does; elements sorted."""
    return "\n".join(_table(ruleset)) + "\n"


def script(change: Transaction) -> str:
    """Write a transaction for ``nft -f``, which carries it out whole or not at all."""
    return "\n".join(_script(change)) + "\n"


def unpinning(family: Family, keys: Iterable[bytes]) -> str:
    """Write for ``nft -f`` what takes elements out of the map that the kernel fills."""
    elements = _elements(set_named(AFFINITY), family, dict.fromkeys(keys))
    commands = _many(f"delete element {family} {TABLE} {AFFINITY}", elements)
    return "".join(f"{command}\n" for command in commands)


def as_they_are(family: Family, name: str, elements: str) -> str:
    """Write for ``nft -f`` what puts elements back that nft has listed."""
    return f"add element {family} {TABLE} {name} {{ {elements} }}\n" if elements else ""


# --- words ----------------------------------------------------------------------------------


def key_text(key: Key, family: Family) -> str:
    """Write what is looked up: ``ip daddr . meta l4proto . th dport``."""
    return " . ".join(
        f"numgen random mod {field.modulus}"
        if isinstance(field, Draw)
        else field.value.format(ip=family.value)
        for field in key
    )


def rule_text(rule: Rule, family: Family) -> str:
    """Write a rule on one line."""
    return " ".join(_statement(each, family) for each in rule)


def comment_text(text: str) -> str:
    """Return what of a text can be a comment of nft: on one line, without quotes, not too long."""
    if text.isascii() and text.isprintable() and '"' not in text:
        return text[:LONGEST_COMMENT]  # as nearly all are
    printable = "".join(each for each in text if each.isprintable() and each != '"')
    return printable.encode()[:LONGEST_COMMENT].decode(errors="ignore")


def duration_text(seconds: int) -> str:
    """Write a time as nft does: ``1d2h30m``."""
    words = ""
    for unit, worth in _UNITS:
        count, seconds = divmod(seconds, worth)
        if count:
            words += f"{count}{unit}"
    return words or "0s"


def _statement(statement: Statement, family: Family) -> str:  # noqa: C901 (one line for each)
    match statement:
        case nft.Match(key, name, inverted):
            return f"{key_text(key, family)} {'!= ' if inverted else ''}@{name}"
        case nft.Within(field, network, inverted):
            return f"{key_text((field,), family)} {'!= ' if inverted else ''}{_network(network)}"
        case nft.FromHost():
            return "fib saddr type local"
        case nft.HasPort():
            return "th dport != 0"
        case nft.HasTransport():
            return "meta l4proto { tcp, udp, sctp }"
        case nft.Marked(bit):
            return f"meta mark & {_mark(bit)} == {_mark(bit)}"
        case nft.SetMark(bit):
            return f"meta mark set meta mark | {_mark(bit)}"
        case nft.ClearMark(bit):
            return f"meta mark set meta mark ^ {_mark(bit)}"
        case nft.Switch(key, name):
            return f"{key_text(key, family)} vmap @{name}"
        case nft.Translate(key, name):
            return f"dnat {family} to {key_text(key, family)} map @{name}"
        case nft.Remember(key, value, name, seconds):
            return (
                f"update @{name} {{ {key_text(key, family)} timeout {duration_text(seconds)}"
                f" : {key_text(value, family)} }}"
            )
        case nft.Masquerade():
            return "masquerade fully-random"
        case nft.Reject():
            return "reject"
        case nft.Drop():
            return "drop"
        case nft.Jump(name):
            return f"jump {name}"
        case nft.Goto(name):
            return f"goto {name}"
        case nft.Unknown(what):
            raise ValueError(f"not ours to write: {what}")


def _mark(bit: int) -> str:
    return f"{1 << bit:#010x}"


def _network(network: str) -> str:
    """Write a network; one of a single address as that address."""
    address, _, length = network.partition("/")
    return address if length == ("128" if ":" in address else "32") else network


# --- elements -------------------------------------------------------------------------------


def element_text(set_: Set, family: Family, key: bytes, value: Value) -> str:
    """Write one element: ``10.96.0.1 . tcp . 80 : goto spread-3``."""
    return _element_writer(set_, family)(key, value)


def _elements(set_: Set, family: Family, elements: Elements) -> list[str]:
    """Write elements, sorted by their bytes."""
    write = _element_writer(set_, family)
    return [write(key, elements[key]) for key in sorted(elements)]


def _element_writer(set_: Set, family: Family) -> Callable[[bytes, Value], str]:
    """Return what writes elements of a set."""
    write_key = _range_writer(set_.key, family) if set_.interval else _writer(set_.key, family)
    write_endpoint = _writer(ENDPOINT, family)

    def write(key: bytes, value: Value) -> str:
        if isinstance(value, Verdict):
            comment = comment_text(value.comment)
            quoted = f' comment "{comment}"' if comment else ""
            return f"{write_key(key)}{quoted} : {_statement(value.what, family)}"
        return write_key(key) if value is None else f"{write_key(key)} : {write_endpoint(value)}"

    return write


def _fields(key: Key, family: Family) -> Iterator[tuple[slice, Callable[[bytes], str]]]:
    """Return where each field is, and what writes it."""
    place = 0
    for field in key:
        end = place + width(field, family)
        yield slice(place, end), _field_writer(field)
        place = end


def _field_writer(field: Field | Draw) -> Callable[[bytes], str]:
    if is_address(field):
        return address_of
    if is_port(field):
        return lambda packed: str(port_of(packed))
    if isinstance(field, Draw):
        return lambda packed: str(drawn_of(packed))
    return lambda packed: protocol_of(packed).lower()


def _writer(key: Key, family: Family) -> Callable[[bytes], str]:
    """Return what writes a key; it writes each value of a field but once."""
    fields: list[tuple[slice, Callable[[bytes], str], dict[bytes, str]]]
    fields = [(where, write, {}) for where, write in _fields(key, family)]

    def write(packed: bytes) -> str:
        words = []
        for where, write_field, written in fields:
            part = packed[where]
            if part not in written:
                written[part] = write_field(part)
            words.append(written[part])
        return " . ".join(words)

    return write


def _range_writer(key: Key, family: Family) -> Callable[[bytes], str]:
    """Return what writes ranges of keys: ``10.96.0.1 . tcp . 80 . 10.0.0.0/8``."""
    fields = [
        (where, write, field)
        for (where, write), field in zip(_fields(key, family), key, strict=True)
    ]
    middle = size(key, family)

    def write(packed: bytes) -> str:
        first, last = packed[:middle], packed[middle:]
        return " . ".join(
            _range(write_field, first[where], last[where], is_address(field))
            for where, write_field, field in fields
        )

    return write


def _range(write: Callable[[bytes], str], first: bytes, last: bytes, of_addresses: bool) -> str:
    """Write a range as a single value or a network if it is one."""
    if first == last:
        return write(first)
    if of_addresses:
        networks = list(summarize_address_range(ip_address(first), ip_address(last)))
        if len(networks) == 1:
            return str(networks[0])
    return f"{write(first)}-{write(last)}"


# --- tables ---------------------------------------------------------------------------------


def _table(ruleset: Ruleset) -> Iterator[str]:
    family = ruleset.family
    yield f"table {family} {TABLE} {{"
    blank = False
    for set_ in ruleset.sets.values():
        yield from [""] if blank else []
        blank = True
        yield f"\t{_kind(set_)} {set_.name} {{"
        for line in _definition(set_, family):
            yield f"\t\t{line}"
        written = _elements(set_, family, ruleset.elements.get(set_.name, {}))
        if written:
            yield "\t\telements = { " + ",\n\t\t\t     ".join(written) + " }"
        yield "\t}"
    for chain in ruleset.chains.values():
        yield from [""] if blank else []
        blank = True
        yield f"\tchain {chain.name} {{"
        if chain.hook is not None:
            yield f"\t\t{_hook(chain)}"
        for rule in chain.rules:
            yield f"\t\t{rule_text(rule, family)}"
        yield "\t}"
    yield "}"


def _kind(set_: Set) -> str:
    return "set" if set_.data is Data.NOTHING else "map"


def _definition(set_: Set, family: Family) -> Iterator[str]:
    of = {
        Data.NOTHING: "",
        Data.VERDICT: " : verdict",
        Data.ENDPOINT: f" : {key_text(ENDPOINT, family)}",
    }
    yield f"typeof {key_text(set_.key, family)}{of[set_.data]}"
    if set_.size:
        yield f"size {set_.size}"
    flags = ["interval"] * set_.interval + ["dynamic", "timeout"] * set_.dynamic
    if flags:
        yield f"flags {','.join(flags)}"


def _hook(chain: Chain) -> str:
    assert chain.hook is not None
    name = {"prerouting": "dstnat", "postrouting": "srcnat"}.get(chain.hook.value)
    return f"type nat hook {chain.hook} priority {name or chain.hook.priority}; policy accept;"


# --- transactions ---------------------------------------------------------------------------


def _script(change: Transaction) -> Iterator[str]:
    table = f"{change.family} {TABLE}"
    if change.anew:
        ruleset = Ruleset(change.family, {}, {}, {})
        apply(ruleset, change)
        yield f"add table {table}"
        yield f"delete table {table}"
        yield from _table(ruleset)
        return
    for set_ in change.sets:
        definition = "; ".join(_definition(set_, change.family))
        yield f"add {_kind(set_)} {table} {set_.name} {{ {definition}; }}"
    for chain in change.chains:
        hook = f" {{ {_hook(chain)} }}" if chain.hook is not None else ""
        yield f"add chain {table} {chain.name}{hook}"
        yield f"flush chain {table} {chain.name}"
    for chain in change.chains:
        for rule in chain.rules:
            yield f"add rule {table} {chain.name} {rule_text(rule, change.family)}"
    for name, gone in change.drop.items():
        set_ = set_named(name, change.sets)
        keys = dict.fromkeys(gone)
        yield from _many(f"delete element {table} {name}", _elements(set_, change.family, keys))
    for name, came in change.put.items():
        set_ = set_named(name, change.sets)
        yield from _many(f"add element {table} {name}", _elements(set_, change.family, came))
    for name in change.gone_chains:
        yield f"flush chain {table} {name}"
    for name in change.gone_chains:
        yield f"delete chain {table} {name}"
    for name in change.gone_sets:
        yield f"delete set {table} {name}"


def _many(command: str, elements: Iterable[str]) -> Iterator[str]:
    """Write a command for some thousand elements at a time."""
    remaining = iter(elements)
    while chunk := list(islice(remaining, _ELEMENTS_AT_ONCE)):
        yield f"{command} {{ {', '.join(chunk)} }}"
