"""Rules back from the kernel's expressions.

Law: what is read is a guess until it is written again and found to be the same, expression for
expression. A rule of which that is not so is ``Unknown`` as a whole, and nothing raises an error.
"""

from __future__ import annotations

from collections.abc import Container
from ipaddress import ip_network
from typing import Final, NamedTuple

from nearwise.nft import ruleset as nft
from nearwise.nft.netlink.attributes import number_of, text_of, unpack, unpack_list
from nearwise.nft.netlink.expressions import (
    ADDRESSES,
    ALL_BITS,
    ANONYMOUS,
    DATA_VALUE,
    DATA_VERDICT,
    DROP,
    FIRST,
    GOTO,
    JUMP,
    MARK,
    META_MARK,
    NETWORK_HEADER,
    VERDICT_CHAIN,
    VERDICT_CODE,
    Bitwise,
    Cmp,
    Ct,
    Dynset,
    Expression,
    Immediate,
    Lookup,
    Meta,
    Numgen,
    Payload,
    expressions,
    place_of,
)
from nearwise.nft.ruleset import Draw, Family, Field, Key, Rule, Statement

_TO: Final = {"payload": Payload.TO, "meta": Meta.TO, "ct": Ct.TO, "numgen": Numgen.TO}
_TOLD_ANYWAY: Final = {
    ("bitwise", Bitwise.OPERATION),
    ("dynset", Dynset.FLAGS),
    ("lookup", Lookup.FLAGS),
}
"""Attributes that the kernel tells even if nobody asked for anything there."""


class _Expression(NamedTuple):
    name: str
    attributes: dict[int, bytes]

    def number(self, kind: int) -> int:
        return number_of(self.attributes.get(kind, b""))

    def data(self, kind: int) -> bytes:
        return unpack(self.attributes.get(kind, b"")).get(DATA_VALUE, b"")


def rule_of(packed: bytes, family: Family, transports: Container[str]) -> Rule:
    """Read the expressions of a rule; ``transports`` are the sets of protocols of single rules."""
    found = _expressions(packed, transports)
    try:
        rule = tuple(_Reader(family).statements(found))
        is_ours = _expressions(expressions(rule, family, 0), ()) == found
    except (ValueError, LookupError):
        is_ours = False
    return rule if is_ours else (nft.Unknown(" ".join(each.name for each in found)),)


def _expressions(packed: bytes, transports: Container[str]) -> list[_Expression]:
    """Take expressions apart, without what makes no difference."""
    found = []
    for _, part in unpack_list(packed):
        parts = unpack(part)
        name = text_of(parts.get(Expression.NAME, b""))
        if name == "byteorder":  # nft swaps the one byte of a protocol before a lookup of ranges
            continue
        attributes = {
            kind: value
            for kind, value in unpack_list(parts.get(Expression.DATA, b""))
            if any(value) or (name, kind) not in _TOLD_ANYWAY
        }
        if name == "lookup":
            attributes.pop(Lookup.SET_ID, None)
            if text_of(attributes.get(Lookup.SET, b"")) in transports:
                attributes[Lookup.SET] = ANONYMOUS.encode() + b"\0"
        found.append(_Expression(name, attributes))
    return found


class _Reader:
    """Goes through the expressions of a rule, with what is loaded so far."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._loaded: dict[int, Field | Draw] = {}
        self._operation: _Expression | None = None
        self._looked_up: nft.Translate | None = None

    def statements(self, found: list[_Expression]) -> list[Statement]:
        """Guess the statements. Raises ValueError or LookupError for what is none of ours."""
        read: list[Statement] = []
        for each in found:
            statement = self._statement(each)
            if statement is not None:
                read.append(statement)
                self._loaded.clear()
                self._operation = None
        return read

    def _statement(self, each: _Expression) -> Statement | None:
        """Return the statement that an expression completes; None if it completes none."""
        match each.name:
            case "meta" if each.number(Meta.KEY) == META_MARK:
                return self._set_mark() if Meta.FROM in each.attributes else None
            case "payload" | "meta" | "ct" | "numgen":
                place = place_of(each.number(_TO[each.name]))
                self._loaded[place] = self._field(each)
            case "bitwise":
                self._operation = each
            case "cmp":
                return self._comparison(each)
            case "lookup":
                return self._lookup(each)
            case "nat":
                return self._looked_up
            case "dynset":
                return self._remember(each)
            case "immediate":
                return _verdict(each)
            case "fib":
                pass  # the comparison after it says what of
            case "masq":
                return nft.Masquerade()
            case "reject":
                return nft.Reject()
            case name:
                raise ValueError(f"not ours: {name}")
        return None

    def _field(self, each: _Expression) -> Field | Draw:
        """Return what an expression loads."""
        if each.name == "numgen":
            return Draw(each.number(Numgen.MODULUS))
        if each.name == "meta":
            return Field.PROTOCOL
        if each.name == "ct":
            return _by_number(FIRST[self._family], each.number(Ct.KEY))
        if each.number(Payload.HEADER) == NETWORK_HEADER:
            return _by_number(ADDRESSES[self._family], each.number(Payload.OFFSET))
        return Field.PORT

    def _key(self, first: int = 0, end: int = 64) -> Key:
        """Return what is loaded, from one place up to another."""
        places = sorted(place for place in self._loaded if first <= place < end)
        return tuple(self._loaded[place] for place in places)

    def _comparison(self, each: _Expression) -> Statement:
        data = each.data(Cmp.DATA)
        if self._loaded == {0: Field.PORT}:
            return nft.HasPort()
        if self._loaded:
            field = self._loaded[0]
            if isinstance(field, Draw):
                raise ValueError("not ours: a number that is compared")
            return nft.Within(field, self._network(data), bool(each.number(Cmp.OPERATION)))
        return nft.FromHost() if self._operation is None else nft.Marked(_bit(data))

    def _network(self, data: bytes) -> str:
        """Return the network that an address is compared with."""
        mask = bytes(255 for _ in data)
        if self._operation is not None:
            mask = self._operation.data(Bitwise.MASK)
        address = data.ljust(self._family.width, b"\0")
        return str(ip_network((address, int.from_bytes(mask, "big").bit_count())))

    def _set_mark(self) -> Statement:
        if self._operation is None:
            raise ValueError("not ours: a mark from nowhere")
        bit = _bit(self._operation.data(Bitwise.XOR))
        is_kept = self._operation.data(Bitwise.MASK) == MARK.pack(ALL_BITS)
        return nft.ClearMark(bit) if is_kept else nft.SetMark(bit)

    def _lookup(self, each: _Expression) -> Statement | None:
        name, key = text_of(each.attributes[Lookup.SET]), self._key()
        if name == ANONYMOUS:
            return nft.HasTransport()
        if Lookup.DATA not in each.attributes:
            return nft.Match(key, name, bool(each.number(Lookup.FLAGS)))
        if each.number(Lookup.DATA) == 0:
            return nft.Switch(key, name)
        self._looked_up = nft.Translate(key, name)
        return None

    def _remember(self, each: _Expression) -> Statement:
        middle = place_of(each.number(Dynset.DATA))
        seconds = each.number(Dynset.TIMEOUT) // 1000
        name = text_of(each.attributes[Dynset.SET])
        return nft.Remember(self._key(end=middle), self._key(middle), name, seconds)


def _by_number(fields: dict[Field, int], number: int) -> Field:
    for field, each in fields.items():
        if each == number:
            return field
    raise LookupError(number)


def _bit(data: bytes) -> int:
    """Return the number of the bit of a mark."""
    if len(data) != MARK.size:
        raise ValueError(f"not ours: a mark of {len(data)} bytes")
    return int(MARK.unpack(data)[0]).bit_length() - 1


def _verdict(each: _Expression) -> Statement:
    parts = unpack(unpack(each.attributes[Immediate.DATA]).get(DATA_VERDICT, b""))
    code, chain = number_of(parts[VERDICT_CODE]), text_of(parts.get(VERDICT_CHAIN, b""))
    if code == DROP:
        return nft.Drop()
    if code in (JUMP, GOTO):
        return nft.Jump(chain) if code == JUMP else nft.Goto(chain)
    raise ValueError(f"not ours: verdict {code}")
