"""The form of netlink: messages of attributes, each with its length and type before it.

Law: what is in here holds for every part of the kernel that speaks netlink (tables, connection
tracking, addresses) and knows none of them. Lengths, types and sequence numbers are in the byte
order of this machine, numbers in attributes in network byte order
(``include/uapi/linux/netlink.h``, ``nfnetlink.h``).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

NESTED: Final = 0x8000
"""Flag of an attribute that has attributes in it (``NLA_F_NESTED``)."""
LONGEST: Final = 0xFFFF
"""The most bytes of an attribute, those of its header counted."""

HEADER: Final = Struct("=IHHII")  # length, type, flags, sequence number, port
_FAMILY: Final = Struct("!BBH")  # address family, version, resource
ATTRIBUTE: Final = Struct("=HH")  # length, type
_TYPE: Final = 0x3FFF  # without the flags for nested and for network byte order


class Message(NamedTuple):
    """A request to netfilter. ``kind`` is the subsystem and the kind within: ``10 << 8 | 9``."""

    kind: int
    family: int
    payload: bytes = b""
    flags: int = 0
    resource: int = 0
    about: str = ""
    """What it is about, for the user: ``chain spread-3``."""


def message(request: Message, sequence: int, flags: int) -> bytes:
    """Write a request out, with a number to know its answer by; flags are those to add."""
    size = HEADER.size + _FAMILY.size + len(request.payload)
    return b"".join(
        (
            HEADER.pack(size, request.kind, request.flags | flags, sequence, 0),
            _FAMILY.pack(request.family, 0, request.resource),
            request.payload,
            bytes(-size % 4),
        )
    )


def parts(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Take a datagram apart: kind, flags, number and payload of each message in it."""
    place = 0
    while place + HEADER.size <= len(data):
        size, kind, flags, number, _ = HEADER.unpack_from(data, place)
        if size < HEADER.size:
            return
        yield kind, flags, number, data[place + HEADER.size : place + size]
        place += size + 3 & ~3


def body(payload: bytes) -> bytes:
    """Return the attributes of an answer: what comes after the family."""
    return payload[_FAMILY.size :]


def pack(kind: int, payload: bytes) -> bytes:
    """Pack an attribute, filled up to four bytes."""
    size = 4 + len(payload)
    return ATTRIBUTE.pack(size, kind) + payload + bytes(-size % 4)


def pack_text(kind: int, text: str) -> bytes:
    """Pack a name."""
    return pack(kind, text.encode() + b"\0")


def pack_number(kind: int, number: int, width: int = 4) -> bytes:
    """Pack a number of so many bytes."""
    return pack(kind, number.to_bytes(width, "big"))


def nest(kind: int, *parts: bytes) -> bytes:
    """Pack attributes into one. Raises ValueError if they are more than one can hold."""
    payload = b"".join(parts)
    if len(payload) + 4 > LONGEST:
        raise ValueError(f"an attribute of {len(payload)} bytes: the most is {LONGEST - 4}")
    return pack(kind | NESTED, payload)


def unpack(payload: bytes) -> dict[int, bytes]:
    """Return attributes by their type. What is cut off is left out."""
    found: dict[int, bytes] = {}
    for kind, value in unpack_list(payload):
        found[kind] = value
    return found


def unpack_list(payload: bytes) -> list[tuple[int, bytes]]:
    """Return attributes in order, for lists whose entries have the same type."""
    found: list[tuple[int, bytes]] = []
    place, end = 0, len(payload)
    while place + 4 <= end:
        size, kind = ATTRIBUTE.unpack_from(payload, place)
        if not 4 <= size <= end - place:
            break
        found.append((kind & _TYPE, payload[place + 4 : place + size]))
        place += size + 3 & ~3
    return found


def number_of(payload: bytes) -> int:
    """Return a number in network byte order, of any width."""
    return int.from_bytes(payload, "big")


def text_of(payload: bytes) -> str:
    """Return a name; bytes that are no UTF-8 are written as escapes."""
    return payload.rstrip(b"\0").decode(errors="backslashreplace")
