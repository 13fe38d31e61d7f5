"""A socket to netfilter: requests, dumps and batches, and the errors they come back with.

Law: it knows the form of netlink and nothing of what is asked. The kernel carries a request out
while it is sent, so its answers wait as soon as it is. One thread at a time.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from struct import Struct
from typing import Final

from nearwise.nft.netlink.attributes import HEADER, Message, body, message, parts, text_of, unpack

_NETFILTER: Final = 12  # NETLINK_NETFILTER
_NETLINK: Final = 270  # SOL_NETLINK
_SHORT_ERRORS: Final = 10  # NETLINK_CAP_ACK: without the request, which can be megabytes
_ERRORS_WITH_WORDS: Final = 11  # NETLINK_EXT_ACK

_ERROR, _DONE = 2, 3
_REQUEST, _ACK, _INTERRUPTED, _DUMP = 0x1, 0x4, 0x10, 0x300
_WORDS: Final = 1  # NLMSGERR_ATTR_MSG
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11

_CODE: Final = Struct("=i")
_LONGEST_ANSWER: Final = 1 << 17  # the kernel fills 32 KiB at most
_DUMPS: Final = 50  # how often a dump is begun again because others change what it reads

# Of most machines; the ``socket`` module has no names for them.
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_RECEIVE_BUFFER: Final = 8 << 20
_SMALLEST_SEND_BUFFER: Final = 1 << 20


class NetlinkError(OSError):
    """The kernel refused: ``errno``, in ``strerror`` its own words if it had any.

    ``about`` is what the request was about, the first one refused in a batch; empty if it was
    none of them but the whole.
    """

    def __init__(self, number: int, words: str = "", about: str = "") -> None:
        super().__init__(number, words or os.strerror(number))
        self.about = about


class NetfilterSocket:
    """A connection to netfilter, in the network namespace of the thread that makes it."""

    def __init__(self) -> None:
        """Connect. Raises OSError where there is no netfilter."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER)
        self._socket.bind((0, 0))
        self._next = 0
        self._room = 0
        for option in (_SHORT_ERRORS, _ERRORS_WITH_WORDS):
            with suppress(OSError):  # before kernels 4.3 and 4.12
                self._socket.setsockopt(_NETLINK, option, 1)
        with suppress(PermissionError):
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)

    def close(self) -> None:
        """Let it go."""
        self._socket.close()

    def ask(self, request: Message) -> bytes:
        """Return the attributes of one thing. Raises NetlinkError."""
        first = self._send([(request, 0)])
        for kind, _, payload in self._waiting(first, 1):
            if refused := _refusal(kind, payload, request.about):
                raise refused
            return body(payload)
        raise NetlinkError(errno.ENOBUFS, "no answer", request.about)

    def dump(self, request: Message) -> list[bytes]:
        """Return the attributes of everything of a kind, all of one moment.

        Raises NetlinkError; with EINTR if others change it all the time.
        """
        for _ in range(_DUMPS):
            found = self._dump(request)
            if found is not None:
                return found
        raise NetlinkError(errno.EINTR, "it changes faster than it can be read", request.about)

    def requests(self, requests: Sequence[Message]) -> list[NetlinkError | None]:
        """Carry requests out, each on its own, and return how each came out."""
        first = self._send([(each, _ACK) for each in requests])
        outcomes = self._outcomes(first, requests)
        return [
            outcomes.get(place, NetlinkError(errno.ENOBUFS, "no answer", each.about))
            for place, each in enumerate(requests)
        ]

    def batch(self, subsystem: int, requests: Sequence[Message]) -> None:
        """Carry requests out all together, or none of them. Raises NetlinkError.

        They go to the kernel in one piece: it takes no batch in several.
        """
        if not requests:
            return
        begin = Message(_BATCH_BEGIN, 0, resource=subsystem)
        end = Message(_BATCH_END, 0, resource=subsystem)
        last = len(requests)
        whole = [begin, *requests, end]
        first = self._send([(each, _ACK if n == last else 0) for n, each in enumerate(whole)])
        outcomes = self._outcomes(first, whole)
        for place in sorted(outcomes):
            if (error := outcomes[place]) is not None:
                raise error
        if last not in outcomes:
            raise NetlinkError(errno.ENOBUFS, "no answer")

    # --- sending --------------------------------------------------------------------------

    def _send(self, requests: Sequence[tuple[Message, int]]) -> int:
        """Send requests as one datagram; return the number of the first."""
        first, self._next = self._next, (self._next + len(requests)) & 0x7FFFFFFF
        data = b"".join(
            message(each, first + place, _REQUEST | flags)
            for place, (each, flags) in enumerate(requests)
        )
        self._make_room(len(data))
        try:
            self._socket.send(data)
        except OSError as error:
            raise NetlinkError(error.errno or errno.EIO) from error
        return first

    def _make_room(self, size: int) -> None:
        """Make the send buffer so large that so many bytes go in one piece."""
        if size <= self._room:
            return
        self._room = max(_SMALLEST_SEND_BUFFER, size + size // 4)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, self._room)
        except PermissionError:  # less is better than nothing
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._room)

    # --- receiving ------------------------------------------------------------------------

    def _outcomes(self, first: int, requests: Sequence[Message]) -> dict[int, NetlinkError | None]:
        """Return what the kernel says to each request that it says something to, by its place."""
        found: dict[int, NetlinkError | None] = {}
        for kind, number, payload in self._waiting(first, len(requests)):
            if kind == _ERROR:
                place = number - first
                found[place] = _refusal(kind, payload, requests[place].about)
        return found

    def _waiting(self, first: int, count: int) -> Iterator[tuple[int, int, bytes]]:
        """Go through the answers that are there: kind, number, payload."""
        while True:
            try:
                data = self._socket.recv(_LONGEST_ANSWER, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:  # some were lost; others may still be there
                    raise
                continue
            for kind, _, number, payload in parts(data):
                if first <= number < first + count:
                    yield kind, number, payload

    def _dump(self, request: Message) -> list[bytes] | None:
        """Dump once. None if something changed meanwhile."""
        first = self._send([(request, _DUMP)])
        found: list[bytes] = []
        is_whole = True
        while True:
            try:
                data = self._socket.recv(_LONGEST_ANSWER)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                is_whole = False
                continue
            for kind, flags, number, payload in parts(data):
                if number != first:
                    continue
                if flags & _INTERRUPTED:
                    is_whole = False
                if refused := _refusal(kind, payload, request.about):
                    raise refused
                if kind == _DONE:
                    return found if is_whole else None
                found.append(body(payload))


def _refusal(kind: int, payload: bytes, about: str) -> NetlinkError | None:
    """Return the error in an answer; None if all is well."""
    if kind not in (_ERROR, _DONE) or len(payload) < _CODE.size:
        return None
    number = -_CODE.unpack_from(payload)[0]
    if number == 0:
        return None
    attributes = payload[_CODE.size + (HEADER.size if kind == _ERROR else 0) :]
    return NetlinkError(number, text_of(unpack(attributes).get(_WORDS, b"")), about)
