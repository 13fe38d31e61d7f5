"""Addresses, protocols and ports as the kernel's registers have them, and back.

Law: the one place that knows how a key is packed: every field in network byte order, filled up to
four bytes (``NFT_REG32_SIZE``).
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from struct import Struct
from typing import Final

from nearwise.nft.ruleset import Draw, Family, Field, Key

PROTOCOLS: Final = {"TCP": 6, "UDP": 17, "SCTP": 132}
"""Numbers of the protocols that services have (IANA protocol numbers)."""

_NUMBER: Final = Struct("=I")  # in the byte order of this machine
_NAMES: Final = {number: name for name, number in PROTOCOLS.items()}
_ADDRESSES: Final = frozenset(
    (Field.SOURCE, Field.DESTINATION, Field.FIRST_SOURCE, Field.FIRST_DESTINATION)
)
_PORTS: Final = frozenset((Field.PORT, Field.FIRST_PORT))


def width(field: Field | Draw, family: Family) -> int:
    """Return how many bytes of a key a field takes, filling included."""
    return family.width if field in _ADDRESSES else 4


def size(key: Key, family: Family) -> int:
    """Return how many bytes a key has."""
    return sum(width(field, family) for field in key)


def is_address(field: Field | Draw) -> bool:
    """Say whether a field holds an address."""
    return field in _ADDRESSES


def is_port(field: Field | Draw) -> bool:
    """Say whether a field holds a port."""
    return field in _PORTS


def pack_address(text: str) -> bytes:
    """Pack an IPv4 or IPv6 address. Raises ValueError for what is neither."""
    if ":" in text:
        return IPv6Address(text).packed
    packed = bytes(map(int, text.split(".")))  # many times as fast as ipaddress
    if len(packed) != 4:
        raise ValueError(f"{text!r} is no address")
    return packed


def address_of(packed: bytes) -> str:
    """Return the text of a packed address."""
    return str(ip_address(packed))


def pack_port(port: int) -> bytes:
    """Pack a port."""
    return port.to_bytes(2, "big") + b"\0\0"


def port_of(packed: bytes) -> int:
    """Return a packed port."""
    return int.from_bytes(packed[:2], "big")


def pack_protocol(name: str) -> bytes:
    """Pack ``TCP``, ``UDP`` or ``SCTP``. Raises KeyError for others."""
    return bytes((PROTOCOLS[name], 0, 0, 0))


def protocol_of(packed: bytes) -> str:
    """Return the name of a packed protocol; its number if services have no such protocol."""
    return _NAMES.get(packed[0], str(packed[0]))


def pack_drawn(number: int) -> bytes:
    """Pack a number that is drawn: it is in the byte order of this machine."""
    return _NUMBER.pack(number)


def drawn_of(packed: bytes) -> int:
    """Return a packed number that is drawn."""
    number: int = _NUMBER.unpack(packed)[0]
    return number


def frontend(address: bytes, protocol: str, port: int) -> bytes:
    """Return the key of what a client connects to; the address is packed already."""
    return address + pack_protocol(protocol) + pack_port(port)


def endpoint(address: bytes, port: int) -> bytes:
    """Return the value of an endpoint; the address is packed already."""
    return address + pack_port(port)
