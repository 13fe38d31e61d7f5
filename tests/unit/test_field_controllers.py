"""Field cases about running controllers: what real users met, replayed on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from cluster import node, pod, service
from nearwise.controllers.process import Settings, SlicesSettings
from nearwise.machinery.batching import Batching
from nearwise.model import Endpoint, EndpointSlice, Pod, Status
from nearwise.model.core import Condition
from nearwise.model.resources import ENDPOINT_SLICES, EVENTS
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, TOPOLOGY_MODE
from simulation.model_cluster import ModelCluster, Request, now, stamp
from simulation.replica import (
    ALONE,
    addresses,
    assert_as_the_core_says,
    running,
    settle,
    slices_of,
)
from virtual_time import run


def only(slices: list[EndpointSlice]) -> EndpointSlice:
    (slice_,) = slices
    return slice_


def turned(each: Pod, ready: bool) -> Pod:
    """Return a pod that turned ready, or not ready, at this moment."""
    condition = Condition(
        type="Ready",
        status="True" if ready else "False",
        last_transition_time=stamp()[:19] + "Z",
    )
    return replace(each, status=replace(each.status, conditions=(condition,)))


def told(cluster: ModelCluster) -> list[tuple[str, str, int]]:
    """Return the events: reason, message and how often."""
    return [(each.reason, each.message, each.count) for each in cluster.all(EVENTS)]


def batching(seconds: float) -> Settings:
    return Settings(slices=SlicesSettings(batching=Batching(seconds)), election=None)


# --- F01 ------------------------------------------------------------------------------------


def test_f01_a_deleted_slice_is_made_again() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            before = only(slices_of(cluster, "web"))
            cluster.drop(before)
            await settle()

        after = only(slices_of(cluster, "web"))
        assert after.metadata.uid != before.metadata.uid
        assert after.endpoints == before.endpoints

    run(story())


def test_f01_an_edited_address_is_put_back() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            slice_ = only(slices_of(cluster, "web"))
            cluster.put(replace(slice_, endpoints=(Endpoint(("192.0.2.66",)),)))
            await settle()

        assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]

    run(story())


def test_f01_a_label_taken_away_comes_back() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(labels={"team": "shop"}), pod("web-1"))
        async with running(cluster):
            await settle()
            slice_ = only(slices_of(cluster, "web"))
            labels = {name: text for name, text in slice_.metadata.labels.items() if name != "team"}
            cluster.put(replace(slice_, metadata=replace(slice_.metadata, labels=labels)))
            await settle()

        assert only(slices_of(cluster, "web")).metadata.labels["team"] == "shop"

    run(story())


def test_f01_a_slice_of_another_manager_is_left_alone() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            ours = only(slices_of(cluster, "web"))
            labels = {**ours.metadata.labels, MANAGED_BY: "custom"}
            meta = replace(ours.metadata, name="web-mine", uid="", labels=labels)
            cluster.put(replace(ours, metadata=meta, endpoints=(Endpoint(("192.0.2.1",)),)))
            custom = cluster.look(ENDPOINT_SLICES, "shop", "web-mine")
            await settle()
            cluster.put(turned(pod("web-1"), False))
            await settle()

        assert cluster.look(ENDPOINT_SLICES, "shop", "web-mine") == custom

    run(story())


def test_f01_a_slice_given_to_another_manager_is_replaced_under_a_name_of_its_own() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            slice_ = only(slices_of(cluster, "web"))
            labels = {**slice_.metadata.labels, MANAGED_BY: "custom"}
            cluster.put(replace(slice_, metadata=replace(slice_.metadata, labels=labels)))
            await settle()

        theirs, ours = slices_of(cluster, "web")
        if ours.metadata.uid == slice_.metadata.uid:
            theirs, ours = ours, theirs
        assert theirs.metadata.labels[MANAGED_BY] == "custom"
        assert addresses([ours]) == ["10.0.0.1"]

    run(story())


# --- F02, F03 -------------------------------------------------------------------------------


def test_f02_nothing_is_planned_on_a_cache_older_than_our_own_write() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster) as process:
            await settle()
            cluster.hold("endpointslices")
            cluster.put(pod("web-2"))
            await settle(0.1)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2"]
            before = len(cluster.writes())

            cluster.put(pod("web-3"))  # the cache still shows the slice with one endpoint
            await settle(10)
            assert len(cluster.writes()) == before
            stale = process.registry.get_sample_value(
                "endpoint_slice_controller_syncs", {"result": "stale"}
            )
            assert stale

            cluster.release()
            await settle(20)

        assert len(cluster.writes()) == before + 1
        assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        assert told(cluster) == []  # it is nobody's business

    run(story())


def test_f02_what_waited_for_the_cache_goes_on_as_soon_as_that_has_caught_up() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            cluster.hold("endpointslices")
            cluster.put(pod("web-2"))
            await settle(0.1)
            cluster.put(pod("web-3"))
            await settle(30)  # by now it is tried again every 16 seconds
            cluster.release()
            await settle(0.1)

            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]

    run(story())


def test_f02_many_fast_changes_never_make_two_slices_for_one_endpoint() -> None:
    async def story() -> None:
        cluster = ModelCluster(lag=0.3)
        cluster.put(node("n0"), service())
        async with running(cluster):
            for number in range(1, 60):
                cluster.put(pod(f"web-{number}"))
                await asyncio.sleep(0.05)
                listed = addresses(slices_of(cluster, "web"))
                assert len(listed) == len(set(listed))
            await settle(20)
        assert len(addresses(slices_of(cluster, "web"))) == 59
        assert_as_the_core_says(cluster)

    run(story())


@pytest.mark.parametrize("pause", [0.0, 0.0015, 0.004, 0.02, 1.0])
def test_f03_a_fast_flip_to_not_ready_and_back_leaves_the_truth(pause: float) -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            for ready in (False, True, False, True):
                cluster.put(turned(pod("web-1"), ready))
                await asyncio.sleep(pause)
            await settle()
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]
            cluster.put(turned(pod("web-1"), False))
            await settle()
        assert addresses(slices_of(cluster, "web"), ready=False) == ["10.0.0.1"]

    run(story())


# --- F05, F09 -------------------------------------------------------------------------------


def test_f05_a_service_that_is_being_deleted_gets_no_slices() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        doomed = service()
        doomed = replace(doomed, metadata=replace(doomed.metadata, finalizers=("example.com/x",)))
        cluster.put(node("n0"), doomed)
        cluster.drop(doomed)
        cluster.put(*(pod(f"web-{number}") for number in (1, 2, 3)))
        async with running(cluster):
            await settle(60)
        assert cluster.writes() == []

    run(story())


def test_f05_a_slice_that_is_being_deleted_is_ignored() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            first = only(slices_of(cluster, "web"))
            kept = replace(first.metadata, finalizers=("example.com/x",))
            cluster.put(replace(first, metadata=kept))
            await settle()
            cluster.drop(first)
            await settle()

        doomed, fresh = sorted(
            slices_of(cluster, "web"), key=lambda each: each.metadata.deletion_timestamp or "~"
        )
        assert doomed.metadata.uid == first.metadata.uid
        assert addresses([fresh]) == ["10.0.0.1"]

    run(story())


def test_f09_a_pod_on_an_unknown_node_is_left_out_told_and_tried_again() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"), pod("web-2"), pod("web-3", "ghost"))
        async with running(cluster):
            await settle(0.5)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2"]
            (why,) = told(cluster)
            assert why == (
                "FailedToUpdateEndpointSlices",
                "Error updating Endpoint Slices for Service shop/web: "
                "skipping Pod web-3 for Service shop/web: Node ghost Not Found",
                1,
            )
            await settle(8)
            assert told(cluster) == [(*why[:2], 4)]  # after 1, 2 and 4 seconds once more
            assert len(cluster.writes()) == 1

            cluster.put(node("ghost", "b"))
            await settle(0.1)
            assert len(addresses(slices_of(cluster, "web"))) == 3

    run(story())


def test_f09_where_unready_addresses_are_published_an_unknown_node_is_no_error() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(publish=True), pod("web-1"), pod("web-3", "ghost"))
        async with running(cluster):
            await settle()
        assert len(addresses(slices_of(cluster, "web"))) == 2
        assert told(cluster) == []

    run(story())


# --- F19 ------------------------------------------------------------------------------------


def fifty_pods_turn_ready(
    settings: Settings,
) -> Callable[[], Coroutine[Any, Any, tuple[ModelCluster, str, float, int]]]:
    async def story() -> tuple[ModelCluster, str, float, int]:
        cluster = ModelCluster()
        cluster.put(node("n0"), service())
        names = [f"web-{number}" for number in range(50)]
        cluster.put(*(turned(pod(name), False) for name in names))
        async with running(cluster, settings) as process:
            await settle(15)
            before = len(cluster.writes())
            syncs = synced(process.registry.get_sample_value)
            first, began = stamp()[:19] + "Z", now()
            for name in names:
                cluster.put(turned(pod(name), True))
                await asyncio.sleep(0.01)
            await settle()
            syncs = synced(process.registry.get_sample_value) - syncs
        del cluster.requests[: cluster.requests.index(cluster.writes()[before])]
        return cluster, first, began, syncs

    return story


def synced(sample: Callable[[str, dict[str, str]], float | None]) -> int:
    return int(sample("endpoint_slice_controller_syncs", {"result": "success"}) or 0)


def test_f19_fifty_pods_within_half_a_second_are_one_sync_and_one_write() -> None:
    cluster, first, began, syncs = run(fifty_pods_turn_ready(batching(0.5))())

    assert syncs == 1
    (write,) = cluster.writes()
    assert write.at - began == pytest.approx(0.5, abs=0.01)
    slice_ = only(slices_of(cluster, "web"))
    assert len(addresses([slice_])) == 50
    assert slice_.metadata.annotations[LAST_CHANGE_TRIGGER_TIME] == first


def test_f19_without_a_batch_period_they_are_many() -> None:
    cluster, _, _, syncs = run(fifty_pods_turn_ready(ALONE)())
    assert syncs == len(cluster.writes()) > 10
    assert len(addresses(slices_of(cluster, "web"))) == 50


# --- F21 ------------------------------------------------------------------------------------


def forbidden(request: Request) -> Status | None:
    if request.verb == "create" and request.plural == "endpointslices":
        return Status(code=403, reason="Forbidden", message="endpointslices is forbidden")
    return None


def test_f21_ten_refusals_are_met_with_ever_longer_patience() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.refuse = forbidden
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle(800)
            tries = [each.at for each in cluster.writes()]
            pauses = [after - before for before, after in pairwise(tries)]
            assert pauses == pytest.approx([2.0**power for power in range(9)], abs=0.01)
            (why,) = told(cluster)
            assert why == (
                "FailedToUpdateEndpointSlices",
                "Error updating Endpoint Slices for Service shop/web: endpointslices is forbidden",
                10,
            )

            cluster.refuse = lambda _: None
            await settle(512)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]

    run(story())


def test_f21_two_who_disagree_write_once_a_second_at_most() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            before, until = len(cluster.writes()), now() + 30
            while now() < until:
                slice_ = only(slices_of(cluster, "web"))
                cluster.put(replace(slice_, endpoints=(Endpoint(("192.0.2.66",)),)))
                await asyncio.sleep(0.1)
            assert len(cluster.writes()) - before <= 31
            await settle()
        assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]

    run(story())


# --- F27 ------------------------------------------------------------------------------------


def auto(name: str = "web") -> object:
    return service(name=name, annotations={TOPOLOGY_MODE: "Auto"})


def test_f27_a_node_wakes_only_services_that_hold_hints() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(*(node(f"n-{zone}", zone) for zone in "abc"))
        cluster.put(auto(), service(name="plain"))
        cluster.put(*(pod(f"web-{number}", f"n-{'abc'[number % 3]}") for number in range(6)))
        async with running(cluster) as process:

            def syncs() -> int:
                return synced(process.registry.get_sample_value)

            await settle(15)
            assert hinted(cluster) == 6
            before = syncs()
            cluster.put(node("n-b", "b", ready=False), node("n-c", "c", ready=False))
            await settle()
            assert syncs() - before in (1, 2)  # the service with hints; not the plain one
            assert hinted(cluster) == 0
            before = syncs()

            cluster.put(node("n-b", "b"), node("n-c", "c"))
            await settle(3600)
            assert syncs() == before  # the hints stay off, though they would be given again ...
            assert hinted(cluster) == 0

            cluster.drop(pod("web-5"))
            cluster.put(pod("web-5", "n-c"))
            await settle()
            assert hinted(cluster) == 6  # ... until a pod is touched

    run(story())


def hinted(cluster: ModelCluster) -> int:
    return sum(
        each.hints is not None for slice_ in slices_of(cluster, "web") for each in slice_.endpoints
    )


def test_f27_a_node_that_goes_while_a_service_with_hints_changes_its_selector() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(*(node(f"n-{zone}", zone) for zone in "abc"))
        cluster.put(auto(), *(pod(f"web-{n}", f"n-{'abc'[n % 3]}") for n in range(6)))
        async with running(cluster):
            await settle()
            external = service()
            cluster.put(replace(external, spec=replace(external.spec, type="ExternalName")))
            await settle()
            cluster.drop(node("n-c"))
            await settle()
            cluster.put(service())
            await settle()
        assert_as_the_core_says(cluster)

    run(story())
