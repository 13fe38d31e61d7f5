"""The addresses of this machine, asked of the kernel by netlink (rtnetlink(7), ``RTM_GETADDR``).

The standard library has no ``getifaddrs``, and the program ``ip`` need not be there.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from struct import Struct
from typing import Final

_HEADER: Final = Struct("=IHHII")  # struct nlmsghdr: length, type, flags, number, port
_ASKED: Final = Struct("=BBBBi")  # struct ifaddrmsg: family, prefix, flags, scope, device
_ATTRIBUTE: Final = Struct("=HH")  # struct rtattr: length, type
_ERROR, _DONE, _GET, _NEW = 2, 3, 22, 20
_DUMP: Final = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_ADDRESS, _LOCAL = 1, 2  # of a point-to-point link the other end, and ours
_LONGEST_ANSWER: Final = 1 << 17


def machine_addresses() -> tuple[str, ...]:
    """Return the addresses of this network namespace, loopback ones too, in order.

    Raises OSError where there is no netlink.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.bind((0, 0))
        request = _ASKED.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        size = _HEADER.size + len(request)
        link.send(_HEADER.pack(size, _GET, _DUMP, 1, 0) + request)
        packed = {each for payload in _answers(link) if (each := _address(payload))}
    return tuple(str(ip_address(each)) for each in sorted(packed, key=lambda it: (len(it), it)))


def _answers(link: socket.socket) -> Iterator[bytes]:
    """Give what each message of a dump holds."""
    while True:
        data = link.recv(_LONGEST_ANSWER)
        place = 0
        while place + _HEADER.size <= len(data):
            size, kind, _, _, _ = _HEADER.unpack_from(data, place)
            payload = data[place + _HEADER.size : place + size]
            if kind == _DONE:
                return
            if kind == _ERROR:
                code = -int.from_bytes(payload[:4], "little", signed=True)
                raise OSError(code or errno.EIO, os.strerror(code or errno.EIO))
            if kind == _NEW:
                yield payload
            place += max(size + 3 & ~3, _HEADER.size)


def _address(payload: bytes) -> bytes:
    """Return the address that a message is about, as far as it is of a family that we know."""
    if payload[0] not in (socket.AF_INET, socket.AF_INET6):
        return b""
    found: dict[int, bytes] = {}
    place = _ASKED.size
    while place + _ATTRIBUTE.size <= len(payload):
        size, kind = _ATTRIBUTE.unpack_from(payload, place)
        if size < _ATTRIBUTE.size:
            break
        found[kind] = payload[place + _ATTRIBUTE.size : place + size]
        place += size + 3 & ~3
    return found.get(_LOCAL) or found.get(_ADDRESS, b"")
