"""Large pools: several runs answer as one would."""

from __future__ import annotations

import pytest

from nearwise.model import Endpoint
from nearwise.routing import Client, Mode, Pool, ServiceView, merge, select
from route_builders import HTTP, codes, draining, endpoint, numbers, service, slice_of


def large(*odd: Endpoint, hinted: bool = True) -> Pool:
    """Make a pool of 200 ready endpoints, half hinted to each zone, and some odd ones."""
    zones = {number: ("a" if number % 2 else "b",) for number in range(200)}
    plain = [
        endpoint(number, f"n{number}", zones=zones[number] if hinted else (), nodes=(f"n{number}",))
        for number in range(200)
    ]
    return view_of(*plain, *odd).backends[HTTP]


def view_of(*endpoints: Endpoint) -> ServiceView:
    return merge(service(), [slice_of(*endpoints)], "IPv4")


def test_it_has_several_runs_and_is_in_order_of_addresses() -> None:
    pool = large()

    assert len(pool.runs) > 2
    assert [backend.address for backend in pool] == sorted(backend.address for backend in pool)
    assert len(pool) == len(list(pool)) == 200


@pytest.mark.parametrize(
    ("client", "mode", "chosen"),
    [
        (Client("n7", "a"), Mode.SAME_NODE, [7]),
        (Client("x", "a"), Mode.SAME_ZONE, list(range(1, 200, 2))),
        (Client("x", "c"), Mode.CLUSTER, list(range(200))),
    ],
)
def test_choices_are_those_of_one_run(client: Client, mode: Mode, chosen: list[int]) -> None:
    selection = select(service(), large(), client)

    assert selection.mode is mode
    assert numbers(selection.cluster) == chosen


def test_one_without_a_hint_in_one_run_counts_for_all_runs() -> None:
    selection = select(service(), large(endpoint(250)), Client("n7", "a"))

    assert selection.mode is Mode.CLUSTER
    assert len(selection.cluster) == 201
    assert codes(selection.reasons) == [
        "route-node-hints-partial",
        "route-zone-hints-partial",
        "route-all",
    ]


def test_those_that_drain_are_found_among_ready_ones() -> None:
    assert numbers(large(draining(250, "n7")).draining) == [250]
    assert large().draining == []


def test_what_is_known_reads_like_lists_and_dicts() -> None:
    facts = large().facts

    assert facts.by_zone is not None
    assert sorted(facts.by_zone) == ["a", "b"]
    assert len(facts.by_zone) == 2
    assert len(facts.by_zone["a"]) == 100
    assert facts.by_zone["a"][0] in facts.ready
    with pytest.raises(KeyError, match="c"):
        facts.by_zone["c"]
    assert large(hinted=False).facts.by_zone is None


def test_rivals_stay_in_one_run() -> None:
    rivals = [endpoint(100, pod=f"web-{i}") for i in range(150)]
    ((winner, claims),) = view_of(*map(endpoint, range(200)), *rivals).backends[HTTP].contests

    assert len(claims) == 151
    assert winner.target == rivals[-1].target_ref


def test_a_pool_that_shrinks_does_not_fall_into_ever_smaller_runs() -> None:
    view = view_of(*map(endpoint, range(250)))
    single = {f"s{i}": slice_of(endpoint(i), name=f"s{i}") for i in range(250)}
    view = view.changed(put=single.values(), drop=["web-1"])
    for name in list(single)[5:]:
        view = view.changed(drop=[name])

    assert numbers(view.backends[HTTP]) == [0, 1, 2, 3, 4]
    assert len(view.backends[HTTP].runs) == 1
