"""Where the time went: in our code, in a program that we ran, in the kernel."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import msgspec


class Spent(msgspec.Struct, frozen=True):
    """Seconds. ``kernel`` is what is left of the whole, so what was waited for is in it."""

    ours: float = 0.0
    program: float = 0.0
    kernel: float = 0.0

    @property
    def whole(self) -> float:
        """From beginning to end."""
        return self.ours + self.program + self.kernel

    def __add__(self, other: Spent) -> Spent:
        """Return both together."""
        return Spent(
            self.ours + other.ours, self.program + other.program, self.kernel + other.kernel
        )

    def __truediv__(self, parts: int) -> Spent:
        """Return one of equal parts."""
        return Spent(self.ours / parts, self.program / parts, self.kernel / parts)


def spent(call: Callable[[], object]) -> Spent:
    """Do something, and return what it took."""
    ours, program = _user(resource.RUSAGE_THREAD), _user(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    call()
    whole = time.perf_counter() - began
    ours = _user(resource.RUSAGE_THREAD) - ours
    program = _user(resource.RUSAGE_CHILDREN) - program
    return Spent(ours, program, max(0.0, whole - ours - program))


def _user(who: int) -> float:
    return resource.getrusage(who).ru_utime
