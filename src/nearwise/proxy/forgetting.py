"""Flows and pins that lead where nobody is sent any more: have the kernel forget them.

Law: which are to go is decided in ``nft/choices.py``, after the rules have changed, never before:
a flow that is forgotten too early is drawn anew by the old rules. Nothing is listed when nothing
that matters to it has changed. Flows and pins each for themselves: what cannot be done is told
once, tried again after the next transaction, and the rules stand all the same.

A packet that the old rules have sent on may be noted by the kernel a moment after all was
forgotten. So what was looked at is looked at once more a while later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from nearwise.nft.choices import stale_flows, stale_pins, touched, touches_pins
from nearwise.nft.diff import Transaction
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.conntrack import Flows
from nearwise.proxy.counts import Counts
from nearwise.proxy.kernel import Kernel, KernelError

_MOST_OWED: Final = 10_000  # where the kernel has no flows to list, this would grow without end

_log = logging.getLogger(__name__)


class Forgetting:
    """Cleans up after transactions."""

    def __init__(self, kernel: Kernel, flows: Flows | None, clock: Callable[[], float]) -> None:
        """Use the flows of a kernel; None where there are none to be had."""
        self._kernel = kernel
        self._flows = flows
        self._clock = clock
        self._owed_flows: dict[Family, set[bytes]] = {}
        """Where it failed, and the frontends that were to be looked at."""
        self._owed_pins: set[Family] = set()
        self._recent_flows: dict[Family, set[bytes]] = {}
        """What has changed since the last second look."""
        self._recent_pins: set[Family] = set()
        self._told: dict[str, str] = {}

    def after(
        self, ruleset: Ruleset, change: Transaction, counts: Counts, *, begins: bool = False
    ) -> None:
        """Forget what a transaction has made stale; when the proxy ``begins``, all that is."""
        begun = self._clock()
        family, frontends = ruleset.family, touched(change)
        if frontends and not begins:
            self._recent_flows.setdefault(family, set()).update(frontends)
        looked = self._forget_flows(ruleset, frontends, counts, begins=begins)
        if begins or family in self._owed_pins or touches_pins(ruleset, change):
            self._recent_pins.add(family)
            looked |= self._forget_pins(ruleset, counts)
        if looked:
            counts.conntrack.observe(self._clock() - begun)

    def again(self, ruleset: Ruleset, counts: Counts) -> None:
        """Take the second look at what has changed since the last one."""
        family = ruleset.family
        if frontends := self._recent_flows.pop(family, None):
            self._forget_flows(ruleset, frontends, counts, begins=False)
        if family in self._recent_pins:
            self._recent_pins.discard(family)
            self._forget_pins(ruleset, counts)

    def _forget_flows(
        self, ruleset: Ruleset, frontends: set[bytes], counts: Counts, *, begins: bool
    ) -> bool:
        """Forget stale flows as far as any can be; say whether that was found out."""
        family = ruleset.family
        owed = self._owed_flows.pop(family, None)
        if self._flows is None or not (begins or frontends or owed is not None):
            return False
        frontends |= owed or set()
        try:
            stale = stale_flows(ruleset, self._flows.udp(family), frontends)
            counts.forgotten_flows += self._flows.delete(stale)
        except KernelError as error:
            self._owed_flows[family] = frontends if len(frontends) <= _MOST_OWED else set()
            self._tell("stale flows", str(error))
            return False
        self._tell("stale flows", "")
        return True

    def _forget_pins(self, ruleset: Ruleset, counts: Counts) -> bool:
        """Forget stale pins; say whether that came out well."""
        family = ruleset.family
        try:
            pins = stale_pins(ruleset, self._kernel.pins(family))
            self._kernel.unpin(family, pins)
        except KernelError as error:
            self._owed_pins.add(family)
            self._tell("stale choices of session affinity", str(error))
            return False
        self._owed_pins.discard(family)
        counts.forgotten_pins += len(pins)
        self._tell("stale choices of session affinity", "")
        return True

    def _tell(self, what: str, why: str) -> None:
        """Tell once why something is not forgotten; empty: it is."""
        if why and why != self._told.get(what):
            _log.warning("%s are not forgotten: %s", what, why)
        self._told[what] = why
