"""Write to a store as fast as it takes writes, and tell each acknowledged one on standard output.

``python writes_until_killed.py FILE [BYTES]``: with BYTES no file can grow larger, as on a full
disk. Each of the callers creates, changes and deletes an object of its own, again and again.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from nearwise.machinery.changes import Change, Create, Delete, Key, Update
from nearwise.machinery.eventlog import Limits
from nearwise.store import SqliteStore, StoreFailedError

LIMITS = Limits(events=100)
CALLERS = 20


def value(key: Key, revision: int) -> bytes:
    return f"{key}@{revision};".encode() * 40


def step(store: SqliteStore, key: Key, turn: int) -> Change:
    """Create what is not there; delete it now and then, and change it else."""
    if store.read.get(key) is None:
        return Create(key, lambda revision: value(key, revision))
    kind = Delete if turn % 5 == 0 else Update
    return kind(key, lambda revision: value(key, revision))


async def call(store: SqliteStore, caller: int) -> None:
    key = Key("pods", f"ns-{caller % 3}", f"pod-{caller}")
    turn = caller
    while True:
        turn += 1
        event = await store.write(step(store, key, turn))
        line = f"{event.revision} {event.type} {key.namespace} {key.name}\n"
        os.write(sys.stdout.fileno(), line.encode())


async def main(path: Path) -> None:
    store = SqliteStore(path, limits=LIMITS)
    failures = await asyncio.gather(
        *(call(store, caller) for caller in range(CALLERS)), return_exceptions=True
    )
    assert all(isinstance(failure, StoreFailedError) for failure in failures), failures
    print(f"failed {failures[0]}", flush=True)
    await store.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    asyncio.run(main(Path(sys.argv[1])))
