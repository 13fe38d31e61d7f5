"""Many watchers of slices while others write: how long until they know, and what they take.

Every watcher takes in all bytes over a TLS connection of its own; one in fifty looks at what came.
Beside it: one watcher, and the same writes.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.live import objects
from benchmarks.live.case import Case, Measured, spread
from benchmarks.live.load import SLICES, Client, client, token
from benchmarks.live.running import Running, up
from nearwise.client.kubeconfig import Access
from nearwise.client.tls import tls_context
from nearwise.server.serve import allow_many_connections

_WATCHERS = 1_000
_LOOKS = 50  # one in so many
_AT_ONCE = 50  # that open at a time
_SLICES = 100
_RATE = 100  # writes a second
_SECONDS = 5
_SENT = b'"sent":"'  # an annotation: when the write was sent


class _Outcome(NamedTuple):
    delays: list[float]
    answers: list[float]
    before: int  # bytes of memory before the watchers came
    idle: int  # when they were there
    busy: int  # at most, while others wrote


def cases() -> Iterator[Case]:
    """Yield the measurement."""
    yield Case(f"{_WATCHERS:,} watchers, {_RATE} writes a second: write to seen", _measure)


def _measure() -> Measured:
    allow_many_connections()
    alone, many = _run(1), _run(_WATCHERS)
    each = (many.idle - many.before) / _WATCHERS
    return Measured(
        f"{spread(many.delays)}; writes take {spread(many.answers)}; server "
        f"{many.before / 1e6:.0f} MB before, {many.idle / 1e6:.0f} with them "
        f"({each / 1e3:.0f} kB each), {many.busy / 1e6:.0f} at most",
        f"1 watcher: {spread(alone.delays)}; writes take {spread(alone.answers)}; "
        f"server {alone.busy / 1e6:.0f} MB",
    )


def _run(watchers: int) -> _Outcome:
    begin = [objects.service("web"), *(objects.slice_(i) for i in range(_SLICES))]
    with up("--memory", "--no-controllers", objects=begin) as running:
        return asyncio.run(_watched(running, watchers))


async def _watched(running: Running, watchers: int) -> _Outcome:
    async with client(running.access) as api:
        before = running.resident()
        found = [_Watcher(looks=number % _LOOKS == 0) for number in range(watchers)]
        way = _way(running.access, await api.version())
        for start in range(0, watchers, _AT_ONCE):
            chunk = found[start : start + _AT_ONCE]
            await asyncio.gather(*(way.open(each) for each in chunk))
        idle = running.resident()
        answers, busy = await _write(api, running)
        looking = found[::_LOOKS]
        while any(len(each.delays) < _RATE * _SECONDS for each in looking):
            await asyncio.sleep(0.05)
            busy = max(busy, running.resident())
        for each in found:
            each.close()
    delays = [delay for each in looking for delay in each.delays]
    return _Outcome(delays, answers, before, idle, busy)


async def _write(api: Client, running: Running) -> tuple[list[float], int]:
    """Write at an even rate, however long the answers take; how long they took, and the memory."""
    answers: list[float] = []
    busy = 0

    async def write(number: int) -> None:
        sent = time.perf_counter()
        patch = {"metadata": {"annotations": {"sent": repr(sent)}}}
        await api.merge(f"{SLICES}/{objects.slice_name(number % _SLICES)}", patch)
        answers.append(time.perf_counter() - sent)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(_RATE * _SECONDS):
            await asyncio.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
            tasks.create_task(write(number))
            if number % (_RATE // 10) == 0:
                busy = max(busy, running.resident())
    return answers, busy


class _Watcher(asyncio.Protocol):
    """Takes in what a watch tells; when it looks, it notes how long ago each write was sent."""

    def __init__(self, *, looks: bool) -> None:
        self.delays: list[float] = []
        self.open = asyncio.Event()
        self._looks = looks
        self._rest = b""
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.open.set()
        if self._looks:
            now = time.perf_counter()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                _, found, sent = line.partition(_SENT)
                if found:
                    self.delays.append(now - float(sent[: sent.index(b'"')]))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


class _Way(NamedTuple):
    """How a watcher gets in, and what it asks for."""

    host: str
    port: int
    tls: ssl.SSLContext
    request: bytes

    async def open(self, watcher: _Watcher) -> None:
        """Have the watcher watch."""
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: watcher, self.host, self.port, ssl=self.tls
        )
        transport.write(self.request)
        await watcher.open.wait()


def _way(access: Access, version: str) -> _Way:
    server = urlsplit(access.server)
    request = (
        f"GET {SLICES}?watch=1&resourceVersion={version} HTTP/1.1\r\n"
        f"Host: {server.netloc}\r\nAuthorization: {token(access)}\r\n\r\n"
    )
    tls = tls_context(access, access.credentials.identity())
    return _Way(server.hostname or "", server.port or 443, tls, request.encode())
