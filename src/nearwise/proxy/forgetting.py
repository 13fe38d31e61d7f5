"""Flows and pins that lead where nobody is sent any more: have the kernel forget them.

Law: which are to go is decided in ``nft/choices.py``, after the rules have changed, never before:
a flow that is forgotten too early is drawn anew by the old rules. Nothing is listed when nothing
that matters to it has changed. What cannot be done is told once, and the rules stand all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from nearwise.nft.choices import stale_flows, stale_pins, touched, touches_pins
from nearwise.nft.diff import Transaction
from nearwise.nft.ruleset import Ruleset
from nearwise.proxy.conntrack import Flows
from nearwise.proxy.counts import Counts
from nearwise.proxy.kernel import Kernel, KernelError

_log = logging.getLogger(__name__)


class Forgetting:
    """Cleans up after transactions."""

    def __init__(self, kernel: Kernel, flows: Flows | None, clock: Callable[[], float]) -> None:
        """Use the flows of a kernel; None where there are none to be had."""
        self._kernel = kernel
        self._flows = flows
        self._clock = clock
        self._told = ""

    def after(
        self, ruleset: Ruleset, change: Transaction, counts: Counts, *, begins: bool = False
    ) -> None:
        """Forget what a transaction has made stale; when the proxy ``begins``, all that is."""
        begun = self._clock()
        try:
            frontends = touched(change)
            looks = bool(frontends) or begins
            if looks and self._flows is not None:
                stale = stale_flows(ruleset, self._flows.udp(ruleset.family), frontends)
                counts.forgotten_flows += self._flows.delete(stale)
            if begins or touches_pins(ruleset, change):
                pins = stale_pins(ruleset, self._kernel.pins(ruleset.family))
                self._kernel.unpin(ruleset.family, pins)
                counts.forgotten_pins += len(pins)
                looks = True
        except KernelError as error:
            if str(error) != self._told:
                self._told = str(error)
                _log.warning("stale flows are not forgotten: %s", error)
            return
        self._told = ""
        if looks:
            counts.conntrack.observe(self._clock() - begun)
