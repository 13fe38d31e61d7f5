"""Two rulesets to the smallest transaction between them, and a transaction carried out.

Law: a transaction is all the kernel is ever told, and it takes it whole or not at all. Its parts
are carried out in the order of its fields, so that nothing is named before it is there and
nothing goes while it is named.
"""

from __future__ import annotations

import msgspec

from nearwise.nft.ruleset import Chain, Elements, Family, Ruleset, Set


class Transaction(msgspec.Struct, frozen=True):
    """What changes in a table. An element with a new value is both in ``drop`` and in ``put``."""

    family: Family
    anew: bool = False
    """Begin with an empty table, in place of whatever there is."""
    sets: tuple[Set, ...] = ()
    """New sets and maps."""
    chains: tuple[Chain, ...] = ()
    """New chains, and chains whose rules are others now."""
    drop: dict[str, Elements] = {}
    put: dict[str, Elements] = {}
    gone_chains: tuple[str, ...] = ()
    gone_sets: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (
            self.anew
            or self.sets
            or self.chains
            or self.drop
            or self.put
            or self.gone_chains
            or self.gone_sets
        )

    @property
    def size(self) -> int:
        """How many parts it has: elements, chains and sets."""
        elements = sum(map(len, self.drop.values())) + sum(map(len, self.put.values()))
        others = (self.sets, self.chains, self.gone_chains, self.gone_sets)
        return elements + sum(map(len, others))


def diff(before: Ruleset | None, after: Ruleset) -> Transaction:
    """Return what makes ``after`` of ``before``; None if there is no table yet.

    A set of another shape, or another hook, cannot be changed: then the table is made anew.
    """
    if before is None or _is_other(before, after):
        full = {name: dict(elements) for name, elements in after.elements.items() if elements}
        return Transaction(
            after.family,
            anew=True,
            sets=tuple(after.sets.values()),
            chains=tuple(after.chains.values()),
            put=full,
        )
    drop: dict[str, Elements] = {}
    put: dict[str, Elements] = {}
    for name in after.sets:
        old, new = before.elements.get(name, {}), after.elements.get(name, {})
        gone = {key: value for key, value in old.items() if key not in new or new[key] != value}
        came = {key: value for key, value in new.items() if key not in old or old[key] != value}
        if gone:
            drop[name] = gone
        if came:
            put[name] = came
    return Transaction(
        after.family,
        sets=tuple(each for name, each in after.sets.items() if name not in before.sets),
        chains=tuple(
            each for name, each in after.chains.items() if before.chains.get(name) != each
        ),
        drop=drop,
        put=put,
        gone_chains=tuple(name for name in before.chains if name not in after.chains),
        gone_sets=tuple(name for name in before.sets if name not in after.sets),
    )


def _is_other(before: Ruleset, after: Ruleset) -> bool:
    """Say whether a set or base chain of the same name is not the same."""
    return any(
        before.sets[name] != each for name, each in after.sets.items() if name in before.sets
    ) or any(
        before.chains[name].hook != each.hook
        for name, each in after.chains.items()
        if name in before.chains
    )


def apply(ruleset: Ruleset, change: Transaction) -> None:
    """Carry a transaction out on a ruleset, in place, as the kernel does on its own."""
    chains, sets, elements = ruleset.chains, ruleset.sets, ruleset.elements
    if change.anew:
        for each in (chains, sets, elements):
            each.clear()
    for set_ in change.sets:
        sets[set_.name] = set_
    for chain in change.chains:
        chains[chain.name] = chain
    for name, gone in change.drop.items():
        for key in gone:
            del elements[name][key]
    for name, came in change.put.items():
        elements.setdefault(name, {}).update(came)
    for name in change.gone_chains:
        del chains[name]
    for name in change.gone_sets:
        del sets[name]
        elements.pop(name, None)
