"""The process around the controllers: who works when, what is told, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from cluster import node, pod, service
from nearwise.controllers.caches import Caches
from nearwise.controllers.process import (
    Ending,
    MirroringSettings,
    Process,
    Settings,
    SlicesSettings,
)
from nearwise.model import Endpoints, ObjectMeta, Status
from nearwise.model.core import EndpointsAddress, EndpointsPort, EndpointsSubset
from nearwise.model.meta import StatusCause, StatusDetails
from nearwise.model.resources import ENDPOINT_SLICES, EVENTS, LEASES
from nearwise.model.wellknown import TOPOLOGY_MODE
from nearwise.slices.reconcile import Rules
from simulation.model_cluster import ModelCluster, Request, now, surroundings
from simulation.replica import ALONE, addresses, running, settle, slices_of
from simulation.wire import Wire
from virtual_time import run

BOTH = Settings()


def shop(*numbers: int, **model: bool) -> ModelCluster:
    """Make a cluster with a service, and pods of these numbers."""
    cluster = ModelCluster(**model)
    cluster.put(node("n0"), service(), *(pod(f"web-{number}") for number in numbers))
    return cluster


def holder(cluster: ModelCluster) -> str | None:
    (lease,) = cluster.all(LEASES)
    return lease.spec.holder_identity


def unavailable(plural: str, verb: str = "watch") -> Callable[[Request], Status | None]:
    def refuse(request: Request) -> Status | None:
        if (request.verb, request.plural) == (verb, plural):
            return Status(code=503, reason="ServiceUnavailable", message="come back later")
        return None

    return refuse


class Replica:
    """A replica that is asked to stop by hand."""

    def __init__(self, cluster: object, seed: int = 0, settings: Settings = BOTH) -> None:
        self.process = Process(cluster, settings, surroundings(seed))  # type: ignore[arg-type]
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.process.run(self.stop))


@asynccontextmanager
async def replicas(*started: Replica) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for each in started:
            each.task.cancel()


# --- when work begins -----------------------------------------------------------------------


@pytest.mark.parametrize("plural", ["nodes", "services", "pods", "endpoints", "endpointslices"])
def test_nothing_is_written_before_every_cache_is_complete(plural: str) -> None:
    async def story() -> None:
        cluster = shop(1)
        cluster.refuse = unavailable(plural)
        async with running(cluster) as process:
            await settle(60)
            assert cluster.writes() == []
            assert process.checks()[plural] == "come back later"
            assert sorted(filter(None, process.checks().values())) == ["come back later"]

            cluster.refuse = lambda _: None
            await settle(60)
            assert len(cluster.writes()) == 1
            assert not any(process.checks().values())

    run(story())


def test_what_is_not_complete_yet_is_named() -> None:
    async def story() -> None:
        cluster = shop(1)
        async with running(cluster) as process:
            assert process.checks() == {
                **dict.fromkeys(
                    ["nodes", "services", "pods", "endpoints", "endpointslices"],
                    "not complete yet",
                ),
                "shutdown": "",
            }
            await settle(1)
            assert not any(process.checks().values())

    run(story())


def test_only_what_is_needed_is_followed() -> None:
    async def watched(settings: Settings) -> set[str]:
        cluster = shop(1)
        async with running(cluster, settings):
            await settle(1)
        return {each.plural for each in cluster.requests if each.verb == "watch"}

    mirroring = Settings(slices=None, election=None)
    assert run(watched(mirroring)) == {"services", "endpoints", "endpointslices"}
    slices = Settings(mirroring=None, election=None)
    assert run(watched(slices)) == {"nodes", "services", "pods", "endpointslices"}


def test_a_quiet_cluster_is_asked_once_and_then_listened_to() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        async with running(cluster):
            await settle(290)
        asked = [each.plural for each in cluster.requests]
        assert sorted(asked) == ["endpoints", "endpointslices", "nodes", "pods", "services"]

    run(story())


def test_a_server_that_cannot_stream_lists_is_asked_for_pages() -> None:
    async def story() -> None:
        cluster = shop(*range(1, 60), streams=False)
        async with running(cluster):
            await settle()
        assert {each.plural for each in cluster.requests if each.verb == "list"} == {
            *("nodes", "services", "pods", "endpoints", "endpointslices")
        }
        assert len(addresses(slices_of(cluster, "web"))) == 59

    run(story())


# --- one of two works -----------------------------------------------------------------------


def test_the_second_replica_is_ready_writes_nothing_and_goes_on_when_the_first_stops() -> None:
    async def story() -> None:
        cluster = shop(1)
        first = Replica(cluster)
        await settle(3)
        second = Replica(cluster, 1)
        async with replicas(first, second):
            cluster.put(pod("web-2"))
            await settle(60)
            assert len(cluster.writes()) == 2
            assert not any(second.process.checks().values())
            depth = second.process.registry.get_sample_value(
                "workqueue_depth", {"name": "endpoint_slice"}
            )
            assert depth == 0  # what a standby does not do is no backlog

            first.stop.set()
            assert await first.task is Ending.STOPPED
            cluster.put(pod("web-3"))
            await settle(10)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
            assert len(cluster.writes()) == 3

    run(story())


def test_a_replica_cut_off_ends_as_lost_and_wrote_nothing_since(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        cluster = shop(1)
        wire = Wire(cluster)
        first = Replica(wire)
        await settle(3)
        second = Replica(cluster, 1)
        async with replicas(first, second):
            await settle(30)
            wire.cut = True
            cluster.put(pod("web-2"))
            assert await first.task is Ending.LOST
            await settle(20)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2"]
            before = len(cluster.writes())
            wire.cut = False
            await settle(60)
            assert len(cluster.writes()) == before

    caplog.set_level(logging.INFO)
    run(story())
    assert "the lease is lost: all work is dropped" in caplog.messages
    assert "ended: lost" in caplog.messages


def test_a_write_under_way_is_dropped_when_the_lease_is_lost() -> None:
    async def story() -> None:
        cluster = shop(1)
        wire = Wire(cluster)
        replica = Replica(wire)
        async with replicas(replica):
            await settle(3)
            wire.cut = True
            cut = now()
            cluster.put(pod("web-2"))  # its write hangs
            assert await replica.task is Ending.LOST
            assert now() - cut <= 10 + 5 + 0.1  # the deadline, then what giving back may take
            wire.cut = False
            await settle(100)
            assert addresses(slices_of(cluster, "web")) == ["10.0.0.1"]

    run(story())


def test_without_election_no_lease_is_touched() -> None:
    async def story() -> None:
        cluster = shop(1)
        async with running(cluster, ALONE):
            await settle(60)
        assert [each for each in cluster.requests if each.plural == "leases"] == []
        assert len(cluster.writes()) == 1

    run(story())


# --- stopping -------------------------------------------------------------------------------


def test_stopping_finishes_what_is_under_way_writes_the_events_and_gives_the_lease_back() -> None:
    async def story() -> None:
        cluster = shop(1)
        slow = Wire(cluster)
        replica = Replica(slow)
        async with replicas(replica):
            await settle(20)
            slow.slowness = 2.0
            cluster.put(pod("web-2"), pod("web-3", "ghost"))
            await settle(0.1)
            replica.stop.set()
            began = now()
            await settle(0.1)
            cluster.put(pod("web-4"))  # too late
            assert await replica.task is Ending.STOPPED
            assert now() - began < 20
        assert addresses(slices_of(cluster, "web")) == ["10.0.0.1", "10.0.0.2"]
        assert [each.reason for each in cluster.all(EVENTS)] == ["FailedToUpdateEndpointSlices"]
        assert holder(cluster) == ""
        assert replica.process.checks()["shutdown"] == "it is stopping"

    run(story())


def test_stopping_takes_no_longer_than_it_may_when_no_answer_comes() -> None:
    async def story() -> None:
        cluster = shop(1)
        wire = Wire(cluster)
        replica = Replica(wire)
        async with replicas(replica):
            await settle(3)
            wire.cut = True
            cluster.put(pod("web-2"))
            await settle(0.1)
            replica.stop.set()
            began = now()
            assert await replica.task is Ending.STOPPED
            assert now() - began <= 10 + 5 + 5 + 0.1

    run(story())


@pytest.mark.parametrize("after", [0.0, 0.0005, 0.0015, 0.002, 0.0045, 1.0])
def test_it_can_be_stopped_at_any_moment(after: float) -> None:
    async def story() -> None:
        cluster = shop(1)
        replica = Replica(cluster)
        async with replicas(replica):
            await asyncio.sleep(after)
            replica.stop.set()
            assert await replica.task is Ending.STOPPED
        assert {lease.spec.holder_identity for lease in cluster.all(LEASES)} <= {""}
        written = len(cluster.writes())
        assert len(cluster.all(ENDPOINT_SLICES)) == written

    run(story())


def test_a_mistake_of_ours_in_what_follows_the_server_ends_it_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mistake about one service is tried again (test_workers); without caches nothing is."""

    async def story() -> None:
        cluster = shop(1)
        replica = Replica(cluster)
        async with replicas(replica):
            with pytest.raises(ZeroDivisionError):
                await replica.task

    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Caches, "run", broken)
    run(story())


# --- what is not ours -----------------------------------------------------------------------


def test_a_namespace_that_is_being_deleted_is_no_failure() -> None:
    async def story() -> None:
        cluster = shop(1)
        cluster.refuse = lambda request: (
            Status(
                code=403,
                reason="Forbidden",
                message="unable to create new content in namespace shop",
                details=StatusDetails(causes=(StatusCause("NamespaceTerminating"),)),
            )
            if request.verb == "create"
            else None
        )
        async with running(cluster) as process:
            await settle(100)
            sample = process.registry.get_sample_value
            assert sample("endpoint_slice_controller_syncs", {"result": "error"}) is None
        assert len(cluster.writes()) <= 2
        assert cluster.writes("events") == []

    run(story())


def test_trouble_with_the_server_is_logged_once_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        cluster = shop(1)
        cluster.refuse = unavailable("pods")
        async with running(cluster):
            await settle(600)
            cluster.refuse = lambda _: None
            await settle(60)

    caplog.set_level(logging.INFO, "nearwise.loops.informer")
    run(story())
    told = [r.getMessage() for r in caplog.records if r.name.endswith("informer")]
    assert told == ["pods: come back later", "pods: answered again"]


# --- metrics --------------------------------------------------------------------------------

NAMES = {
    "endpoint_slice_controller_changes": {"operation"},
    "endpoint_slice_controller_endpoints_added_per_sync": set(),
    "endpoint_slice_controller_endpoints_removed_per_sync": set(),
    "endpoint_slice_controller_endpoints_desired": set(),
    "endpoint_slice_controller_num_endpoint_slices": set(),
    "endpoint_slice_controller_desired_endpoint_slices": set(),
    "endpoint_slice_controller_syncs": {"result"},
    "endpoint_slice_controller_endpointslices_changed_per_sync": {
        "topology",
        "traffic_distribution",
    },
    "endpoint_slice_controller_services_count_by_traffic_distribution": {"traffic_distribution"},
    "endpoint_slice_mirroring_controller_changes": {"operation"},
    "endpoint_slice_mirroring_controller_endpoints_added_per_sync": set(),
    "endpoint_slice_mirroring_controller_endpoints_updated_per_sync": set(),
    "endpoint_slice_mirroring_controller_endpoints_removed_per_sync": set(),
    "endpoint_slice_mirroring_controller_addresses_skipped_per_sync": set(),
    "endpoint_slice_mirroring_controller_endpoints_sync_duration": set(),
    "endpoint_slice_mirroring_controller_endpoints_desired": set(),
    "endpoint_slice_mirroring_controller_num_endpoint_slices": set(),
    "endpoint_slice_mirroring_controller_desired_endpoint_slices": set(),
    "workqueue_depth": {"name"},
    "workqueue_adds_total": {"name"},
    "workqueue_retries_total": {"name"},
    "workqueue_queue_duration_seconds": {"name"},
    "workqueue_work_duration_seconds": {"name"},
    "workqueue_unfinished_work_seconds": {"name"},
    "workqueue_longest_running_processor_seconds": {"name"},
    "leader_election_master_status": {"name"},
    "rest_client_requests_total": {"code", "method", "host"},
}
"""The metrics of kube-controller-manager 1.36 that are ours too, and their labels."""


def endpoints(*texts: str) -> Endpoints:
    subset = EndpointsSubset(
        tuple(EndpointsAddress(text) for text in texts), (), (EndpointsPort("pg", 5432, "TCP"),)
    )
    return Endpoints(metadata=ObjectMeta(name="db", namespace="shop"), subsets=(subset,))


def busy() -> tuple[str, str]:
    """Live through something of everything; return both expositions."""

    async def story() -> tuple[str, str]:
        cluster = shop(*range(1, 151))
        db = service(name="db")
        near = service(name="near", distribution="PreferSameZone")
        cluster.put(replace(db, spec=replace(db.spec, selector={})), near)
        cluster.put(endpoints("192.0.2.1", "192.0.2.2", "nonsense"))
        replica = Replica(cluster)
        async with replicas(replica):
            await settle()
            cluster.drop(pod("web-150"))
            cluster.put(service(annotations={TOPOLOGY_MODE: "Auto"}))
            cluster.put(endpoints("192.0.2.2", "192.0.2.3"))
            await settle()
            registry = replica.process.registry
            in_openmetrics: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry).decode(), in_openmetrics.decode()

    return run(story())


def test_metrics_have_the_names_and_labels_of_kube_controller_manager() -> None:
    text, _ = busy()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        if family.name.startswith("process_"):
            continue
        for sample in family.samples:
            name = sample.name
            if family.type == "histogram":
                name = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})
    assert found == NAMES


def test_every_metric_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "controller.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in page] == []


def test_metrics_tell_what_happened() -> None:
    text, _ = busy()
    lines = set(text.splitlines())
    for line in (
        'endpoint_slice_controller_changes{operation="create"} 4.0',
        "endpoint_slice_controller_endpoints_desired 298.0",
        "endpoint_slice_controller_num_endpoint_slices 4.0",
        "endpoint_slice_controller_desired_endpoint_slices 4.0",
        "endpoint_slice_controller_endpoints_added_per_sync_sum 300.0",
        "endpoint_slice_controller_endpoints_removed_per_sync_sum 2.0",
        "endpoint_slice_controller_services_count_by_traffic_distribution"
        '{traffic_distribution="PreferSameZone"} 1.0',
        "endpoint_slice_controller_endpointslices_changed_per_sync_count"
        '{topology="Auto",traffic_distribution=""} 1.0',
        'endpoint_slice_mirroring_controller_changes{operation="create"} 1.0',
        'endpoint_slice_mirroring_controller_changes{operation="update"} 1.0',
        "endpoint_slice_mirroring_controller_endpoints_added_per_sync_sum 3.0",
        "endpoint_slice_mirroring_controller_endpoints_removed_per_sync_sum 1.0",
        "endpoint_slice_mirroring_controller_addresses_skipped_per_sync_sum 1.0",
        "endpoint_slice_mirroring_controller_endpoints_desired 2.0",
        'leader_election_master_status{name="nearwise-controller"} 1.0',
        'workqueue_retries_total{name="endpoint_slice"} 0.0',
    ):
        assert line in lines


def test_the_exposition_is_openmetrics_too() -> None:
    _, text = busy()
    told = openmetrics(text)  # type: ignore[no-untyped-call]
    families = {family.name: family.type for family in told}
    assert families["workqueue_adds"] == "counter"
    assert families["endpoint_slice_controller_changes"] == "unknown"


def test_a_service_that_is_gone_is_counted_no_more() -> None:
    async def story() -> None:
        cluster = shop(1, 2)
        near = service(distribution="PreferSameZone")
        cluster.put(near)
        async with running(cluster) as process:
            await settle()
            cluster.drop(near)
            await settle()
            sample = process.registry.get_sample_value
            assert sample("endpoint_slice_controller_endpoints_desired") == 0
            assert sample("endpoint_slice_controller_num_endpoint_slices") == 0
            kind = {"traffic_distribution": "PreferSameZone"}
            assert (
                sample("endpoint_slice_controller_services_count_by_traffic_distribution", kind)
                == 0
            )

    run(story())


def test_requests_are_counted_by_their_end() -> None:
    async def story() -> None:
        cluster = shop(1)
        wire = Wire(cluster)
        replica = Replica(wire)
        async with replicas(replica):
            cluster.refuse = unavailable("endpointslices", "create")
            await settle(3)
            wire.cut = True
            assert await replica.task is Ending.LOST
            text = generate_latest(replica.process.registry).decode()
        assert 'rest_client_requests_total{code="503",host="",method="POST"} 2.0' in text
        assert 'rest_client_requests_total{code="404",host="",method="GET"} 1.0' in text
        assert 'rest_client_requests_total{code="<error>",host="",method="PUT"}' in text

    run(story())


def test_settings_reach_those_they_are_for() -> None:
    async def story() -> None:
        cluster = shop(*range(1, 6))
        db = service(name="db")
        cluster.put(replace(db, spec=replace(db.spec, selector={})))
        cluster.put(endpoints("192.0.2.1", "192.0.2.2"))
        settings = Settings(
            slices=SlicesSettings(rules=Rules(max_endpoints=2)),
            mirroring=MirroringSettings(max_per_subset=1),
            election=None,
        )
        async with running(cluster, settings):
            await settle()
        sizes = [len(each.endpoints) for each in slices_of(cluster, "web")]
        assert sorted(sizes) == [1, 2, 2]
        assert addresses(slices_of(cluster, "db")) == ["192.0.2.1"]

    run(story())
