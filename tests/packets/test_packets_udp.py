"""UDP flows and pinned clients when endpoints go, with real packets (field cases F58 and F59).

A flow of UDP never ends while its client keeps sending from one port, so what was chosen for its
first packet must be forgotten when it could not be chosen any more; and nothing else must.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from select import select
from typing import NamedTuple

import pytest
from netns import Namespace, join

from nearwise.model import Endpoint, ObjectMeta, Service
from nearwise.model.core import ClientIPConfig, ServicePort, ServiceSpec, SessionAffinityConfig
from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.diff import diff
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.counts import Counts
from nearwise.proxy.forgetting import Forgetting
from nearwise.proxy.netlink import NetlinkKernel
from proxied_services import routes

CLUSTER = {Family.IPV4: "10.96.0.10", Family.IPV6: "fd00:96::10"}
PORT, TARGET = 53, 8080  # of the service, and of its pods
CLIENT, GATEWAY = 100, 200


class Entry(NamedTuple):
    """What ``conntrack -L`` says of a connection."""

    reply_source: str
    id: int


class Cluster:
    """A node and hosts around it; host N is 10.244.N.2 or fd00:244:N::2. Most are pods.

    What is not of the cluster goes to a gateway, which says nothing.
    """

    def __init__(self, host: Callable[[], Namespace], family: Family) -> None:
        self.family = family
        self.host = host
        self.hosts: dict[int, Namespace] = {}
        self.servers: dict[int, socket.socket] = {}
        self.sockets: list[socket.socket] = []
        self.node = self._new()
        self.node.set("net.ipv4.ip_forward", 1)
        self.node.set("net.ipv6.conf.all.forwarding", 1)
        for number in (CLIENT, GATEWAY):
            self.add(number)
        self.node.ip(f"{self._flag} route add default via {self.address(GATEWAY)}")
        self.compiler = Compiler(Settings(family))
        with self.node.entered():
            self.kernel = NetlinkKernel()
            self.flows = KernelFlows()
        self.kernel.apply(diff(None, self.compiler.ruleset))
        self.forgetting = Forgetting(self.kernel, self.flows, time.monotonic)
        self.counts = Counts()

    @property
    def _flag(self) -> str:
        return "-4" if self.family is Family.IPV4 else "-6"

    def address(self, number: int, last: int = 2) -> str:
        if self.family is Family.IPV4:
            return f"10.244.{number}.{last}"
        return f"fd00:244:{number}::{last}"

    def add(self, number: int) -> None:
        """Lay a cable from the node to a new host."""
        new = self.hosts[number] = self._new()
        join(self.node, new, f"10.244.{number}")
        if self.family is Family.IPV6:
            self._add_address(self.node, number, 1)
            self._add_address(new, number, 2)
        new.ip(f"{self._flag} route add default via {self.address(number, 1)}")

    def _new(self) -> Namespace:
        """Make a host that does not wait for a second whether others have its addresses."""
        new = self.host()
        for which in ("all", "default"):
            new.set(f"net.ipv6.conf.{which}.accept_dad", 0)
        return new

    def add_address(self, number: int, last: int) -> None:
        """Give a host another address."""
        self._add_address(self.hosts[number], number, last)

    def _add_address(self, end: Namespace, number: int, last: int) -> None:
        on = f"10.244.{number}.{1 if end is self.node else 2}"
        device = end.ip(f"-o addr show to {on}").split()[1]
        length = 24 if self.family is Family.IPV4 else 64
        end.ip(f"addr add {self.address(number, last)}/{length} dev {device}")

    def close(self) -> None:
        for each in self.sockets:
            each.close()
        self.flows.close()
        self.kernel.close()

    # --- the service --------------------------------------------------------------------------

    def serve(self, *pods: int, protocol: str = "UDP", sticky: bool = False) -> None:
        """Have the service go to these pods, and do what a proxy does when that has changed."""
        timeout = SessionAffinityConfig(ClientIPConfig(600)) if sticky else None
        service = Service(
            metadata=ObjectMeta(name="dns", namespace="kube-system"),
            spec=ServiceSpec(
                ports=(ServicePort(name="dns", protocol=protocol, port=PORT),),
                cluster_ip=CLUSTER[self.family],
                cluster_ips=(CLUSTER[self.family],),
                ip_families=(self.family.api,),
                session_affinity="ClientIP" if sticky else "None",
                session_affinity_config=timeout,
            ),
        )
        endpoints = tuple(Endpoint((self.address(pod),), node_name="n1") for pod in pods)
        self._change(routes(service, endpoints, self.family))

    def delete_service(self) -> None:
        self._change(None)

    def _change(self, to: Routes | None) -> None:
        change = self.compiler.change({("kube-system", "dns"): to})
        self.kernel.apply(change)
        self.forgetting.after(self.compiler.ruleset, change, self.counts)

    # --- traffic ------------------------------------------------------------------------------

    def run_pod(self, number: int) -> None:
        """Add a pod that takes in datagrams."""
        self.add(number)
        server = self.open(number, socket.SOCK_DGRAM)
        server.bind((self.address(number), TARGET))
        self.servers[number] = server

    def sender(self, port: int, to: str = "", last: int = 2) -> socket.socket:
        """Return a socket that sends from one port for ever, to the service if not told else."""
        made = self.open(CLIENT, socket.SOCK_DGRAM)
        made.bind((self.address(CLIENT, last), port))
        made.connect((to or CLUSTER[self.family], PORT))
        return made

    def open(self, on: int, kind: socket.SocketKind) -> socket.socket:
        family = socket.AF_INET if self.family is Family.IPV4 else socket.AF_INET6
        with self.hosts[on].entered():
            made = socket.socket(family, kind)
        made.settimeout(3)
        self.sockets.append(made)
        return made

    def reached(self, sender: socket.socket) -> int | None:
        """Send a datagram and return the pod that got it, after it has answered."""
        sender.send(b"who?")
        found, _, _ = select(list(self.servers.values()), [], [], 0.5)
        for number, server in self.servers.items():
            if server in found:
                _, back = server.recvfrom(100)
                server.sendto(b"me", back)
                assert sender.recv(100) == b"me"
                return number
        return None

    def is_refused(self, sender: socket.socket) -> bool:
        """Send a datagram and say whether the client is told that nobody is there."""
        sender.send(b"who?")
        try:
            sender.recv(100)
        except ConnectionRefusedError:
            return True
        return False

    def entries(self, protocol: str = "udp") -> dict[tuple[str, int], Entry]:
        """Return the connections that the node remembers, by destination and client's port."""
        text = self.node.run("conntrack", "-L", "-f", self.family.api.lower(), "-p", protocol,
                             "-o", "id")  # fmt: skip
        found = {}
        for line in text.splitlines():
            words = re.findall(r"(src|dst|sport|id)=(\S+)", line)
            first, second = [value for key, value in words if key == "src"]
            to = next(value for key, value in words if key == "dst")
            port = next(value for key, value in words if key == "sport")
            assert first.startswith(("10.244.", "fd00:244:"))
            found[to, int(port)] = Entry(second, int(words[-1][1]))
        return found


@pytest.fixture(params=list(Family), ids=lambda family: family.api)
def cluster(request: pytest.FixtureRequest, host: Callable[[], Namespace]) -> Iterator[Cluster]:
    made = Cluster(host, request.param)
    for pod in (1, 2, 3):
        made.run_pod(pod)
    yield made
    made.close()


def test_f58_a_client_that_keeps_its_port_reaches_the_successor_of_its_endpoint(
    cluster: Cluster,
) -> None:
    sender = cluster.sender(40000)
    cluster.serve(1)
    assert [cluster.reached(sender) for _ in range(2)] == [1, 1]

    cluster.serve(2)

    assert [cluster.reached(sender) for _ in range(2)] == [2, 2]


def test_f58_flows_to_endpoints_that_stay_are_the_same_as_before(cluster: Cluster) -> None:
    cluster.serve(1, 2, 3)
    senders = {port: cluster.sender(port) for port in range(40000, 40030)}
    at = {port: cluster.reached(sender) for port, sender in senders.items()}
    assert set(at.values()) == {1, 2, 3}
    before = cluster.entries()

    cluster.serve(1, 3)

    stay = {port for port, pod in at.items() if pod != 2}
    frontend = CLUSTER[cluster.family]
    assert cluster.entries() == {(frontend, port): before[frontend, port] for port in stay}
    after = {port: cluster.reached(sender) for port, sender in senders.items()}
    assert {port: after[port] for port in stay} == {port: at[port] for port in stay}
    assert {after[port] for port in senders.keys() - stay} <= {1, 3}


def test_an_endpoint_that_comes_moves_nobody(cluster: Cluster) -> None:
    cluster.serve(1)
    sender = cluster.sender(40000)
    assert cluster.reached(sender) == 1
    before = cluster.entries()

    cluster.serve(1, 2, 3)

    assert cluster.entries() == before
    assert cluster.reached(sender) == 1


def test_f59_when_the_last_endpoint_goes_the_client_is_refused(cluster: Cluster) -> None:
    cluster.serve(1)
    sender = cluster.sender(40000)
    assert cluster.reached(sender) == 1

    cluster.serve()

    assert cluster.entries() == {}
    assert cluster.is_refused(sender)
    cluster.serve(2)
    assert cluster.reached(sender) == 2


def test_f59_a_flow_that_nobody_has_answered_goes_too(cluster: Cluster) -> None:
    """Statistics are sent and never answered; a node was black-holed by that for 13 hours."""
    cluster.serve(1)
    sender = cluster.sender(40000)
    sender.send(b"requests:1|c")
    assert len(cluster.entries()) == 1

    cluster.serve()

    assert cluster.entries() == {}
    assert cluster.is_refused(sender)


def test_f59_flows_of_a_deleted_service_are_forgotten(cluster: Cluster) -> None:
    cluster.serve(1)
    sender = cluster.sender(40000)
    assert cluster.reached(sender) == 1

    cluster.delete_service()

    assert cluster.entries() == {}
    assert cluster.reached(sender) is None


def test_a_flow_from_before_the_service_was_there_finds_it(cluster: Cluster) -> None:
    sender = cluster.sender(40000)
    assert cluster.reached(sender) is None
    (entry,) = cluster.entries().values()
    assert entry.reply_source == CLUSTER[cluster.family]

    cluster.serve(1)

    assert cluster.reached(sender) == 1


def test_flows_of_others_are_left_alone(cluster: Cluster) -> None:
    elsewhere = "192.0.2.53" if cluster.family is Family.IPV4 else "2001:db8::53"
    straight = cluster.sender(40001, to=elsewhere)
    assert cluster.reached(straight) is None  # the gateway says nothing
    cluster.serve(1)
    sender = cluster.sender(40000)
    assert cluster.reached(sender) == 1
    before = cluster.entries()

    cluster.serve(2)
    cluster.serve()
    cluster.delete_service()

    assert cluster.entries() == {(elsewhere, 40001): before[elsewhere, 40001]}


def test_a_tcp_connection_to_an_endpoint_that_goes_ends_in_peace(cluster: Cluster) -> None:
    def listener(pod: int) -> socket.socket:
        made = cluster.open(pod, socket.SOCK_STREAM)
        made.bind((cluster.address(pod), TARGET))
        made.listen()
        return made

    def connect() -> socket.socket:
        made = cluster.open(CLIENT, socket.SOCK_STREAM)
        made.connect((CLUSTER[cluster.family], PORT))
        return made

    first, second = listener(1), listener(2)
    cluster.serve(1, protocol="TCP")
    client = connect()
    server, _ = first.accept()
    before = cluster.entries("tcp")

    for pods in ((2,), ()):
        cluster.serve(*pods, protocol="TCP")
        client.send(b"still there?")
        assert server.recv(100) == b"still there?"
        server.send(b"yes")
        assert client.recv(100) == b"yes"
    assert cluster.entries("tcp") == before
    cluster.serve(2, protocol="TCP")
    connect()
    second.accept()[0].close()
    server.close()


def test_pins_to_an_endpoint_that_goes_are_taken_out_and_others_stay(cluster: Cluster) -> None:
    """Twenty clients, each pinned to an endpoint by session affinity, and each flow a new one."""
    clients = {last: iter(range(40000, 40100)) for last in range(10, 30)}
    for last in clients:
        cluster.add_address(CLIENT, last)

    def reached(last: int) -> int | None:
        return cluster.reached(cluster.sender(next(clients[last]), last=last))

    cluster.serve(1, 2, sticky=True)
    at = {last: reached(last) for last in clients}
    assert set(at.values()) == {1, 2}
    assert {last: reached(last) for last in clients} == at

    cluster.serve(2, 3, sticky=True)

    after = {last: reached(last) for last in clients}
    assert {last: pod for last, pod in after.items() if at[last] == 2} == {
        last: 2 for last in clients if at[last] == 2
    }
    assert set(after.values()) == {2, 3}
    assert {last: reached(last) for last in clients} == after


def test_a_flow_that_took_the_place_of_another_one_is_not_taken_for_it(cluster: Cluster) -> None:
    """The kernel may give it the same number; but it goes elsewhere."""
    cluster.serve(1)
    sender = cluster.sender(40000)
    assert cluster.reached(sender) == 1
    (first,) = cluster.flows.udp(cluster.family)
    cluster.serve(2)
    assert cluster.reached(sender) == 2
    (second,) = cluster.flows.udp(cluster.family)
    assert (second.client, second.frontend) == (first.client, first.frontend)

    assert cluster.flows.delete([first, second._replace(number=bytes(4))]) == 0

    assert cluster.flows.udp(cluster.family) == [second]


def test_flows_in_a_zone_are_those_of_other_programs(cluster: Cluster) -> None:
    cluster.node.nft(
        "table inet zones { chain raw { type filter hook prerouting priority raw;"
        " udp sport 40005 ct zone set 5; }; }\n"
    )
    cluster.serve(1)
    for port in (40000, 40005):
        cluster.sender(port).send(b"in which zone?")

    (entry,) = [entry for entry in cluster.entries().items() if entry[0][1] == 40000]
    (flow,) = cluster.flows.udp(cluster.family)
    assert len(cluster.entries()) == 2
    assert int.from_bytes(flow.number, "big") == entry[1].id
