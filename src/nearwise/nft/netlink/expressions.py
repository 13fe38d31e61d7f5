"""Rules as the kernel has them: expressions that load registers, compare and look up.

Law: one statement is always written with the same expressions, those that nft itself writes for
it, so that a table looks the same in ``nft list`` whoever loaded it. ``decoding`` reads them back.
Numbers are from ``include/uapi/linux/netfilter/nf_tables.h``.

A key is loaded into registers from the first one on, each field filled up to four bytes; so a place
in a key is a place in the registers.
"""

from __future__ import annotations

from enum import IntEnum
from ipaddress import ip_network
from struct import Struct
from typing import Final

from nearwise.nft import ruleset as nft
from nearwise.nft.netlink.attributes import nest, pack, pack_number, pack_text
from nearwise.nft.registers import width
from nearwise.nft.ruleset import Draw, Family, Field, Key, Rule, Statement

ANONYMOUS: Final = "__set%d"
"""The name of a set that belongs to one rule; the kernel puts a number in."""
PROTOCOL_FAMILIES: Final = {Family.IPV4: 2, Family.IPV6: 10}
"""Families as netlink numbers them (``NFPROTO_IPV4``, ``NFPROTO_IPV6``)."""

LIST_ELEMENT: Final = 1
DATA_VALUE, DATA_VERDICT = 1, 2
VERDICT_CODE, VERDICT_CHAIN = 1, 2
VERDICT_REGISTER: Final = 0
DROP, JUMP, GOTO = 0, 0xFFFFFFFD, 0xFFFFFFFC

NETWORK_HEADER, TRANSPORT_HEADER = 1, 2
ADDRESSES: Final = {
    Family.IPV4: {Field.SOURCE: 12, Field.DESTINATION: 16},
    Family.IPV6: {Field.SOURCE: 8, Field.DESTINATION: 24},
}
"""Where addresses are in the network header."""
PORT_OFFSET: Final = 2
META_MARK, META_PROTOCOL = 3, 16  # NFT_META_MARK, NFT_META_L4PROTO
FIRST: Final = {
    Family.IPV4: {Field.FIRST_SOURCE: 19, Field.FIRST_DESTINATION: 20, Field.FIRST_PORT: 12},
    Family.IPV6: {Field.FIRST_SOURCE: 21, Field.FIRST_DESTINATION: 22, Field.FIRST_PORT: 12},
}
"""Keys of connection tracking for what a packet had at first (``NFT_CT_SRC_IP`` and so on)."""
FIB_TYPE, FIB_OF_SOURCE = 3, 1  # NFT_FIB_RESULT_ADDRTYPE, NFTA_FIB_F_SADDR
FIB_LOCAL: Final = 2  # RTN_LOCAL
DESTINATION_NAT: Final = 1  # NFT_NAT_DNAT
ADDRESS_AND_PORT: Final = 3  # NF_NAT_RANGE_MAP_IPS | NF_NAT_RANGE_PROTO_SPECIFIED
FULLY_RANDOM: Final = 1 << 4  # NF_NAT_RANGE_PROTO_RANDOM_FULLY
UNREACHABLE: Final = 0  # NFT_REJECT_ICMP_UNREACH
PORT_UNREACHABLE: Final = {Family.IPV4: 3, Family.IPV6: 4}
"""Codes of ICMP (RFC 792) and ICMPv6 (RFC 4443)."""
RANDOM_NUMBER: Final = 1  # NFT_NG_RANDOM
UPDATE: Final = 1  # NFT_DYNSET_OP_UPDATE
EQUAL, NOT_EQUAL = 0, 1  # NFT_CMP_EQ, NFT_CMP_NEQ
INVERTED: Final = 1  # NFT_LOOKUP_F_INV
ALL_BITS: Final = 0xFFFFFFFF

MARK: Final = Struct("=I")  # in the byte order of this machine


class Expression(IntEnum):
    """Attributes of every expression: its name, and what is its own."""

    NAME, DATA = 1, 2


class Immediate(IntEnum):
    """Attributes of a value that is simply there: here always a verdict."""

    TO, DATA = 1, 2


class Masq(IntEnum):
    """Attributes of masquerading."""

    FLAGS = 1


class RejectBy(IntEnum):
    """Attributes of a rejection."""

    KIND, CODE = 1, 2


class Cmp(IntEnum):
    """Attributes of a comparison."""

    REGISTER, OPERATION, DATA = 1, 2, 3


class Bitwise(IntEnum):
    """Attributes of a bitwise operation: ``(register & mask) ^ xor``."""

    FROM, TO, SIZE, MASK, XOR, OPERATION = 1, 2, 3, 4, 5, 6


class Lookup(IntEnum):
    """Attributes of a lookup in a set or map."""

    SET, KEY, DATA, SET_ID, FLAGS = 1, 2, 3, 4, 5


class Payload(IntEnum):
    """Attributes of loading some of a packet."""

    TO, HEADER, OFFSET, SIZE = 1, 2, 3, 4


class Meta(IntEnum):
    """Attributes of loading what goes with a packet, or setting it."""

    TO, KEY, FROM = 1, 2, 3


class Ct(IntEnum):
    """Attributes of loading what connection tracking has."""

    TO, KEY, DIRECTION = 1, 2, 3


class Numgen(IntEnum):
    """Attributes of a number that is drawn."""

    TO, MODULUS, KIND, OFFSET = 1, 2, 3, 4


class Fib(IntEnum):
    """Attributes of a routing lookup."""

    TO, RESULT, FLAGS = 1, 2, 3


class Nat(IntEnum):
    """Attributes of a translation."""

    KIND, FAMILY, ADDRESS, LAST_ADDRESS, PORT, LAST_PORT, FLAGS = 1, 2, 3, 4, 5, 6, 7


class Dynset(IntEnum):
    """Attributes of keeping an element in a set."""

    SET, SET_ID, OPERATION, KEY, DATA, TIMEOUT, FLAGS = 1, 2, 3, 4, 5, 6, 9


def register(place: int) -> int:
    """Return the register at a place, in bytes, by the name that nft gives it."""
    return 1 + place // 16 if place % 16 == 0 else 8 + place // 4


def place_of(number: int) -> int:
    """Return the place of a register in bytes. Raises ValueError for that of verdicts."""
    if number == VERDICT_REGISTER:
        raise ValueError("verdicts have no place")
    return (number - 1) * 16 if number < 8 else (number - 8) * 4


def expressions(rule: Rule, family: Family, transports: int) -> bytes:
    """Write a rule's expressions; ``transports`` is the id of its set of protocols, if it has one.

    Raises ValueError for a rule that is not ours to write.
    """
    return b"".join(b"".join(_statement(each, family, transports)) for each in rule)


def verdict(what: nft.Drop | nft.Jump | nft.Goto) -> bytes:
    """Write a verdict as data, without the flag for nested attributes, as the kernel tells it."""
    match what:
        case nft.Drop():
            return pack(DATA_VERDICT, pack_number(VERDICT_CODE, DROP))
        case nft.Jump(chain) | nft.Goto(chain):
            code = JUMP if isinstance(what, nft.Jump) else GOTO
            name = pack_text(VERDICT_CHAIN, chain)
            return pack(DATA_VERDICT, pack_number(VERDICT_CODE, code) + name)


def _statement(statement: Statement, family: Family, transports: int) -> list[bytes]:  # noqa: C901
    match statement:
        case nft.Match(key, name, inverted):
            flags = pack_number(Lookup.FLAGS, INVERTED if inverted else 0)
            return [*_load(key, family), _lookup(name, flags)]
        case nft.Within(field, network, inverted):
            return _within(field, network, family, NOT_EQUAL if inverted else EQUAL)
        case nft.FromHost():
            return [
                _expression("fib", {Fib.TO: 1, Fib.RESULT: FIB_TYPE, Fib.FLAGS: FIB_OF_SOURCE}),
                _compare(EQUAL, MARK.pack(FIB_LOCAL)),
            ]
        case nft.HasPort():
            return [*_load((Field.PORT,), family), _compare(NOT_EQUAL, bytes(2))]
        case nft.HasTransport():
            identity = pack_number(Lookup.SET_ID, transports)
            return [*_load((Field.PROTOCOL,), family), _lookup(ANONYMOUS, identity)]
        case nft.Marked(bit):
            mark = MARK.pack(1 << bit)
            return [_load_mark(), _bitwise(mark, bytes(4)), _compare(EQUAL, mark)]
        case nft.SetMark(bit):
            mask = MARK.pack(ALL_BITS ^ 1 << bit)
            return [_load_mark(), _bitwise(mask, MARK.pack(1 << bit)), _set_mark()]
        case nft.ClearMark(bit):
            return [_load_mark(), _bitwise(MARK.pack(ALL_BITS), MARK.pack(1 << bit)), _set_mark()]
        case nft.Switch(key, name):
            return [*_load(key, family), _lookup(name, pack_number(Lookup.DATA, 0))]
        case nft.Translate(key, name):
            lookup = _lookup(name, pack_number(Lookup.DATA, 1))
            return [*_load(key, family), lookup, _translate(family)]
        case nft.Remember(key, value, name, seconds):
            return _remember(key, value, name, seconds, family)
        case nft.Masquerade():
            return [_expression("masq", {Masq.FLAGS: FULLY_RANDOM})]
        case nft.Reject():
            code = pack_number(RejectBy.CODE, PORT_UNREACHABLE[family], 1)
            return [_expression("reject", {RejectBy.KIND: UNREACHABLE}, code)]
        case nft.Drop() | nft.Jump() | nft.Goto():
            data = nest(Immediate.DATA, verdict(statement))
            return [_expression("immediate", {Immediate.TO: VERDICT_REGISTER}, data)]
        case nft.Unknown(what):
            raise ValueError(f"not ours to write: {what}")


def _expression(name: str, numbers: dict[int, int], *others: bytes) -> bytes:
    """Write an expression: its attributes that are numbers, and all others."""
    attributes = [pack_number(kind, number) for kind, number in numbers.items()]
    data = nest(Expression.DATA, *attributes, *others)
    return nest(LIST_ELEMENT, pack_text(Expression.NAME, name), data)


def _load(key: Key, family: Family, place: int = 0) -> list[bytes]:
    """Load a key into the registers from a place on."""
    written = []
    for field in key:
        written.append(_load_field(field, family, register(place)))
        place += width(field, family)
    return written


def _load_field(field: Field | Draw, family: Family, to: int) -> bytes:
    match field:
        case Draw(modulus):
            return _expression(
                "numgen",
                {
                    Numgen.TO: to,
                    Numgen.MODULUS: modulus,
                    Numgen.KIND: RANDOM_NUMBER,
                    Numgen.OFFSET: 0,
                },
            )
        case Field.SOURCE | Field.DESTINATION:
            place = ADDRESSES[family][field]
            return _payload(to, NETWORK_HEADER, place, family.width)
        case Field.PROTOCOL:
            return _expression("meta", {Meta.KEY: META_PROTOCOL, Meta.TO: to})
        case Field.PORT:
            return _payload(to, TRANSPORT_HEADER, PORT_OFFSET, 2)
        case Field.FIRST_SOURCE | Field.FIRST_DESTINATION | Field.FIRST_PORT:
            original = pack_number(Ct.DIRECTION, 0, 1)
            return _expression("ct", {Ct.TO: to, Ct.KEY: FIRST[family][field]}, original)


def _payload(to: int, header: int, offset: int, size: int) -> bytes:
    return _expression(
        "payload",
        {
            Payload.TO: to,
            Payload.HEADER: header,
            Payload.OFFSET: offset,
            Payload.SIZE: size,
        },
    )


def _lookup(name: str, *others: bytes) -> bytes:
    return _expression("lookup", {Lookup.KEY: 1}, pack_text(Lookup.SET, name), *others)


def _compare(operation: int, data: bytes) -> bytes:
    value = nest(Cmp.DATA, pack(DATA_VALUE, data))
    return _expression("cmp", {Cmp.REGISTER: 1, Cmp.OPERATION: operation}, value)


def _bitwise(mask: bytes, xor: bytes) -> bytes:
    return _expression(
        "bitwise",
        {Bitwise.FROM: 1, Bitwise.TO: 1, Bitwise.SIZE: len(mask)},
        nest(Bitwise.MASK, pack(DATA_VALUE, mask)),
        nest(Bitwise.XOR, pack(DATA_VALUE, xor)),
    )


def _load_mark() -> bytes:
    return _expression("meta", {Meta.KEY: META_MARK, Meta.TO: 1})


def _set_mark() -> bytes:
    return _expression("meta", {Meta.KEY: META_MARK, Meta.FROM: 1})


def _within(field: Field, text: str, family: Family, operation: int) -> list[bytes]:
    """Compare an address with a network; whole bytes are compared without a mask, as nft does."""
    network = ip_network(text)
    address = network.network_address.packed
    place = ADDRESSES[family][field]
    whole, bits = divmod(network.prefixlen, 8)
    if whole and not bits:
        return [
            _payload(1, NETWORK_HEADER, place, whole),
            _compare(operation, address[:whole]),
        ]
    return [
        _payload(1, NETWORK_HEADER, place, family.width),
        _bitwise(network.netmask.packed, bytes(family.width)),
        _compare(operation, address),
    ]


def _translate(family: Family) -> bytes:
    """Translate to the address and port that were looked up."""
    address, port = register(0), register(family.width)
    return _expression(
        "nat",
        {
            Nat.KIND: DESTINATION_NAT,
            Nat.FAMILY: PROTOCOL_FAMILIES[family],
            Nat.ADDRESS: address,
            Nat.LAST_ADDRESS: address,
            Nat.PORT: port,
            Nat.LAST_PORT: port,
            Nat.FLAGS: ADDRESS_AND_PORT,
        },
    )


def _remember(key: Key, value: Key, name: str, seconds: int, family: Family) -> list[bytes]:
    middle = sum(width(field, family) for field in key)
    return [
        *_load(key, family),
        *_load(value, family, middle),
        _expression(
            "dynset",
            {Dynset.KEY: 1, Dynset.DATA: register(middle), Dynset.OPERATION: UPDATE},
            pack_text(Dynset.SET, name),
            pack_number(Dynset.TIMEOUT, seconds * 1000, 8),
        ),
    ]
