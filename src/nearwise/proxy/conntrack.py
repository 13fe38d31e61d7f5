"""The UDP flows that the kernel remembers, and forgetting some of them.

Law: which flows are to be forgotten is decided in ``nft/choices.py``; here they are listed and
deleted, and nothing but UDP is ever listed. Only flows of zone 0 are known here, where all flows
are that no rule gives a zone to (kube-proxy knows no others either): a zone is how other programs
keep apart what may have the same addresses, so a flow in one is theirs.

Numbers are those of ``include/uapi/linux/netfilter/nfnetlink_conntrack.h``.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from itertools import islice
from struct import Struct
from typing import Final, Protocol

from nearwise.nft.choices import Flow
from nearwise.nft.netlink.attributes import ATTRIBUTE, NESTED, Message, nest, pack
from nearwise.nft.netlink.expressions import PROTOCOL_FAMILIES
from nearwise.nft.registers import pack_protocol
from nearwise.nft.ruleset import Family
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netfilter_socket import NetfilterSocket, NetlinkError

_GET: Final = 1 << 8 | 1  # IPCTNL_MSG_CT_GET of NFNL_SUBSYS_CTNETLINK
_DELETE: Final = 1 << 8 | 2
_ORIGINAL, _REPLY, _NUMBER, _ZONE, _FILTER = 1, 2, 12, 18, 25  # CTA_TUPLE_ORIG, CTA_ID, ...
_ADDRESSES, _PORTS = 1, 2  # CTA_TUPLE_IP, CTA_TUPLE_PROTO
_PROTOCOL, _SOURCE_PORT, _PORT = 1, 2, 3  # CTA_PROTO_NUM, ...
_SOURCE: Final = {Family.IPV4: 1, Family.IPV6: 3}  # CTA_IP_V4_SRC; the destination is the next
_BY_PROTOCOL: Final = Struct("=I").pack(1 << 3)  # CTA_FILTER_F_CTA_PROTO_NUM
_BY_NOTHING: Final = bytes(4)

_UDP: Final = pack_protocol("UDP")
_UDP_ONLY: Final = nest(_ORIGINAL, nest(_PORTS, pack(_PROTOCOL, _UDP[:1]))) + nest(
    _FILTER, pack(_ORIGINAL, _BY_PROTOCOL), pack(_REPLY, _BY_NOTHING)
)
"""Asks for UDP only. Kernels before 5.8 do not know that, and list everything."""

_AT_A_TIME: Final = 100
"""Flows deleted at a time: so many answers fit into any receive buffer."""


class Flows(Protocol):
    """The UDP flows of a network namespace."""

    def udp(self, family: Family) -> Iterable[Flow]:
        """Return all there are. Raises KernelError."""
        ...

    def delete(self, flows: Iterable[Flow]) -> int:
        """Forget flows, and say how many were still there. Raises KernelError.

        A flow that has taken the place of one that is gone stays.
        """
        ...


class KernelFlows:
    """The flows of the namespace of the thread that makes this, by netlink."""

    def __init__(self) -> None:
        """Connect. Raises KernelError."""
        try:
            self._socket = NetfilterSocket()
        except OSError as error:
            raise _cannot(error) from error

    def udp(self, family: Family) -> list[Flow]:
        """List them, for each about 4 µs. Raises KernelError."""
        try:
            found = self._socket.dump(
                Message(_GET, PROTOCOL_FAMILIES[family], _UDP_ONLY, about="flows")
            )
        except NetlinkError as error:
            raise _cannot(error) from error
        return _read(found, _FORMS[family])

    def delete(self, flows: Iterable[Flow]) -> int:
        """Delete them. Raises KernelError."""
        requests = map(_deleting, flows)
        count = 0
        while some := list(islice(requests, _AT_A_TIME)):
            try:
                outcomes = self._socket.requests(some)
            except NetlinkError as error:
                raise _cannot(error) from error
            for refused in outcomes:
                if refused is None:
                    count += 1
                elif refused.errno != errno.ENOENT:
                    raise _cannot(refused) from refused
        return count

    def close(self) -> None:
        """Let the connection go."""
        self._socket.close()


class _Form:
    """How the kernel writes a flow that is in no zone: both its tuples first, all parts in order.

    Each part has four bytes before it and fills up to four, as fields of our keys do.
    """

    def __init__(self, family: Family) -> None:
        # Addresses (source, destination); protocol, source port, destination port.
        one = f"4s4x4x{family.width}s4x{family.width}s4x4x4s4x4s4x4s"
        self.struct = Struct(f"={one}{one}")
        size = self.struct.size // 2
        self.begin = tuple(ATTRIBUTE.pack(size, each | NESTED) for each in (_ORIGINAL, _REPLY))


_FORMS: Final = {family: _Form(family) for family in Family}


def _read(found: Iterable[bytes], form: _Form) -> list[Flow]:
    """Read what was listed; what is in a zone, if only one way, or not UDP is left out."""
    take, size = form.struct.unpack_from, form.struct.size
    original, reply = form.begin
    flows: list[Flow] = []
    for each in found:
        if len(each) < size:
            continue
        begin, source, destination, protocol, source_port, port, *there = take(each)
        second, endpoint, to, _, endpoint_port, to_port = there
        if begin != original or second != reply or protocol != _UDP:
            continue
        if number := _number(each, size):
            flows.append(
                Flow(
                    source + source_port,
                    destination + protocol + port,
                    endpoint + endpoint_port,
                    to + to_port,
                    number,
                )
            )
    return flows


def _number(flow: bytes, place: int) -> bytes:
    """Return the number of a flow, from some place on; nothing if it is in a zone.

    The zone, if any, comes first. To read no further saves a quarter of the time of listing.
    """
    while place < len(flow):
        size, kind = ATTRIBUTE.unpack_from(flow, place)
        if kind == _ZONE:
            break
        if kind == _NUMBER:
            return flow[place + 4 : place + size]
        place += size + 3 & ~3
    return b""


def _deleting(flow: Flow) -> Message:
    """Return the request to delete a flow, by the way of its answers and its number.

    The number stands for the way of its first packet, so together they name all that the flow is.
    One that the client began meanwhile has the same number at times, but other answers.
    """
    family = Family.IPV4 if len(flow.client) == Family.IPV4.width + 4 else Family.IPV6
    width, source = family.width, _SOURCE[family]
    reply = nest(
        _REPLY,
        nest(
            _ADDRESSES,
            pack(source, flow.endpoint[:width]),
            pack(source + 1, flow.returns[:width]),
        ),
        nest(
            _PORTS,
            pack(_PROTOCOL, _UDP[:1]),
            pack(_SOURCE_PORT, flow.endpoint[width:][:2]),
            pack(_PORT, flow.returns[width:][:2]),
        ),
    )
    return Message(
        _DELETE, PROTOCOL_FAMILIES[family], reply + pack(_NUMBER, flow.number), about="a flow"
    )


def _cannot(error: OSError) -> KernelError:
    """Say what is missing."""
    match error.errno:
        case errno.EPERM | errno.EACCES:
            why = "it takes the capability CAP_NET_ADMIN"
        case errno.EINVAL | errno.EOPNOTSUPP | errno.EPROTONOSUPPORT | errno.EAFNOSUPPORT:
            why = "this kernel lacks CONFIG_NF_CT_NETLINK (module nf_conntrack_netlink)"
        case _:
            why = error.strerror or str(error)
    return KernelError(f"no access to the kernel's UDP flows: {why}")
