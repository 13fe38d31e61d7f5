"""How long it takes until Nearwise answers, and how much memory it takes.

The server is asked over TLS, which is part of the time. Beside it: what Python takes with the
libraries, and what it takes to read the file.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.live import objects
from benchmarks.live.case import Case, Measured
from benchmarks.live.load import client
from benchmarks.live.running import Running, controller, up
from nearwise.lab.dumps import load
from nearwise.machinery.changes import Create, Key
from nearwise.server.api import Api
from nearwise.server.objects.stored import at_revision
from nearwise.server.resources import PODS
from nearwise.store import SqliteStore, Store

_PODS = 100_000
_SERVICES = 1_000
_STARTS = 7
_WRITERS = 500  # that fill the file
_LIBRARIES = "import aiohttp, click, cryptography.x509, msgspec, ssl, uvicorn, yaml"


def cases() -> Iterator[Case]:
    """Yield the measurements."""
    yield Case("start of an empty server to its first answer", _empty)
    yield Case(f"start with {_PODS:,} pods in SQLite to the first answer", _full)


def _empty() -> Measured:
    ours, python = [], []
    for _ in range(_STARTS):
        with up("--memory") as running:
            ours.append(running.seconds + asyncio.run(_answered(running)))
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", _LIBRARIES], check=True)
        python.append(time.perf_counter() - began)
    with up("--memory", "--no-controllers") as server, controller(server.kubeconfig) as alone:
        time.sleep(2)
        memory = f"server {_mb(server)}, controllers in a process of their own {_mb(alone)}"
    return Measured(
        f"{statistics.median(ours):.2f} s; {memory}",
        f"Python with the libraries: {statistics.median(python):.2f} s",
    )


def _full() -> Measured:
    with TemporaryDirectory(prefix="nearwise-") as folder:
        asyncio.run(_fill(Path(folder) / "nearwise.db"))
        began = time.perf_counter()
        rows = sqlite3.connect(Path(folder) / "nearwise.db").execute("SELECT * FROM versions")
        read = len(rows.fetchall())
        plain = time.perf_counter() - began
        assert read > _PODS
        with up("--data", folder, "--no-controllers") as server:
            seconds = server.seconds + asyncio.run(_answered(server))
            memory = _mb(server)
            with controller(server.kubeconfig) as alone:
                began = time.perf_counter()
                asyncio.run(_complete(server))
                complete = time.perf_counter() - began
                memory += (
                    f", controllers {_mb(alone)} once all slices are written ({complete:.0f} s)"
                )
    return Measured(f"{seconds:.2f} s; server {memory}", f"sqlite3, fetchall: {plain:.2f} s")


async def _answered(running: Running) -> float:
    """Return the seconds until a request is answered."""
    began = time.perf_counter()
    async with client(running.access) as api:
        await api.send("GET", "/readyz")
    return time.perf_counter() - began


async def _complete(running: Running) -> None:
    async with client(running.access) as api:
        await api.until_listed(_PODS)


async def _fill(path: Path) -> None:
    """Make a file with services and pods; most pods are copies of a few, under other names."""
    store = SqliteStore(path, synchronous="NORMAL")
    await load(objects.cluster(_SERVICES, _SERVICES), store, Api(store))
    numbers = count(_SERVICES)

    async def work() -> None:
        while (i := next(numbers)) < _PODS:
            await _copy(store, i % _SERVICES, i)

    await asyncio.gather(*(work() for _ in range(_WRITERS)))
    store.compact(store.read.revision)
    await store.close()


async def _copy(store: Store, old: int, new: int) -> None:
    app = f"web-{old}"
    key = Key(PODS.storage, objects.NAMESPACE, objects.pod_name(new, app))
    pod = store.read.get(Key(PODS.storage, objects.NAMESPACE, objects.pod_name(old, app)))
    assert pod is not None
    value = pod.value.replace(objects.pod_name(old, app).encode(), key.name.encode())
    for before, after in (
        (f'"uid":"pod-{old}"', f'"uid":"pod-{new}"'),
        (f'"{objects.address(old)}"', f'"{objects.address(new)}"'),
    ):
        assert before.encode() in value
        value = value.replace(before.encode(), after.encode())
    await store.write(Create(key, lambda revision: at_revision(value, revision)))


def _mb(running: Running) -> str:
    return f"{running.resident() / 1e6:.0f} MB"
