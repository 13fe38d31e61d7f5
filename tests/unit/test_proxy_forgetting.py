"""Flows and pins that lead to nobody are forgotten after the rules changed, and nothing else is."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fake_kernel import FakeFlows
from nearwise.model import EndpointPort
from nearwise.model.core import ServicePort
from nearwise.nft.choices import Flow
from nearwise.nft.registers import endpoint as packed
from nearwise.nft.registers import frontend, pack_address
from nearwise.nft.ruleset import Family
from nearwise.proxy.kernel import KernelError
from proxy_world import DNS, World, endpoint, node, service, settle, slice_of
from virtual_time import run

PORT = EndpointPort("dns", "UDP", 53)
DNS_IP = "10.96.0.53"


def dns(**spec: str) -> list[object]:
    return [
        node(),
        service("dns", DNS_IP, DNS, **spec),
        slice_of(endpoint(1), endpoint(2), of="dns", port=PORT),
        service(),
        slice_of(endpoint(8)),
    ]


def flow(to: int, ip: str = DNS_IP, port: int = 53, client: str = "10.0.9.9") -> Flow:
    """Make a flow to a service that goes to the endpoint of this number."""
    return Flow(
        packed(pack_address(client), 4444),
        frontend(pack_address(ip), "UDP", port),
        packed(pack_address(f"10.0.0.{to}"), 53),
    )


def pin(to: int, ip: str, protocol: str, port: int, target: int) -> tuple[bytes, bytes]:
    key = pack_address("10.0.9.9") + frontend(pack_address(ip), protocol, port)
    return key, packed(pack_address(f"10.0.0.{to}"), target)


# --- flows ----------------------------------------------------------------------------------


def test_flows_to_an_endpoint_that_went_are_forgotten_and_others_stay() -> None:  # F58
    async def story() -> None:
        foreign = flow(1, ip="10.7.7.7")
        flows = FakeFlows(flow(1), flow(2), foreign)
        world = World(*dns(), flows=flows)
        async with world.running() as process:
            assert flows.flows == [flow(1), flow(2), foreign]
            world.cluster.put(slice_of(endpoint(2), endpoint(3), of="dns", port=PORT))
            await settle()
            assert flows.flows == [flow(2), foreign]
            assert process.programming.families[Family.IPV4].counts.forgotten_flows == 1

    run(story())


def test_flows_are_forgotten_too_when_the_last_endpoint_goes() -> None:  # F59
    async def story() -> None:
        flows = FakeFlows(flow(1), flow(2))
        world = World(*dns(), flows=flows)
        async with world.running():
            world.cluster.put(slice_of(of="dns", port=PORT))
            await settle()
            assert flows.flows == []

    run(story())


def test_flows_of_a_service_that_is_deleted_are_forgotten() -> None:  # F59
    async def story() -> None:
        flows = FakeFlows(flow(1))
        world = World(*dns(), flows=flows)
        async with world.running():
            world.cluster.drop(service("dns", DNS_IP, DNS))
            await settle()
            assert flows.flows == []

    run(story())


def test_flows_that_were_never_translated_are_forgotten_when_somebody_comes() -> None:
    async def story() -> None:
        untranslated = flow(0)._replace(endpoint=packed(pack_address(DNS_IP), 53))
        flows = FakeFlows(untranslated)
        world = World(node(), service("dns", DNS_IP, DNS), flows=flows)
        async with world.running():
            flows.flows = [untranslated]  # it began while nobody was there
            world.cluster.put(slice_of(endpoint(1), of="dns", port=PORT))
            await settle()
            assert flows.flows == []

    run(story())


def test_a_proxy_that_begins_forgets_what_went_while_it_was_away() -> None:
    async def story() -> None:
        world = World(*dns())
        async with world.running():
            pass
        world.flows.flows = [flow(1), flow(7)]
        async with world.running():
            assert world.flows.flows == [flow(1)]

    run(story())


def test_a_flow_that_the_kernel_notes_late_is_forgotten_at_the_next_look() -> None:
    async def story() -> None:
        flows = FakeFlows(flow(1))
        world = World(*dns(), flows=flows)
        async with world.running():
            world.cluster.put(slice_of(endpoint(2), of="dns", port=PORT))
            await settle()
            assert flows.flows == []
            flows.flows.append(flow(1))  # the old rules had sent its packet on
            await asyncio.sleep(40)
            assert flows.flows == []

    run(story())


def test_flows_are_not_even_listed_when_nothing_of_udp_changed() -> None:
    async def story() -> None:
        world = World(*dns())
        async with world.running():
            listed = world.flows.listed
            for number in (3, 4, 5):
                world.cluster.put(slice_of(endpoint(number)))  # that is TCP
                await settle(60)
            assert world.flows.listed == listed

    run(story())


def test_flows_that_cannot_be_listed_are_told_once_and_stop_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(FakeFlows):
        def udp(self, family: Family) -> list[Flow]:
            raise KernelError("no connection tracking")

    async def story() -> None:
        world = World(*dns(), flows=Broken())
        async with world.running():
            for number in (3, 4, 5):
                world.cluster.put(slice_of(endpoint(number), of="dns", port=PORT))
                await settle()
            assert world.endpoints(DNS_IP, 53) == ["5"]

    run(story())
    told = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert [each.getMessage() for each in told] == [
        "stale flows are not forgotten: no connection tracking"
    ]


def test_flows_that_could_not_be_listed_are_forgotten_after_the_next_change() -> None:
    class Moody(FakeFlows):
        fails = False

        def udp(self, family: Family) -> list[Flow]:
            if self.fails:
                raise KernelError("no connection tracking")
            return list(super().udp(family))

    async def story() -> None:
        flows = Moody(flow(1), flow(2))
        world = World(*dns(), flows=flows)
        async with world.running():
            flows.fails = True
            world.cluster.drop(service("dns", DNS_IP, DNS))
            await settle()
            assert flows.flows == [flow(1), flow(2)]
            flows.fails = False
            world.cluster.put(slice_of(endpoint(9)))  # of another service, and not of UDP
            await settle()
            assert flows.flows == []

    run(story())


# --- pins -----------------------------------------------------------------------------------


def test_pins_to_an_endpoint_that_went_are_forgotten() -> None:
    async def story() -> None:
        world = World(
            node(),
            service(session_affinity="ClientIP"),
            slice_of(endpoint(1), endpoint(2)),
        )
        async with world.running():
            stays = pin(1, "10.96.0.1", "TCP", 80, 8080)
            goes = (
                ((other := pin(2, "10.96.0.1", "TCP", 80, 8080))[0][:3] + b"\x08") + other[0][4:],
                other[1],
            )
            world.kernel.pinned[Family.IPV4] = dict([stays, goes])
            world.cluster.put(slice_of(endpoint(1)))
            await settle()
            assert world.kernel.pinned[Family.IPV4] == dict([stays])

    run(story())


def test_a_pin_that_the_kernel_notes_late_is_forgotten_at_the_next_look() -> None:
    async def story() -> None:
        world = World(*dns(session_affinity="ClientIP"))
        async with world.running():
            world.cluster.put(slice_of(endpoint(2), of="dns", port=PORT))
            await settle()
            late, value = pin(1, DNS_IP, "UDP", 53, 53)
            world.kernel.pinned[Family.IPV4] = {late: value}
            await asyncio.sleep(40)
            assert world.kernel.pinned[Family.IPV4] == {}

    run(story())


def test_pins_are_forgotten_where_flows_cannot_be_listed() -> None:
    class Broken(FakeFlows):
        def udp(self, family: Family) -> list[Flow]:
            raise KernelError("no connection tracking")

    async def story() -> None:
        world = World(
            node(),
            service("dns", DNS_IP, DNS, session_affinity="ClientIP"),
            slice_of(endpoint(1), of="dns", port=PORT),
            flows=Broken(),
        )
        async with world.running():
            world.kernel.pinned[Family.IPV4] = dict([pin(1, DNS_IP, "UDP", 53, 53)])
            world.cluster.put(slice_of(endpoint(2), of="dns", port=PORT))
            await settle()
            assert world.kernel.pinned[Family.IPV4] == {}

    run(story())


def test_pins_of_a_service_that_is_deleted_are_forgotten() -> None:
    async def story() -> None:
        sticky = service(session_affinity="ClientIP")
        world = World(node(), sticky, slice_of(endpoint(1)))
        async with world.running():
            world.kernel.pinned[Family.IPV4] = dict([pin(1, "10.96.0.1", "TCP", 80, 8080)])
            world.cluster.drop(sticky)
            await settle()
            assert world.kernel.pinned[Family.IPV4] == {}

    run(story())


def test_pins_are_not_even_listed_when_no_sticky_service_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        port = ServicePort("http", "TCP", None, 80, 8080)
        world = World(
            node(),
            service(session_affinity="ClientIP"),
            slice_of(endpoint(1)),
            service("db", "10.96.0.2", port),
            slice_of(endpoint(2), of="db"),
        )
        async with world.running():

            def never(_family: Family) -> dict[bytes, bytes]:
                raise AssertionError("the pins were read")

            monkeypatch.setattr(world.kernel, "pins", never)
            world.cluster.put(slice_of(endpoint(3), of="db"))
            await settle()
            assert world.endpoints("10.96.0.2") == ["3"]

    run(story())
