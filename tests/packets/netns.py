"""Network namespaces for tests: hosts of our own, with everything in them gone at the end."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_numbers = itertools.count(1)


def run(*words: str, stdin: str | None = None) -> str:
    """Run a program; fails the test with what the program said."""
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}"
    return done.stdout


class Namespace:
    """A host: a network namespace with a loopback device that is up."""

    def __init__(self) -> None:
        self.name = f"nwt{os.getpid()}-{next(_numbers)}"
        run("ip", "netns", "add", self.name)
        self.ip("link set lo up")

    def ip(self, command: str) -> str:
        """Run ``ip`` on it: ``ip("addr add 10.0.0.1/32 dev lo")``."""
        return run("ip", "-n", self.name, *command.split())

    def run(self, *words: str, stdin: str | None = None) -> str:
        """Run a program on it."""
        return run("ip", "netns", "exec", self.name, *words, stdin=stdin)

    def nft(self, script: str) -> str:
        """Run nft on it."""
        return self.run("nft", "-f", "-", stdin=script)

    def set(self, key: str, value: str | int) -> None:
        """Set a kernel parameter of the network: ``set("net.ipv4.ip_forward", 1)``."""
        with self.entered():
            Path("/proc/sys", *key.split(".")).write_text(str(value))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a program on it; it ends with the namespace at the latest."""
        pipe = subprocess.PIPE
        command = ("ip", "netns", "exec", self.name, *words)
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def remove(self) -> None:
        """Take it away, with all processes in it."""
        for process in run("ip", "netns", "pids", self.name).split():
            subprocess.run(["kill", "-9", process], check=False, capture_output=True)
        run("ip", "netns", "del", self.name)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have this thread on that host: sockets made meanwhile stay there, programs run there."""
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(Path("/run/netns") / self.name, os.O_RDONLY)
        try:
            _enter(there)
            try:
                yield
            finally:
                _enter(here)
        finally:
            os.close(here)
            os.close(there)


def join(one: Namespace, other: Namespace, network: str) -> None:
    """Lay a cable between two hosts: ``join(a, b, "192.168.7")`` gives .1 to a and .2 to b.

    Device names are by the number of the cable, ``c7a`` and ``c7b``.
    """
    number = next(_numbers)
    ends = (f"c{number}a", f"c{number}b")
    run("ip", "-n", one.name, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1],
        "netns", other.name)  # fmt: skip
    for host, device, last in ((one, ends[0], 1), (other, ends[1], 2)):
        host.ip(f"addr add {network}.{last}/24 dev {device}")
        host.ip(f"link set {device} up")


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
