"""The file of a store: who may use it, what it refuses, what is in it after a restart."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nearwise.machinery.changes import (
    AlreadyExistsError,
    CompactedError,
    Create,
    Delete,
    Encode,
    Key,
    Update,
)
from nearwise.machinery.eventlog import Limits
from nearwise.machinery.revisions import FIRST
from nearwise.model.errors import InputError
from nearwise.store import SqliteStore, StoreFailedError
from nearwise.store.database import Database, Synchronous

WEB = Key("services", "shop", "web")


def text(word: str) -> Encode:
    return lambda revision: f"{word}@{revision}".encode()


def pod(number: int) -> Key:
    return Key("pods", "shop", f"web-{number}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "nearwise.db"


def fill(path: Path, limits: Limits | None = None) -> None:
    """Leave a file in which web was created and changed eight times, and a pod came and went."""

    async def fill() -> None:
        store = SqliteStore(path, limits=limits)
        await store.write(Create(WEB, text("a")))
        await store.write(Create(pod(0), text("p")))
        await store.write(Delete(pod(0), text("p")))
        for _ in range(8):
            await store.write(Update(WEB, text("a")))
        await store.close()

    asyncio.run(fill())


@contextmanager
def opened(path: Path, limits: Limits | None = None) -> Iterator[SqliteStore]:
    store = SqliteStore(path, limits=limits)
    yield store
    asyncio.run(store.close())


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# A restart


def test_objects_revisions_and_watches_go_on_after_a_restart(path: Path) -> None:
    fill(path)
    with opened(path) as store:
        read = store.read
        assert read.revision == FIRST + 11
        assert [(e.value, e.revision) for e in read.page("services").entries] == [(b"a@12", 12)]
        assert [e.type for e in read.after("pods", FIRST)] == ["ADDED", "DELETED"]
        assert read.after("pods", FIRST)[1].entry.value == b"p@4"
        assert [e.revision for e in read.after("services", 9)] == [10, 11, 12]
        assert [e.value for e in read.page("pods", revision=3).entries] == [b"p@3"]


def test_a_watch_from_before_what_is_kept_is_told_so_after_a_restart(path: Path) -> None:
    fill(path, Limits(events=3))
    with opened(path, Limits(events=3)) as store:
        assert [e.revision for e in store.read.after("services", 9)] == [10, 11, 12]
        with pytest.raises(CompactedError):
            store.read.after("services", 8)


def test_smaller_limits_hold_from_the_start_and_the_file_follows(path: Path) -> None:
    fill(path)
    for limits in (Limits(events=2), None):

        async def write_once(limits: Limits | None = limits) -> int:
            store = SqliteStore(path, limits=limits)
            compacted = store.read.compacted
            await store.write(Update(WEB, text("b")))
            await store.close()
            return compacted

        assert asyncio.run(write_once()) == 10


def test_the_file_holds_no_more_than_what_can_be_read(path: Path) -> None:
    fill(path, Limits(events=3))

    async def forget_all() -> None:
        store = SqliteStore(path)
        await store.write(Delete(WEB, text("a")))
        store.compact(store.read.revision)
        await store.close()

    asyncio.run(forget_all())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM versions").fetchone() == (0,)
    with opened(path) as store:
        assert store.read.revision == store.read.compacted == FIRST + 12


# Whose it is


def test_the_file_and_those_beside_it_are_closed_to_others(path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(path):
            files = sorted(path.parent.iterdir())
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
    finally:
        os.umask(before)
    assert modes == {f"nearwise.db{suffix}": 0o600 for suffix in ("", "-shm", "-wal", ".lock")}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    fill(path)
    path.chmod(0o644)
    with opened(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_server_on_one_file_is_told_who_has_it(path: Path) -> None:
    with (
        opened(path) as store,
        pytest.raises(InputError, match=rf"nearwise.db: is in use by process {os.getpid()} \(one"),
    ):
        SqliteStore(path)
    with opened(path) as again:
        assert again.read.revision == store.read.revision


def test_a_server_that_could_not_open_a_file_does_not_keep_others_from_it(path: Path) -> None:
    fill(path)
    sql(path, "PRAGMA user_version = 7")
    with pytest.raises(InputError, match="newer"):
        SqliteStore(path)
    sql(path, "PRAGMA user_version = 1")
    with opened(path):
        pass


# What is refused


def test_a_file_of_a_newer_version_is_refused_by_name(path: Path) -> None:
    fill(path)
    sql(path, "PRAGMA user_version = 7")
    with pytest.raises(InputError) as refused:
        SqliteStore(path)
    assert str(refused.value) == (
        f"{path}: was written by a newer Nearwise (its schema is 7, this one knows 1) "
        "(use that version, or choose another directory)"
    )


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    sql(path, "CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a SQLite database, but not one of Nearwise"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("kind: Service\n" * 100)
    with pytest.raises(InputError, match="cannot be used: file is not a database"):
        SqliteStore(path)
    assert path.read_text() == "kind: Service\n" * 100


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "data" / "nearwise.db"
    with pytest.raises(InputError, match=f"^{path}: cannot be used: Not a directory"):
        SqliteStore(path)


def test_a_directory_in_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(InputError, match=f"^{path}: cannot be used: Is a directory"):
        SqliteStore(path)


def test_a_file_overwritten_in_the_middle_is_refused(path: Path) -> None:
    async def grow() -> None:
        store = SqliteStore(path)
        for number in range(40):
            await store.write(Create(pod(number), lambda _: b"x" * 2_000))
        await store.close()

    asyncio.run(grow())
    with path.open("r+b") as file:
        file.seek(3 * 8192)
        file.write(b"\xff" * 8192)
    with pytest.raises(InputError, match="cannot be used: database disk image is malformed"):
        SqliteStore(path)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM versions WHERE revision = 7", "revision 8 cannot follow 6"),
        ("UPDATE versions SET deleted = 1, name = 'no' WHERE revision = 12", "which is not there"),
        ("UPDATE compaction SET revision = 6", "revision 4 should have been dropped"),
        ("DELETE FROM compaction", "does not say up to where it is compacted"),
        ("DROP TABLE versions", "no such table: versions"),
    ],
)
def test_a_file_with_a_hole_is_refused(path: Path, damage: str, says: str) -> None:
    fill(path)
    sql(path, damage)
    with pytest.raises(InputError, match=says):
        SqliteStore(path)


# A disk that fails


def unwell(path: Path) -> None:
    """Have every commit fail in which there is an object named bad."""
    with opened(path):
        pass
    sql(
        path,
        "CREATE TRIGGER unwell BEFORE INSERT ON versions WHEN NEW.name = 'bad' "
        "BEGIN SELECT RAISE(ABORT, 'disk is unwell'); END",
    )


def test_a_write_that_cannot_last_is_never_visible_and_no_other_is_taken(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unwell(path)
    bad = Key("pods", "shop", "bad")

    async def scenario() -> None:
        store = SqliteStore(path)
        told: list[str] = []
        store.subscribe(lambda event: told.append(event.key.name))
        before = await store.write(Create(WEB, text("a")))

        doomed = [asyncio.create_task(store.write(Create(key, text("b")))) for key in (bad, pod(1))]
        while store.read.latest(bad) is None:
            await asyncio.sleep(0)
        # these come while the commit runs: one for the next commit, one refused because of it
        doomed.append(asyncio.create_task(store.write(Create(pod(2), text("b")))))
        doomed.append(asyncio.create_task(store.write(Create(bad, text("c")))))
        for outcome in await asyncio.gather(*doomed, return_exceptions=True):
            assert isinstance(outcome, StoreFailedError)
            assert str(outcome).startswith(f"{path} cannot be written: disk is unwell (nothing")
        with pytest.raises(StoreFailedError, match="disk is unwell"):
            await store.write(Create(pod(3), text("d")))

        assert told == ["web"]
        assert store.read.revision == before.revision
        assert store.read.get(bad) is store.read.latest(bad) is None
        assert store.read.page("services").entries == (before.entry,)
        await store.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))
    (said,) = caplog.messages
    assert said.startswith(f"{path} cannot be written: disk is unwell (nothing")
    sql(path, "DROP TRIGGER unwell")
    with opened(path) as store:
        assert store.read.revision == FIRST + 1
        assert [e.key for e in store.read.page("services").entries] == [WEB]


def test_a_commit_that_fails_while_the_store_closes_is_told_as_what_it_is(path: Path) -> None:
    unwell(path)

    async def scenario() -> None:
        store = SqliteStore(path)
        doomed = asyncio.create_task(store.write(Create(Key("pods", "shop", "bad"), text("b"))))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StoreFailedError, match="disk is unwell"):
            await doomed

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_refusal_that_rests_on_a_write_that_lasts_is_given_after_it(path: Path) -> None:
    async def scenario() -> None:
        store = SqliteStore(path)
        first = asyncio.create_task(store.write(Create(WEB, text("a"))))
        second = asyncio.create_task(store.write(Create(WEB, text("b"))))
        await asyncio.sleep(0)
        assert not second.done()
        await first
        with pytest.raises(AlreadyExistsError):
            await second
        await store.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))


@pytest.mark.parametrize(("options", "level"), [((), 2), (("FULL",), 2), (("NORMAL",), 1)])
def test_each_commit_is_flushed_unless_less_is_asked_for_by_name(
    path: Path, options: tuple[Synchronous, ...], level: int
) -> None:
    database = Database(path, *options)
    assert database._connection.execute("PRAGMA synchronous").fetchone() == (level,)
    database.close()
