"""What a lab leaves on the machine beside its namespaces: ``/run/nearwise/lab/NAME``.

Law: nothing in here is needed to take a lab down. One process writes each file, as a whole.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from nearwise.lab import namespaces
from nearwise.lab.addresses import Plan
from nearwise.model.errors import InputError
from nearwise.model.suggestion import did_you_mean

_ROOT: Final = Path("/run/nearwise/lab")


class Facts(msgspec.Struct, frozen=True):
    """What the lab's process tells about itself."""

    process: int
    plan: Plan
    powered: tuple[str, ...] = ()
    """The nodes with power."""
    proxies: dict[str, int] = {}
    """The process of the proxy on each node."""
    with_proxies: bool = True


class Place(NamedTuple):
    """The folder of a lab."""

    lab: str

    @property
    def folder(self) -> Path:
        """Where everything is."""
        return _ROOT / self.lab

    @property
    def kubeconfig(self) -> Path:
        """How to get in from this machine."""
        return self.folder / "kubeconfig"

    @property
    def inner_kubeconfig(self) -> Path:
        """How to get in from the namespaces of the lab."""
        return self.folder / "kubeconfig-inside"

    @property
    def delays(self) -> Path:
        """Where there is a file for each two zones with a delay in between."""
        return self.folder / "delays"

    def log(self, of: str) -> Path:
        """Where a process writes what it has to say."""
        return self.folder / f"{of}.log"

    def last_words(self, of: str) -> str:
        """Return the last line of a log; empty when there is none."""
        with suppress(FileNotFoundError):  # somebody takes the lab down meanwhile
            return self.log(of).read_text().strip().rpartition("\n")[2]
        return ""

    def complaints(self) -> list[str]:
        """Return the last line of each log, with the log's name, unless all is well there."""
        last = {file.stem: self.last_words(file.stem) for file in sorted(self.folder.glob("*.log"))}
        return [f"{of}: {line}" for of, line in last.items() if line and " INFO " not in line]

    def make(self) -> None:
        """Make the folder, readable by root alone."""
        self.delays.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)

    def write(self, facts: Facts) -> None:
        """Tell what is so now."""
        whole = self.folder / "facts.new"
        whole.write_bytes(msgspec.json.encode(facts))
        whole.replace(self.folder / "facts.json")

    def facts(self) -> Facts | None:
        """Return what the lab's process told last; None when it has not yet."""
        try:
            return msgspec.json.decode((self.folder / "facts.json").read_bytes(), type=Facts)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def is_running(self) -> bool:
        """Tell whether the lab's process is there."""
        facts = self.facts()
        inside = namespaces.processes([namespaces.of_control(self.lab)])
        return facts is not None and facts.process in next(iter(inside.values()))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else begin this lab before the block ends. InputError when somebody does.

        The name of a socket is the lock: it goes with its process, and leaves no file.
        """
        with socket.socket(socket.AF_UNIX) as lock:
            try:
                lock.bind(f"\0nearwise/lab/{self.lab}")
            except OSError:
                raise InputError(
                    f"the lab {self.lab} is just being started by somebody else",
                    hint=f"wait, or nearwise lab down{named(self.lab)} ends that",
                ) from None
            yield

    def remove(self) -> None:
        """Remove the folder, and those above it when nothing else is in them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (_ROOT, _ROOT.parent):
            try:
                os.rmdir(folder)
            except OSError:
                return


def known() -> list[str]:
    """Return the names of all labs of which there is anything."""
    folders = os.listdir(_ROOT) if _ROOT.is_dir() else []
    return sorted({*folders, *namespaces.labs()})


def find(lab: str) -> Place:
    """Return the place of a lab that is running. InputError when none is called so."""
    namespaces.check_means()
    there = known()
    if lab not in there:
        hint = did_you_mean(lab, there) if there else "nearwise lab up makes one"
        raise InputError(f"there is no lab called {lab}", hint=hint or f"there is {there[0]}")
    place = Place(lab)
    if not place.is_running():
        raise InputError(
            f"the lab {lab} has broken down: its process has ended",
            hint=f"nearwise lab down{named(lab)} takes away what is left of it",
        )
    return place


def named(lab: str) -> str:
    """Return what is to be added to a command for this lab."""
    return "" if lab == "lab" else f" --name {lab}"
