"""Killed at any moment, out of disk, or cut off in the middle: no acknowledged write is lost."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import writes_until_killed as writer
from nearwise.machinery.changes import Create, Event, Key
from nearwise.store import SqliteStore

ROUNDS = 8


class Acknowledged(NamedTuple):
    """What the writer was told of a write."""

    revision: int
    type: str
    namespace: str
    name: str

    @classmethod
    def read(cls, line: str) -> Acknowledged:
        revision, kind, namespace, name = line.split()
        return cls(int(revision), kind, namespace, name)


def told(event: Event) -> Acknowledged:
    return Acknowledged(event.revision, event.type, event.key.namespace, event.key.name)


def run_writer(path: Path, *options: str, kill_after: float | None = None) -> list[str]:
    """Run the writer, kill it some seconds after its first line, and return whole lines of it."""
    command = [sys.executable, writer.__file__, str(path), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        first = process.stdout.readline()
        if kill_after is not None:
            threading.Timer(kill_after, process.kill).start()
        rest = process.stdout.read()
    assert process.returncode == (0 if kill_after is None else -9)
    return [line for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]


def check(path: Path, acknowledged: list[Acknowledged]) -> int:
    """Hold what is in the file against what was acknowledged; return its revision."""
    store = SqliteStore(path, limits=writer.LIMITS)
    read = store.read
    events = {event.revision: event for event in read.after("pods", read.compacted)}
    last = {(write.namespace, write.name): write for write in acknowledged}

    assert read.revision >= max(write.revision for write in acknowledged)
    for write in acknowledged:
        assert write.revision <= read.compacted or told(events[write.revision]) == write
    entries = {entry.key: entry for entry in read.page("pods").entries}
    for key, entry in entries.items():
        assert entry.value == writer.value(key, entry.revision)
    for (namespace, name), write in last.items():
        key = Key("pods", namespace, name)
        # a caller has one write under way: it may have lasted though nobody was told
        after = [e for e in events.values() if e.key == key and e.revision > write.revision]
        assert len(after) <= 1
        if not after and write.type == "DELETED":
            assert key not in entries
        elif not after:
            assert entries[key].revision == write.revision
    asyncio.run(store.close())
    return read.revision


def test_whenever_the_server_is_killed_every_acknowledged_write_is_there(tmp_path: Path) -> None:
    path = tmp_path / "nearwise.db"
    moments = random.Random(20)
    acknowledged: list[Acknowledged] = []
    revision = 1
    for _ in range(ROUNDS):
        lines = run_writer(path, kill_after=moments.uniform(0, 0.2))
        written = [Acknowledged.read(line) for line in lines]
        assert min(write.revision for write in written) == revision + 1
        acknowledged += written
        revision = check(path, acknowledged)
    assert len(acknowledged) > writer.LIMITS.events  # so the file was compacted on the way


def test_when_the_disk_is_full_what_was_acknowledged_is_there_and_nothing_else_is_taken(
    tmp_path: Path,
) -> None:
    path = tmp_path / "nearwise.db"
    *lines, failure = run_writer(path, str(1 << 20))
    assert failure.startswith(f"failed {path} cannot be written: ")
    check(path, [Acknowledged.read(line) for line in lines])


def test_a_log_cut_off_at_any_byte_leaves_the_writes_before_the_cut(tmp_path: Path) -> None:
    """What a power failure may leave of the newest writes that were not flushed yet."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "whole" / "db")
        for number in range(30):
            await store.write(Create(Key("pods", "shop", f"web-{number:02}"), lambda _: b"x" * 99))
        for file in ("db", "db-wal"):
            shutil.copy(tmp_path / "whole" / file, tmp_path / file)
        await store.close()

    asyncio.run(fill())
    whole = (tmp_path / "db-wal").read_bytes()
    cuts = random.Random(20)
    revisions = set()
    for number in range(40):
        path = tmp_path / str(number) / "db"
        path.parent.mkdir()
        shutil.copy(tmp_path / "db", path)
        path.with_name("db-wal").write_bytes(whole[: cuts.randrange(len(whole) + 1)])
        store = SqliteStore(path)
        names = [entry.key.name for entry in store.read.page("pods").entries]
        assert names == [f"web-{n:02}" for n in range(store.read.revision - 1)]
        revisions.add(store.read.revision)
        asyncio.run(store.close())
    assert len(revisions) > 10
