"""Both controllers at work on a clock that jumps: whatever comes and goes, the slices follow."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from cluster import node, pod, service
from nearwise.controllers.process import MirroringSettings, Settings, SlicesSettings
from nearwise.machinery.batching import Batching
from nearwise.model import Endpoint, Endpoints, ObjectMeta, Pod, Service
from nearwise.model.core import Condition, EndpointsAddress, EndpointsPort, EndpointsSubset
from nearwise.model.resources import ENDPOINT_SLICES, EVENTS
from nearwise.model.wellknown import (
    LAST_CHANGE_TRIGGER_TIME,
    LEADER,
    SKIP_MIRROR,
    TOPOLOGY_MODE,
)
from nearwise.slices.reconcile import Rules
from simulation.model_cluster import ModelCluster, stamp
from simulation.replica import (
    addresses,
    assert_as_the_core_says,
    running,
    settle,
    slices_of,
)
from virtual_time import run


def turned(each: Pod, ready: bool) -> Pod:
    condition = Condition(type="Ready", status=str(ready), last_transition_time=stamp()[:19] + "Z")
    return replace(each, status=replace(each.status, conditions=(condition,)))


def labelled(each: Pod, **labels: str) -> Pod:
    return replace(each, metadata=replace(each.metadata, labels=labels))


def database() -> Service:
    """Make the service ``shop/db`` without a selector."""
    made = service(name="db")
    return replace(made, spec=replace(made.spec, selector={}))


def endpoints(*ips: str, **meta: dict[str, str]) -> Endpoints:
    """Make the Endpoints of ``shop/db``."""
    listed = tuple(EndpointsAddress(ip) for ip in ips)
    return Endpoints(
        metadata=ObjectMeta(name="db", namespace="shop", **meta),  # type: ignore[arg-type]
        subsets=(EndpointsSubset(listed, (), (EndpointsPort("pg", 5432, "TCP"),)),),
    )


def told(cluster: ModelCluster) -> list[tuple[str, str, int]]:
    """Return the events, oldest first: type, reason and count."""
    events = sorted(cluster.all(EVENTS), key=lambda each: each.metadata.name)
    return [(each.type, each.reason, each.count) for each in events]


# --- services, pods, nodes ------------------------------------------------------------------


def test_a_day_in_the_life_of_a_service() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        async with running(cluster):
            cluster.put(service())
            await settle()
            (empty,) = slices_of(cluster, "web")
            assert empty.endpoints == ()

            cluster.put(node("n0"), node("n1", "b"))
            cluster.put(pod("web-1"), turned(pod("web-2", "n1"), False), pod("web-3", "n1"))
            await settle()
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.3"]
            assert addresses(slices_of(cluster, "web"), ready=False) == ["10.0.0.2"]
            (slice_,) = slices_of(cluster, "web")
            assert slice_.metadata.uid == empty.metadata.uid

            cluster.put(turned(pod("web-2", "n1"), True))
            turned_at = stamp()[:19] + "Z"
            await settle()
            (slice_,) = slices_of(cluster, "web")
            assert slice_.metadata.annotations == {LAST_CHANGE_TRIGGER_TIME: turned_at}

            cluster.put(pod("web-1", terminating=True))
            await settle()
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.2", "10.0.0.3"]
            assert addresses(slices_of(cluster, "web"), ready=False) == ["10.0.0.1"]

            cluster.drop(pod("web-1"))
            cluster.put(labelled(pod("web-3", "n1"), app="other"))
            await settle()
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.2"]
            assert_as_the_core_says(cluster)

            cluster.drop(service())
            await settle()
            assert slices_of(cluster, "web") == []
            before = len(cluster.writes())
            cluster.put(turned(pod("web-2", "n1"), False))
            await settle(60)
            assert len(cluster.writes()) == before
        assert told(cluster) == []

    run(story())


def test_a_service_made_again_gets_slices_of_its_own() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle()
            cluster.drop(service())
            again = service()
            cluster.put(replace(again, metadata=replace(again.metadata, uid="another")))
            await settle(20)
        (slice_,) = slices_of(cluster, "web")
        assert [owner.uid for owner in slice_.metadata.owner_references] == ["another"]
        assert addresses([slice_]) == ["10.0.0.1"]

    run(story())


def test_two_services_share_pods_and_each_follows_its_selector() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        blue = service(name="blue")
        blue = replace(
            blue,
            metadata=replace(blue.metadata, uid="blue-uid"),
            spec=replace(blue.spec, selector={"app": "web", "colour": "blue"}),
        )
        cluster.put(node("n0"), service(), blue)
        cluster.put(
            labelled(pod("web-1"), app="web", colour="blue"),
            labelled(pod("web-2"), app="web", colour="red"),
        )
        async with running(cluster):
            await settle()
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2"]
            assert addresses(slices_of(cluster, "blue")) == ["10.0.0.1"]
            cluster.put(labelled(pod("web-2"), app="web", colour="blue"))
            cluster.put(replace(blue, spec=replace(blue.spec, publish_not_ready_addresses=True)))
            await settle()
            assert addresses(slices_of(cluster, "blue")) == ["10.0.0.1", "10.0.0.2"]
            assert_as_the_core_says(cluster)

    run(story())


def test_what_is_only_noted_on_a_slice_is_kept_and_in_nobodys_way() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            await settle(15)
            (slice_,) = slices_of(cluster, "web")
            noted = replace(slice_.metadata, annotations={"example.com/checked": "yes"})
            cluster.put(replace(slice_, metadata=noted))
            await settle(15)
            assert len(cluster.writes()) == 1
            cluster.put(pod("web-2"))
            await settle()
        (slice_,) = slices_of(cluster, "web")
        assert addresses([slice_]) == ["10.0.0.1", "10.0.0.2"]
        assert slice_.metadata.annotations["example.com/checked"] == "yes"
        assert len(cluster.writes()) == 2
        assert told(cluster) == []

    run(story())


def test_an_edit_that_is_seen_before_the_answer_to_our_own_write_is_put_back() -> None:
    async def story() -> None:
        cluster = ModelCluster(lag=0.0)
        cluster.put(node("n0"), service(), pod("web-1"))
        async with running(cluster):
            while not slices_of(cluster, "web"):
                await settle(0.0001)
            (slice_,) = slices_of(cluster, "web")
            cluster.put(replace(slice_, endpoints=(Endpoint(("192.0.2.66",)),)))
            await settle()
        assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]
        assert told(cluster) == []

    run(story())


def test_many_pods_fill_slices_and_empty_them_again() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        settings = Settings(slices=SlicesSettings(rules=Rules(max_endpoints=10)), election=None)
        cluster.put(node("n0"), service(), *(pod(f"web-{number}") for number in range(95)))
        async with running(cluster, settings):
            await settle()
            assert sorted(len(each.endpoints) for each in slices_of(cluster, "web")) == [
                *(5, 10, 10, 10, 10, 10, 10, 10, 10, 10)
            ]
            cluster.drop(*(pod(f"web-{number}") for number in range(90)))
            await settle()
            assert len(addresses(slices_of(cluster, "web"))) == 5
            cluster.drop(*(pod(f"web-{number}") for number in range(90, 95)))
            await settle()
            (empty,) = slices_of(cluster, "web")
            assert empty.endpoints == ()

    run(story())


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_slices_are_at_last_what_the_core_says(seed: int) -> None:
    async def story() -> None:
        lot = random.Random(seed)
        cluster = ModelCluster(lag=lot.choice([0.0, 0.005, 0.5]), streams=lot.random() < 0.8)
        pods = {f"web-{number}": f"n{number % 4}" for number in range(30)}
        async with running(cluster, seed=seed):
            for _ in range(120):
                match lot.randrange(9):
                    case 0:
                        name = lot.choice("0123")
                        ready = lot.random() < 0.8
                        cluster.put(node(f"n{name}", lot.choice("abc"), ready=ready))
                    case 1:
                        cluster.put(service(publish=lot.random() < 0.3))
                    case 2:
                        cluster.put(database(), endpoints(f"192.0.2.{lot.randrange(9)}"))
                    case 3 if cluster.all(ENDPOINT_SLICES):
                        cluster.drop(lot.choice(cluster.all(ENDPOINT_SLICES)))
                    case 4 if cluster.all(ENDPOINT_SLICES):
                        victim = lot.choice(cluster.all(ENDPOINT_SLICES))
                        cluster.put(replace(victim, endpoints=(Endpoint(("192.0.2.66",)),)))
                    case 5:
                        cluster.compact()
                    case 6 if lot.random() < 0.3:
                        found = [each for each in (service(), database()) if known(cluster, each)]
                        cluster.drop(*found)
                    case _:
                        name = lot.choice(sorted(pods))
                        one = turned(pod(name, pods[name]), lot.random() < 0.7)
                        if known(cluster, one) and lot.random() < 0.3:
                            cluster.drop(one)
                        else:
                            cluster.put(one)
                await settle(lot.choice([0.0, 0.001, 0.01, 1.0]))
            cluster.put(*(node(f"n{number}") for number in range(4)))
            await settle(1100)
            assert_as_the_core_says(cluster)
            quiet = len(cluster.writes())
            await settle(3000)
            assert len(cluster.writes()) == quiet

    run(story())


def known(cluster: ModelCluster, obj: Pod | Service) -> bool:
    return obj.metadata.key in {each.metadata.key for each in cluster.all(cluster.kind_of(obj))}


# --- hints ----------------------------------------------------------------------------------


def test_events_about_hints_are_told_when_they_change_and_counted_when_they_repeat() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(*(node(f"n-{zone}", zone) for zone in "abc"))
        cluster.put(service(annotations={TOPOLOGY_MODE: "Auto"}))
        cluster.put(*(pod(f"web-{number}", f"n-{'abc'[number % 3]}") for number in range(6)))
        async with running(cluster):
            await settle(15)
            assert told(cluster) == [("Normal", "TopologyAwareHintsEnabled", 1)]
            for _ in range(3):
                cluster.drop(pod("web-5"))
                await settle()
                cluster.put(pod("web-5", "n-c"))
                await settle()
        (enabled, disabled) = sorted(cluster.all(EVENTS), key=lambda each: each.reason)[::-1]
        assert (enabled.type, enabled.reason, enabled.count) == (
            "Normal",
            "TopologyAwareHintsEnabled",
            4,
        )
        assert (disabled.type, disabled.count) == ("Warning", 3)
        assert enabled.last_timestamp != enabled.first_timestamp
        assert enabled.source.component == "endpoint-slice-controller"
        assert (enabled.involved_object.kind, enabled.involved_object.name) == ("Service", "web")

    run(story())


def test_a_restart_remembers_hints_and_tells_nothing_new() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(*(node(f"n-{zone}", zone) for zone in "abc"))
        cluster.put(service(annotations={TOPOLOGY_MODE: "Auto"}))
        cluster.put(*(pod(f"web-{number}", f"n-{'abc'[number % 3]}") for number in range(6)))
        async with running(cluster):
            await settle(15)
        before = (told(cluster), len(cluster.writes()))
        async with running(cluster, seed=1):
            await settle(60)
            assert (told(cluster), len(cluster.writes())) == before

    run(story())


# --- mirroring ------------------------------------------------------------------------------


def test_endpoints_are_mirrored_followed_and_taken_along() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        async with running(cluster):
            cluster.put(endpoints("192.0.2.1"))
            await settle()
            assert slices_of(cluster, "db") == []  # without a service nobody asks for it

            cluster.put(database())
            await settle()
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.1"]

            cluster.put(endpoints("192.0.2.1", "2001:db8::1"))
            await settle()
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.1", "2001:db8::1"]
            assert_as_the_core_says(cluster)

            cluster.put(endpoints("192.0.2.1", labels={SKIP_MIRROR: "true"}))
            await settle()
            assert slices_of(cluster, "db") == []

            cluster.put(endpoints("192.0.2.1"))
            await settle()
            cluster.drop(endpoints())
            await settle()
            assert slices_of(cluster, "db") == []

            cluster.put(endpoints("192.0.2.1", annotations={LEADER: "{}"}))
            await settle()
            assert slices_of(cluster, "db") == []

    run(story())


def test_a_mirror_that_is_edited_or_deleted_is_put_back() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(database(), endpoints("192.0.2.1"))
        async with running(cluster):
            await settle()
            (mirror,) = slices_of(cluster, "db")
            cluster.put(replace(mirror, endpoints=(Endpoint(("192.0.2.66",)),)))
            await settle()
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.1"]
            cluster.drop(mirror)
            await settle()
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.1"]

    run(story())


def test_a_service_that_gets_a_selector_changes_hands_and_back() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(node("n0"), pod("web-1"), database(), endpoints("192.0.2.1"))
        async with running(cluster):
            await settle()
            cluster.put(service(name="db"))
            await settle()
            assert addresses(slices_of(cluster, "db")) == ["10.0.0.1"]
            cluster.put(database())
            await settle()
            # What pods were is left behind, as with Kubernetes (k/k#118376): nobody cleans it up.
            assert addresses(slices_of(cluster, "db")) == ["10.0.0.1", "192.0.2.1"]

    run(story())


def test_addresses_that_cannot_be_mirrored_are_told_on_the_endpoints() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(database(), endpoints("192.0.2.1", "nonsense"))
        async with running(cluster):
            await settle()
        (event,) = cluster.all(EVENTS)
        assert (event.reason, event.involved_object.kind) == ("InvalidIPAddress", "Endpoints")
        assert event.source.component == "endpoint-slice-mirroring-controller"

    run(story())


def test_endpoints_are_not_kept_waiting_by_the_batch_period_of_slices() -> None:
    """As in Kubernetes, only somebody else's changes of a mirror wait."""

    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(database(), endpoints("192.0.2.1"))
        settings = Settings(mirroring=MirroringSettings(batching=Batching(30.0)), election=None)
        async with running(cluster, settings):
            await settle(0.1)
            cluster.put(endpoints("192.0.2.2"))
            await settle(0.1)
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.2"]
            cluster.drop(*slices_of(cluster, "db"))
            await settle(29)
            assert slices_of(cluster, "db") == []
            await settle(2)
            assert addresses(slices_of(cluster, "db")) == ["192.0.2.2"]

    run(story())
