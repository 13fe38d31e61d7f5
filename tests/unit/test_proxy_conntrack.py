"""What is asked of connection tracking, and what is read from its answers.

``tests/packets/test_packets_udp.py`` asks a real kernel.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

import pytest

from nearwise.nft.choices import Flow
from nearwise.nft.netlink.attributes import Message, nest, pack, unpack
from nearwise.nft.registers import endpoint, frontend, pack_address
from nearwise.nft.ruleset import Family
from nearwise.proxy import conntrack
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netfilter_socket import NetlinkError

ORIGINAL, REPLY, STATUS, TIMEOUT, ID, ZONE, FILTER = 1, 2, 3, 7, 12, 18, 25
TUPLE_ZONE = 3
TCP, UDP, ICMP = 6, 17, 1


class ScriptedSocket:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.listed: list[bytes] = []
        self.asked: list[Message] = []
        self.sizes: list[int] = []
        self.refuse: Callable[[Message], NetlinkError | None] = lambda _: None

    def dump(self, request: Message) -> list[bytes]:
        self.asked.append(request)
        if error := self.refuse(request):
            raise error
        return self.listed

    def requests(self, requests: Sequence[Message]) -> list[NetlinkError | None]:
        self.asked += requests
        self.sizes.append(len(requests))
        return [self.refuse(each) for each in requests]


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> ScriptedSocket:
    made = ScriptedSocket()
    monkeypatch.setattr(conntrack, "NetfilterSocket", lambda: made)
    return made


def tuple_of(
    kind: int, source: tuple[str, int], to: tuple[str, int], protocol: int = UDP, *more: bytes
) -> bytes:
    """Write one way of a flow, as the kernel does."""
    first = 3 if ":" in source[0] else 1
    return nest(
        kind,
        nest(1, pack(first, pack_address(source[0])), pack(first + 1, pack_address(to[0]))),
        nest(
            2,
            pack(1, bytes([protocol])),
            pack(2, source[1].to_bytes(2, "big")),
            pack(3, to[1].to_bytes(2, "big")),
        ),
        *more,
    )


POD, DNS, SERVER = ("10.244.1.9", 40000), ("10.96.0.10", 53), ("10.244.0.1", 5353)
FLOW = Flow(
    endpoint(pack_address("10.244.1.9"), 40000),
    frontend(pack_address("10.96.0.10"), "UDP", 53),
    endpoint(pack_address("10.244.0.1"), 5353),
    endpoint(pack_address("10.244.1.9"), 40000),
    b"\0\0\0\x07",
)
REST = pack(STATUS, b"\0\0\1\x9a") + pack(TIMEOUT, b"\0\0\0\x1e") + pack(ID, b"\0\0\0\x07")
WAYS = tuple_of(ORIGINAL, POD, DNS) + tuple_of(REPLY, SERVER, POD)


def test_a_flow_is_read_as_keys_and_values_of_maps_are(socket: ScriptedSocket) -> None:
    socket.listed = [WAYS + REST]

    assert KernelFlows().udp(Family.IPV4) == [FLOW]


def test_an_ipv6_flow_too(socket: ScriptedSocket) -> None:
    pod, dns, server = ("fd00:244::9", 40000), ("fd00:96::10", 53), ("fd00:244::1", 5353)
    socket.listed = [tuple_of(ORIGINAL, pod, dns) + tuple_of(REPLY, server, pod) + REST]

    assert KernelFlows().udp(Family.IPV6) == [
        Flow(
            endpoint(pack_address(pod[0]), pod[1]),
            frontend(pack_address(dns[0]), "UDP", dns[1]),
            endpoint(pack_address(server[0]), server[1]),
            endpoint(pack_address(pod[0]), pod[1]),
            b"\0\0\0\x07",
        )
    ]


def test_the_kernel_is_asked_for_udp_only(socket: ScriptedSocket) -> None:
    KernelFlows().udp(Family.IPV6)

    (asked,) = socket.asked
    assert (asked.kind, asked.family) == (0x101, 10)
    attributes = unpack(asked.payload)
    assert unpack(unpack(attributes[ORIGINAL])[2]) == {1: bytes([UDP])}
    assert FILTER in attributes


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            tuple_of(ORIGINAL, POD, DNS, TCP) + tuple_of(REPLY, SERVER, POD, TCP) + REST, id="TCP"
        ),
        pytest.param(
            nest(ORIGINAL, nest(1, pack(1, b"abcd"), pack(2, b"efgh")), nest(2, pack(1, b"\1")))
            + nest(REPLY, nest(1, pack(1, b"efgh"), pack(2, b"abcd")), nest(2, pack(1, b"\1")))
            + REST,
            id="ICMP",
        ),
        pytest.param(WAYS + pack(ZONE, b"\0\5") + REST, id="in a zone"),
        pytest.param(
            tuple_of(ORIGINAL, POD, DNS, UDP, pack(TUPLE_ZONE, b"\0\5"))
            + tuple_of(REPLY, SERVER, POD)
            + REST,
            id="in a zone one way",
        ),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_not_ours_to_look_at_is_left_out(socket: ScriptedSocket, other: bytes) -> None:
    """Kernels before 5.8 list other protocols although they are not asked for."""
    socket.listed = [other, WAYS + REST]

    assert KernelFlows().udp(Family.IPV4) == [FLOW]


def test_a_masqueraded_flow_is_answered_to_this_machine(socket: ScriptedSocket) -> None:
    node = ("192.0.2.1", 50123)
    socket.listed = [tuple_of(ORIGINAL, POD, DNS) + tuple_of(REPLY, SERVER, node) + REST]

    (flow,) = KernelFlows().udp(Family.IPV4)
    assert flow == FLOW._replace(returns=endpoint(pack_address(node[0]), node[1]))


def test_a_flow_is_deleted_by_the_way_of_its_answers_and_its_number(socket: ScriptedSocket) -> None:
    """So that a flow that the client began meanwhile, and that goes elsewhere, is not."""
    assert KernelFlows().delete([FLOW]) == 1

    (asked,) = socket.asked
    assert (asked.kind, asked.family) == (0x102, 2)
    assert asked.payload == tuple_of(REPLY, SERVER, POD) + pack(ID, b"\0\0\0\x07")


def test_an_ipv6_flow_is_deleted_likewise(socket: ScriptedSocket) -> None:
    pod, dns, server = ("fd00:244::9", 40000), ("fd00:96::10", 53), ("fd00:244::1", 5353)
    answers = tuple_of(REPLY, server, pod)
    socket.listed = [tuple_of(ORIGINAL, pod, dns) + answers + REST]
    flows = KernelFlows()
    flows.delete(flows.udp(Family.IPV6))

    asked = socket.asked[-1]
    assert (asked.kind, asked.family) == (0x102, 10)
    assert asked.payload == answers + pack(ID, b"\0\0\0\x07")


def test_flows_that_are_gone_by_themselves_do_not_count_and_do_no_harm(
    socket: ScriptedSocket,
) -> None:
    gone = FLOW._replace(number=b"gone")
    socket.refuse = lambda asked: (
        NetlinkError(errno.ENOENT) if asked.payload.endswith(b"gone") else None
    )

    assert KernelFlows().delete([FLOW, gone, FLOW]) == 2


def test_many_are_deleted_some_at_a_time(socket: ScriptedSocket) -> None:
    assert KernelFlows().delete([FLOW] * 250) == 250
    assert socket.sizes == [100, 100, 50]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EPERM, "CAP_NET_ADMIN"),
        (errno.EINVAL, "CONFIG_NF_CT_NETLINK"),
        (errno.EOPNOTSUPP, "CONFIG_NF_CT_NETLINK"),
        (errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_what_is_missing_is_named(socket: ScriptedSocket, number: int, words: str) -> None:
    flows = KernelFlows()
    socket.refuse = lambda _: NetlinkError(number)

    for attempt in (lambda: flows.udp(Family.IPV4), lambda: flows.delete([FLOW])):
        with pytest.raises(KernelError) as caught:
            attempt()
        assert words in str(caught.value)


def test_without_netfilter_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    monkeypatch.setattr(conntrack, "NetfilterSocket", refuse)

    with pytest.raises(KernelError, match="CONFIG_NF_CT_NETLINK"):
        KernelFlows()
