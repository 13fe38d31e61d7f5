"""A plain client: requests with bytes, and watches as lines with the moment they came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from benchmarks.live.objects import NAMESPACE
from nearwise.client.kubeconfig import Access
from nearwise.client.tls import tls_context
from nearwise.model import EndpointSlice

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"


class _List(msgspec.Struct):
    items: list[EndpointSlice]


class Client:
    """Asks one server, over as many connections as requests are under way."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def send(
        self, method: str, path: str, content: object = None, media: str = "application/json"
    ) -> bytes:
        """Send a request and return the answer; RuntimeError when it is refused."""
        body = None if content is None else msgspec.json.encode(content)
        async with self._session.request(
            method, self._server + path, data=body, headers={"Content-Type": media}
        ) as response:
            answer = await response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.decode()}")
        return answer

    async def merge(self, path: str, patch: object) -> bytes:
        """Send a merge patch."""
        return await self.send("PATCH", path, patch, "application/merge-patch+json")

    async def version(self) -> str:
        """Return the newest resource version."""
        listing = msgspec.json.decode(await self.send("GET", f"{SLICES}?limit=1"))
        return str(listing["metadata"]["resourceVersion"])

    async def slices(self) -> list[EndpointSlice]:
        """Return all slices."""
        return msgspec.json.decode(await self.send("GET", SLICES), type=_List).items

    async def until_listed(self, pods: int) -> None:
        """Wait until the slices list so many pods."""
        while sum(len(slice_.endpoints) for slice_ in await self.slices()) < pods:
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[Lines]:
        """Watch from now on."""
        query = {"watch": "1", "resourceVersion": await self.version()}
        async with self._session.get(self._server + path, params=query) as response:
            lines = Lines(response.content)
            task = asyncio.create_task(lines.read())
            try:
                yield lines
            finally:
                task.cancel()


class Lines:
    """The lines of a watch, each with the moment when it came."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self.seen = 0
        self._content = content
        self._lines: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read(self) -> None:
        """Take in lines until cancelled."""
        rest = b""
        async for piece in self._content.iter_any():
            now = time.perf_counter()
            *lines, rest = (rest + piece).split(b"\n")
            self.seen += len(lines)
            for line in lines:
                self._lines.put_nowait((now, line))

    async def find(self, wanted: Callable[[bytes], bool]) -> float:
        """Return the moment when the next line came that is wanted; earlier ones are dropped."""
        while True:
            moment, line = await self._lines.get()
            if wanted(line):
                return moment


@asynccontextmanager
async def client(access: Access) -> AsyncIterator[Client]:
    """Give a client of a server."""
    identity = access.credentials.identity()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls_context(access, identity)),
        headers={"Authorization": token(access)},
        timeout=aiohttp.ClientTimeout(total=None),
    ) as session:
        yield Client(session, access.server)


def token(access: Access) -> str:
    """Return the header by which the server knows us."""
    authorization: Any = access.credentials.identity().authorization
    return str(authorization.reveal())
