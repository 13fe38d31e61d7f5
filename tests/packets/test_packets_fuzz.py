"""Whatever is compiled from strange services, nft takes it, and lists it as it was meant."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from netns import Namespace

from nearwise.nft.compile import Compiler
from nearwise.nft.diff import diff
from nearwise.nft.listing import listed
from nearwise.nft.ruleset import TABLE, Family, Ruleset
from nearwise.nft.text import script
from nft_words import V4, V6
from strange_services import strange_routes

SETTINGS = {Family.IPV4: V4, Family.IPV6: V6}
SERVICES, CHANGES = 150, 15


@pytest.mark.parametrize("seed", range(4))
def test_nft_takes_what_is_compiled_from_strange_services(
    host: Callable[[], Namespace], seed: int
) -> None:
    random, node = Random(seed), host()
    compilers = {family: Compiler(SETTINGS[family]) for family in Family}
    for family, compiler in compilers.items():
        node.nft(script(diff(None, compiler.ruleset)))
        assert comparable(listing(node, family)) == comparable(compiler.ruleset)
    for change in range(CHANGES):
        numbers = range(SERVICES) if change == 0 else random.sample(range(SERVICES), 10)
        drawn = [strange_routes(random, number) for number in numbers]
        gone = {number for number in numbers if random.random() < 0.3}
        for family, compiler in compilers.items():
            given = [each[family] for each in drawn]
            transaction = compiler.change(
                {
                    each.service.metadata.key: None if number in gone else each
                    for number, each in zip(numbers, given, strict=True)
                }
            )
            node.nft(script(transaction))
            assert comparable(listing(node, family)) == comparable(compiler.ruleset)
    for family, compiler in compilers.items():
        everything = [strange_routes(random, number)[family] for number in range(SERVICES)]
        node.nft(script(compiler.change({each.service.metadata.key: None for each in everything})))
        afresh = Compiler(SETTINGS[family]).ruleset
        assert comparable(listing(node, family)) == comparable(afresh)


def listing(node: Namespace, family: Family) -> Ruleset:
    found = listed(node.run("nft", "list", "table", family, TABLE), family)
    assert found is not None
    return found


def comparable(ruleset: Ruleset) -> Any:
    elements = {name: each for name, each in ruleset.elements.items() if each}
    return ruleset.family, ruleset.chains, ruleset.sets, elements
