"""Nearwise as a process of its own: how it is started, reached, weighed and ended."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from nearwise.client.kubeconfig import Access, find_access


class Running(NamedTuple):
    """A process of ours."""

    pid: int
    kubeconfig: Path
    seconds: float
    """From the start of the process to what it says when it serves."""

    @property
    def access(self) -> Access:
        """How to get in."""
        return find_access(str(self.kubeconfig), None)

    def resident(self) -> int:
        """Return the bytes of memory that the process takes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def most_resident(self) -> int:
        """Return the most bytes of memory that the process has taken."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@contextmanager
def up(*options: str, objects: Iterable[dict[str, Any]] = ()) -> Iterator[Running]:
    """Run ``nearwise up``; it begins with the objects."""
    with TemporaryDirectory(prefix="nearwise-") as name:
        kubeconfig, dump = Path(name) / "kubeconfig", Path(name) / "dump.json"
        dump.write_bytes(msgspec.json.encode({"kind": "List", "items": list(objects)}))
        where = ("--kubeconfig", str(kubeconfig), "--port", "0", "-f", str(dump))
        with _process("up", *where, *options) as (process, began):
            assert process.stdout is not None
            while not (line := process.stdout.readline()).startswith(b"Kubernetes API at"):
                if not line:
                    raise RuntimeError("the server did not start")
            yield Running(process.pid, kubeconfig, time.perf_counter() - began)


@contextmanager
def controller(kubeconfig: Path, *options: str) -> Iterator[Running]:
    """Run ``nearwise controller``, as the only replica."""
    where = ("--kubeconfig", str(kubeconfig), "--no-leader-elect", "--metrics-address", "off")
    with _process("controller", *where, "--log-level", "warning", *options) as (process, _):
        yield Running(process.pid, kubeconfig, 0.0)


@contextmanager
def proxy(kubeconfig: Path, node: str, *options: str) -> Iterator[Running]:
    """Run ``nearwise proxy`` for a node."""
    where = ("--kubeconfig", str(kubeconfig), "--node-name", node)
    with _process("proxy", *where, "--log-level", "warning", *options) as (process, _):
        yield Running(process.pid, kubeconfig, 0.0)


@contextmanager
def _process(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "nearwise", *arguments], stdout=subprocess.PIPE
    )
    try:
        yield process, began
    finally:
        process.terminate()
        process.communicate()
