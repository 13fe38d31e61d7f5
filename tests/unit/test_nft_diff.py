"""Transactions: what makes one ruleset of another, and the same in two halves."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from nearwise.nft.diff import apply, diff
from nearwise.nft.ruleset import Chain, Family, Ruleset
from ruleset_builders import rulesets

V4 = Family.IPV4


@given(rulesets(V4), rulesets(V4))
def test_what_a_difference_is_applied_to_becomes_the_other(before: Ruleset, after: Ruleset) -> None:
    table = deepcopy(before)
    apply(table, diff(before, after))
    assert diff(table, after).is_empty
    assert (table.chains, table.sets) == (after.chains, after.sets)


@given(st.none() | rulesets(V4), rulesets(V4))
def test_in_two_halves_it_comes_to_the_same_and_the_first_is_what_counts(
    before: Ruleset | None, after: Ruleset
) -> None:
    stays, goes = diff(before, after).halves
    table = deepcopy(before) if before else Ruleset(V4, {}, {}, {})
    apply(table, stays)
    named = {name for name in table.chains if name in after.chains}
    assert named == after.chains.keys()
    assert all(table.elements.get(name, {}) == each for name, each in after.elements.items())
    apply(table, goes)
    assert diff(table, after).is_empty


@given(rulesets(V4))
def test_nothing_is_to_do_where_nothing_differs(ruleset: Ruleset) -> None:
    change = diff(ruleset, deepcopy(ruleset))
    assert change.is_empty
    assert change.size == 0


@given(rulesets(V4))
def test_a_base_chain_on_another_hook_makes_the_table_anew(ruleset: Ruleset) -> None:
    other = deepcopy(ruleset)
    other.chains["output"] = Chain("output", ruleset.chains["output"].rules)
    assert diff(other, ruleset).anew
