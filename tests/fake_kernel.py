"""A kernel for tests of the proxy: it takes transactions as nftables does, and nothing else.

What is dropped must be there, what is put must not be, and what refuses leaves everything as it
was. Tests act on it as other programs do (``flush``, ``meddle``), and have it refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nearwise.nft.choices import Flow
from nearwise.nft.diff import Transaction, apply
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.kernel import KernelError


class FakeKernel:
    """The tables of a machine. Implements ``Kernel``."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.tables: dict[Family, Ruleset] = {}
        self.applied: list[Transaction] = []
        self.at: list[float] = []
        """When each transaction came, by the clock."""
        self.reads: list[Family] = []
        self.pinned: dict[Family, dict[bytes, bytes]] = {family: {} for family in Family}
        self.refuse: Callable[[Transaction | None], str] = lambda _: ""
        """Says why a transaction, or (None) anything else, is refused; empty if it is not."""
        self.count = 1
        self._clock = clock

    # --- what a proxy does ------------------------------------------------------------------

    def check(self, families: Iterable[Family]) -> None:
        assert list(families)
        self._may(None)

    def read(self, family: Family) -> Ruleset | None:
        self._may(None)
        self.reads.append(family)
        table = self.tables.get(family)
        return copy(table) if table else None

    def apply(self, change: Transaction) -> None:
        self._may(change)
        table = copy(self.tables.get(change.family) or Ruleset(change.family, {}, {}, {}))
        if not change.anew:
            if change.family not in self.tables:
                raise KernelError("no such table")
            for name, gone in change.drop.items():
                if gone.keys() - table.elements.get(name, {}).keys():
                    raise KernelError(f"no such element in {name}")
            for name, came in change.put.items():
                there = table.elements.get(name, {}).keys()
                if (came.keys() - change.drop.get(name, {}).keys()) & there:
                    raise KernelError(f"such an element is in {name} already")
        apply(table, change)
        if change.anew:
            self.pinned[change.family] = {}
        self.tables[change.family] = table
        self.applied.append(change)
        self.at.append(self._clock())
        self.count += 1

    def pins(self, family: Family) -> dict[bytes, bytes]:
        self._may(None)
        return dict(self.pinned[family])

    def unpin(self, family: Family, keys: Iterable[bytes]) -> None:
        self._may(None)
        for key in keys:
            del self.pinned[family][key]

    def generation(self) -> int:
        self._may(None)
        return self.count

    def remove(self) -> None:
        self._may(None)
        self.tables.clear()
        self.count += 1

    # --- what others do ---------------------------------------------------------------------

    def flush(self) -> None:
        """Have everything removed by hand."""
        self.tables.clear()
        self.count += 1

    def meddle(self) -> None:
        """Have somebody change a table of his own."""
        self.count += 1

    def forget(self, family: Family, name: str) -> None:
        """Have the elements of a set removed by hand."""
        self.tables[family].elements[name].clear()
        self.count += 1

    def _may(self, change: Transaction | None) -> None:
        if why := self.refuse(change):
            raise KernelError(why)


class FakeFlows:
    """The UDP flows of a machine. Implements ``Flows``."""

    def __init__(self, *flows: Flow) -> None:
        self.flows = list(flows)
        self.listed = 0

    def udp(self, family: Family) -> Iterable[Flow]:
        self.listed += 1
        width = family.width + 4
        return [flow for flow in self.flows if len(flow.client) == width]

    def delete(self, flows: Iterable[Flow]) -> int:
        gone = list(flows)
        self.flows = [flow for flow in self.flows if flow not in gone]
        return len(gone)


def copy(table: Ruleset) -> Ruleset:
    """Return a table that can be changed by itself."""
    elements = {name: dict(some) for name, some in table.elements.items()}
    return Ruleset(table.family, dict(table.chains), dict(table.sets), elements)
