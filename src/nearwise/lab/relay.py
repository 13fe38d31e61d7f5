"""Holds back what goes between two zones: ``relay.py ROUTER DEVICE ROUTER DEVICE SECONDS HOME``.

Law: this runs as a program of its own. It makes a TUN device in the namespace of each of two
routers; a packet that one of them sends into its device comes out of the other's so many seconds
later, in order. The process is in the namespace HOME, and the devices go with
it. Its number is printed when they are there; it goes on as nobody's child.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final

_CLONE_NEWNET: Final = 0x40000000  # of sched.h
_TUNSETIFF: Final = 0x400454CA  # of linux/if_tun.h, as are the next two
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000  # packets as they are
_LARGEST: Final = 65536
_HELD: Final = 20_000  # packets; a link does not hold any number of them either


class _End:
    """One device, and the packets that are to come out of it."""

    def __init__(self, namespace: str, device: str) -> None:
        _enter(Path("/run/netns") / namespace)
        self.file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(self.file, _TUNSETIFF, request)
        self.held: deque[tuple[float, bytes]] = deque()

    def take(self, other: _End, delay: float) -> None:
        """Take in what was sent, for the other end."""
        until = time.monotonic() + delay
        while True:
            try:
                packet = os.read(self.file, _LARGEST)
            except BlockingIOError:
                return
            if len(other.held) < _HELD:
                other.held.append((until, packet))

    def give(self, now: float) -> None:
        """Let out what has been held for long enough."""
        while self.held and self.held[0][0] <= now:
            _, packet = self.held.popleft()
            try:
                os.write(self.file, packet)
            except OSError:
                continue  # the device is down, or full: packets get lost


def _run(one: _End, other: _End, delay: float) -> None:
    ends = {one.file: (one, other), other.file: (other, one)}
    while True:
        due = [end.held[0][0] for end in (one, other) if end.held]
        wait = max(0.0, min(due) - time.monotonic()) if due else None
        for file in select.select(ends, (), (), wait)[0]:  # epoll waits whole milliseconds
            sender, receiver = ends[file]
            sender.take(receiver, delay)
        now = time.monotonic()
        one.give(now)
        other.give(now)


def _enter(namespace: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with namespace.open("rb") as there:
        if libc.setns(there.fileno(), _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))


def main() -> None:
    """Make the devices, and hold packets back until killed."""
    here, device, there, its_device, seconds, home = sys.argv[1:]
    one, other = _End(here, device), _End(there, its_device)
    _enter(Path("/run/netns") / home)
    if os.fork():
        os._exit(0)
    os.write(sys.stdout.fileno(), b"%d" % os.getpid())
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())  # whoever waits for the number waits no more
    _run(one, other, float(seconds))


if __name__ == "__main__":
    main()
