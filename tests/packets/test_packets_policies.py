"""What users set on a service, and where packets then really go.

There is a node with pods near (on it) and far (on other nodes), and clients: ``pod`` on the node
and ``far-pod``, which are no endpoints, ``near-1`` and ``far-1``, which can be, the host itself,
and somebody outside. Whatever is told here holds for IPv4 and for IPv6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import msgspec
import pytest
from netns import Namespace
from node_lab import Lab, Reply, Silence

from nearwise.model import Endpoint, EndpointConditions, ObjectMeta, Service
from nearwise.model.core import (
    ClientIPConfig,
    LoadBalancerIngress,
    LoadBalancerStatus,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
    SessionAffinityConfig,
)
from nearwise.nft.compile import Compiler
from nearwise.nft.diff import diff
from proxied_services import V4, V6, Place, routes

TRIES = 40  # of two or three endpoints one is left out less than once in ten million runs
CLIENTS = ("pod", "far-pod", "host", "outside")


class Target(NamedTuple):
    """Where a client connects to."""

    address: str
    port: int


class Scene:
    """A node that knows one service, ``shop/web``, and what is around it."""

    def __init__(self, lab: Lab, place: Place, runner: asyncio.Runner) -> None:
        self.lab, self.place, self.runner = lab, place, runner
        own = tuple(each for each in lab.own if (":" in each) == (place is V6))
        self.compiler = Compiler(msgspec.structs.replace(place.settings, node_addresses=own))
        self.service = Service()
        lab.load(diff(None, self.compiler.ruleset))
        self.cluster = Target(f"{place.cluster}1", 80)
        self.external = Target(f"{place.external}1", 80)
        self.balancer = Target(f"{place.balancer}1", 80)
        self.node_port = Target(f"{place.node}1", 30080)
        self.other_node_port = Target(f"{place.node}2", 30080)
        self.sources = {
            "pod": f"{place.near}77",
            "near-1": f"{place.near}1",
            "far-pod": f"{place.far}77",
            "far-1": f"{place.far}1",
            "host": f"{place.node}1",
            "outside": f"{place.outside}9",
        }
        self.names = {f"{place.near}{each}": f"near-{each}" for each in (1, 2, 3)}
        self.names |= {f"{place.far}{each}": f"far-{each}" for each in (1, 2, 3)}

    def serve(self, *endpoints: str, protocol: str = "TCP", **spec: Any) -> None:
        """Let there be the service, with these endpoints and these settings besides."""
        self.service = Service(
            metadata=ObjectMeta(name="web", namespace="shop"),
            spec=ServiceSpec(
                ports=(ServicePort("http", protocol, None, 80, 8080, 30080),),
                type="LoadBalancer",
                cluster_ip=self.cluster.address,
                cluster_ips=(self.cluster.address,),
                ip_families=(self.place.family.api,),
                external_ips=(self.external.address,),
                **spec,
            ),
            status=ServiceStatus(
                LoadBalancerStatus((LoadBalancerIngress(ip=self.balancer.address),))
            ),
        )
        self.answer_from(*endpoints)

    def answer_from(self, *endpoints: str) -> None:
        """Let the service have these endpoints now: ``near-1``, ``far-2 terminating``."""
        found = tuple(self._endpoint(*each.split()) for each in endpoints)
        taken_in = routes(self.service, found, self.place.family)
        self.lab.load(self.compiler.change({("shop", "web"): taken_in}))

    def _endpoint(self, name: str, state: str = "ready") -> Endpoint:
        conditions = EndpointConditions()
        if state == "terminating":
            conditions = EndpointConditions(ready=False, serving=True, terminating=True)
        near = name.startswith("near")
        address = next(address for address, each in self.names.items() if each == name)
        return Endpoint((address,), conditions, node_name="n1" if near else "n2")

    def heard(
        self, client: str, target: Target, times: int = TRIES, protocol: str = "TCP"
    ) -> list[Reply | Silence]:
        """Connect several times, one after the other, as long as something comes back."""

        async def ask() -> list[Reply | Silence]:
            heard: list[Reply | Silence] = []
            while len(heard) < times and Silence.SILENT not in heard:
                heard.append(await self.lab.ask(self.sources[client], *target, protocol))
            return heard

        return self.runner.run(ask())

    def are_refused(self, clients: Iterable[str], *targets: Target) -> bool:
        """Say whether clients are refused everywhere; they ask at the same time."""

        async def ask() -> list[Reply | Silence]:
            asked = [
                self.lab.ask(self.sources[client], *target)
                for client in clients
                for target in targets
            ]
            return await asyncio.gather(*asked)

        return set(self.runner.run(ask())) == {Silence.REFUSED}

    def is_silent(self, client: str, target: Target) -> bool:
        """Say whether nothing comes back, not even a refusal."""
        source = self.sources[client]
        return self.runner.run(self.lab.ask(source, *target, patience=0.5)) is Silence.SILENT

    def reached(
        self, client: str, target: Target, times: int = TRIES, protocol: str = "TCP"
    ) -> set[str | Silence]:
        """Return who answers a client at an address: ``{"near-1", "far-2"}``."""
        return {
            self.names[each.address] if isinstance(each, Reply) else each
            for each in self.heard(client, target, times, protocol)
        }

    def is_masqueraded(self, client: str, target: Target) -> bool:
        """Say whether those who answer see this node instead of the client."""
        seen = {
            each.source == self.sources[client]
            for each in self.heard(client, target)
            if isinstance(each, Reply)
        }
        assert len(seen) == 1, "seen in both ways, or nobody answered"
        return not seen.pop()


@pytest.fixture(params=[V4, V6], ids=["IPv4", "IPv6"])
def scene(request: pytest.FixtureRequest, host: Callable[[], Namespace]) -> Iterator[Scene]:
    with asyncio.Runner() as runner:
        lab = Lab(host)
        stack = AsyncExitStack()
        runner.run(stack.enter_async_context(lab.answering()))
        yield Scene(lab, request.param, runner)
        runner.run(stack.aclose())


# --- The cluster address --------------------------------------------------------------------


def test_a_cluster_address_leads_to_all_endpoints_from_everywhere(scene: Scene) -> None:
    scene.serve("near-1", "far-1", "far-2")
    for client in CLIENTS:
        assert scene.reached(client, scene.cluster) == {"near-1", "far-1", "far-2"}, client


def test_pods_are_seen_as_they_are_and_who_is_no_pod_as_the_node(scene: Scene) -> None:
    scene.serve("near-1", "far-1")
    masqueraded = {client for client in CLIENTS if scene.is_masqueraded(client, scene.cluster)}
    assert masqueraded == {"host", "outside"}


def test_datagrams_go_the_same_ways(scene: Scene) -> None:
    scene.serve("near-1", "far-1", protocol="UDP")
    assert scene.reached("pod", scene.cluster, protocol="UDP") == {"near-1", "far-1"}
    assert scene.are_refused(["pod"], scene.cluster)  # TCP was not asked for


def test_a_port_that_is_not_there_is_refused(scene: Scene) -> None:
    scene.serve("near-1")
    assert scene.are_refused(CLIENTS, Target(scene.cluster.address, 81))


def test_without_endpoints_everybody_is_refused(scene: Scene) -> None:
    scene.serve()
    everywhere = (scene.cluster, scene.node_port, scene.external, scene.balancer)
    assert scene.are_refused(CLIENTS, *everywhere)


def test_those_that_terminate_serve_when_there_is_nobody_else(scene: Scene) -> None:
    scene.serve("near-1 terminating", "far-1 terminating")
    assert scene.reached("pod", scene.cluster) == {"near-1", "far-1"}
    scene.answer_from("near-1 terminating", "far-1")
    assert scene.reached("pod", scene.cluster) == {"far-1"}


# --- Policy Local ---------------------------------------------------------------------------


def test_internal_policy_local_keeps_to_this_node(scene: Scene) -> None:
    scene.serve("near-1", "near-2", "far-1", internal_traffic_policy="Local")
    assert scene.reached("pod", scene.cluster) == {"near-1", "near-2"}
    assert scene.reached("host", scene.cluster) == {"near-1", "near-2"}
    assert scene.reached("outside", scene.node_port) == {"near-1", "near-2", "far-1"}


def test_internal_policy_local_drops_when_nobody_is_on_this_node(scene: Scene) -> None:
    scene.serve("far-1", internal_traffic_policy="Local")
    assert scene.is_silent("pod", scene.cluster)


def test_external_policy_local_keeps_clients_outside_to_this_node_and_shows_them(
    scene: Scene,
) -> None:
    scene.serve("near-1", "near-2", "far-1", external_traffic_policy="Local")
    for target in (scene.node_port, scene.external, scene.balancer):
        assert scene.reached("outside", target) == {"near-1", "near-2"}, target
        assert not scene.is_masqueraded("outside", target), target


def test_external_policy_local_gives_all_endpoints_to_clients_inside(scene: Scene) -> None:
    scene.serve("near-1", "far-1", external_traffic_policy="Local")
    for client, masqueraded in (("pod", False), ("far-pod", False), ("host", True)):
        for target in (scene.node_port, scene.external, scene.balancer):
            assert scene.reached(client, target) == {"near-1", "far-1"}, (client, target)
            assert scene.is_masqueraded(client, target) is masqueraded, (client, target)


def test_external_policy_local_drops_outside_when_nobody_is_on_this_node(scene: Scene) -> None:
    scene.serve("far-1", external_traffic_policy="Local")
    assert scene.is_silent("outside", scene.balancer)
    assert scene.reached("pod", scene.balancer) == {"far-1"}


def test_external_policy_cluster_masquerades_everybody(scene: Scene) -> None:
    scene.serve("near-1", "far-1", external_traffic_policy="Cluster")
    for client in CLIENTS:
        assert scene.reached(client, scene.node_port) == {"near-1", "far-1"}, client
        assert scene.is_masqueraded(client, scene.node_port), client


# --- Addresses outside ----------------------------------------------------------------------


def test_a_node_port_answers_on_the_addresses_it_is_to_and_no_others(scene: Scene) -> None:
    scene.serve("near-1")
    for client in CLIENTS:
        assert scene.reached(client, scene.node_port) == {"near-1"}, client
    assert scene.are_refused(CLIENTS, scene.other_node_port)


def test_external_addresses_answer_on_the_ports_of_the_service(scene: Scene) -> None:
    scene.serve("near-1")
    for address in (scene.external.address, scene.balancer.address):
        assert scene.reached("outside", Target(address, 80)) == {"near-1"}
        assert scene.is_silent("outside", Target(address, 30080))


def test_source_ranges_fence_the_balancer_and_nothing_else(scene: Scene) -> None:
    scene.serve("near-1", load_balancer_source_ranges=(scene.place.outside_network,))
    assert scene.reached("outside", scene.balancer) == {"near-1"}
    assert scene.is_silent("pod", scene.balancer)
    assert scene.reached("pod", scene.external) == {"near-1"}
    scene.serve("near-1", load_balancer_source_ranges=(scene.place.pods,))
    assert scene.is_silent("outside", scene.balancer)
    assert scene.reached("pod", scene.balancer) == {"near-1"}


def test_an_address_of_a_balancer_that_is_a_proxy_is_left_to_it(scene: Scene) -> None:
    scene.serve("near-1")
    proxied = LoadBalancerIngress(ip=scene.balancer.address, ip_mode="Proxy")
    scene.service = msgspec.structs.replace(
        scene.service, status=ServiceStatus(LoadBalancerStatus((proxied,)))
    )
    scene.answer_from("near-1")
    assert scene.is_silent("pod", scene.balancer)
    assert scene.reached("pod", scene.cluster) == {"near-1"}


# --- A pod that gets itself -----------------------------------------------------------------


def test_a_pod_that_gets_itself_sees_the_node(scene: Scene) -> None:
    scene.serve("near-1", "far-1", external_traffic_policy="Local")
    for target in (scene.cluster, scene.balancer):
        replies = scene.heard("near-1", target)
        assert {each.address for each in replies if isinstance(each, Reply)} == {
            scene.sources["near-1"],
            f"{scene.place.far}1",
        }
        for each in replies:
            assert isinstance(each, Reply)
            itself = each.address == scene.sources["near-1"]
            assert (each.source != scene.sources["near-1"]) is itself


def test_a_pod_elsewhere_can_get_itself_by_way_of_this_node(scene: Scene) -> None:
    scene.serve("far-1", external_traffic_policy="Local")
    assert scene.reached("far-1", scene.balancer) == {"far-1"}
    assert scene.is_masqueraded("far-1", scene.balancer)


# --- Session affinity -----------------------------------------------------------------------


def sticky(seconds: int) -> dict[str, Any]:
    config = SessionAffinityConfig(ClientIPConfig(seconds))
    return {"session_affinity": "ClientIP", "session_affinity_config": config}


def test_a_client_stays_with_its_endpoint_and_another_may_get_another(scene: Scene) -> None:
    scene.serve("near-1", "near-2", "far-1", **sticky(3600))
    for target in (scene.cluster, scene.node_port):
        for client in CLIENTS:
            assert len(scene.reached(client, target)) == 1, (client, target)


def test_who_was_away_for_too_long_is_not_remembered(scene: Scene) -> None:
    scene.serve("near-1", "near-2", "near-3", "far-1", "far-2", **sticky(1))
    changed = False
    before = {client: scene.reached(client, scene.cluster) for client in CLIENTS}
    for _ in range(3):  # that all four get the same as before: once in 200 million runs
        time.sleep(1.2)
        after = {client: scene.reached(client, scene.cluster) for client in CLIENTS}
        assert all(len(endpoints) == 1 for endpoints in after.values())
        changed |= after != before
    assert changed


# --- While endpoints change -----------------------------------------------------------------


def test_connections_go_on_while_endpoints_change_and_new_ones_go_elsewhere(scene: Scene) -> None:
    scene.serve("near-1", "near-2", "far-1")

    async def talk() -> None:
        async with scene.lab.talking(scene.sources["pod"], *scene.cluster) as say:
            mine = await say()
            for endpoints in (("near-3", "far-2"), (), ("near-1", "near-2", "far-1")):
                scene.answer_from(*endpoints)
                assert await say() == mine
                other = await scene.lab.ask(scene.sources["pod"], *scene.cluster)
                assert (name(other) in endpoints) if endpoints else (other is Silence.REFUSED)

    def name(heard: Reply | Silence) -> str:
        assert isinstance(heard, Reply)
        return scene.names[heard.address]

    scene.runner.run(talk())


def test_the_host_is_let_alone_when_the_service_is_gone(scene: Scene) -> None:
    scene.serve("near-1")
    scene.lab.load(scene.compiler.change({("shop", "web"): None}))
    assert scene.are_refused(["outside"], scene.node_port)  # nobody listens there
    assert scene.is_silent("pod", scene.cluster)  # an address like any other
