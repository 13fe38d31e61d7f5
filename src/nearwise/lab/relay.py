"""Holds back what goes between two zones: ``relay.py NAMESPACE DEVICE NAMESPACE DEVICE SECONDS``.

Law: this runs as a program of its own. It makes a TUN device in the namespace of each of two
routers; a packet that one of them sends into its device comes out of the other's so many seconds
later, in order. The devices go with the process. ``ready`` is printed when they are there.
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
    poll = select.epoll()
    ends = {one.file: (one, other), other.file: (other, one)}
    for file in ends:
        poll.register(file, select.EPOLLIN)
    while True:
        due = [end.held[0][0] for end in (one, other) if end.held]
        wait = max(0.0, min(due) - time.monotonic()) if due else -1
        for file, _ in poll.poll(wait):
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


def main(here: str, device: str, there: str, its_device: str, seconds: str, home: str) -> None:
    """Make the devices, and hold packets back until killed; ``home`` is where we stay."""
    one, other = _End(here, device), _End(there, its_device)
    _enter(Path("/run/netns") / home)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    _run(one, other, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
