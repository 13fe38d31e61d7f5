"""The agent: what it hears of the cluster goes into the kernel, when, and what if that fails."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from fake_kernel import FakeKernel
from nearwise.model import EndpointPort, Status
from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.diff import Transaction
from nearwise.nft.layout import ENDPOINTS
from nearwise.nft.ruleset import Family
from nearwise.proxy import routes
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.routes import routes_of
from nearwise.routing import Client, ServiceView
from proxy_world import HTTP, World, endpoint, node, service, settle, slice_of
from simulation.model_cluster import Request, now
from virtual_time import run


def shop(*numbers: int) -> World:
    """Make a world with a service that has endpoints of these numbers."""
    return World(node(), service(), slice_of(*map(endpoint, numbers)))


# --- what gets into the kernel ------------------------------------------------------------------


def test_what_the_cluster_has_gets_into_the_kernel_in_one_transaction_a_family() -> None:
    async def story() -> None:
        world = shop(1, 2, 3)
        async with world.running():
            assert [change.family for change in world.kernel.applied] == list(Family)
            assert world.verdict() == "spread-3"
            assert world.endpoints() == ["1", "2", "3"]
            world.assert_as_compiled()

    run(story())


def test_a_pod_that_fails_is_one_small_transaction_and_nothing_for_the_other_family() -> None:
    async def story() -> None:
        world = shop(1, 2, 3)
        async with world.running():
            world.kernel.applied.clear()
            world.cluster.put(slice_of(endpoint(1), endpoint(2, ready=False), endpoint(3)))
            await settle()
            (change,) = world.kernel.applied
            assert change.family is Family.IPV4
            assert change.size <= 8
            assert world.endpoints() == ["1", "3"]
            world.assert_as_compiled()

    run(story())


def test_who_stays_keeps_its_slot() -> None:
    async def story() -> None:
        world = shop(1, 2, 3, 4)
        async with world.running():
            before = dict(world.table().elements[ENDPOINTS])
            world.cluster.put(slice_of(*(endpoint(number) for number in (1, 2, 3, 4, 5))))
            await settle()
            after = world.table().elements[ENDPOINTS]
            assert before.items() <= after.items()

    run(story())


def test_services_come_and_go() -> None:
    async def story() -> None:
        world = shop(1)
        db = service("db", "10.96.0.2")
        async with world.running():
            world.cluster.put(db, slice_of(endpoint(7), of="db"))
            await settle()
            assert world.endpoints("10.96.0.2") == ["7"]
            world.cluster.drop(db)
            await settle()
            assert world.verdict("10.96.0.2") == "nothing"
            world.assert_as_compiled()

    run(story())


def test_slices_may_come_before_their_service_or_after_it() -> None:
    async def story() -> None:
        world = World(node(), slice_of(endpoint(1)), service("db", "10.96.0.2"))
        async with world.running():
            assert world.verdict("10.96.0.2") == "refuse"
            world.cluster.put(service(), slice_of(endpoint(7), of="db"))
            await settle()
            assert world.endpoints() == ["1"]
            assert world.endpoints("10.96.0.2") == ["7"]

    run(story())


def test_a_slice_that_is_relabelled_changes_its_service() -> None:
    async def story() -> None:
        world = shop(1)
        world.cluster.put(service("db", "10.96.0.2"))
        async with world.running():
            world.cluster.put(slice_of(endpoint(1), of="db", name="web-1"))
            await settle()
            assert world.verdict() == "refuse"
            assert world.endpoints("10.96.0.2") == ["1"]

    run(story())


def test_other_ports_of_a_service_are_served_from_the_same_slices() -> None:
    async def story() -> None:
        world = shop(1)
        world.cluster.put(slice_of(endpoint(2), name="x", port=EndpointPort("admin", "TCP", 99)))
        async with world.running():
            admin = replace(HTTP, name="admin", port=81)
            world.cluster.put(service("web", "10.96.0.1", HTTP, admin))
            await settle()
            assert world.endpoints(port=80) == ["1"]
            assert world.endpoints(port=81) == ["2"]
            world.assert_as_compiled()

    run(story())


def test_both_families_have_their_tables() -> None:
    async def story() -> None:
        both = service(cluster_ips=("10.96.0.1", "fd96::1"))
        v6 = replace(endpoint(1), addresses=("fd00::99",))
        world = World(node(), both, slice_of(endpoint(1)), slice_of(v6, name="v6", family="IPv6"))
        async with world.running():
            assert len(world.table(Family.IPV4).elements[ENDPOINTS]) == 1
            assert len(world.table(Family.IPV6).elements[ENDPOINTS]) == 1
            world.kernel.applied.clear()
            world.cluster.put(slice_of(name="v6", family="IPv6"))
            await settle()
            assert [change.family for change in world.kernel.applied] == [Family.IPV6]

    run(story())


def test_a_machine_without_a_family_has_no_table_of_it_until_it_gets_an_address() -> None:
    async def story() -> None:
        world = shop(1)
        world.addresses = ("127.0.0.1", "192.0.2.10")
        async with world.running(settle=40):
            assert world.kernel.tables.keys() == {Family.IPV4}
            world.addresses = (*world.addresses, "fd00::10")
            await settle(40)
            assert world.kernel.tables.keys() == set(Family)

    run(story())


# --- when -----------------------------------------------------------------------------------


@pytest.mark.parametrize("plural", ["services", "endpointslices", "nodes"])
def test_nothing_is_changed_before_every_cache_is_complete(plural: str) -> None:
    async def story() -> None:
        world = shop(1)

        def refuse(request: Request) -> Status | None:
            broken = request.plural == plural
            return Status(code=503, message="come back later") if broken else None

        world.cluster.refuse = refuse
        async with world.running(settle=90):
            assert world.kernel.applied == []
            world.cluster.refuse = lambda _: None
            await settle(60)
            assert world.endpoints() == ["1"]

    run(story())


def test_a_change_is_carried_out_at_once() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            begun = now()
            world.cluster.put(slice_of(endpoint(1), endpoint(2)))
            await settle()
            assert world.kernel.at[-1] - begun < 0.01

    run(story())


def test_with_a_min_sync_period_changes_are_gathered() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running(settle=20, min_sync_period=10.0):
            world.kernel.at.clear()
            world.kernel.applied.clear()
            for number in range(2, 12):
                world.cluster.put(slice_of(endpoint(1), endpoint(number)))
                await settle(1)
            await settle(10)
            assert len(world.kernel.applied) == 2  # the first at once, all others together
            assert world.kernel.at[1] - world.kernel.at[0] == pytest.approx(10.0)
            assert world.endpoints() == ["1", "11"]

    run(story())


def test_a_quiet_cluster_costs_nothing() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            applied, reads = len(world.kernel.applied), len(world.kernel.reads)
            await settle(3600)
            assert (len(world.kernel.applied), len(world.kernel.reads)) == (applied, reads)

    run(story())


def test_a_change_that_means_nothing_to_this_node_is_no_transaction() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            world.kernel.applied.clear()
            world.cluster.put(slice_of(endpoint(1), endpoint(2, ready=False, serving=False)))
            await settle()
            assert world.kernel.applied == []

    run(story())


# --- when it fails ------------------------------------------------------------------------------


def test_a_failed_change_is_tried_again_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def story() -> None:
        world = shop(1)
        async with world.running():
            world.kernel.refuse = lambda change: "out of memory" if change else ""
            world.cluster.put(slice_of(endpoint(2)))
            await settle(120)
            assert world.endpoints() == ["1"]  # it does what it was told last
            state = world.process.programming.families[Family.IPV4]
            assert 5 <= state.counts.failures <= 10  # 1, 2, 4, 8, 16, 30 seconds
            assert "out of memory" in world.process.programming.last_failure

            world.kernel.refuse = lambda _: ""
            await settle(31)
            assert world.endpoints() == ["2"]
            world.assert_as_compiled()

    run(story())
    told = [each.getMessage() for each in caplog.records if "IPv4" in each.getMessage()]
    assert told == [
        "IPv4: the kernel was not changed: out of memory",
        "IPv4: the kernel is as it should be again",
    ]


def test_what_changes_while_the_kernel_refuses_is_there_afterwards() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            world.kernel.refuse = lambda change: "busy" if change else ""
            world.cluster.put(slice_of(endpoint(2)))
            await settle()
            world.cluster.put(service("db", "10.96.0.2"), slice_of(endpoint(3), endpoint(4)))
            await settle()
            world.kernel.refuse = lambda _: ""
            await settle(5)
            assert world.endpoints() == ["3", "4"]
            assert world.verdict("10.96.0.2") == "refuse"
            world.assert_as_compiled()

    run(story())


def test_one_family_that_fails_keeps_the_other_from_nothing() -> None:
    async def story() -> None:
        world = shop(1)

        def refuse(change: Transaction | None) -> str:
            return "no NAT for it" if change and change.family is Family.IPV6 else ""

        world.kernel.refuse = refuse
        async with world.running() as process:
            assert world.endpoints() == ["1"]
            world.cluster.put(slice_of(endpoint(2)))
            await settle()
            assert world.endpoints() == ["2"]
            assert process.health_pages.get("/livez").status == 200
            assert Family.IPV6 not in world.kernel.tables

    run(story())


def test_a_kernel_that_takes_nothing_from_the_start_ends_the_process() -> None:
    async def story() -> None:
        world = shop(1)
        world.kernel.refuse = lambda _: "Operation not permitted"
        with pytest.raises(KernelError, match="Operation not permitted"):
            async with world.running(settle=5):
                pass

    run(story())


def test_a_mistake_of_ours_is_recovered_from(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():

            def broken(*_: object) -> None:
                raise ZeroDivisionError

            with monkeypatch.context() as patch:
                patch.setattr(Compiler, "change", broken)
                world.cluster.put(slice_of(endpoint(2)))
                await settle(0.5)
            assert world.endpoints() == ["1"]
            await settle(5)
            assert world.endpoints() == ["2"]
            world.assert_as_compiled()

    run(story())
    assert "a sync failed" in caplog.text


def test_a_mistake_of_ours_about_one_service_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(view: ServiceView, client: Client) -> Routes:
        if view.service.metadata.name == "db":
            raise ZeroDivisionError
        return routes_of(view, client)

    async def story() -> None:
        world = shop(1)
        world.cluster.put(service("db", "10.96.0.2"), slice_of(endpoint(7), of="db"))
        async with world.running():
            with monkeypatch.context() as patch:
                patch.setattr(routes, "routes_of", broken)
                world.cluster.put(slice_of(endpoint(2)), slice_of(endpoint(8), of="db"))
                await settle()
                assert world.endpoints() == ["2"]
                assert world.endpoints("10.96.0.2") == ["7"]
            world.cluster.put(slice_of(endpoint(9), of="db"))
            await settle()
            assert world.endpoints("10.96.0.2") == ["9"]
            world.assert_as_compiled()

    run(story())
    assert "IPv4 shop/db: it stays as it was" in caplog.text


def test_a_trigger_time_that_is_none_stops_nothing() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            world.cluster.put(slice_of(endpoint(2), trigger="yesterday"))
            await settle()
            assert world.endpoints() == ["2"]

    run(story())


# --- others -----------------------------------------------------------------------------------


def test_a_table_that_somebody_flushed_is_put_back_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        world = shop(1, 2)
        async with world.running():
            world.kernel.flush()
            await settle(31)
            world.assert_as_compiled()
            repairs = [each.counts.repairs for each in world.process.programming.families.values()]
            assert repairs == [1, 1]

    run(story())
    told = [each.getMessage() for each in caplog.records if "somebody" in each.getMessage()]
    assert told == [
        f"{family}: somebody changed our table; it is put right, all of it"
        for family in ("IPv4", "IPv6")
    ]


def test_elements_that_somebody_took_out_are_put_back_alone() -> None:
    async def story() -> None:
        world = shop(1, 2)
        async with world.running():
            world.kernel.applied.clear()
            world.kernel.forget(Family.IPV4, ENDPOINTS)
            await settle(31)
            (change,) = world.kernel.applied
            assert (change.anew, change.size) == (False, 2)
            world.assert_as_compiled()

    run(story())


def test_a_change_that_meets_a_flushed_table_puts_it_back_at_once() -> None:
    async def story() -> None:
        world = shop(1, 2)
        async with world.running():
            world.kernel.flush()
            world.cluster.put(slice_of(endpoint(3)))
            await settle(0.1)
            assert world.endpoints() == ["3"]
            await settle(31)
            world.assert_as_compiled()

    run(story())


def test_changes_of_other_tables_are_looked_at_once_and_change_nothing() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            applied, reads = len(world.kernel.applied), len(world.kernel.reads)
            world.kernel.meddle()
            await settle(300)
            assert len(world.kernel.applied) == applied
            assert len(world.kernel.reads) == reads + 2  # a table each, once

    run(story())


def test_our_own_changes_are_no_reason_to_read_the_tables() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            reads = len(world.kernel.reads)
            for number in range(2, 100):
                world.cluster.put(slice_of(endpoint(number)))
                await settle(5)
            assert len(world.kernel.reads) == reads

    run(story())


# --- restarts ------------------------------------------------------------------------------------


def test_the_end_of_the_process_leaves_the_tables() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            pass
        assert world.endpoints() == ["1"]

    run(story())


def test_a_restart_takes_over_what_it_finds_and_changes_nothing() -> None:
    async def story() -> None:
        world = shop(1, 2, 3, 4, 5)
        async with world.running():
            world.cluster.put(slice_of(*map(endpoint, (1, 3, 5, 7))))  # slots in no order
            await settle()
        before = world.kernel.count
        async with world.running():
            assert world.kernel.count == before
            world.assert_as_compiled()

    run(story())


def test_what_changed_meanwhile_is_all_that_a_restart_changes() -> None:
    async def story() -> None:
        world = shop(1, 2, 3)
        async with world.running():
            pass
        world.kernel.applied.clear()
        world.cluster.put(slice_of(*map(endpoint, (1, 2, 3, 4))))
        async with world.running():
            (change,) = world.kernel.applied
            assert not change.anew
            assert world.endpoints() == ["1", "2", "3", "4"]

    run(story())


def test_while_the_api_server_is_away_a_restart_leaves_the_tables() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running():
            pass
        before = world.kernel.count
        world.cluster.refuse = lambda _: Status(code=503, message="come back later")
        async with world.running(settle=600) as process:
            assert world.kernel.count == before
            assert process.health_pages.get("/healthz").status == 200

    run(story())


def test_stopping_while_nothing_is_known_yet_is_in_order_too() -> None:
    async def story() -> None:
        world = shop(1)
        async with world.running(settle=0.0):
            pass
        assert isinstance(world.kernel, FakeKernel)
        await asyncio.sleep(0)

    run(story())
