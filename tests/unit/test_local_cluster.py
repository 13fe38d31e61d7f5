"""The embedded API as the controllers see it: typed objects, and refusals like any server's."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from msgspec.structs import replace

from cluster import slice_of
from nearwise.lab.local_cluster import LocalCluster
from nearwise.loops.cluster import Cluster
from nearwise.model import EndpointSlice
from nearwise.model.errors import StatusError
from nearwise.model.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES
from nearwise.server import watching
from small_cluster import SmallCluster, run, settled

WEB = slice_of("web-1")


def local(cluster: SmallCluster) -> Cluster:
    return LocalCluster(cluster.api)


def with_label(slice_: EndpointSlice, value: str) -> EndpointSlice:
    metadata = replace(slice_.metadata, labels={**slice_.metadata.labels, "new": value})
    return replace(slice_, metadata=metadata)


def test_what_is_created_comes_back_as_it_is_stored() -> None:
    async def test(cluster: SmallCluster) -> None:
        stored = await local(cluster).create(ENDPOINT_SLICES, WEB)
        assert stored.metadata.uid
        assert (stored.api_version, stored.kind) == ("discovery.k8s.io/v1", "EndpointSlice")
        assert await local(cluster).get(ENDPOINT_SLICES, "shop", "web-1") == stored
        (field,) = cluster.get("EndpointSlice shop/web-1")["metadata"]["managedFields"]
        assert field["manager"] == "nearwise"

    run(test)


def test_lists_come_page_by_page() -> None:
    async def test(cluster: SmallCluster) -> None:
        for number in range(5):
            await local(cluster).create(ENDPOINT_SLICES, slice_of(f"web-{number}"))
        names, query = [], {"limit": "2"}
        while True:
            items, meta = await local(cluster).page(ENDPOINT_SLICES, query)
            assert len(items) <= 2
            names += [item.metadata.name for item in items]
            if not meta.continue_:
                break
            query["continue"] = meta.continue_
        assert names == [f"web-{number}" for number in range(5)]
        assert meta.resource_version == str(cluster.store.read.revision)

    run(test)


def test_lists_take_selectors() -> None:
    async def test(cluster: SmallCluster) -> None:
        await local(cluster).create(ENDPOINT_SLICES, WEB)
        await local(cluster).create(ENDPOINT_SLICES, with_label(slice_of("web-2"), "yes"))
        items, _ = await local(cluster).page(ENDPOINT_SLICES, {"labelSelector": "new=yes"})
        assert [item.metadata.name for item in items] == ["web-2"]

    run(test)


def test_a_watch_tells_what_there_is_and_what_happens() -> None:
    async def test(cluster: SmallCluster) -> None:
        client = local(cluster)
        stored = await client.create(ENDPOINT_SLICES, WEB)
        query = {
            "watch": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        async with aclosing(client.watch(ENDPOINT_SLICES, query)) as events:  # type: ignore[type-var]
            assert await anext(events) == ("ADDED", stored)
            kind, mark = await anext(events)
            assert kind == "BOOKMARK"
            assert mark.metadata.annotations == {"k8s.io/initial-events-end": "true"}

            changed = await client.update(ENDPOINT_SLICES, with_label(stored, "yes"))
            assert await anext(events) == ("MODIFIED", changed)
            await client.delete(ENDPOINT_SLICES, changed)
            kind, last = await anext(events)
            assert (kind, last.metadata.name) == ("DELETED", "web-1")
            assert cluster.api.open_watches == 1
        assert cluster.api.open_watches == 0

    run(test)


def test_a_watch_ends_with_the_server() -> None:
    async def test(cluster: SmallCluster) -> None:
        events = local(cluster).watch(ENDPOINT_SLICES, {"resourceVersion": "1"})
        cluster.api.close()
        assert [event async for event in events] == []

    run(test)


def test_a_watch_that_is_too_slow_ends_and_can_go_on_from_what_it_saw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "MAX_WAITING", 2000)

    async def test(cluster: SmallCluster) -> None:
        client = local(cluster)
        version = str(cluster.store.read.revision)
        events = client.watch(ENDPOINT_SLICES, {"resourceVersion": version})
        await client.create(ENDPOINT_SLICES, slice_of("web-0"))
        _, first = await anext(events)
        for number in range(1, 9):
            await client.create(ENDPOINT_SLICES, slice_of(f"web-{number}"))
        await settled()
        assert [event async for event in events] == []

        seen = {"resourceVersion": first.metadata.resource_version}
        async with aclosing(client.watch(ENDPOINT_SLICES, seen)) as rest:  # type: ignore[type-var]
            assert [(await anext(rest))[1].metadata.name for _ in range(8)] == [
                f"web-{number}" for number in range(1, 9)
            ]

    run(test)


async def attempt(cluster: SmallCluster, what: str) -> None:
    """Do what is refused."""
    client = local(cluster)
    match what:
        case "get what is not there":
            await client.get(ENDPOINT_SLICES, "shop", "none")
        case "create what is there":
            await client.create(ENDPOINT_SLICES, WEB)
        case "create where nothing is":
            metadata = replace(WEB.metadata, namespace="none")
            await client.create(ENDPOINT_SLICES, replace(WEB, metadata=metadata))
        case "update what somebody else wrote":
            old = await client.get(ENDPOINT_SLICES, "shop", "web-1")
            await client.update(ENDPOINT_SLICES, with_label(old, "one"))
            await client.update(ENDPOINT_SLICES, with_label(old, "two"))
        case "delete what came again":
            old = await client.get(ENDPOINT_SLICES, "shop", "web-1")
            await client.delete(ENDPOINT_SLICES, old)
            await client.create(ENDPOINT_SLICES, WEB)
            await client.delete(ENDPOINT_SLICES, old)
        case "watch from a version that is gone":
            cluster.store.compact(cluster.store.read.revision)
            await anext(client.watch(ENDPOINT_SLICES, {"resourceVersion": "1"}))
        case "list a version that is to come":
            await client.page(ENDPOINT_SLICES, {"resourceVersion": "999"})
        case _:
            await client.page(ENDPOINT_SLICES, {"labelSelector": "a=b=c"})


@pytest.mark.parametrize(
    ("what", "code", "reason", "retry_after"),
    [
        ("get what is not there", 404, "NotFound", 0),
        ("create what is there", 409, "AlreadyExists", 0),
        ("create where nothing is", 404, "NotFound", 0),
        ("update what somebody else wrote", 409, "Conflict", 0),
        ("delete what came again", 409, "Conflict", 0),
        ("watch from a version that is gone", 410, "Expired", 0),
        ("list a version that is to come", 504, "Timeout", 1),
        ("list by a selector that is none", 400, "BadRequest", 0),
    ],
)
def test_refusals_are_those_of_a_server(
    what: str, code: int, reason: str, retry_after: float
) -> None:
    async def test(cluster: SmallCluster) -> None:
        await local(cluster).create(ENDPOINT_SLICES, WEB)
        with pytest.raises(StatusError) as refused:
            await attempt(cluster, what)
        status = refused.value.status
        assert (status.code, status.reason) == (code, reason)
        assert refused.value.retry_after == retry_after

    run(test)


def test_kinds_of_which_only_a_part_is_kept_are_not_written_back() -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create("Node n1")
        await cluster.create("Pod shop/web-0")
        client = local(cluster)
        node = await client.get(NODES, "", "n1")
        pod = await client.get(PODS, "shop", "web-0")
        with pytest.raises(ValueError, match="a Node is not written back"):
            await client.update(NODES, node)
        with pytest.raises(ValueError, match="a Pod is not written back"):
            await client.update(PODS, pod)

    run(test)


def test_a_service_is_written_back_whole() -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create("Service shop/web")
        client = local(cluster)
        service = await client.get(SERVICES, "shop", "web")
        before = cluster.get("Service shop/web")["spec"]
        metadata = replace(service.metadata, labels={"new": "yes"})
        await client.update(SERVICES, replace(service, metadata=metadata))
        assert cluster.get("Service shop/web")["spec"] == before

    run(test)
