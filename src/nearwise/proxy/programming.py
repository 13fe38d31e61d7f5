"""The tables of all families in the kernel: brought to what is chosen, and kept so.

Law: every family for itself. What fails in one is tried again after a while, and keeps the other
waiting for nothing; until then the kernel does what it was told last. What goes wrong is told when
it begins and when it ends, never once for each attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import ObjectKey
from nearwise.model import Reason
from nearwise.model.reasons import Level
from nearwise.nft.diff import Transaction
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.proxy.conntrack import Flows
from nearwise.proxy.family_state import FamilyState
from nearwise.proxy.forgetting import Forgetting
from nearwise.proxy.kernel import Kernel, KernelError
from nearwise.proxy.kernel_table import Applied, KernelTable
from nearwise.proxy.routes import Changes, FamilyRoutes

_MOST_TOLD: Final = 20  # of a kind at once; the metrics count them all

_log = logging.getLogger(__name__)


class Programming:
    """What is in the kernel, by family."""

    def __init__(self, kernel: Kernel, flows: Flows | None, surroundings: Surroundings) -> None:
        """Begin with no family; ``flows`` is None where there are none to be had."""
        self.families: dict[Family, FamilyState] = {}
        self.last_failure = ""
        """When something failed last, and what; it stays when all is well again."""
        self._kernel = kernel
        self._surroundings = surroundings
        self._forgetting = Forgetting(kernel, flows, surroundings.now)
        self._listeners: list[Callable[[Family, Changes], None]] = []
        self._left_out: dict[Family, Mapping[ObjectKey, tuple[Reason, ...]]] = {}
        self._generation: int | None = None  # the kernel's count, while only we changed anything

    def tend(self, routes: FamilyRoutes, settings: Settings) -> None:
        """Keep the table of one more family."""
        table = KernelTable(self._kernel, settings, self._surroundings.now)
        self.families[routes.family] = FamilyState(routes, table)

    def listen(self, listener: Callable[[Family, Changes], None]) -> None:
        """Have told what is chosen for services, once it is in the kernel."""
        self._listeners.append(listener)

    @property
    def generation(self) -> int | None:
        """The kernel's count of changes when it had what it should; None if that is not known."""
        return self._generation

    @property
    def is_waiting(self) -> bool:
        """Whether something is not in the kernel that should be, of a family that ever was."""
        return any(each.is_due and each.table.has_begun for each in self.families.values())

    def next_at(self) -> float | None:
        """Return when the next sync is worth while; None when there is nothing to do."""
        return min(
            (each.not_before for each in self.families.values() if each.is_due), default=None
        )

    def sync(self) -> None:
        """Bring the tables to what is chosen now, as far as anything may be other.

        Raises KernelError if the kernel has never taken any table: then this is no place to work.
        """
        now = self._surroundings.now()
        due = [each for each in self.families.values() if each.is_due and now >= each.not_before]
        if not due:
            return
        seen = self._count()
        is_known = seen == self._generation or not any(
            each.table.certain for each in self.families.values()
        )
        applied = sum([self._sync_one(each) for each in due])
        self._remember(seen, applied, is_known=is_known)
        if not any(each.table.has_begun for each in self.families.values()):
            raise KernelError("; ".join(each.trouble for each in due))

    def look(self) -> None:
        """Find out whether somebody else touched our tables, and put it right.

        The kernel counts the changes of all tables: while nobody changes any, one number tells
        that there is nothing to read.
        """
        for each in self.families.values():
            if each.table.ruleset is not None:
                self._forgetting.again(each.table.ruleset, each.counts)
        seen = self._count()
        if seen is not None and seen == self._generation:
            return
        certain = [each for each in self.families.values() if each.table.certain]
        repaired = sum([self._repair(each) for each in certain])
        self._remember(seen, repaired, is_known=len(certain) == len(self.families))

    # --- one family -----------------------------------------------------------------------

    def _sync_one(self, each: FamilyState) -> int:
        """Bring one table to what is chosen now; return how many transactions that took."""
        begins = not each.table.has_begun
        changes = each.routes.take()
        for key, mistake in each.routes.mistakes.items():
            where = (each.family.api, "/".join(key))
            _log.error("%s %s: it stays as it was", *where, exc_info=mistake)
        try:
            if begins:
                self._kernel.check((each.family,))
            applied = each.table.sync(changes, each.routes.routes)
        except KernelError as error:
            self._failed(each, str(error))
            return 0
        except Exception as error:  # a mistake of ours: what it left half done is made anew
            _log.exception("%s: a sync failed", each.family.api)
            each.table.forget()
            self._failed(each, f"Nearwise made a mistake: {error}")
            return 0
        self._succeeded(each, applied)
        for listener in self._listeners:
            listener(each.family, changes)
        self._forget(each, applied.change, begins=begins)
        return not applied.change.is_empty

    def _repair(self, each: FamilyState) -> int:
        """Put one table right; return how many transactions that took."""
        try:
            change = each.table.repair()
        except KernelError as error:
            self._failed(each, str(error))
            return 0
        if change.is_empty:
            return 0
        each.counts.repairs += 1
        what = "all of it" if change.anew else f"parts of it: {change.size}"
        _log.warning("%s: somebody changed our table; it is put right, %s", each.family.api, what)
        self._forget(each, change)  # flows may have begun while there were no rules
        return 1

    def _forget(self, each: FamilyState, change: Transaction, *, begins: bool = False) -> None:
        """Have forgotten what a transaction has made stale."""
        ruleset = each.table.ruleset
        assert ruleset is not None
        self._forgetting.after(ruleset, change, each.counts, begins=begins)

    def _succeeded(self, each: FamilyState, applied: Applied) -> None:
        if each.succeeded():
            _log.info("%s: the kernel is as it should be again", each.family.api)
        if applied.amiss is not None:
            each.counts.repairs += 1
            _log.warning(
                "%s: somebody changed our table (%s); it is put right",
                each.family.api,
                applied.amiss,
            )
        wall = seconds_of(self._surroundings.wall())
        each.counts.synced(
            wall, applied.compiling, applied.kernel, full=applied.whole, triggers=each.triggers
        )
        each.triggers = []
        self._tell_left_out(each)

    def _failed(self, each: FamilyState, why: str) -> None:
        self.last_failure = f"{self._surroundings.wall()} {each.family.api}: {why}"
        if each.failed(why, self._surroundings.now()):
            _log.error("%s: the kernel was not changed: %s", each.family.api, why)

    def _tell_left_out(self, each: FamilyState) -> None:
        """Tell what is not served, of what was not told before."""
        before, after = self._left_out.get(each.family, {}), each.table.left_out
        if before == after:
            return
        self._left_out[each.family] = dict(after)
        news = [
            (key, why)
            for key, reasons in sorted(after.items())
            for why in reasons
            if why.level is not Level.INFO and why not in before.get(key, ())
        ]
        for key, why in news[:_MOST_TOLD]:
            _log.warning("%s %s: %s", each.family.api, "/".join(key), why.text)
        if len(news) > _MOST_TOLD:
            more = len(news) - _MOST_TOLD
            _log.warning("%s: and %d more that are not served as asked", each.family.api, more)

    # --- what others do ---------------------------------------------------------------------

    def _count(self) -> int | None:
        """Return the kernel's count of changes; None if it does not say."""
        try:
            return self._kernel.generation()
        except KernelError:
            return None

    def _remember(self, seen: int | None, applied: int, *, is_known: bool) -> None:
        """Remember the kernel's count, if nobody but us has changed anything meanwhile."""
        after = self._count()
        mine = seen is not None and after == seen + applied
        self._generation = after if is_known and mine else None


def seconds_of(time: str) -> float:
    """Return the seconds since 1970 of a time of day as the API writes it (RFC 3339).

    Raises ValueError for what is none.
    """
    return datetime.fromisoformat(time).timestamp()
