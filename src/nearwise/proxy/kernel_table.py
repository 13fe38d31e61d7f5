"""The table of one family: what should be in the kernel, and whether it is.

Law: the compiler says what should be there, the kernel takes a transaction whole or not at all.
While ``certain``, what the kernel has is what the compiler said last, and a change costs what it
changes. When an attempt has failed, or somebody else may have touched the table, the kernel is
read once and the difference is applied: to start, to repair and to try again are one and the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from nearwise.machinery.cache import ObjectKey
from nearwise.model import Reason
from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Ruleset
from nearwise.proxy.kernel import Kernel, KernelError


class Applied(msgspec.Struct, frozen=True):
    """What came of one sync of a table."""

    change: Transaction
    """What was changed in the kernel; it may be nothing."""
    compiling: float
    """Seconds in which it was worked out."""
    kernel: float
    """Seconds in which the kernel was read and changed."""
    whole: bool
    """Whether the kernel was read, and all of the table compared."""
    amiss: KernelError | None = None
    """Why the kernel did not take the change at first: somebody had touched the table."""


class KernelTable:
    """The table of one family in the kernel."""

    def __init__(self, kernel: Kernel, settings: Settings, clock: Callable[[], float]) -> None:
        """Begin with nothing known of the kernel; ``clock`` tells seconds."""
        self.certain = False
        """Whether the kernel has what ``ruleset`` says, but for what others did."""
        self.has_begun = False
        """Whether the kernel ever had what it should."""
        self.settings = settings
        self._kernel = kernel
        self._clock = clock
        self._compiler: Compiler | None = None

    @property
    def ruleset(self) -> Ruleset | None:
        """What should be in the kernel; None before the first sync."""
        return self._compiler.ruleset if self._compiler else None

    @property
    def left_out(self) -> Mapping[ObjectKey, tuple[Reason, ...]]:
        """The services of which something is not served, and why."""
        return self._compiler.left_out if self._compiler else {}

    def sync(
        self, changes: Mapping[ObjectKey, Routes | None], everything: Mapping[ObjectKey, Routes]
    ) -> Applied:
        """Bring the kernel to what is chosen now.

        ``changes`` are the services that changed, ``everything`` is all there are, these too.
        Raises KernelError; then the kernel has what it had.
        """
        begun = self._clock()
        amiss = None
        if self._compiler is not None:
            change = self._compiler.change(changes)
            compiling = self._clock() - begun
            if self.certain:
                try:
                    return self._applied(change, compiling, whole=False)
                except KernelError as error:
                    amiss = error
            asked = self._clock()
            before = self._kernel.read(self.settings.family)
            reading = self._clock() - asked
        else:
            before = self._kernel.read(self.settings.family)
            reading = self._clock() - begun
            self._compiler = Compiler(self.settings, before)  # who is in the kernel keeps its slot
            self._compiler.change(everything)
            compiling = self._clock() - begun - reading
        asked = self._clock()
        change = diff(before, self._compiler.ruleset)
        compiling += self._clock() - asked
        applied = self._applied(change, compiling, whole=True)
        return msgspec.structs.replace(applied, kernel=applied.kernel + reading, amiss=amiss)

    def repair(self) -> Transaction:
        """Put right what others did to the table, and return it. Raises KernelError."""
        assert self._compiler is not None
        self.certain = False
        change = diff(self._kernel.read(self.settings.family), self._compiler.ruleset)
        self._applied(change, 0.0, whole=True)
        return change

    def settle(self, settings: Settings) -> bool:
        """Have it made by other settings from the next sync on; say whether they are others."""
        if settings == self.settings:
            return False
        self.settings = settings
        self.forget()
        return True

    def forget(self) -> None:
        """Begin anew with the next sync, from what the kernel has then."""
        self._compiler = None
        self.certain = False

    def _applied(self, change: Transaction, compiling: float, *, whole: bool) -> Applied:
        begun = self._clock()
        if not change.is_empty:
            self.certain = False
            self._kernel.apply(change)
        self.certain = self.has_begun = True
        return Applied(change, compiling, self._clock() - begun, whole)
