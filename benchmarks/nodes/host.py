"""Hosts of our own: network namespaces, gone with everything in them at the end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count

from nearwise.lab.namespaces import entered, ip, processes, remove

_numbers = count(1)


class Host:
    """A network namespace with a loopback device that is up."""

    def __init__(self) -> None:
        self.name = f"bench-{os.getpid()}-{next(_numbers)}"
        ip([f"netns add {self.name}"])
        self.ip("link set lo up")

    def ip(self, *commands: str) -> None:
        """Run ``ip`` on it: ``ip("addr add 10.0.0.1/32 dev lo")``."""
        ip(commands, self.name)

    def entered(self) -> AbstractContextManager[None]:
        """Have this thread on that host: sockets made meanwhile stay there, programs run there."""
        return entered(self.name)

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the command that runs a program on it."""
        return ("ip", "netns", "exec", self.name, *words)

    def nft(self, text: str, patience: float | None = None) -> None:
        """Have the nft program load a text. Raises TimeoutExpired when it takes too long."""
        subprocess.run(
            self.command("nft", "-f", "-"), input=text.encode(), timeout=patience, check=True
        )


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make hosts, and take them away afterwards."""
    made = [Host() for _ in range(count)]
    names = [each.name for each in made]
    try:
        yield made
    finally:
        for pids in processes(names).values():
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        remove(names)


def join(one: Host, other: Host, network: str) -> None:
    """Lay a cable between two hosts: ``join(a, b, "192.168.7")`` gives .1 to a and .2 to b."""
    number = next(_numbers)
    ends = (f"c{number}a", f"c{number}b")
    one.ip(f"link add {ends[0]} type veth peer name {ends[1]} netns {other.name}")
    for host, device, last in ((one, ends[0], 1), (other, ends[1], 2)):
        host.ip(f"addr add {network}.{last}/24 dev {device}", f"link set {device} up")
