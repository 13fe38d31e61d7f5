"""Requests to an ASGI application without a network: what goes in, and what comes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

from nearwise.server.app import App


class Reply(NamedTuple):
    """A response as a whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body as plain values."""
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events of a watch that has ended."""
        return [json.loads(line) for line in self.body.splitlines()]


class Stream:
    """A response as it comes in."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.takes_more = asyncio.Event()
        """Cleared, it holds up the application: this client does not read."""
        self.takes_more.set()
        self.gone = asyncio.Event()
        """Set, the client has gone away."""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode(): value.decode("latin-1") for name, value in message["headers"]
            }
            return
        await self.takes_more.wait()
        if message.get("body"):
            self.chunks.put_nowait(message["body"])
        if not message.get("more_body", False):
            self.chunks.put_nowait(None)

    async def event(self) -> dict[str, Any]:
        """Return the one event that comes next; there must be no others with it."""
        chunk = await self.chunks.get()
        assert chunk is not None, "the watch ended"
        found: dict[str, Any] = json.loads(chunk)
        return found

    async def rest(self) -> bytes:
        """Return everything up to the end."""
        parts = []
        while (chunk := await self.chunks.get()) is not None:
            parts.append(chunk)
        return b"".join(parts)


class Client:
    """A client of an application."""

    def __init__(self, app: App, token: str = "") -> None:
        self._app = app
        self._token = token

    async def __call__(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        media: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request, the body as JSON unless it is text or bytes; return the response."""
        async with self.stream(method, target, body, media=media, headers=headers) as stream:
            rest = await stream.rest()
            return Reply(stream.status, stream.headers, rest)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        media: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        """Send a request and read the response bit by bit; leaving goes away."""
        stream = Stream()
        content = _content(body)
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": content, "more_body": False})

        async def receive() -> dict[str, Any]:
            if not inbox.empty():
                return inbox.get_nowait()
            await stream.gone.wait()
            return {"type": "http.disconnect"}

        sent = {"user-agent": "Python-urllib/3.11", "host": "127.0.0.1:16443", **(headers or {})}
        if body is not None:
            sent["content-type"] = media or "application/json"
        if self._token:
            sent.setdefault("authorization", f"Bearer {self._token}")
        task = asyncio.create_task(self._app(_scope(method, target, sent), receive, stream.send))
        try:
            yield stream
        finally:
            stream.gone.set()
            stream.takes_more.set()
            await task


def _content(body: object) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _scope(method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
