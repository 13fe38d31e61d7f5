"""Transactions: what makes one ruleset of another."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given

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
