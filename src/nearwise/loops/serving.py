"""Health and metrics over HTTP: a few pages that are read, and nothing else.

Law: whatever comes in costs little. A request has so many bytes and so many seconds, a connection
serves one request, and there are only so many connections. Nobody is asked who he is: there is
nothing here to change and nothing secret, and the address is a loopback one unless told otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

_HEAD: Final = 8192  # bytes of a request
_PATIENCE: Final = 5.0  # seconds for a request and its answer
_MOST: Final = 50  # connections at once

_TEXT: Final = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """What is said to a request."""

    status: HTTPStatus
    body: bytes
    content_type: str = _TEXT
    headers: tuple[str, ...] = ()
    """More lines of the head."""

    def to_bytes(self, *, head_only: bool = False) -> bytes:
        """Return it as HTTP/1.1 has it."""
        lines = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-cache, no-store",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
            *self.headers,
        )
        head = "\r\n".join((*lines, "", "")).encode()
        return head if head_only else head + self.body


class Readable(Protocol):
    """Pages that can be read."""

    def get(self, path: str, accept: str = "", query: str = "") -> Answer:
        """Return a page, in a format that is accepted; ``query`` is what follows the ``?``."""
        ...


class Pages:
    """What can be read: ``/livez`` (and ``/healthz``), ``/readyz``, ``/metrics``."""

    def __init__(
        self, registry: CollectorRegistry, checks: Callable[[], Mapping[str, str]]
    ) -> None:
        """Show the metrics of a registry, and checks by name, with what is wrong, if anything."""
        self._registry = registry
        self._checks = checks

    def get(self, path: str, accept: str = "", _query: str = "") -> Answer:
        """Return a page."""
        match path:
            case "/livez" | "/healthz":
                return Answer(HTTPStatus.OK, b"ok")
            case "/readyz":
                return self._readiness()
            case "/metrics":
                return metrics_page(self._registry, accept)
            case _:
                return refusal(HTTPStatus.NOT_FOUND, "there are /livez, /readyz and /metrics")

    def _readiness(self) -> Answer:
        """Say of each check whether it is well, as Kubernetes' components do."""
        checks = self._checks()
        lines = [
            f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok"
            for name, wrong in checks.items()
        ]
        if any(checks.values()):
            lines.append("readyz check failed")
            return refusal(HTTPStatus.SERVICE_UNAVAILABLE, "\n".join(lines))
        return Answer(HTTPStatus.OK, "\n".join((*lines, "readyz check passed", "")).encode())


def metrics_page(registry: CollectorRegistry, accept: str) -> Answer:
    """Return the metrics of a registry for Prometheus, as text or OpenMetrics."""
    encode, content_type = choose_encoder(accept)
    return Answer(HTTPStatus.OK, encode(registry), content_type)


def refusal(status: HTTPStatus, why: str) -> Answer:
    """Return an answer that says why there is none."""
    return Answer(status, f"{why}\n".encode())


@asynccontextmanager
async def serving(pages: Readable, host: str | None, port: int) -> AsyncIterator[tuple[str, int]]:
    """Serve pages meanwhile; gives the address, with the port that port 0 has become.

    Without a host it is served on all addresses of this machine. Raises OSError if the address is
    taken, or not ours.
    """
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            if len(connections) <= _MOST:
                await _converse(pages, reader, writer)
        finally:
            connections.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, host, port, limit=_HEAD)
    try:
        bound: tuple[str, int] = server.sockets[0].getsockname()[:2]
        yield bound
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _converse(
    pages: Readable, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            try:
                answer = _answer(pages, await reader.readuntil(b"\r\n\r\n"))
            except asyncio.LimitOverrunError:
                answer = refusal(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request is too long"
                ).to_bytes()
            writer.write(answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        pass  # whoever asked has gone, or takes too long


def _answer(pages: Readable, request: bytes) -> bytes:
    first, *lines = request.decode("latin-1").split("\r\n")
    match first.split(" "):
        case ["GET" | "HEAD" as method, target, "HTTP/1.0" | "HTTP/1.1"]:
            headers = (line.partition(":") for line in lines)
            accept = [value for name, _, value in headers if name.lower() == "accept"]
            path, _, query = target.partition("?")
            page = pages.get(path, ",".join(accept), query)
            return page.to_bytes(head_only=method == "HEAD")
        case [_, _, "HTTP/1.0" | "HTTP/1.1"]:
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "pages are read with GET").to_bytes()
        case _:
            return refusal(HTTPStatus.BAD_REQUEST, "this is not HTTP/1.1").to_bytes()
