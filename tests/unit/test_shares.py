"""What every endpoint gets, in closed form."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.insight.shares import MATRIX, Stream, mean, shares, skew, sources

ZONES = ["a", "b", "c", ""]


@st.composite
def traffic(draw: st.DrawFn) -> tuple[list[Stream], list[str]]:
    """Some streams whose weights add up to 1, and the zones of the endpoints they go to."""
    zones = draw(st.lists(st.sampled_from(ZONES), max_size=12))
    amounts = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
    positions = st.sets(st.integers(0, len(zones) - 1)) if zones else st.just(set[int]())
    streams = []
    for amount in amounts:
        parts = draw(st.lists(st.sampled_from(ZONES), min_size=1, unique=True))
        weights = {zone: amount / sum(amounts) / len(parts) for zone in parts}
        streams.append(Stream(weights, tuple(sorted(draw(positions)))))
    return streams, zones


@given(traffic())
def test_all_traffic_ends_at_an_endpoint_or_unanswered(
    given_traffic: tuple[list[Stream], list[str]],
) -> None:
    streams, zones = given_traffic
    found = shares(streams, zones)
    assert isclose(sum(found.endpoints) + found.unanswered, 1)
    assert isclose(sum(pair.share for pair in found.pairs) + found.unanswered, 1)
    for share, came in zip(found.endpoints, sources(streams, len(zones)), strict=True):
        assert isclose(sum(came.values()), share, abs_tol=1e-12)


@given(traffic())
def test_what_crosses_can_be_read_off_the_traffic_from_zone_to_zone(
    given_traffic: tuple[list[Stream], list[str]],
) -> None:
    found = shares(*given_traffic)
    known = [pair for pair in found.pairs if pair.source and pair.target]
    between = sum(pair.share for pair in known if pair.source != pair.target)
    assert isclose(found.crossing, between, abs_tol=1e-12)
    rest = sum(pair.share for pair in found.pairs if pair not in known)
    assert isclose(found.unknown, rest, abs_tol=1e-12)


@given(traffic(), st.randoms(use_true_random=False))
def test_the_order_of_the_streams_changes_nothing(
    given_traffic: tuple[list[Stream], list[str]], random: object
) -> None:
    streams, zones = given_traffic
    shuffled = list(streams)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert shares(shuffled, zones) == shares(streams, zones)


@given(traffic())
def test_splitting_a_stream_in_two_changes_nothing(
    given_traffic: tuple[list[Stream], list[str]],
) -> None:
    streams, zones = given_traffic
    halves = [
        Stream({zone: part / 2 for zone, part in stream.zones.items()}, stream.targets)
        for stream in streams
        for _ in range(2)
    ]
    split, whole = shares(halves, zones), shares(streams, zones)
    assert all(map(isclose, split.endpoints, whole.endpoints))
    assert isclose(split.crossing, whole.crossing, abs_tol=1e-12)


def test_a_stream_is_spread_evenly_over_its_targets() -> None:
    found = shares([Stream({"a": 1.0}, (0, 2))], ["a", "a", "b"])
    assert found.endpoints == (0.5, 0.0, 0.5)
    assert found.crossing == 0.5


@pytest.mark.parametrize("zones", [2, 3, 4, 7])
def test_f79_without_hints_all_but_one_of_z_equal_zones_is_crossed(zones: int) -> None:
    names = [f"zone-{number}" for number in range(zones)]
    everybody = tuple(range(3 * zones))
    streams = [Stream(dict.fromkeys(names, 1 / zones), everybody)]
    found = shares(streams, [name for name in names for _ in range(3)])
    assert isclose(found.crossing, (zones - 1) / zones)


def test_f39_one_pod_beside_five_and_five_gets_3_7_times_the_mean_that_an_autoscaler_sees() -> None:
    zones = ["a"] + ["b"] * 5 + ["c"] * 5
    own = {zone: tuple(i for i, each in enumerate(zones) if each == zone) for zone in "abc"}
    found = shares([Stream({zone: 1 / 3}, own[zone]) for zone in "abc"], zones)
    assert isclose(found.endpoints[0], 1 / 3)
    assert all(isclose(share, 1 / 15) for share in found.endpoints[1:])
    assert isclose(mean(found.endpoints), 1 / 11)
    assert round(skew(found.endpoints), 1) == 3.7
    assert found.crossing == 0


def test_where_a_zone_is_not_known_nothing_is_said_to_cross() -> None:
    streams = [Stream({"": 0.5}, (0,)), Stream({"a": 0.5}, (1,))]
    found = shares(streams, ["a", ""])
    assert found.crossing == 0
    assert found.unknown == 1


def test_traffic_without_an_endpoint_is_said_and_not_shared_out() -> None:
    found = shares([Stream({"a": 0.25}, ()), Stream({"b": 0.75}, (0,))], ["b"])
    assert found.unanswered == 0.25
    assert found.endpoints == (0.75,)


def test_without_traffic_there_is_no_mean_and_no_skew() -> None:
    assert shares([], []).endpoints == ()
    assert mean([]) == 0
    assert skew([0.0, 0.0]) == 0


def test_of_very_many_zones_no_matrix_is_made_and_the_sums_are_right() -> None:
    names = [f"zone-{number}" for number in range(MATRIX + 1)]
    streams = [Stream(dict.fromkeys(names, 1 / len(names)), tuple(range(len(names))))]
    found = shares(streams, names)
    assert found.pairs == ()
    assert set(map(len, sources(streams, len(names)))) == {0}
    assert isclose(found.crossing, MATRIX / (MATRIX + 1))
