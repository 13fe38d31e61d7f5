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

from nearwise.nft.netlink.attributes import HEADER, parts, unpack

_ASKED: Final = Struct("=BBBBi")  # struct ifaddrmsg: family, prefix, flags, scope, device
_CODE: Final = Struct("=i")
_ERROR, _DONE, _NEW, _GET = 2, 3, 20, 22  # NLMSG_ERROR, NLMSG_DONE, RTM_NEWADDR, RTM_GETADDR
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
        link.send(HEADER.pack(HEADER.size + len(request), _GET, _DUMP, 1, 0) + request)
        packed = {each for payload in _answers(link) if (each := _address(payload))}
    return tuple(str(ip_address(each)) for each in sorted(packed, key=lambda it: (len(it), it)))


def _answers(link: socket.socket) -> Iterator[bytes]:
    """Give what each message of a dump holds."""
    while True:
        for kind, _, _, payload in parts(link.recv(_LONGEST_ANSWER)):
            if kind == _DONE:
                return
            if kind == _ERROR:
                code = -_CODE.unpack_from(payload)[0] or errno.EIO
                raise OSError(code, os.strerror(code))
            if kind == _NEW:
                yield payload


def _address(payload: bytes) -> bytes:
    """Return the address that a message is about, as far as it is of a family that we know."""
    if payload[0] not in (socket.AF_INET, socket.AF_INET6):
        return b""
    found = unpack(payload[_ASKED.size :])
    return found.get(_LOCAL) or found.get(_ADDRESS, b"")
