"""An HTTP server whose answers a test writes byte by byte, in the test's own event loop."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Asked(NamedTuple):
    """A request that came. Names of headers are in small letters, the path is as it was sent."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Reply:
    """The server's end of one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def certificate_shown(self) -> bool:
        """Whether the client has shown one."""
        return bool(self._writer.get_extra_info("peercert"))

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, code: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Begin an answer that comes in chunks."""
        lines = [f"HTTP/1.1 {code} {HTTPStatus(code).phrase}", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send("\r\n".join([*lines, "\r\n"]).encode())

    async def chunk(self, data: bytes) -> None:
        """Send a chunk."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """End an answer in good order."""
        await self.send(b"0\r\n\r\n")

    async def hung_up(self) -> None:
        """Wait until the client closes the connection."""
        await self._reader.read()

    def break_off(self) -> None:
        """Close the connection without a word."""
        self._writer.transport.abort()


Answer = Callable[[Asked, Reply], Awaitable[None]]


class ScriptedServer:
    """The answers still to give, the requests that came, and how many connections are open.

    The last answer is given to all requests that come after it, too.
    """

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[Asked] = []
        self.connections = 0  # ever made
        self.address = ""
        self.open: set[asyncio.Task[None]] = set()

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        while self.open:
            await asyncio.wait(self.open)

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                asked = await _read(reader)
                self.asked.append(asked)
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                await answer(asked, Reply(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up
        finally:
            writer.close()
            self.open.remove(task)


@asynccontextmanager
async def serving(
    *answers: Answer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """Serve on a free port of this machine; afterwards no connection may be open any more."""
    scripted = ScriptedServer(*answers)
    server = await asyncio.start_server(scripted.meet, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    scripted.address = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield scripted
        async with asyncio.timeout(5):
            await scripted.all_closed()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    url = urlsplit(target)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, url.path, dict(parse_qsl(url.query)), headers, body)


# --- Answers --------------------------------------------------------------------------------


def says(body: object, code: int = 200, **headers: str) -> Answer:
    """Answer with JSON, or with bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer(_asked: Asked, reply: Reply) -> None:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"HTTP/1.1 {code} {HTTPStatus(code).phrase}", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in names.items()]
        await reply.send("\r\n".join([*lines, "\r\n"]).encode() + data)

    return answer


def refuses(code: int, reason: str, message: str = "no", **headers: str) -> Answer:
    """Answer with a Status, as the API server does."""
    return says(a_status(code, reason, message), code, **headers)


def a_status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """Make a Status."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    more = {"details": details} if details else {}
    return {**status, "code": code, "reason": reason, "message": message, **more}


def streams(*chunks: bytes, compressed: bool = False) -> Answer:
    """Answer with a stream that ends in good order."""

    async def answer(_asked: Asked, reply: Reply) -> None:
        await reply.head(headers={"Content-Encoding": "gzip"} if compressed else {})
        for chunk in [gzip.compress(b"".join(chunks))] if compressed else chunks:
            await reply.chunk(chunk)
        await reply.end()

    return answer


async def breaks_off(_asked: Asked, reply: Reply) -> None:
    """Take a request, and close the connection without an answer."""
    reply.break_off()
