"""Whatever is compiled from strange services, nft takes it, and lists it as it was meant."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from netns import Namespace

from nearwise.nft.compile import Routes, compiled
from nearwise.nft.diff import diff
from nearwise.nft.listing import listed
from nearwise.nft.ruleset import TABLE, Family, Ruleset
from nearwise.nft.text import script
from nft_words import V4, V6
from strange_services import strange_routes

SETTINGS = {Family.IPV4: V4, Family.IPV6: V6}
SERVICES, ROUNDS = 150, 6


@pytest.mark.parametrize("seed", range(4))
def test_nft_takes_what_is_compiled_from_strange_services(
    host: Callable[[], Namespace], seed: int
) -> None:
    random, node = Random(seed), host()
    for _ in range(ROUNDS):
        strange = [strange_routes(random, number) for number in range(SERVICES)]
        for family, settings in SETTINGS.items():
            given = {each[family].service.metadata.key: each[family] for each in strange}
            if family is Family.IPV6:
                given = {key: without_affinity(each) for key, each in given.items()}
            ruleset = compiled(settings, given)
            assert sum(map(len, ruleset.elements.values())) > SERVICES
            node.nft(script(diff(None, ruleset)))
            assert comparable(listing(node, family)) == comparable(ruleset)


def without_affinity(of: Routes) -> Routes:
    """nft 1.0.6 has not the registers for what is remembered of an IPv6 client."""
    replace = msgspec.structs.replace
    spec = replace(of.service.spec, session_affinity="None")
    return replace(of, service=replace(of.service, spec=spec))


def listing(node: Namespace, family: Family) -> Ruleset:
    found = listed(node.run("nft", "list", "table", family, TABLE), family)
    assert found is not None
    return found


def comparable(ruleset: Ruleset) -> Any:
    elements = {name: each for name, each in ruleset.elements.items() if each}
    return ruleset.family, ruleset.chains, ruleset.sets, elements
