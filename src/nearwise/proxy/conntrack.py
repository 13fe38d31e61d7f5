"""The UDP flows that the kernel remembers, and forgetting some of them.

Law: which flows are to be forgotten is decided in ``nft/choices.py``; here they are listed and
deleted, and nothing but UDP is ever listed. Only flows of zone 0 are known here, where all flows
are that no rule gives a zone to (kube-proxy knows no others either): a zone is how other programs
keep apart what may have the same addresses, so a flow in one is theirs.

Numbers are those of ``include/uapi/linux/netfilter/nfnetlink_conntrack.h``.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from itertools import islice
from struct import Struct
from typing import Final, Protocol

from nearwise.nft.attributes import NESTED, Message, nest, pack, unpack
from nearwise.nft.choices import Flow
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

_FAMILIES: Final = {Family.IPV4: socket.AF_INET, Family.IPV6: socket.AF_INET6}
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
        """List them, for each about 3 µs. Raises KernelError."""
        try:
            found = self._socket.dump(Message(_GET, _FAMILIES[family], _UDP_ONLY, about="flows"))
        except NetlinkError as error:
            raise _cannot(error) from error
        return _read(found, _FORMS[family])

    def delete(self, flows: Iterable[Flow]) -> int:
        """Delete each by what it is and by its number. Raises KernelError."""
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
        self.begin = tuple(Struct("=HH").pack(size, each | NESTED) for each in (_ORIGINAL, _REPLY))


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
        second, endpoint, _, _, endpoint_port, _ = there
        if begin != original or second != reply or protocol != _UDP:
            continue
        others = unpack(each[size:])
        if _ZONE not in others:
            client, frontend = source + source_port, destination + protocol + port
            flows.append(Flow(client, frontend, endpoint + endpoint_port, others[_NUMBER]))
    return flows


def _deleting(flow: Flow) -> Message:
    """Return the request to delete a flow."""
    family = Family.IPV4 if len(flow.client) == Family.IPV4.width + 4 else Family.IPV6
    width, source = family.width, _SOURCE[family]
    client, client_port = flow.client[:width], flow.client[width : width + 2]
    address, port = flow.frontend[:width], flow.frontend[width + 4 : width + 6]
    original = nest(
        _ORIGINAL,
        nest(_ADDRESSES, pack(source, client), pack(source + 1, address)),
        nest(
            _PORTS,
            pack(_PROTOCOL, _UDP[:1]),
            pack(_SOURCE_PORT, client_port),
            pack(_PORT, port),
        ),
    )
    payload = original + pack(_NUMBER, flow.number)
    return Message(_DELETE, _FAMILIES[family], payload, about="a flow")


def _cannot(error: OSError) -> KernelError:
    """Say what is missing, and what that means."""
    match error.errno:
        case errno.EPERM | errno.EACCES:
            why = "it needs the capability CAP_NET_ADMIN"
        case errno.EINVAL | errno.EOPNOTSUPP | errno.EPROTONOSUPPORT | errno.EAFNOSUPPORT:
            why = "this kernel lacks CONFIG_NF_CT_NETLINK (module nf_conntrack_netlink)"
        case _:
            why = error.strerror or str(error)
    return KernelError(
        f"the kernel's UDP flows cannot be looked after: {why}; "
        "flows to endpoints that are gone go on until their clients fall silent"
    )
