"""Services and slices of any kind compile, or are left out with a reason, one by one."""

from __future__ import annotations

from random import Random

import pytest

from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.plans import ObjectKey
from nearwise.nft.registers import size
from nearwise.nft.ruleset import Data, Drop, Family, Goto, Ruleset, Verdict
from nearwise.nft.text import ruleset_text
from nft_words import V4, V6, pod, routes, service, words
from strange_services import strange_routes

SETTINGS = {Family.IPV4: V4, Family.IPV6: V6}
GOOD = {
    Family.IPV4: routes(
        service("good", clusterIP="10.97.0.1", made="1999-01-01T00:00:00Z"), pod("10.9.9.9")
    ),
    Family.IPV6: routes(
        service("good", clusterIP="fd97::1", made="1999-01-01T00:00:00Z"),
        pod("fd09::9"),
        family=Family.IPV6,
    ),
}


def drawn(random: Random, count: int, family: Family) -> dict[ObjectKey, Routes]:
    found = [strange_routes(random, number)[family] for number in range(count)]
    return {each.service.metadata.key: each for each in found}


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("seed", range(150))
def test_strange_services_compile_and_leave_others_alone(seed: int, family: Family) -> None:
    compiler = Compiler(SETTINGS[family])
    key = GOOD[family].service.metadata.key
    compiler.change({key: GOOD[family]})
    alone = words(compiler.ruleset)
    is_well_formed(compiler.ruleset)

    random = Random(seed)
    strange = [drawn(random, count, family) for count in (12, 6)]  # the latter replace some
    for services in strange:
        compiler.change(services)
        is_well_formed(compiler.ruleset)
    mixed = words(compiler.ruleset)
    assert all(elements.items() <= mixed[name].items() for name, elements in alone.items())
    assert key not in compiler.left_out
    for told in compiler.left_out.values():
        assert all(why.text for why in told)

    compiler.change(dict.fromkeys((*strange[0], *strange[1])))
    assert words(compiler.ruleset) == alone
    assert not compiler.left_out


def is_well_formed(ruleset: Ruleset) -> None:
    """Every element fits its set, every chain that is named is there, and it can be written."""
    for name, elements in ruleset.elements.items():
        set_ = ruleset.sets[name]
        width = size(set_.key, ruleset.family) * (2 if set_.interval else 1)
        for key, value in elements.items():
            assert len(key) == width
            if set_.data is Data.NOTHING:
                assert value is None
            elif set_.data is Data.ENDPOINT:
                assert isinstance(value, bytes)
                assert len(value) == ruleset.family.width + 4
            else:
                assert isinstance(value, Verdict)
                assert isinstance(value.what, Goto | Drop)
                assert isinstance(value.what, Drop) or value.what.chain in ruleset.chains
                assert len(value.comment.encode()) <= 128
    assert ruleset_text(ruleset)
