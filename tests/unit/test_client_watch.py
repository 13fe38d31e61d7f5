"""Watching a live cluster, against a server that sends whatever it likes, however it likes."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nearwise.client.cluster import LiveCluster
from nearwise.client.credentials import Credentials, Fixed, Identity, Secret, TokenFile
from nearwise.client.kubeconfig import Access
from nearwise.client.lines import Lines
from nearwise.model import EndpointSlice, Pod
from nearwise.model.errors import LostError, StatusError
from nearwise.model.resources import ENDPOINT_SLICES, PODS, Resource
from scripted_server import (
    Answer,
    Asked,
    Reply,
    ScriptedServer,
    a_status,
    breaks_off,
    refuses,
    says,
    serving,
    streams,
)

VECTORS = Path(__file__).parent.parent / "vectors" / "http.jsonl.gz"
TLS = Path(__file__).parent.parent / "tls"
NOBODY = Fixed(Identity())
QUERY = {"watch": "true", "resourceVersion": "7"}


def access(server: ScriptedServer, credentials: Credentials = NOBODY) -> Access:
    return Access(server.address, "context test", credentials)


def line(kind: str, obj: object) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **metadata},
    }


def named(event: tuple[str, Any]) -> tuple[str, str]:
    kind, obj = event
    return kind, obj.metadata.name


async def watched(
    server: ScriptedServer, resource: Resource[Any] = PODS, namespace: str | None = None
) -> list[tuple[str, Any]]:
    """Watch until the server ends it."""
    async with LiveCluster(access(server)) as cluster:
        return [event async for event in cluster.watch(resource, QUERY, namespace)]


def events(answer: Answer, resource: Resource[Any] = PODS) -> list[tuple[str, Any]]:
    async def run() -> list[tuple[str, Any]]:
        async with serving(answer) as server:
            return await watched(server, resource)

    return asyncio.run(run())


def told_before(answer: Answer, failure: type[Exception]) -> tuple[list[tuple[str, str]], Any]:
    """Watch until it fails; return what was told before that, and the failure."""

    async def run() -> tuple[list[tuple[str, str]], Any]:
        told = []
        async with serving(answer) as server, LiveCluster(access(server)) as cluster:
            stream = cluster.watch(PODS, QUERY)
            try:
                async for event in stream:
                    told.append(named(event))
            except failure as error:
                return told, error
        raise AssertionError("it did not fail")

    return asyncio.run(run())


# --- What comes -----------------------------------------------------------------------------

THREE = (line("ADDED", pod("a")), line("MODIFIED", pod("a")), line("DELETED", pod("b")))
THREE_TOLD = [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_events_come_typed_until_the_server_closes_in_good_order() -> None:
    found = events(streams(*THREE))
    assert [named(event) for event in found] == THREE_TOLD
    assert all(isinstance(obj, Pod) for _, obj in found)


def test_a_watch_is_one_plain_request_on_a_connection_of_its_own() -> None:
    async def run() -> None:
        async with serving(streams()) as server:
            await watched(server, ENDPOINT_SLICES)
            await watched(server, PODS, namespace="shop")
            everywhere, in_one = server.asked
            assert everywhere.path == "/apis/discovery.k8s.io/v1/endpointslices"
            assert everywhere.query == QUERY
            assert everywhere.headers["user-agent"].startswith("nearwise/")
            assert in_one.path == "/api/v1/namespaces/shop/pods"

    asyncio.run(run())


def test_a_bookmark_is_an_object_with_metadata_and_nulls() -> None:
    bookmark = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "resourceVersion": "230",
            "creationTimestamp": None,
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
        "addressType": "",
        "endpoints": None,
        "ports": None,
    }
    ((kind, found),) = events(streams(line("BOOKMARK", bookmark)), ENDPOINT_SLICES)
    assert kind == "BOOKMARK"
    assert isinstance(found, EndpointSlice)
    assert found.metadata.resource_version == "230"
    assert found.metadata.annotations == {"k8s.io/initial-events-end": "true"}


def test_a_null_anywhere_is_an_absent_field() -> None:
    obj = {**pod("a", labels=None), "spec": {"nodeName": None, "containers": None}, "status": None}
    ((_, found),) = events(streams(line("ADDED", obj)))
    assert found.spec.containers == ()
    assert found.metadata.labels == {}


def test_watches_are_understood_when_compressed() -> None:
    assert [named(e) for e in events(streams(*THREE, compressed=True))] == THREE_TOLD


def recorded_watches() -> Iterator[Any]:
    with gzip.open(VECTORS, "rt") as lines:
        for number, text in enumerate(lines):
            exchange = json.loads(text)
            if "watch=1" in exchange["path"]:
                yield pytest.param(exchange["response"], id=f"{number} {exchange['note']}")


@pytest.mark.parametrize("recorded", list(recorded_watches()))
def test_what_kubernetes_sends_is_told_event_by_event(recorded: list[dict[str, Any]]) -> None:
    found = events(streams(*(line(e["type"], e["object"]) for e in recorded)), ENDPOINT_SLICES)
    assert [(kind, obj.metadata.resource_version) for kind, obj in found] == [
        (e["type"], e["object"]["metadata"]["resourceVersion"]) for e in recorded
    ]


# --- Pieces ---------------------------------------------------------------------------------

STREAM = b'{"a":1}\n\n{"bc":"\xc3\xa9"}\r\n{}\nrest'
LINES = [b'{"a":1}', b"", b'{"bc":"\xc3\xa9"}\r', b"{}"]


def cut(pieces: list[bytes]) -> tuple[list[bytes], int]:
    lines = Lines()
    return [found for piece in pieces for found in lines.feed(piece)], lines.rest


@pytest.mark.parametrize("cuts", [0, 1, 2, 3])
def test_lines_are_the_same_in_whatever_pieces_they_come(cuts: int) -> None:
    for places in combinations(range(len(STREAM) + 1), cuts):
        ends = (0, *places, len(STREAM))
        pieces = [STREAM[begin:end] for begin, end in pairwise(ends)]
        assert cut(pieces) == (LINES, len(b"rest")), pieces


def test_lines_are_the_same_byte_by_byte() -> None:
    assert cut([STREAM[at : at + 1] for at in range(len(STREAM))]) == (LINES, len(b"rest"))


@pytest.mark.parametrize("size", [1, 2, 7, 1_000_000])
def test_chunks_of_http_need_not_be_events(size: int) -> None:
    stream = b"\n\r\n".join(THREE) + b"  \n"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [named(e) for e in events(streams(*chunks))] == THREE_TOLD


def test_an_event_of_five_megabytes_is_taken() -> None:
    obj = pod("large", annotations={"blob": "x" * 5_000_000})
    ((_, found),) = events(streams(line("ADDED", obj)))
    assert len(found.metadata.annotations["blob"]) == 5_000_000


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    async def endless(_asked: Asked, reply: Reply) -> None:
        await reply.head()
        while True:
            await reply.chunk(b"x" * 2**20)

    _, failure = told_before(endless, LostError)
    assert str(failure).endswith("an event of more than 67108864 bytes")


# --- How it ends ----------------------------------------------------------------------------


def test_a_connection_that_breaks_in_the_middle_of_an_event_is_lost() -> None:
    async def breaking(_asked: Asked, reply: Reply) -> None:
        await reply.head()
        await reply.chunk(THREE[0])
        await asyncio.sleep(0.05)  # what is not read when a connection breaks is gone
        await reply.chunk(THREE[1][:20])
        reply.break_off()

    told, failure = told_before(breaking, LostError)
    assert told == [("ADDED", "a")]
    assert "no answer from http://127.0.0.1:" in str(failure)


def test_a_stream_that_ends_in_the_middle_of_an_event_is_lost() -> None:
    told, failure = told_before(streams(THREE[0], THREE[1][:20]), LostError)
    assert told == [("ADDED", "a")]
    assert str(failure).endswith("broke off in the middle of an event")


def test_a_connection_that_breaks_before_the_answer_is_lost() -> None:
    _, failure = told_before(breaks_off, LostError)
    assert str(failure).startswith("no answer from http://127.0.0.1:")


def test_an_error_event_raises_its_status_and_ends_the_watch() -> None:
    """Field case F89, the second form: 410 inside a stream that began well."""
    gone = line("ERROR", a_status(410, "Expired", "too old resource version: 50 (100)"))

    async def ending(_asked: Asked, reply: Reply) -> None:
        await reply.head()
        await reply.chunk(THREE[0] + gone + THREE[1])
        await reply.hung_up()

    told, failure = told_before(ending, StatusError)
    assert told == [("ADDED", "a")]
    assert (failure.status.code, failure.status.reason) == (410, "Expired")
    assert str(failure) == "too old resource version: 50 (100)"


def test_a_watch_from_a_version_that_is_gone_is_refused_at_once() -> None:
    """Field case F89, the first form: an HTTP 410."""
    _, failure = told_before(refuses(410, "Expired", "too old resource version"), StatusError)
    assert (failure.status.code, failure.status.reason) == (410, "Expired")


def test_a_refusal_says_after_how_long_to_try_again() -> None:
    status = a_status(504, "Timeout", "Too large resource version", retryAfterSeconds=1)
    _, failure = told_before(says(status, 504, Retry_After="3"), StatusError)
    assert failure.retry_after == 3
    assert failure.status.details.retry_after_seconds == 1


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "soon", ""])
def test_a_time_to_try_again_that_is_no_number_of_seconds_is_none(header: str) -> None:
    _, failure = told_before(refuses(429, "TooManyRequests", Retry_After=header), StatusError)
    assert failure.retry_after == 0


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (says(b"<html>Bad Gateway</html>", 502), 502, "Bad Gateway"),
        (says(b"", 503), 503, "Service Unavailable"),
        (says({"message": "no route"}, 404), 404, "no route"),
        (says(b"", 302, Location="http://elsewhere.invalid/"), 302, "Found"),
    ],
)
def test_a_refusal_from_something_in_between_has_a_code_and_no_reason(
    answer: Answer, code: int, message: str
) -> None:
    _, failure = told_before(answer, StatusError)
    assert (failure.status.code, failure.status.reason) == (code, "")
    assert str(failure) == message


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"<html>Please log in</html>\n", "JSON is malformed"),
        (b'{"kind": "PodList", "items": []}\n', "missing required field `type`"),
        (line("ADDED", {"metadata": {"name": 7}}), "metadata.name: expected text"),
        (line("ADDED", None), "expected a mapping, got null"),
        (line("ERROR", "no"), "expected a mapping, got text"),
        (
            b'{"type":"ADDED","object":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
            "recursion depth",
        ),
        (b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n', "UTF-8"),
    ],
    ids=["a page", "a list", "a name that is a number", "no object", "no Status", "deep", "bytes"],
)
def test_what_no_api_server_would_say_is_no_answer(data: bytes, sentence: str) -> None:
    _, failure = told_before(streams(data), LostError)
    assert " does not answer like a Kubernetes API server: " in str(failure)
    assert sentence in str(failure)


# --- Giving up ------------------------------------------------------------------------------


async def goes_on(_asked: Asked, reply: Reply) -> None:
    """Send one event, and nothing more."""
    await reply.head()
    await reply.chunk(THREE[0])
    await reply.hung_up()


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_a_watch_that_is_cancelled_closes_its_connection(secure: bool) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(TLS / "server.pem")
    authority = (TLS / "ca.crt").read_text()

    async def run() -> None:
        async with (
            serving(goes_on, tls=tls if secure else None) as server,
            LiveCluster(replace(access(server), authority=authority)) as cluster,
        ):
            stream = cluster.watch(PODS, QUERY)
            assert named(await anext(stream)) == ("ADDED", "a")
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.01)
            assert len(server.open) == 1
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.wait_for(server.all_closed(), 5)
            with pytest.raises(StopAsyncIteration):
                await anext(stream)

    asyncio.run(run())


def test_a_silent_watch_is_given_up_when_its_reader_runs_out_of_patience() -> None:
    async def run() -> None:
        async with serving(goes_on) as server, LiveCluster(access(server)) as cluster:
            stream = cluster.watch(PODS, QUERY)
            await anext(stream)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.05)
            await asyncio.wait_for(server.all_closed(), 5)

    asyncio.run(run())


def test_a_server_that_does_not_answer_a_watch_is_given_up_too() -> None:
    async def silent(_asked: Asked, reply: Reply) -> None:
        await reply.hung_up()

    async def run() -> None:
        async with serving(silent) as server, LiveCluster(access(server)) as cluster:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(cluster.watch(PODS, QUERY)), 0.05)
            await asyncio.wait_for(server.all_closed(), 5)

    asyncio.run(run())


async def first_of(stream: AsyncIterator[tuple[str, Pod]]) -> tuple[str, Pod]:
    async for event in stream:
        return event
    raise AssertionError("nothing came")


def test_a_watch_that_nobody_reads_any_more_closes_its_connection() -> None:
    async def run() -> None:
        async with serving(goes_on) as server, LiveCluster(access(server)) as cluster:
            async with aclosing(cluster.watch(PODS, QUERY)) as stream:
                await anext(stream)
            await asyncio.wait_for(server.all_closed(), 5)
            await first_of(cluster.watch(PODS, QUERY))
            gc.collect()
            await asyncio.wait_for(server.all_closed(), 5)

    asyncio.run(run())


def test_closing_the_cluster_ends_its_watches() -> None:
    async def run() -> None:
        async with serving(goes_on) as server:
            async with LiveCluster(access(server)) as cluster:
                streams = [cluster.watch(PODS, QUERY) for _ in range(20)]
                for stream in streams:
                    await anext(stream)
                assert len(server.open) == server.connections == 20
                waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
                await asyncio.sleep(0)
            for each in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(each, LostError)
            await asyncio.wait_for(server.all_closed(), 5)

    asyncio.run(run())


def test_a_peer_that_vanished_is_noticed_by_the_connection_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[socket.socket] = []

    class Noted(socket.socket):
        def connect(self, address: Any) -> None:
            made.append(self)
            super().connect(address)

    monkeypatch.setattr(socket, "socket", Noted)

    async def run() -> None:
        async with serving(goes_on) as server, LiveCluster(access(server)) as cluster:
            await anext(cluster.watch(PODS, QUERY))
            (used,) = made
            assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            if hasattr(socket, "TCP_KEEPIDLE"):
                idle = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
                between = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
                count = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
                assert idle + between * count <= 60

    asyncio.run(run())


# --- Who asks -------------------------------------------------------------------------------


def test_a_token_refused_is_read_again_and_a_watch_under_way_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    more = asyncio.Event()
    valid = {"Bearer old"}

    async def checked(asked: Asked, reply: Reply) -> None:
        if asked.headers["authorization"] not in valid:
            await refuses(401, "Unauthorized")(asked, reply)
        elif asked.query:
            await reply.head()
            await reply.chunk(THREE[0])
            await more.wait()
            await reply.chunk(THREE[1])
            await reply.end()
        else:
            await says(pod("a"))(asked, reply)

    async def run() -> None:
        async with serving(checked) as server:
            credentials = TokenFile(file, Identity())
            async with LiveCluster(access(server, credentials)) as cluster:
                stream = cluster.watch(PODS, QUERY)
                await anext(stream)
                valid.clear()
                valid.add("Bearer new")
                with pytest.raises(StatusError):
                    await cluster.get(PODS, "shop", "a")
                file.write_text("new")
                assert (await cluster.get(PODS, "shop", "a")).metadata.name == "a"
                another = cluster.watch(PODS, QUERY)
                await anext(another)
                more.set()
                assert [named(event) async for event in stream] == [("MODIFIED", "a")]
                assert [named(event) async for event in another] == [("MODIFIED", "a")]

    asyncio.run(run())


def test_a_watch_asks_again_once_as_somebody_renewed() -> None:
    class Numbered:
        can_renew = True
        number = 1

        def identity(self) -> Identity:
            return identities[self.number]

        def renew(self) -> None:
            self.number += 1

    identities = [Identity(Secret(f"Bearer {number}")) for number in range(9)]

    async def run() -> None:
        async with serving(refuses(401, "Unauthorized"), streams(*THREE)) as server:
            async with LiveCluster(access(server, Numbered())) as cluster:
                assert [named(e) async for e in cluster.watch(PODS, QUERY)] == THREE_TOLD
            assert [each.headers["authorization"] for each in server.asked] == [
                "Bearer 1",
                "Bearer 2",
            ]

    asyncio.run(run())


def test_what_no_header_can_carry_is_told_and_not_shown() -> None:
    async def run() -> None:
        async with serving(breaks_off) as server:
            secret = Fixed(Identity(Secret("Bearer pass\nword")))
            async with LiveCluster(access(server, secret)) as cluster:
                with pytest.raises(LostError, match=r"cannot ask .* as context test") as caught:
                    await anext(cluster.watch(PODS, QUERY))
            assert "pass" not in str(caught.value)

    asyncio.run(run())
