"""A plain client: requests with bytes, watches as lines, and what to say of many times."""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from nearwise.client.kubeconfig import Access
from nearwise.client.tls import tls_context


class Client:
    """Asks one server, over as many connections as requests are under way."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def send(
        self, method: str, path: str, content: Any = None, media: str = "application/json"
    ) -> bytes:
        """Send a request and return the answer; RuntimeError when it is refused."""
        body = None if content is None else msgspec.json.encode(content)
        headers = {"Content-Type": media}
        async with self._session.request(
            method, self._server + path, data=body, headers=headers
        ) as response:
            answer = await response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.decode()}")
        return answer

    async def merge(self, path: str, patch: Any) -> bytes:
        """Send a merge patch."""
        return await self.send("PATCH", path, patch, "application/merge-patch+json")

    async def watch(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of a watch from now on."""
        timeout = aiohttp.ClientTimeout(total=None)
        listing = msgspec.json.decode(await self.send("GET", f"{path}?limit=1"))
        version = listing["metadata"]["resourceVersion"]
        async with self._session.get(
            f"{self._server}{path}?watch=1&resourceVersion={version}", timeout=timeout
        ) as response:
            rest = b""
            async for piece in response.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield line


@asynccontextmanager
async def client(access: Access) -> AsyncIterator[Client]:
    """Give a client of a server."""
    identity = access.credentials.identity()
    assert identity.authorization is not None
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls_context(access, identity)),
        headers={"Authorization": identity.authorization.reveal()},
    ) as session:
        yield Client(session, access.server)


def spread(seconds: Sequence[float]) -> str:
    """Say the median and the 99th percentile of many times."""
    ms = sorted(1000 * each for each in seconds)
    last = ms[min(len(ms) - 1, int(0.99 * len(ms)))]
    return f"median {statistics.median(ms):.3g} ms, p99 {last:.3g} ms"
