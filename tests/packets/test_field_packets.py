"""Field cases as users saw them: a cluster, the proxy of one node, and real packets through it.

The node is n1 in zone a, with the pods near-1 to near-3 on it; far-1 to far-4 are on n2 to n5. A
pod on n1 that is no endpoint asks, if it is not said who does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from msgspec.structs import replace
from netns import Namespace
from node_lab import Lab, Reply, Silence

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    ForNode,
    ForZone,
    Node,
    Service,
)
from nearwise.model.core import (
    LoadBalancerIngress,
    LoadBalancerStatus,
    NodeAddress,
    NodeStatus,
    ServicePort,
    ServiceStatus,
)
from nearwise.nft.diff import diff
from nearwise.nft.netlink.attributes import Message, pack_number, pack_text
from nearwise.nft.registers import endpoint as packed
from nearwise.nft.registers import pack_address
from nearwise.nft.ruleset import Family
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.netfilter_socket import NetfilterSocket
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.node import Options
from nearwise.proxy.process import Machine, Process
from nearwise.proxy.program import ProgramKernel
from proxied_services import V4
from proxy_world import HTTP, node, service, slice_of
from simulation.model_cluster import ModelCluster, surroundings

CLUSTER, BALANCER = "10.96.0.1", "198.18.0.1"
POD, OUTSIDE = f"{V4.near}77", f"{V4.outside}9"
REFUSED, SILENT = Silence.REFUSED, Silence.SILENT
ADDRESSES = {f"near-{last}": f"{V4.near}{last}" for last in (1, 2, 3)} | {
    f"far-{last}": f"{V4.far}{last}" for last in (1, 2, 3, 4)
}
NAMES = {address: name for name, address in ADDRESSES.items()}
TRIES = 40  # of two or three endpoints one is left out less than once in ten million runs
Seen = set[str | Silence]


class Stage:
    """The node with its proxy, what the cluster says, and who asks."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.cluster = ModelCluster()
        self.process: Process

    @asynccontextmanager
    async def playing(self, *things: Any, at: Node | None = None) -> AsyncIterator[None]:
        """Have the proxy run, and pods answer."""
        self.cluster.put(at or here("a"), *things)
        with self.lab.node.entered():
            kernel, flows = NetlinkKernel(), KernelFlows()
        own = tuple(each for each in self.lab.own if ":" not in each)
        machine = Machine(kernel, flows, lambda: own)
        options = Options(node="n1", pod_networks=(V4.pods,), sync_period=0.3)
        with closing(kernel), closing(flows):
            self.process = Process(self.cluster, machine, options, surroundings())
            stop = asyncio.Event()
            async with self.lab.answering():
                running = asyncio.create_task(self.process.run(stop))
                try:
                    yield
                finally:
                    stop.set()
                    await running

    async def reached(
        self, source: str = POD, to: str = CLUSTER, port: int = 80, *, times: int = TRIES
    ) -> Seen:
        """Return who answers."""
        found: Seen = set()
        for _ in range(times):
            heard = await self.lab.ask(source, to, port, patience=1)
            found.add(NAMES[heard.address] if isinstance(heard, Reply) else heard)
            if heard is SILENT:
                break
        return found

    async def becomes(self, expected: Seen, *where: Any) -> None:
        """Wait until those answer and nobody else; they must within some seconds."""
        end = time.monotonic() + 10
        while (found := await self.reached(*where)) != expected and time.monotonic() < end:
            await asyncio.sleep(0.02)
        assert found == expected


@pytest.fixture
def stage(host: Callable[[], Namespace]) -> Stage:
    return Stage(Lab(host))


def here(zone: str) -> Node:
    """Make the node n1, in a zone."""
    return replace(
        node(zone), status=NodeStatus(addresses=(NodeAddress("InternalIP", f"{V4.node}1"),))
    )


def pod(name: str, *, zones: str = "", nodes: tuple[str, ...] = (), state: str = "") -> Endpoint:
    """Make an endpoint of a pod; ``state``: nothing if ready, or terminating, gone, broken."""
    conditions = {
        "": EndpointConditions(True, True, False),
        "terminating": EndpointConditions(False, True, True),
        "gone": EndpointConditions(False, False, True),
        "broken": EndpointConditions(False, False, False),
    }[state]
    last = int(name[-1])
    hints = EndpointHints(tuple(map(ForZone, zones)), tuple(map(ForNode, nodes)))
    return Endpoint(
        (ADDRESSES[name],),
        conditions,
        node_name="n1" if name.startswith("near") else f"n{last + 1}",
        hints=hints if zones or nodes else None,
    )


def balanced() -> Service:
    """Make the service with a balancer's address, under external policy Local."""
    made = service(type="LoadBalancer", external_traffic_policy="Local")
    return replace(
        made, status=ServiceStatus(LoadBalancerStatus((LoadBalancerIngress(ip=BALANCER),)))
    )


def test_f41_clients_in_a_zone_without_endpoints_are_served_by_all(stage: Stage) -> None:
    slice_ = slice_of(pod("near-1", zones="a"), pod("far-1", zones="b"))

    async def story() -> None:
        async with stage.playing(service(), slice_, at=here("c")):
            await stage.becomes({"near-1", "far-1"})

    asyncio.run(story())


def test_f42_one_endpoint_without_a_hint_has_everybody_use_all(stage: Stage) -> None:
    hinted = [pod("near-1", zones="a"), pod("far-1", zones="b")]

    async def story() -> None:
        async with stage.playing(service(), slice_of(*hinted)):
            await stage.becomes({"near-1"})
            stage.cluster.put(slice_of(*hinted, pod("far-2")))
            await stage.becomes({"near-1", "far-1", "far-2"})

    asyncio.run(story())


def test_f43_the_pod_beside_me_that_lacks_the_port_does_not_hold_my_traffic(stage: Stage) -> None:
    both = service("web", CLUSTER, HTTP, ServicePort("grpc", "TCP", None, 81, 8081))
    http, grpc = EndpointPort("http", "TCP", 8080), EndpointPort("grpc", "TCP", 8081)
    without = slice_of(pod("near-1", zones="a", nodes=("n1",)), name="x")
    others = [pod("far-1", zones="a", nodes=("n2",)), pod("far-2", zones="b", nodes=("n3",))]
    with_both = replace(slice_of(*others, name="y"), ports=(http, grpc))

    async def story() -> None:
        async with stage.playing(both, without, with_both):
            await stage.becomes({"near-1"}, POD, CLUSTER, 80)
            await stage.becomes({"far-1"}, POD, CLUSTER, 81)

    asyncio.run(story())


def test_f47_a_daemon_set_rolls_and_not_one_connection_fails(stage: Stage) -> None:
    """near-1 restarts, then its neighbour in the zone too; each is back before the next goes."""

    def slice_with(**states: str) -> Any:
        pods = {"near-1": "a", "far-1": "a", "far-2": "b"}
        nodes = {"near-1": "n1", "far-1": "n2", "far-2": "n3"}
        return slice_of(
            *[
                pod(name, zones=zone, nodes=(nodes[name],), state=states.get(name, ""))
                for name, zone in pods.items()
            ]
        )

    async def story() -> None:
        heard: Counter[str | Silence] = Counter()
        rolled = asyncio.Event()

        async def keep_asking() -> None:
            while not rolled.is_set():
                answer = await stage.lab.ask(POD, CLUSTER, 80)
                heard[NAMES[answer.address] if isinstance(answer, Reply) else answer] += 1

        async with stage.playing(service(), slice_with()):
            await stage.becomes({"near-1"})
            asking = asyncio.create_task(keep_asking())
            stage.cluster.put(slice_with(**{"near-1": "terminating"}))
            await stage.becomes({"far-1"})
            stage.cluster.put(slice_with(**{"near-1": "gone", "far-1": "terminating"}))
            await stage.becomes({"far-2"})
            stage.cluster.put(slice_with(**{"far-1": "gone"}))
            await stage.becomes({"near-1"})
            rolled.set()
            await asking
        assert heard.keys() == {"near-1", "far-1", "far-2"}

    asyncio.run(story())


def test_f51_the_successor_at_an_address_is_served_while_the_old_pod_still_goes(
    stage: Stage,
) -> None:
    old, new = slice_of(pod("near-1", state="gone"), name="x"), slice_of(pod("near-1"), name="y")

    async def story() -> None:
        async with stage.playing(service(), old):
            await stage.becomes({REFUSED})
            stage.cluster.put(new)
            await stage.becomes({"near-1"})
            stage.cluster.drop(old)
            stage.cluster.put(replace(old, metadata=replace(old.metadata, name="z")))
            await stage.becomes({"near-1"})

    asyncio.run(story())


def test_f53_a_hand_made_slice_is_served_once_its_port_has_the_name_of_the_services(
    stage: Stage,
) -> None:
    unnamed = service("web", CLUSTER, replace(HTTP, name=""))

    async def story() -> None:
        async with stage.playing(unnamed, slice_of(pod("near-1"))):
            await stage.becomes({REFUSED})
            stage.cluster.put(slice_of(pod("near-1"), port=EndpointPort("", "TCP", 8080)))
            await stage.becomes({"near-1"})

    asyncio.run(story())


def test_f54_outside_the_terminating_pod_here_serves_inside_the_ready_one_elsewhere(
    stage: Stage,
) -> None:
    slice_ = slice_of(pod("near-1", state="terminating"), pod("far-1"))

    async def story() -> None:
        async with stage.playing(balanced(), slice_):
            await stage.becomes({"near-1"}, OUTSIDE, BALANCER)
            await stage.becomes({"far-1"}, POD, CLUSTER)
            stage.cluster.put(slice_of(pod("near-1", state="terminating")))
            await stage.becomes({"near-1"}, POD, CLUSTER)

    asyncio.run(story())


def test_f55_a_pod_that_neither_serves_nor_terminates_gets_nothing(stage: Stage) -> None:
    broken = pod("near-1", state="broken")

    async def story() -> None:
        async with stage.playing(service(), slice_of(broken)):
            await stage.becomes({REFUSED})
            stage.cluster.put(slice_of(broken, pod("far-1", state="terminating")))
            await stage.becomes({"far-1"})

    asyncio.run(story())


def test_f57_nobody_anywhere_is_refused_and_nobody_here_is_silence(stage: Stage) -> None:
    async def story() -> None:
        async with stage.playing(balanced(), slice_of()):
            await stage.becomes({REFUSED}, OUTSIDE, BALANCER)
            await stage.becomes({REFUSED}, POD, CLUSTER)
            stage.cluster.put(slice_of(pod("far-1")))
            await stage.becomes({"far-1"}, POD, CLUSTER)
            await stage.becomes({SILENT}, OUTSIDE, BALANCER)

    asyncio.run(story())


def test_f62_an_odd_set_of_another_program_is_in_nobodys_way(stage: Stage) -> None:
    """A set of a type that nft does not know, as newer programs make them."""
    new_table, new_set, create = 10 << 8 | 0, 10 << 8 | 9, 0x400
    table = pack_text(1, "strange")
    odd = (
        *(pack_text(1, "strange"), pack_text(2, "odd"), pack_number(3, 0), pack_number(4, 0xFACE)),
        *(pack_number(5, 12), pack_number(10, 1)),
    )
    with stage.lab.node.entered():
        others = NetfilterSocket()
    with closing(others):
        others.batch(
            10,
            [
                Message(new_table, 2, table, create, about="table"),
                Message(new_set, 2, b"".join(odd), create, about="set"),
            ],
        )

    async def story() -> None:
        async with stage.playing(service(), slice_of(pod("near-1"))):
            await stage.becomes({"near-1"})
            with stage.lab.node.entered():
                program = ProgramKernel()
                with closing(program):
                    program.check(Family)
                    by_program = program.read(Family.IPV4)
            ruleset = stage.process.programming.families[Family.IPV4].table.ruleset
            assert ruleset is not None
            assert diff(by_program, ruleset).is_empty
            stage.cluster.put(slice_of(pod("far-1")))
            await stage.becomes({"far-1"})

    asyncio.run(story())
    assert "strange" in stage.lab.node.run("nft", "list", "tables")


def test_f63_rules_flushed_by_hand_are_back_by_themselves(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def story() -> None:
        async with stage.playing(service(), slice_of(pod("near-1"), pod("far-1"))):
            await stage.becomes({"near-1", "far-1"})
            stage.lab.node.run("nft", "flush", "ruleset")
            await stage.becomes({"near-1", "far-1"})
            stage.lab.node.run("nft", "flush", "map", "ip", "nearwise", "endpoints")
            await stage.becomes({"near-1", "far-1"})
            await asyncio.sleep(1)  # some more looks

    asyncio.run(story())
    told = [each.getMessage() for each in caplog.records if "somebody" in each.getMessage()]
    assert told == [
        "IPv4: somebody changed our table; it is put right, all of it",
        "IPv4: somebody changed our table; it is put right, parts of it: 2",
    ]


def test_f66_a_node_that_is_relabelled_sends_elsewhere_without_a_restart(stage: Stage) -> None:
    slice_ = slice_of(pod("near-1", zones="a"), pod("far-1", zones="b"))

    async def story() -> None:
        async with stage.playing(service(), slice_):
            await stage.becomes({"near-1"})
            stage.cluster.put(here("b"))
            await stage.becomes({"far-1"})
            stage.cluster.put(here(""))
            await stage.becomes({"near-1", "far-1"})

    asyncio.run(story())


def test_f77_what_the_kernel_has_of_a_flow_names_the_pod_behind_the_virtual_address(
    stage: Stage,
) -> None:
    dns = service("dns", CLUSTER, ServicePort("dns", "UDP", None, 53, 8080))
    slice_ = slice_of(pod("far-1"), of="dns", port=EndpointPort("dns", "UDP", 8080))

    async def story() -> None:
        async with stage.playing(dns, slice_):
            answer = await stage.lab.ask(POD, CLUSTER, 53, "UDP")
            assert isinstance(answer, Reply)
            with stage.lab.node.entered(), closing(KernelFlows()) as flows:
                (flow,) = flows.udp(Family.IPV4)
        assert flow.frontend[:4] == pack_address(CLUSTER)
        assert flow.endpoint == packed(pack_address(ADDRESSES["far-1"]), 8080)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("zone", "expected"), [("a", {"near-1"}), ("b", {"far-1", "far-2"}), ("c", {"far-3"})]
)
def test_f87_a_loop_of_connections_finds_what_was_chosen_for_each_zone(
    stage: Stage, zone: str, expected: set[str | Silence]
) -> None:
    pods = {"near-1": "a", "far-1": "b", "far-2": "b", "far-3": "c"}
    slice_ = slice_of(*[pod(name, zones=zone) for name, zone in pods.items()])

    async def story() -> None:
        async with stage.playing(service(), slice_, at=here(zone)):
            await stage.becomes(expected)
            routes = stage.process.programming.families[Family.IPV4].routes.routes
            (selection,) = routes["shop", "web"].selections.values()
            assert {NAMES[backend.address] for backend in selection.cluster} == expected

    asyncio.run(story())
