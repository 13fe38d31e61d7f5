"""One server a file: a lock that the system takes back when its holder dies, however it dies.

The lock is on a file of its own beside the database, because closing any other handle of the
database would drop SQLite's own locks on it. The file stays when the lock goes: deleting it
could let two processes lock two files of one name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from nearwise.model.errors import InputError


class FileLock:
    """The right to use a file, held until ``release`` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Take it; InputError, with the holder's process number, when somebody has it.

        OSError when the lock file cannot be made.
        """
        self._handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise InputError(
                f"is in use by process {holder}" if holder else "is in use by another process",
                source=str(path),
                hint="one server a data directory: stop the other one, or choose another directory",
            ) from None
        os.truncate(self._handle, 0)
        os.write(self._handle, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give it back."""
        os.truncate(self._handle, 0)
        os.close(self._handle)
