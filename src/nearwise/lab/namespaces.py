"""The network namespaces of a lab: their names, who is in them, and how to get in.

Law: a lab is found by the names of its namespaces alone, ``nw-LAB-...``, so that what a crash left
behind is found too; devices are in these namespaces, never outside. The only program that is
needed is ``ip``.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from nearwise.model.errors import InputError

CONTROL: Final = "control"
"""Where the API server of the lab answers, and clients are that belong to no node."""

_FOLDER: Final = Path("/run/netns")  # where ``ip netns`` has them
_NEW_NETWORK: Final = 0x40000000  # CLONE_NEWNET of sched.h
_NAME: Final = re.compile("[a-z0-9]{1,12}")

_libc = ctypes.CDLL(None, use_errno=True)


def check_means() -> None:
    """Raise InputError unless labs can be made here: Linux, root, and the program ``ip``."""
    if sys.platform != "linux":
        raise InputError("a lab needs the network namespaces of Linux, and this is another system")
    if os.geteuid() != 0:
        raise InputError("a lab makes network namespaces, which needs root", hint="use sudo")
    if shutil.which("ip") is None:
        hint = "it is in the package iproute2 or iproute"
        raise InputError("a lab needs the program ip, which is not installed", hint=hint)


def check_name(lab: str) -> None:
    """Raise InputError unless a lab can be called so."""
    if not _NAME.fullmatch(lab):
        raise InputError(
            f"a lab cannot be called {lab!r}", hint="use up to 12 lower case letters and digits"
        )


# --- Names --------------------------------------------------------------------------------


def of_node(lab: str, node: str) -> str:
    """Return the name of a node's namespace."""
    return f"nw-{lab}-node-{node}"


def of_router(lab: str, zone: str) -> str:
    """Return the name of the namespace of a zone's router."""
    return f"nw-{lab}-router-{zone}".rstrip("-")


def of_control(lab: str) -> str:
    """Return the name of the namespace of the control plane."""
    return f"nw-{lab}-{CONTROL}"


def all_of(lab: str) -> list[str]:
    """Return the names of all namespaces of a lab that there are, half-made ones too."""
    return sorted(each for each in _names() if each.startswith(f"nw-{lab}-"))


def labs() -> list[str]:
    """Return the names of all labs that have namespaces."""
    return sorted({each.split("-")[1] for each in _names() if re.match("nw-[a-z0-9]+-", each)})


def _names() -> list[str]:
    return os.listdir(_FOLDER) if _FOLDER.is_dir() else []


# --- Inside -------------------------------------------------------------------------------


def enter(namespace: str) -> None:
    """Have this thread in a namespace from now on. Raises OSError when there is none."""
    with (_FOLDER / namespace).open("rb") as there:
        _set(there.fileno())


@contextmanager
def entered(namespace: str) -> Iterator[None]:
    """Have this thread in a namespace: sockets made meanwhile stay there."""
    with Path("/proc/thread-self/ns/net").open("rb") as here:
        enter(namespace)
        try:
            yield
        finally:
            _set(here.fileno())


def _set(namespace: int) -> None:
    if _libc.setns(namespace, _NEW_NETWORK) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def processes(namespaces: Iterable[str]) -> dict[str, list[int]]:
    """Return the processes in each of these namespaces."""
    found: dict[str, list[int]] = {each: [] for each in namespaces}
    by_identity: dict[tuple[int, int], list[int]] = {}
    for name, inside in found.items():
        with suppress(OSError):
            about = (_FOLDER / name).stat()
            by_identity[about.st_dev, about.st_ino] = inside
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has just ended
            about = os.stat(f"/proc/{process}/ns/net")
            if (about.st_dev, about.st_ino) in by_identity:
                by_identity[about.st_dev, about.st_ino].append(int(process))
    return found


# --- The program --------------------------------------------------------------------------


def ip(lines: Iterable[str], namespace: str = "") -> None:
    """Carry out commands of ``ip``, in a namespace or (those that name theirs) in none.

    Raises InputError with what the program said about the first that it cannot.
    """
    inside = ("-n", namespace) if namespace else ()
    command = ("ip", *inside, "-batch", "-")
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or "it did not say why"
        raise InputError(f"the program ip cannot do it: {said}", object=namespace)


def remove(namespaces: Iterable[str]) -> None:
    """Take namespaces away, with all devices in them; also half-made ones."""
    for each in namespaces:
        subprocess.run(("ip", "netns", "del", each), capture_output=True, check=False)
        (_FOLDER / each).unlink(missing_ok=True)
