"""The place of a proxy: zone and addresses of its node, as they change, and no node at all."""

from __future__ import annotations

import logging

import pytest
from msgspec.structs import replace

from nearwise.model import Node
from nearwise.model.core import NodeAddress, NodeStatus, ServicePort, Taint
from nearwise.nft.layout import SERVICES
from nearwise.nft.registers import address_of, port_of
from nearwise.nft.ruleset import Family
from nearwise.proxy.node import (
    Options,
    addresses_of,
    families_of,
    is_staying,
    settings_for,
)
from proxy_world import MACHINE, World, endpoint, node, service, settle, slice_of
from virtual_time import run

NODE_PORT = ServicePort("http", "TCP", None, 80, 8080, 30080)


def zones() -> World:
    """Make a world with an endpoint for each of the zones a and b."""
    return World(node("a"), service(), slice_of(endpoint(1, "a"), endpoint(2, "b")))


def node_ports(world: World) -> list[str]:
    """Return where node port 30080 answers, both families."""
    return [
        address_of(key[:-8])
        for family in Family
        for key in sorted(world.table(family).elements.get(SERVICES, {}))
        if port_of(key[-4:]) == 30080
    ]


# --- zones ----------------------------------------------------------------------------------


def test_the_zone_is_the_one_on_the_label_of_the_node() -> None:
    async def story() -> None:
        world = zones()
        async with world.running():
            assert world.endpoints() == ["1"]

    run(story())


def test_a_node_that_changes_its_zone_chooses_everything_anew() -> None:  # F66
    async def story() -> None:
        world = zones()
        async with world.running() as process:
            world.cluster.put(node("b"))
            await settle()
            assert world.endpoints() == ["2"]
            world.cluster.put(node(""))
            await settle()
            assert world.endpoints() == ["1", "2"]
            assert process.agent.client.zone is None
            world.assert_as_compiled()

    run(story())


def test_a_node_that_stays_where_it_is_costs_nothing() -> None:
    async def story() -> None:
        world = zones()
        async with world.running():
            world.kernel.applied.clear()
            world.cluster.put(node("a", labels={**node("a").metadata.labels, "other": "label"}))
            await settle()
            assert world.kernel.applied == []

    run(story())


def test_a_node_without_a_zone_is_told_once_whatever_services_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:  # F65
    caplog.set_level(logging.INFO)

    async def story() -> None:
        things = [
            thing
            for number in range(1, 100)
            for thing in (
                service(f"s{number}", f"10.96.1.{number}"),
                slice_of(endpoint(number, "a"), of=f"s{number}"),
            )
        ]
        world = World(node(""), *things)
        async with world.running():
            for number in range(1, 50):
                world.cluster.put(slice_of(endpoint(200, "b"), of=f"s{number}"))
                await settle()

    run(story())
    assert len(caplog.records) < 6
    told = [each.getMessage() for each in caplog.records if "zone" in each.getMessage()]
    assert told == ["node n1: it has no zone label, so endpoints of no zone are near to it"]


# --- a node that is not there ---------------------------------------------------------------------


def test_a_node_that_is_registered_late_is_waited_for() -> None:
    async def story() -> None:
        world = zones()
        world.cluster.drop(node())
        async with world.running(settle=20):
            assert world.kernel.applied == []
            world.cluster.put(node("b"))
            await settle()
            assert world.endpoints() == ["2"]

    run(story())


def test_a_node_that_never_comes_is_not_waited_for_longer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        world = zones()
        world.cluster.drop(node())
        async with world.running(settle=31):
            assert world.endpoints() == ["1", "2"]
            world.cluster.put(node("a"))
            await settle()
            assert world.endpoints() == ["1"]

    run(story())
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith("there is no node n1 (--node-name says which)")


def test_a_node_that_is_deleted_keeps_its_zone_and_is_not_to_be_sent_to() -> None:
    async def story() -> None:
        world = zones()
        async with world.running() as process:
            world.cluster.drop(node())
            await settle()
            assert world.endpoints() == ["1"]
            assert process.health_pages.get("/healthz").status == 503

    run(story())


# --- addresses ----------------------------------------------------------------------------------


def test_node_ports_answer_on_the_primary_address_of_each_family() -> None:
    async def story() -> None:
        both = service("web", "10.96.0.1", NODE_PORT, type="NodePort")
        spec = replace(both.spec, cluster_ips=("10.96.0.1", "fd96::1"))
        world = World(node(), replace(both, spec=spec), slice_of(endpoint(1)))
        async with world.running():
            assert node_ports(world) == ["192.0.2.10", "fd00::10"]

    run(story())


def test_node_ports_follow_the_addresses_of_the_node() -> None:
    async def story() -> None:
        bare = replace(node(), status=NodeStatus())
        world = World(
            bare, service("web", "10.96.0.1", NODE_PORT, type="NodePort"), slice_of(endpoint(1))
        )
        async with world.running():
            assert node_ports(world) == []
            world.cluster.put(node())
            await settle()
            assert node_ports(world) == ["192.0.2.10"]
            world.assert_as_compiled()

    run(story())


def test_node_ports_follow_the_addresses_of_the_machine() -> None:
    async def story() -> None:
        world = World(
            node(), service("web", "10.96.0.1", NODE_PORT, type="NodePort"), slice_of(endpoint(1))
        )
        async with world.running(node_port_addresses=("192.0.2.0/24", "127.0.0.0/8")):
            assert node_ports(world) == ["192.0.2.10"]
            world.addresses = (*MACHINE, "192.0.2.77", "198.51.100.1")
            await settle(31)
            assert node_ports(world) == ["192.0.2.10", "192.0.2.77"]
            assert world.endpoints("192.0.2.77", 30080) == ["1"]

    run(story())


def test_addresses_that_cannot_be_read_stay_as_they_were() -> None:
    async def story() -> None:
        world = World(
            node(), service("web", "10.96.0.1", NODE_PORT, type="NodePort"), slice_of(endpoint(1))
        )
        async with world.running(node_port_addresses=("192.0.2.0/24",)) as process:

            def refuse() -> tuple[str, ...]:
                raise OSError("no netlink")

            process.agent._machine = refuse
            await settle(31)
            assert node_ports(world) == ["192.0.2.10"]

    run(story())


@pytest.mark.parametrize(
    ("chosen", "v4", "v6"),
    [
        (("primary",), ("192.0.2.10",), ("fd00::10",)),
        (("192.0.2.0/24",), ("192.0.2.10",), ()),
        (("0.0.0.0/0", "::/0"), ("192.0.2.10",), ("fd00::10",)),  # but not on loopback
        (("primary", "192.0.2.0/24"), ("192.0.2.10",), ("fd00::10",)),
        ((), (), ()),
    ],
)
def test_where_node_ports_answer(
    chosen: tuple[str, ...], v4: tuple[str, ...], v6: tuple[str, ...]
) -> None:
    options = Options(node="n1", node_port_addresses=chosen)
    found = [
        settings_for(family, options, node(), MACHINE).node_port_addresses for family in Family
    ]
    assert found == [v4, v6]


def test_the_addresses_of_a_node_are_those_inside_before_those_outside() -> None:
    outside = (NodeAddress("Hostname", "n1"), NodeAddress("ExternalIP", "203.0.113.5"))
    inside = NodeAddress("InternalIP", "192.0.2.10")
    assert addresses_of(Node(status=NodeStatus(addresses=(*outside, inside)))) == (
        "192.0.2.10",
        "203.0.113.5",
    )
    assert addresses_of(Node(status=NodeStatus(addresses=outside))) == ("203.0.113.5",)
    assert addresses_of(Node()) == addresses_of(None) == ()


def test_a_family_that_the_node_has_only_outside_has_its_primary_address_there() -> None:
    addresses = (NodeAddress("ExternalIP", "2001:db8::5"), NodeAddress("InternalIP", "192.0.2.10"))
    known = Node(status=NodeStatus(addresses=addresses))
    found = [
        settings_for(family, Options(node="n1"), known, ()).node_port_addresses for family in Family
    ]
    assert found == [("192.0.2.10",), ("2001:db8::5",)]


def test_the_settings_of_a_family_hold_only_what_is_of_it() -> None:
    options = Options(node="n1", pod_networks=("10.244.0.0/16", "fd00:244::/48"))
    found = settings_for(Family.IPV6, options, node(), MACHINE)
    assert found.pod_networks == ("fd00:244::/48",)
    assert found.node_addresses == ("::1", "fd00::10")


def test_the_families_of_a_machine() -> None:
    assert families_of(MACHINE) == (Family.IPV4, Family.IPV6)
    assert families_of(["fd00::1"]) == (Family.IPV6,)
    assert families_of([]) == (Family.IPV4,)


# --- to stay or to go ---------------------------------------------------------------------------


def test_a_node_stays_unless_it_is_deleted_or_about_to_be() -> None:
    assert is_staying(node())
    assert not is_staying(node(deletion_timestamp="2026-01-01T00:00:00Z"))
    doomed = Taint("ToBeDeletedByClusterAutoscaler", effect="NoSchedule")
    assert not is_staying(replace(node(), spec=replace(node().spec, taints=(doomed,))))
    other = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
    assert is_staying(replace(node(), spec=replace(node().spec, taints=(other,))))


# --- machines that are no node ------------------------------------------------------------------


def test_a_machine_that_is_no_node_reaches_services_by_endpoints_near_to_it() -> None:
    async def story() -> None:
        world = zones()
        async with world.running(node="", zone="b"):
            assert world.endpoints() == ["2"]
            assert "nodes" not in {each.plural for each in world.cluster.requests}

    run(story())


def test_a_machine_that_is_no_node_serves_no_node_ports_and_nobody_is_local_to_it() -> None:
    async def story() -> None:
        local = service(
            "web", "10.96.0.1", NODE_PORT, type="NodePort", internal_traffic_policy="Local"
        )
        world = World(local, slice_of(endpoint(1, on=""), endpoint(2, on="n2")))
        async with world.running(node="", zone="a"):
            assert node_ports(world) == []
            assert world.verdict() == "drop"  # somebody is there, but not here

    run(story())
