"""What a proxy counts of its work. What that is called outside is in ``metrics``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nearwise.loops.distribution import Distribution

_SYNC: Final = tuple(0.001 * 2**power for power in range(15))
_PROGRAMMING: Final = (
    *(0.25, 0.5),
    *map(float, range(1, 60)),
    *map(float, range(60, 120, 5)),
    *map(float, range(120, 301, 30)),
)


class Counts:
    """The numbers of one family, all since the process began."""

    def __init__(self) -> None:
        self.syncs = Distribution(_SYNC)
        self.full_syncs = Distribution(_SYNC)
        self.partial_syncs = Distribution(_SYNC)
        self.compiling = Distribution(_SYNC)
        self.kernel = Distribution(_SYNC)
        self.programming = Distribution(_PROGRAMMING)
        """From a change in the cluster, as slices tell it, to the kernel."""
        self.conntrack = Distribution(_SYNC)
        self.forgotten_flows = 0
        self.forgotten_pins = 0
        self.failures = 0
        self.repairs = 0
        self.last_queued = 0.0
        """Time of day in seconds when something was last to get into the kernel."""
        self.last_synced = 0.0

    def synced(
        self, at: float, compiling: float, kernel: float, *, full: bool, triggers: Sequence[float]
    ) -> None:
        """Count a sync that was carried out; ``triggers`` are when the changes in it began."""
        took = compiling + kernel
        self.syncs.observe(took)
        (self.full_syncs if full else self.partial_syncs).observe(took)
        self.compiling.observe(compiling)
        self.kernel.observe(kernel)
        for trigger in triggers:
            self.programming.observe(max(at - trigger, 0.0))
        self.last_synced = at


class ChangeCounts:
    """How many changes the proxy heard of, and how many of them are not in the kernel yet."""

    def __init__(self) -> None:
        self.services = 0
        self.services_pending = 0
        self.slices = 0
        self.slices_pending = 0

    def service(self) -> None:
        """Count a change of a service."""
        self.services += 1
        self.services_pending += 1

    def slice(self) -> None:
        """Count a change of a slice."""
        self.slices += 1
        self.slices_pending += 1

    def done(self) -> None:
        """Take note that all of them are in the kernel."""
        self.services_pending = self.slices_pending = 0
