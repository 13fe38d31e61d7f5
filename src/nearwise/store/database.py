"""The file on disk: an append-only table of versions in SQLite. All SQL of the store is here.

1. The table is the revision log. A write is one row, at its revision; so is a deletion. Nothing
   is ever updated, and the rows that compaction makes unreadable are deleted. What is left are
   the objects as they are and the writes that can still be read.
2. A commit is one transaction: all of its rows, or none.
3. Revisions after ``compacted`` have no gaps. A file that has one is damaged, and is refused.
4. The file is ours alone while it is open (``lock.py``), and nobody else's to read.
5. What the user can mend is an ``InputError`` that says how.

Used by one thread at a time; knows no event loop.
"""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from nearwise.machinery.changes import Entry, Event, Key
from nearwise.machinery.eventlog import Limits
from nearwise.machinery.revisions import FIRST, RevisionLog
from nearwise.model.errors import InputError
from nearwise.store.lock import FileLock

Synchronous = Literal["FULL", "NORMAL"]
"""FULL: a write survives power failure. NORMAL: it survives a crash of the process only."""

SCHEMA = 1
_APPLICATION = int.from_bytes(b"nrws", "big")  # marks the file as ours (PRAGMA application_id)
_PAGE = 8192  # bytes; objects of some KB leave much less of it empty than of SQLite's 4096

_CREATE = f"""
BEGIN IMMEDIATE;
CREATE TABLE versions (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE compaction (revision INTEGER NOT NULL);
INSERT INTO compaction VALUES ({FIRST});
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA};
COMMIT;
"""
_INSERT = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM versions WHERE revision = ?"
_COMPACTED = "SELECT revision FROM compaction"
_LOAD = "SELECT revision, resource, namespace, name, deleted, value FROM versions ORDER BY revision"


class Database:
    """An open file of versions."""

    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        """Open the file, or make it (mode 0600) with its directory (0700); InputError."""
        self.path = path
        with ExitStack() as undo, _told(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = FileLock(path)
            undo.callback(lock.release)
            _make_private(path)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            undo.callback(self._connection.close)
            self._prepare(synchronous)
            self._opened = undo.pop_all()

    def load(self, limits: Limits | None = None) -> RevisionLog:
        """Read everything; InputError when the file is damaged."""
        # Nothing that is made here can be part of a cycle, and walking it again and again while
        # it grows would take longer than making it.
        collecting = gc.isenabled()
        gc.disable()
        try:
            with _told(self.path):
                compaction = self._connection.execute(_COMPACTED).fetchone()
                if compaction is None:
                    raise ValueError("it does not say up to where it is compacted")
                versions = _versions(self._connection.execute(_LOAD))
                return RevisionLog.restored(versions, compaction[0], limits)
        finally:
            if collecting:
                gc.enable()

    def commit(self, events: Iterable[Event], unreadable: Iterable[int], compacted: int) -> None:
        """Make writes last, and drop what compaction made unreadable; sqlite3.Error."""
        with self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_INSERT, map(_row, events))
            connection.executemany(_DELETE, ((revision,) for revision in unreadable))
            connection.execute("UPDATE compaction SET revision = ?", (compacted,))

    def close(self) -> None:
        """Close the file and let others use it."""
        self._opened.close()

    def _prepare(self, synchronous: Synchronous) -> None:
        """Check that the file is ours and of our time, and make the tables of a new one."""
        connection = self._connection
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != _APPLICATION and (application or version or tables):
            raise InputError(
                "is a SQLite database, but not one of Nearwise",
                source=str(self.path),
                hint="choose another directory",
            )
        if version > SCHEMA:
            raise InputError(
                f"was written by a newer Nearwise (its schema is {version}, this one knows "
                f"{SCHEMA})",
                source=str(self.path),
                hint="use that version, or choose another directory",
            )
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise InputError(
                "is on a file system that cannot share memory between processes",
                source=str(self.path),
                hint="choose a directory on a local disk",
            )
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        if not version:
            connection.executescript(_CREATE)


def _versions(
    rows: Iterable[tuple[int, str, str, str, int, bytes]],
) -> Iterator[tuple[Entry, bool]]:
    shared: dict[str, str] = {}  # each resource and namespace once, not once a row
    for revision, resource, namespace, name, deleted, value in rows:
        key = Key(
            shared.setdefault(resource, resource), shared.setdefault(namespace, namespace), name
        )
        yield Entry(key, value, revision), bool(deleted)


def _row(event: Event) -> tuple[int, str, str, str, int, bytes]:
    key = event.key
    return (
        event.revision,
        key.resource,
        key.namespace,
        key.name,
        int(event.deleted),
        event.entry.value,
    )


def _make_private(path: Path) -> None:
    """Have the file exist, writable by us and closed to everybody else, before SQLite opens it.

    The files that SQLite puts beside it take their mode from it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn errors of the system, of SQLite, and of what the file holds into one for the user."""
    try:
        yield
    except OSError as error:
        what, hint = error.strerror, "choose a directory you may write"
    except sqlite3.OperationalError as error:
        what, hint = str(error), "check that the disk has room and that you may write there"
    except (sqlite3.DatabaseError, ValueError) as error:
        what, hint = str(error), "put back a copy of the file, or move it away to start empty"
    else:
        return
    raise InputError(f"cannot be used: {what}", source=str(path), hint=hint)
