"""How many changes a proxy was told of, and how many of them are not in the kernel yet."""

from __future__ import annotations


class Told:
    """Counts changes of services and slices."""

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
        """Take note that all that was told is in the kernel."""
        self.services_pending = self.slices_pending = 0
