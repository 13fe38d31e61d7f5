"""How many writes a second the server takes, over TLS, from one client and from many.

A write is what a kubelet does most: the status of a pod. Beside it: requests that ask for nothing
(``/version``) from the same clients, which is what HTTP and TLS take in Python; and what the disk
takes of sqlite3 alone, one flushed transaction a write. Set TMPDIR to measure another disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.live import objects
from benchmarks.live.case import Case, Measured
from benchmarks.live.load import PODS, client
from benchmarks.live.running import Running, up

_PODS = 1_000
_ROUNDS = 5  # of each, in turn: what a flush takes changes all the time
_SECONDS = 0.7


class _Rates(NamedTuple):
    """How many a second."""

    requests: float
    writes: float
    flushes: float


def cases() -> Iterator[Case]:
    """Yield the measurements."""
    for where in ("memory", "SQLite"):
        for clients in (1, 20):
            name = f"writes a second to {where}, {clients} client{'s'[: clients - 1]}"
            yield Case(name, partial(_measure, where, clients))


def _measure(where: str, clients: int) -> Measured:
    with TemporaryDirectory(prefix="nearwise-") as folder:
        store = ("--memory",) if where == "memory" else ("--data", folder)
        pods = objects.cluster(1, _PODS)
        with up(*store, "--no-controllers", objects=pods) as running:
            rounds = asyncio.run(_rounds(running, clients, Path(folder) / "plain.db"))
    requests, writes, flushes = map(statistics.median, zip(*rounds, strict=True))
    beside = f"requests for nothing: {requests:,.0f}"
    if where == "SQLite":
        beside += f"; sqlite3 alone: {flushes:,.0f}"
    return Measured(f"{writes:,.0f}", beside)


async def _rounds(running: Running, clients: int, path: Path) -> list[_Rates]:
    numbers = count()
    async with client(running.access) as api:

        async def ask() -> None:
            await api.send("GET", "/version")

        async def write() -> None:
            number = next(numbers)
            i, ready = number % _PODS, number // _PODS % 2 == 1
            conditions = objects.status(i, ready=ready)["conditions"]
            path = f"{PODS}/{objects.pod_name(i, 'web-0')}/status"
            await api.merge(path, {"status": {"conditions": conditions}})

        return [
            _Rates(await _rate(ask, clients), await _rate(write, clients), _flushes(path))
            for _ in range(_ROUNDS)
        ]


async def _rate(ask: Callable[[], Awaitable[None]], clients: int) -> float:
    """Return how often a second so many clients together do something, each one at a time."""
    await ask()
    done = 0
    began = time.perf_counter()

    async def work() -> None:
        nonlocal done
        while time.perf_counter() - began < _SECONDS:
            await ask()
            done += 1

    await asyncio.gather(*(work() for _ in range(clients)))
    return done / (time.perf_counter() - began)


def _flushes(path: Path) -> float:
    """Return how many writes a second sqlite3 takes, each of them flushed."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS objects (value BLOB)")
    value, done, began = b"x" * 1_500, 0, time.perf_counter()
    while (seconds := time.perf_counter() - began) < _SECONDS:
        connection.execute("INSERT INTO objects VALUES (?)", (value,))
        done += 1
    connection.close()
    return done / seconds
