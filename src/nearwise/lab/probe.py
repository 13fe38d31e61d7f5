"""Connections from a place in a lab, and who answered.

Law: whoever probes is in the namespace of the place; nothing is known here about services. One
connection is one question. A failure is told by a word that stays the same (``Failure``).
"""

from __future__ import annotations

import errno
import socket
import time
from contextlib import suppress
from enum import StrEnum
from typing import Final

import msgspec

_LARGEST: Final = 65536
_ASKED: Final = b"GET / HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n"


class Failure(StrEnum):
    """Why there was no answer."""

    REFUSED = "refused"  # by a reset or ICMP port unreachable
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"  # no route
    RESET = "reset"  # in the middle
    EMPTY = "empty"  # closed without an answer
    UNSUPPORTED = "unsupported"  # by the kernel: SCTP


class Target(msgspec.Struct, frozen=True):
    """Where to connect to, and from which address; "" for any."""

    address: str
    port: int
    protocol: str = "TCP"
    source: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What became of one connection."""

    pod: str = ""
    """``NAMESPACE/NAME`` of who answered; empty when nobody did."""
    node: str = ""
    zone: str = ""
    client: str = ""
    """The address from which the pod saw the connection come."""
    terminating: bool = False
    """Whether the pod was told to end."""
    failure: Failure | None = None
    at: float = 0.0
    """When it began: seconds of ``time.monotonic()``."""
    seconds: float = 0.0
    """How long it took, connecting included."""


class _Said(msgspec.Struct, frozen=True):
    """What a pod says."""

    pod: str
    namespace: str
    node: str
    zone: str
    client: str
    terminating: bool


def ask(target: Target, timeout: float = 2.0) -> Answer:
    """Open a connection, ask, and close it; with UDP send a datagram from a new port."""
    began = time.monotonic()
    try:
        said = _udp(target, timeout) if target.protocol == "UDP" else _tcp(target, timeout)
    except OSError as error:
        return Answer(failure=_why(error), at=began, seconds=time.monotonic() - began)
    took = time.monotonic() - began
    if said is None:
        return Answer(failure=Failure.EMPTY, at=began, seconds=took)
    return _answer(said, began, took)


class Conversation:
    """One connection on which is asked again and again (HTTP keep-alive)."""

    def __init__(self, target: Target, timeout: float = 2.0) -> None:
        """Connect. OSError when that does not work."""
        self._socket = _socket(target, socket.SOCK_STREAM, timeout)
        self._socket.connect((target.address, target.port))

    def ask(self) -> Answer:
        """Ask once more."""
        began = time.monotonic()
        try:
            self._socket.sendall(_ASKED.replace(b"Connection: close\r\n", b""))
            said = _read(self._socket)
        except OSError as error:
            return Answer(failure=_why(error), at=began, seconds=time.monotonic() - began)
        took = time.monotonic() - began
        if said is None:
            return Answer(failure=Failure.EMPTY, at=began, seconds=took)
        return _answer(said, began, took)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def _tcp(target: Target, timeout: float) -> _Said | None:
    with _socket(target, socket.SOCK_STREAM, timeout) as one:
        one.connect((target.address, target.port))
        one.sendall(_ASKED)
        return _read(one)


def _udp(target: Target, timeout: float) -> _Said | None:
    with _socket(target, socket.SOCK_DGRAM, timeout) as one:
        one.connect((target.address, target.port))
        with suppress(PermissionError):  # rejected or dropped on this host: the answer tells which
            one.send(b"who are you?")
        return msgspec.json.decode(one.recv(_LARGEST), type=_Said)


def _read(one: socket.socket) -> _Said | None:
    """Read one answer; None when the connection ends before that."""
    came = b""
    while not came.endswith(b"}\n"):
        more = one.recv(_LARGEST)
        if not more:
            return None
        came += more
    return msgspec.json.decode(came.partition(b"\r\n\r\n")[2], type=_Said)


def _socket(target: Target, kind: int, timeout: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
    one = socket.socket(family, kind, socket.IPPROTO_SCTP if target.protocol == "SCTP" else 0)
    one.settimeout(timeout)
    if target.source:
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND: pods have no devices
        one.bind((target.source, 0))
    return one


def _answer(said: _Said, began: float, took: float) -> Answer:
    return Answer(
        pod=f"{said.namespace}/{said.pod}",
        node=said.node,
        zone=said.zone,
        client=said.client,
        terminating=said.terminating,
        at=began,
        seconds=took,
    )


def _why(error: OSError) -> Failure:
    match error:
        case TimeoutError():
            return Failure.TIMEOUT
        case ConnectionRefusedError():
            return Failure.REFUSED
        case ConnectionError():
            return Failure.RESET
        case OSError(errno=errno.EPROTONOSUPPORT):
            return Failure.UNSUPPORTED
        case _:
            return Failure.UNREACHABLE
