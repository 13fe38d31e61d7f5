"""Whatever is compiled from strange services, the kernel takes it, and has it as it was meant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from random import Random
from typing import Any

import msgspec
import pytest
from netns import Namespace

from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.diff import diff
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel
from nft_words import V4, V6
from strange_services import strange_routes

SETTINGS = {Family.IPV4: V4, Family.IPV6: V6}
SERVICES, CHANGES, AT_A_TIME = 120, 8, 20


@pytest.mark.parametrize("backend", [NetlinkKernel, ProgramKernel])
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_takes_what_is_compiled_from_strange_services(
    host: Callable[[], Namespace],
    backend: type[NetlinkKernel] | type[ProgramKernel],
    seed: int,
) -> None:
    random = Random(seed)
    with host().entered(), closing(backend()) as kernel:
        compilers = {family: Compiler(SETTINGS[family]) for family in Family}
        for compiler in compilers.values():
            kernel.apply(diff(None, compiler.ruleset))
        for numbers in changes(random):
            drawn = [strange_routes(random, number) for number in numbers]
            for family, compiler in compilers.items():
                given = [each[family] for each in drawn]
                if backend is ProgramKernel and family is Family.IPV6:
                    given = [without_affinity(each) for each in given]
                services = {each.service.metadata.key: each for each in given}
                gone = dict.fromkeys(key for key in services if random.random() < 0.2)
                kernel.apply(compiler.change({**services, **gone}))
                assert comparable(kernel.read(family)) == comparable(compiler.ruleset)
                assert len(compiler.ruleset.elements["services"]) > SERVICES / 3


def changes(random: Random) -> list[list[int]]:
    """Number the services that change at a time: first all of them, then some."""
    some = [random.sample(range(SERVICES), AT_A_TIME) for _ in range(CHANGES)]
    return [list(range(SERVICES)), *some]


def without_affinity(of: Routes) -> Routes:
    """nft 1.0.6 cannot write what is remembered of an IPv6 client."""
    replace = msgspec.structs.replace
    spec = replace(of.service.spec, session_affinity="None")
    return replace(of, service=replace(of.service, spec=spec))


def comparable(ruleset: Ruleset | None) -> Any:
    assert ruleset is not None
    elements = {name: each for name, each in ruleset.elements.items() if each}
    return ruleset.family, ruleset.chains, ruleset.sets, elements
