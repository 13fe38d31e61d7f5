"""Random histories of services: what changes lead to is what compiling from nothing gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.model import Endpoint
from nearwise.nft.compile import Compiler, Routes, compiled
from nearwise.nft.diff import Transaction, apply, diff
from nearwise.nft.layout import (
    ENDPOINTS,
    INSIDE,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    SERVICES,
    fixed_chains,
)
from nearwise.nft.plans import ObjectKey
from nearwise.nft.registers import pack_drawn
from nearwise.nft.ruleset import Elements, Goto, Ruleset, Verdict
from nearwise.routing import Backend
from nft_words import V4, pod, routes, service

Wanted = dict[ObjectKey, Routes]
Step = dict[ObjectKey, Routes | None]


class History(list[Step]):
    """Changes one after the other."""

    def __repr__(self) -> str:
        return "\n".join(
            f"{key[1]}: {self._said(each)}" for step in self for key, each in step.items()
        )

    def _said(self, each: Routes | None) -> str:
        if each is None:
            return "gone"
        said = msgspec.json.encode(each.service.spec).decode()
        return said + "".join(f" {b.address}@{b.node_name}" for b in chosen(each))


def chosen(each: Routes) -> list[Backend]:
    return [backend for selection in each.selections.values() for backend in selection.all]


NAMES = ("a", "b", "c", "d")
_ADDRESSES = tuple(f"10.244.0.{number}" for number in range(1, 9))
_SHARED = ("203.0.113.1", "203.0.113.2")  # claimed by all kinds of services
_LOCAL_OR_NOT = st.sampled_from(("Cluster", "Local"))
_RANGES = ("10.0.0.0/8", "10.244.0.0/16", "192.168.0.0/16", "0.0.0.0/0", "2001:db8::/32", "junk")


@st.composite
def some_routes(draw: st.DrawFn, name: str) -> Routes:
    """Draw a service with its endpoints."""
    ports = [
        {
            "name": f"p{number}",
            "port": number,
            "protocol": draw(st.sampled_from(("TCP", "UDP"))),
            "nodePort": draw(st.sampled_from((0, 30001, 30002))),
        }
        for number in draw(st.sampled_from(((80,), (81,), (80, 81))))
    ]
    spec: dict[str, Any] = {
        "clusterIP": draw(st.sampled_from((f"10.96.0.{NAMES.index(name)}", *_SHARED, "None"))),
        "type": draw(st.sampled_from(("ClusterIP", "NodePort", "LoadBalancer"))),
        "ports": ports,
        "externalIPs": draw(st.lists(st.sampled_from((*_SHARED, "junk")), max_size=2)),
        "internalTrafficPolicy": draw(_LOCAL_OR_NOT),
        "externalTrafficPolicy": draw(_LOCAL_OR_NOT),
        "loadBalancerSourceRanges": draw(st.lists(st.sampled_from(_RANGES), max_size=3)),
    }
    if seconds := draw(st.sampled_from((None, None, 30, 60, 100000))):
        spec["sessionAffinity"] = "ClientIP"
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": seconds}}
    of = service(
        name,
        made=draw(st.sampled_from(("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", ""))),
        ingress=tuple(draw(st.lists(st.sampled_from(_SHARED), max_size=1))),
        **spec,
    )
    return routes(of, *draw(some_pods()))


@st.composite
def some_pods(draw: st.DrawFn) -> list[Endpoint]:
    return [
        pod(
            address,
            draw(st.sampled_from(("n1", "n2", "n2", None))),
            ready=draw(st.sampled_from((True, True, True, False))),
            serving=True,
            terminating=draw(st.sampled_from((False, False, True))),
        )
        for address in draw(st.lists(st.sampled_from((*_ADDRESSES, "10.244.0")), unique=True))
    ]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw changes, one or several services at a time; mostly only endpoints change."""
    steps = History()
    now: Wanted = {}
    for _ in range(draw(st.integers(1, 8))):
        step: Step = {}
        for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
            key = ("shop", name)
            what = draw(st.sampled_from(("endpoints", "endpoints", "service", "gone")))
            if what == "gone":
                step[key] = None
            elif what == "endpoints" and key in now:
                step[key] = routes(now[key].service, *draw(some_pods()))
            else:
                step[key] = draw(some_routes(name))
        now = after(now, step)
        steps.append(step)
    return steps


def after(now: Wanted, step: Step) -> Wanted:
    changed = {**now, **step}
    return {key: each for key, each in changed.items() if each is not None}


# --- What is to hold ---------------------------------------------------------------------------


@given(histories())
@settings(max_examples=150, deadline=None)
def test_after_every_change_the_table_is_the_one_made_from_nothing(steps: History) -> None:
    compiler = Compiler(V4)
    now: Wanted = {}
    for step in steps:
        compiler.change(step)
        now = after(now, step)
        afresh = Compiler(V4)
        afresh.change(now)
        assert without_order(compiler.ruleset) == without_order(afresh.ruleset)
        assert compiler.ruleset.chains.items() >= afresh.ruleset.chains.items()
        assert compiler.left_out == afresh.left_out


@given(histories())
@settings(max_examples=150, deadline=None)
def test_a_change_is_the_smallest_that_leads_there(steps: History) -> None:
    compiler = Compiler(V4)
    for step in steps:
        before = copied(compiler.ruleset)
        change = compiler.change(step)
        assert comparable(change) == comparable(diff(before, compiler.ruleset))
        apply(before, change)
        assert before == compiler.ruleset
        assert compiler.change(step).is_empty


@given(histories())
@settings(max_examples=150, deadline=None)
def test_slots_have_no_holes_and_whoever_stays_keeps_its_own(steps: History) -> None:
    compiler = Compiler(V4)
    now: Wanted = {}
    for step in steps:
        before, was = copied(compiler.ruleset), now
        compiler.change(step)
        now = after(now, step)
        for map_ in (ENDPOINTS, LOCAL_ENDPOINTS):
            old, new = slots(before, map_), slots(compiler.ruleset, map_)
            for frontend, endpoints in new.items():
                assert len(set(endpoints)) == len(endpoints)
                if same_service(before, compiler.ruleset, frontend, was, now):
                    moves_are_needed(old.get(frontend, []), endpoints)


@given(histories())
@settings(max_examples=100, deadline=None)
def test_the_chains_are_those_that_verdicts_went_to(steps: History) -> None:
    always = {each.name for each in fixed_chains(V4)} | {"remember"}
    compiler = Compiler(V4)
    ever: set[str] = set()
    for step in steps:
        compiler.change(step)
        named = gone_to(compiler.ruleset)
        ever |= named
        assert named <= compiler.ruleset.chains.keys()
        assert compiler.ruleset.chains.keys() - always == ever - always


@given(histories())
@settings(max_examples=50, deadline=None)
def test_the_order_of_services_does_not_matter(steps: History) -> None:
    now: Wanted = {}
    for step in steps:
        now = after(now, step)
    backwards = dict(reversed(now.items()))
    assert in_order(compiled(V4, now)) == in_order(compiled(V4, backwards))


@given(histories())
@settings(max_examples=50, deadline=None)
def test_slots_are_kept_over_a_restart(steps: History) -> None:
    compiler = Compiler(V4)
    now: Wanted = {}
    for step in steps:
        compiler.change(step)
        now = after(now, step)
    again = Compiler(V4, copied(compiler.ruleset))
    again.change(now)
    assert without_order(again.ruleset) == without_order(compiler.ruleset)
    if not any(
        why.code == "frontend-contested" for told in again.left_out.values() for why in told
    ):
        assert again.ruleset == compiler.ruleset


# --- How it is looked at -----------------------------------------------------------------------


def copied(ruleset: Ruleset) -> Ruleset:
    elements = {name: dict(each) for name, each in ruleset.elements.items()}
    return Ruleset(ruleset.family, dict(ruleset.chains), dict(ruleset.sets), elements)


def slots(ruleset: Ruleset, map_: str) -> dict[bytes, list[Any]]:
    """Return endpoints by frontend in the order of their slots; there are no holes."""
    found: dict[bytes, list[Any]] = {}
    elements = ruleset.elements[map_]
    for frontend in {key[:-4] for key in elements}:
        count = sum(key.startswith(frontend) for key in elements)
        found[frontend] = [elements[frontend + pack_drawn(slot)] for slot in range(count)]
    return found


def gone_to(ruleset: Ruleset) -> set[str]:
    """Return the chains that verdicts go to."""
    return {
        verdict.what.chain
        for map_ in (SERVICES, INSIDE, OUTSIDE)
        for verdict in ruleset.elements[map_].values()
        if isinstance(verdict, Verdict) and isinstance(verdict.what, Goto)
    }


def without_order(ruleset: Ruleset) -> Any:
    elements: dict[str, Any] = dict(ruleset.elements)
    for map_ in (ENDPOINTS, LOCAL_ENDPOINTS):
        elements[map_] = {key: sorted(each) for key, each in slots(ruleset, map_).items()}
    return ruleset.sets, elements


def in_order(ruleset: Ruleset) -> Any:
    elements = {name: list(each.items()) for name, each in ruleset.elements.items()}
    return list(ruleset.chains.items()), list(ruleset.sets.items()), elements


def comparable(change: Transaction) -> Any:
    names = (set(change.gone_chains), set(change.gone_sets))
    chains = {each.name: each for each in change.chains}
    sets = {each.name: each for each in change.sets}
    return sets, chains, change.drop, change.put, names


def same_service(before: Ruleset, now: Ruleset, frontend: bytes, was: Wanted, is_: Wanted) -> bool:
    """Whether the same service has the frontend, with the same spec."""

    def owner(elements: Elements, all_: Mapping[ObjectKey, Routes]) -> Any:
        verdict = elements.get(frontend)
        assert isinstance(verdict, Verdict | None)
        name = verdict.comment.partition(":")[0].partition("/")[2] if verdict else ""
        return all_[("shop", name)].service if name else None

    old = owner(before.elements[SERVICES], was)
    return old is not None and old == owner(now.elements[SERVICES], is_)


def moves_are_needed(old: list[Any], new: list[Any]) -> None:
    """Nobody moves but from beyond the end into a hole."""
    for slot, endpoint in enumerate(new):
        if endpoint in old and old.index(endpoint) != slot:
            assert old.index(endpoint) >= len(new)
            assert slot >= len(old) or old[slot] not in new
