"""All that a proxy keeps of one address family."""

from __future__ import annotations

from typing import Final

from nearwise.proxy.counts import Counts
from nearwise.proxy.kernel_table import KernelTable
from nearwise.proxy.routes import FamilyRoutes

_LONGEST_WAIT: Final = 30.0  # seconds between two attempts


class FamilyState:
    """A family: what is chosen in it, its table in the kernel, what failed, what was counted."""

    def __init__(self, routes: FamilyRoutes, table: KernelTable) -> None:
        self.family = routes.family
        self.routes = routes
        self.table = table
        self.counts = Counts()
        self.triggers: list[float] = []
        """Times of day of the changes that are not in the kernel yet, as slices tell them."""
        self.trouble = ""
        """Why the latest attempt failed; empty if it did not."""
        self.not_before = 0.0
        """When to try again."""
        self._failures = 0

    @property
    def is_due(self) -> bool:
        """Whether the kernel may not be as it should."""
        return self.routes.has_news or not self.table.certain

    def failed(self, why: str, now: float) -> bool:
        """Take note of a failure; say whether it is another one than before."""
        news, self.trouble = why != self.trouble, why
        self.not_before = now + min(2.0**self._failures, _LONGEST_WAIT)
        self._failures = min(self._failures + 1, 10)
        self.counts.failures += 1
        return news

    def succeeded(self) -> bool:
        """Take note that all is well; say whether it was not before."""
        news, self.trouble = bool(self.trouble), ""
        self._failures = 0
        self.not_before = 0.0
        return news
