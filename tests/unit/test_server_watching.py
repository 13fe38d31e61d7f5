"""Watches: from a version, from the beginning, of a selection, and what becomes of slow clients."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from nearwise.server import watching
from nearwise.server.app import Limits
from nearwise.server.objects.views import View
from nearwise.server.options import ListOptions
from nearwise.server.resources import ENDPOINT_SLICES
from served import DEFAULT, SLICES, TABLE, Server, endpoint_slice, play, pod, service

SERVICES = f"{DEFAULT}/services"
PODS = f"{DEFAULT}/pods"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def seen(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


async def watched(server: Server, query: str, target: str = SLICES) -> list[tuple[str, str]]:
    """Return what a watch tells within a second."""
    reply = await server.ask("GET", f"{target}?watch=1&timeoutSeconds=1&{query}")
    assert reply.status == 200, reply.body
    return [seen(event) for event in reply.events]


# --- From where ---------------------------------------------------------------------------


def test_a_watch_from_a_version_tells_what_was_written_since_and_then_what_is() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SLICES, endpoint_slice("web-1"))
        version = server.revision
        await server.create(SLICES, endpoint_slice("web-2"))
        await server.patch(f"{SLICES}/web-1", {"metadata": {"labels": {"a": "1"}}})

        async with server.client.stream("GET", f"{SLICES}?watch=1&resourceVersion={version}") as it:
            before = [json.loads(line) for line in (await it.chunks.get() or b"").splitlines()]
            await server.delete(f"{SLICES}/web-2")
            after = await it.event()

        assert [seen(event) for event in before] == [("ADDED", "web-2"), ("MODIFIED", "web-1")]
        assert seen(after) == ("DELETED", "web-2")
        assert after["object"]["kind"] == "EndpointSlice"
        assert after["object"]["metadata"]["resourceVersion"] == str(server.revision)

    play(scenario)


@pytest.mark.parametrize(
    ("query", "end"),
    [
        ("", False),
        ("resourceVersion=0", False),
        ("resourceVersion=0&allowWatchBookmarks=true", True),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", False),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            True,
        ),
    ],
)
def test_a_watch_from_the_beginning_tells_what_is_there(query: str, end: bool) -> None:
    async def scenario(server: Server) -> None:
        for name in ("b", "a"):
            await server.create(SLICES, endpoint_slice(name))

        told = await watched(server, query)

        assert told == [("ADDED", "a"), ("ADDED", "b"), *([("BOOKMARK", "")] if end else [])]

    play(scenario)


def test_the_end_of_the_beginning_is_told_for_no_objects_too() -> None:
    """Without it kubectl waits for ever."""

    async def scenario(server: Server) -> None:
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

        async with server.client.stream("GET", f"{PODS}?watch=1&{query}") as it:
            bookmark = await it.event()

        assert bookmark == {
            "type": "BOOKMARK",
            "object": {
                "kind": "Pod",
                "apiVersion": "v1",
                "metadata": {
                    "resourceVersion": str(server.revision),
                    "annotations": {"k8s.io/initial-events-end": "true"},
                },
                "spec": {"containers": None},
                "status": {},
            },
        }

    play(scenario)


def test_a_watch_from_the_future_tells_only_what_comes_after_it() -> None:
    async def scenario(server: Server) -> None:
        future = server.revision + 2
        task = asyncio.create_task(watched(server, f"resourceVersion={future}"))
        await asyncio.sleep(0.1)
        for name in ("one", "two", "three"):
            await server.create(SLICES, endpoint_slice(name))
            await asyncio.sleep(0.1)

        assert await task == [("ADDED", "three")]
        assert server.api.open_watches == 0

    play(scenario)


def test_the_beginning_of_the_future_is_not_there_yet() -> None:
    async def scenario(server: Server) -> None:
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

        status = await server.get(f"{SLICES}?{query}&resourceVersion=999", 504)

        assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"

    play(scenario)


def test_f89_what_is_no_longer_kept_is_gone_told_in_the_stream() -> None:
    async def scenario(server: Server) -> None:
        while server.revision < 100:
            await server.create(SLICES, endpoint_slice(f"web-{server.revision}"))
        server.store.compact(100)

        reply = await server.ask("GET", f"{SLICES}?watch=1&resourceVersion=50")
        still = await watched(server, "resourceVersion=100")

        assert reply.status == 200
        assert reply.events == [
            {
                "type": "ERROR",
                "object": {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "message": "too old resource version: 50 (100)",
                    "reason": "Expired",
                    "code": 410,
                },
            }
        ]
        assert still == []

    play(scenario)


def test_f89_or_it_is_gone_at_once_when_a_test_wants_that() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SLICES, endpoint_slice())
        server.store.compact(server.revision)

        status = await server.get(f"{SLICES}?watch=1&resourceVersion=2", 410)

        assert (status["code"], status["reason"]) == (410, "Expired")

    play(scenario, refuses_expired_watches=True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sendInitialEvents=true", "requires setting resourceVersionMatch to NotOlderThan"),
        ("resourceVersionMatch=NotOlderThan", "unless sendInitialEvents is provided"),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            'Unsupported value: "Exact": supported values: "NotOlderThan"',
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
            "forbidden when continue is provided",
        ),
    ],
)
def test_parameters_that_do_not_go_together(query: str, message: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.get(f"{SLICES}?watch=1&{query}", 422)

        assert message in status["message"]

    play(scenario)


# --- Selections ---------------------------------------------------------------------------


def test_who_leaves_a_selection_is_deleted_and_who_enters_it_is_added() -> None:
    async def scenario(server: Server) -> None:
        path = f"{SLICES}/web-1"
        query = f"{SLICES}?watch=1&labelSelector=n%3D1&resourceVersion={server.revision}"

        async with server.client.stream("GET", query) as it:
            events = []
            await server.create(SLICES, endpoint_slice(labels={"n": "2"}))
            for label in ("1", "1", "2", "3", "1"):
                patch = {"metadata": {"labels": {"n": label}, "annotations": {"at": label * 2}}}
                await server.patch(path, patch)
                await asyncio.sleep(0.1)
            await server.delete(path)
            await asyncio.sleep(0.1)
            while not it.chunks.empty():
                events.append(await it.event())

        assert [seen(event)[0] for event in events] == ["ADDED", "DELETED", "ADDED", "DELETED"]
        left = events[1]["object"]["metadata"]
        assert left["labels"] == {"n": "1"}  # its last state in the selection
        assert left["resourceVersion"] > events[0]["object"]["metadata"]["resourceVersion"]

    play(scenario)


def test_watches_see_one_namespace_one_object_or_one_node() -> None:
    async def scenario(server: Server) -> None:
        await server.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        shop = "/api/v1/namespaces/shop/pods"
        tasks = [
            asyncio.create_task(watched(server, "resourceVersion=0", target))
            for target in (PODS, shop, "/api/v1/pods")
        ]
        tasks.append(
            asyncio.create_task(watched(server, "fieldSelector=metadata.name%3Dweb-b", PODS))
        )
        tasks.append(
            asyncio.create_task(watched(server, "fieldSelector=spec.nodeName%3Dn2", "/api/v1/pods"))
        )
        await asyncio.sleep(0.1)
        await server.create(PODS, pod("web-a", "n1"))
        await server.create(PODS, pod("web-b", "n2"))
        await server.create(shop, pod("web-a", "n2"))

        here, there, everywhere, one, node = await asyncio.gather(*tasks)

        assert here == [("ADDED", "web-a"), ("ADDED", "web-b")]
        assert there == [("ADDED", "web-a")]
        assert len(everywhere) == 3
        assert one == [("ADDED", "web-b")]
        assert node == [("ADDED", "web-b"), ("ADDED", "web-a")]

    play(scenario)


# --- Forms --------------------------------------------------------------------------------


def test_watches_of_tables_and_of_metadata() -> None:
    async def scenario(server: Server) -> None:
        query = f"{SERVICES}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true"
        created = await server.create(SERVICES, service())

        table = await server.ask("GET", query, headers={"accept": TABLE})
        metadata = await server.ask("GET", query, headers={"accept": METADATA})

        row, end = (event["object"] for event in table.events)
        assert row["kind"] == end["kind"] == "Table"
        assert row["rows"][0]["cells"][0] == "web"
        assert end["rows"] == []
        only, end = (event["object"] for event in metadata.events)
        assert only["metadata"] == created["metadata"]
        assert end["kind"] == "PartialObjectMetadata"
        assert end["metadata"]["resourceVersion"] == str(server.revision)

    play(scenario)


def test_events_are_watched_in_either_version() -> None:
    async def scenario(server: Server) -> None:
        event = {
            "metadata": {"name": "e"},
            "message": "m",
            "involvedObject": {"namespace": "default"},
        }
        await server.create(f"{DEFAULT}/events", event)

        reply = await server.ask(
            "GET", "/apis/events.k8s.io/v1/events?watch=1&timeoutSeconds=1&resourceVersion=0"
        )

        assert reply.events[0]["object"]["note"] == "m"
        assert reply.events[0]["object"]["apiVersion"] == "events.k8s.io/v1"

    play(scenario)


def test_a_deprecated_kind_is_warned_of_when_it_is_watched() -> None:
    async def scenario(server: Server) -> None:
        reply = await server.ask("GET", f"{DEFAULT}/endpoints?watch=1&timeoutSeconds=1")

        assert "v1 Endpoints is deprecated" in reply.headers["warning"]

    play(scenario)


# --- Time ---------------------------------------------------------------------------------


def test_a_watch_ends_after_its_time_and_by_itself_at_last() -> None:
    async def scenario(server: Server) -> None:
        loop = asyncio.get_running_loop()

        await server.ask("GET", f"{SLICES}?watch=1&timeoutSeconds=7")
        assert loop.time() == pytest.approx(7)
        await server.ask("GET", f"{SLICES}?watch=1")
        assert loop.time() == pytest.approx(7 + 45 * 60)

    play(scenario)


def test_bookmarks_come_every_minute_to_who_wants_them() -> None:
    async def scenario(server: Server) -> None:
        query = "watch=1&resourceVersion=5&timeoutSeconds=150"
        wanted = asyncio.create_task(
            server.ask("GET", f"{SLICES}?{query}&allowWatchBookmarks=true")
        )
        unwanted = asyncio.create_task(server.ask("GET", f"{SLICES}?{query}"))
        await asyncio.sleep(90)
        await server.create(PODS, pod())  # another kind moves the version on

        bookmarks = (await wanted).events

        assert [event["type"] for event in bookmarks] == ["BOOKMARK", "BOOKMARK"]
        versions = [event["object"]["metadata"]["resourceVersion"] for event in bookmarks]
        assert versions == [str(server.revision - 1), str(server.revision)]
        assert (await unwanted).events == []

    play(scenario)


@pytest.mark.parametrize("watches", [1, 3])
def test_a_lone_write_is_told_at_once_and_many_together_after_a_pause_for_each_watch(
    watches: int,
) -> None:
    async def scenario(server: Server) -> None:
        loop = asyncio.get_running_loop()
        query = f"{SLICES}?watch=1&resourceVersion={server.revision}"
        async with AsyncExitStack() as stack:
            open_watches = [
                await stack.enter_async_context(server.client.stream("GET", query))
                for _ in range(watches)
            ]
            await asyncio.sleep(1)
            began = loop.time()
            await server.create(SLICES, endpoint_slice("lone"))
            for it in open_watches:
                assert seen(await it.event()) == ("ADDED", "lone")
            assert loop.time() == began

            for number in range(50):
                await server.create(SLICES, endpoint_slice(f"many-{number}"))
            for it in open_watches:
                assert len((await it.chunks.get() or b"").splitlines()) == 50
            assert loop.time() - began == pytest.approx(watches * watching.PAUSE)

    play(scenario)


def test_a_write_to_one_kind_does_not_make_watches_of_another_wait() -> None:
    async def scenario(server: Server) -> None:
        loop = asyncio.get_running_loop()
        since = f"watch=1&resourceVersion={server.revision}"
        async with (
            server.client.stream("GET", f"{PODS}?{since}") as of_pods,
            server.client.stream("GET", f"{SLICES}?{since}") as of_slices,
        ):
            await asyncio.sleep(1)
            began = loop.time()
            await server.create(PODS, pod())
            await of_pods.event()
            await server.create(SLICES, endpoint_slice())
            await of_slices.event()

            assert loop.time() == began

    play(scenario)


def test_what_waits_for_a_client_is_handed_out_in_pieces_in_order() -> None:
    async def scenario(server: Server) -> None:
        watch = server.api.watch(View(ENDPOINT_SLICES), options=_from(server))
        annotations = {"padding": "x" * 10_000}
        for number in range(20):
            slice_ = endpoint_slice(f"web-{number:02}")
            slice_["metadata"]["annotations"] = annotations
            await server.create(SLICES, slice_)
            await asyncio.sleep(0.1)  # a round of its own

        pieces: list[bytes] = []
        while sum(piece.count(b"\n") for piece in pieces) < 20:
            pieces.append(await anext(watch))
        names = [
            json.loads(line)["object"]["metadata"]["name"] for line in b"".join(pieces).splitlines()
        ]

        assert names == [f"web-{number:02}" for number in range(20)]
        assert len(pieces) > 1
        assert max(map(len, pieces)) <= 64 << 10

    play(scenario)


def test_watches_of_the_same_objects_share_their_bytes() -> None:
    async def scenario(server: Server) -> None:
        watches = [server.api.watch(View(ENDPOINT_SLICES), options=_from(server)) for _ in range(3)]
        await server.create(SLICES, endpoint_slice())

        chunks = [await anext(watch) for watch in watches]

        assert chunks[0] is chunks[1] is chunks[2]
        assert server.api.open_watches == 3

    play(scenario)


def _from(server: Server) -> ListOptions:
    return ListOptions(resource_version=str(server.revision))


# --- Clients that go away, or do not keep up ----------------------------------------------


def test_a_client_that_goes_away_is_forgotten() -> None:
    async def scenario(server: Server) -> None:
        async with server.client.stream("GET", f"{SLICES}?watch=1"):
            await asyncio.sleep(0.1)
            assert server.api.open_watches == 1

        assert server.api.open_watches == 0

    play(scenario)


def test_a_slow_client_is_cut_off_and_the_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MAX_WAITING", 20_000)

    async def scenario(server: Server) -> None:
        query = f"{SLICES}?watch=1&resourceVersion={server.revision}"
        async with (
            server.client.stream("GET", query) as slow,
            server.client.stream("GET", query) as quick,
        ):
            await asyncio.sleep(0.1)
            slow.takes_more.clear()
            for number in range(60):
                await server.create(SLICES, endpoint_slice(f"web-{number}"))
                await asyncio.sleep(0.1)

            assert server.api.open_watches == 1
            assert slow.chunks.empty()  # its response was never completed
            told = 0
            while not quick.chunks.empty():
                told += len((await quick.chunks.get() or b"").splitlines())
            assert told == 60

    play(scenario)


def test_a_watch_that_is_cut_off_says_so_to_who_is_in_the_same_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "MAX_WAITING", 1000)

    async def scenario(server: Server) -> None:
        watch = server.api.watch(View(ENDPOINT_SLICES), options=_from(server))
        for number in range(5):
            await server.create(SLICES, endpoint_slice(f"web-{number}"))
            await asyncio.sleep(0.1)

        assert [chunk async for chunk in watch] == []
        assert watch.cut_off

    play(scenario)


def test_only_so_many_watches_are_open_at_a_time() -> None:
    async def scenario(server: Server) -> None:
        async with server.client.stream("GET", f"{SLICES}?watch=1"):
            await asyncio.sleep(0.1)

            reply = await server.ask("GET", f"{SLICES}?watch=1")

        assert (reply.status, reply.json["reason"]) == (429, "TooManyRequests")
        assert reply.headers["retry-after"] == "1"

    play(scenario, limits=Limits(watches=1))


def test_the_end_of_the_server_ends_all_watches() -> None:
    async def scenario(server: Server) -> None:
        now = asyncio.create_task(server.ask("GET", f"{SLICES}?watch=1"))
        later = asyncio.create_task(server.ask("GET", f"{SLICES}?watch=1&resourceVersion=999"))
        await asyncio.sleep(0.1)

        server.api.close()

        assert [reply.body for reply in await asyncio.gather(now, later)] == [b"", b""]
        assert server.api.open_watches == 0

    play(scenario)
