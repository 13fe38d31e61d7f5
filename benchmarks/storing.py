"""Storing: writes that last against one transaction a write; start-up and pages of 100,000 objects.

What a flush costs is the disk's affair: set TMPDIR to a directory on the one to be measured.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import Case
from nearwise.machinery.changes import Create, Key, Update
from nearwise.machinery.revisions import RevisionLog
from nearwise.store import MemoryStore, SqliteStore, Store

OBJECTS = 100_000
VALUE = b'{"kind":"Pod","metadata":{"resourceVersion":"%d"},"padding":"' + b"x" * 1_500 + b'"}'


def cases() -> Iterator[Case]:
    """Yield the comparisons."""
    with TemporaryDirectory(prefix="nearwise-") as directory:
        yield from _writes(Path(directory))
    with TemporaryDirectory(prefix="nearwise-") as directory:
        yield from _start(Path(directory))
    yield from _pages()


def _writes(directory: Path) -> Iterator[Case]:
    with asyncio.Runner() as runner:
        plain = _OneByOne(directory / "plain.db")
        store: Store = SqliteStore(directory / "nearwise.db")
        runner.run(_fill(store, 1_000))
        for who, callers, writes in (("one caller", 1, 500), ("50 callers", 50, 5_000)):
            yield Case(
                f"{writes:,} writes to SQLite, flushed, {who}",
                "sqlite3, flushed, one transaction a write",
                lambda n=writes: plain.write(n),  # type: ignore[misc]
                _updates(runner, store, writes, callers),
            )
        runner.run(store.close())
        store = MemoryStore()
        runner.run(_fill(store, 1_000))
        yield Case(
            "5,000 writes to memory, 50 callers",
            "sqlite3, flushed, one transaction a write",
            lambda: plain.write(5_000),
            _updates(runner, store, 5_000, 50),
        )
        plain.close()


def _start(directory: Path) -> Iterator[Case]:
    path = directory / "nearwise.db"

    async def fill() -> None:
        store = SqliteStore(path)
        await _fill(store, OBJECTS)
        store.compact(store.read.revision)
        await store.close()

    def start() -> None:
        store = SqliteStore(path)
        assert store.read.page("pods", limit=1).remaining == OBJECTS - 1
        asyncio.run(store.close())

    def fetch() -> None:
        connection = sqlite3.connect(path)
        rows = connection.execute("SELECT * FROM versions").fetchall()
        assert len(rows) == OBJECTS
        connection.close()

    asyncio.run(fill())
    yield Case(f"start with {OBJECTS:,} objects of 1.5 KB", "sqlite3, fetchall", fetch, start)


def _pages() -> Iterator[Case]:
    log = RevisionLog()
    for number in range(OBJECTS):
        log.publish(log.propose(Create(_key(number), _encode)))
        log.compact()
    values = {(key.namespace, key.name): VALUE for key in map(_key, range(OBJECTS))}
    yield Case(
        f"list 500 of {OBJECTS:,} objects behind a key",
        "sorted keys of a dict",
        lambda: [values[key] for key in sorted(values) if key > ("ns-5", "pod-5")][:500],
        lambda: log.page("pods", after=("ns-5", "pod-5"), limit=500),
        repeat=50,
    )
    revision = log.revision
    for number in range(1_000):
        log.publish(log.propose(Update(_key(number * 97), _encode)))
    yield Case(
        f"list 500 of {OBJECTS:,} objects as they were 1,000 writes ago",
        "a copy of the dict, sorted",
        lambda: sorted(dict(values).items())[:500],
        lambda: log.page("pods", limit=500, revision=revision),
        repeat=50,
    )


class _OneByOne:
    """What one would write first: each write a transaction, flushed like ours."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE objects (name TEXT PRIMARY KEY, value BLOB)")

    def write(self, writes: int) -> None:
        for number in range(writes):
            self._connection.execute(
                "INSERT OR REPLACE INTO objects VALUES (?, ?)", (f"pod-{number % 1_000}", VALUE)
            )

    def close(self) -> None:
        self._connection.close()


def _updates(
    runner: asyncio.Runner, store: Store, writes: int, callers: int
) -> Callable[[], object]:
    async def update() -> None:
        numbers = iter(range(writes))

        async def call() -> None:
            for number in numbers:
                await store.write(Update(_key(number % 1_000), _encode))

        await asyncio.gather(*(call() for _ in range(callers)))

    return lambda: runner.run(update())


async def _fill(store: Store, objects: int) -> None:
    numbers = count()

    async def call() -> None:
        while (number := next(numbers)) < objects:
            await store.write(Create(_key(number), _encode))

    await asyncio.gather(*(call() for _ in range(500)))


def _key(number: int) -> Key:
    return Key("pods", f"ns-{number % 100}", f"pod-{number}")


def _encode(revision: int) -> bytes:
    return VALUE % revision
