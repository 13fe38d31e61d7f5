"""Watching: events from a socket to typed objects, against the official ``kubernetes`` client."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import kubernetes
import msgspec

from benchmarks import clusters
from benchmarks.timing import Case
from nearwise.client.cluster import LiveCluster
from nearwise.client.credentials import Fixed, Identity
from nearwise.client.kubeconfig import Access
from nearwise.model.resources import PODS

EVENTS = 50_000


def cases() -> Iterator[Case]:
    """Yield the comparison. Ask for the events a second by dividing."""
    server = _Server(_stream(EVENTS))
    official = kubernetes.client.CoreV1Api(
        kubernetes.client.ApiClient(kubernetes.client.Configuration(host=server.address))
    )
    access = Access(server.address, "benchmark", Fixed(Identity()))

    def theirs() -> None:
        watch: Any = kubernetes.watch.Watch()
        stream = watch.stream(official.list_pod_for_all_namespaces, timeout_seconds=1)
        assert sum(1 for _ in stream) == EVENTS

    async def watch() -> int:
        async with LiveCluster(access) as cluster:
            count = 0
            async for _ in cluster.watch(PODS, {"watch": "true"}):
                count += 1
            return count

    def ours() -> None:
        assert asyncio.run(watch()) == EVENTS

    yield Case(
        f"watch {EVENTS:,} pods change ({len(server.answer) / 1e6:.0f} MB)",
        "official kubernetes client",
        theirs,
        ours,
        rounds=3,
    )


def _stream(count: int) -> bytes:
    """Make an answer, one event a chunk, as the API server sends them."""
    pods = clusters.pods(1_000, on_nodes=60)
    lines = [
        msgspec.json.encode({"type": "MODIFIED", "object": pods[n % len(pods)]}) + b"\n"
        for n in range(count)
    ]
    chunks = (b"%x\r\n%b\r\n" % (len(line), line) for line in lines)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return b"".join([head, *chunks, b"0\r\n\r\n"])


class _Server:
    """Gives one answer to whatever it is asked. It waits in the kernel, so it costs us little."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(self.answer)
