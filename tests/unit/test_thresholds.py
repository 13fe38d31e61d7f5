"""How near hints by CPU share are to going, and to coming back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hint_builders import node, nodes, refused_counts
from nearwise.slices.allocation import Allocations, allocate, zone_shares
from nearwise.slices.thresholds import (
    Span,
    granted,
    nearness,
    next_fewer,
    next_more,
    spans,
)

cpus = st.lists(st.integers(1, 40), min_size=2, max_size=5)


def test_four_endpoints_in_two_zones_have_two_ranges_of_the_larger_ratio() -> None:
    assert spans(zone_shares(nodes(1, 1)), 4) == (
        Span(0.5, 0.6, True),
        Span(0.6, 0.7, False),
        Span(0.7, 0.9, True),
        Span(0.9, 1.0, False),
    )


def test_from_six_endpoints_a_zone_on_no_ratio_matters() -> None:
    assert spans(zone_shares(nodes(1, 1, 1)), 18) == (Span(1 / 3, 1.0, True),)
    assert refused_counts(zone_shares(nodes(90, 5, 5)), 100)[-1] < 18


def test_with_fewer_endpoints_than_zones_no_ratio_helps() -> None:
    assert spans(zone_shares(nodes(1, 1, 1)), 2) == (Span(1 / 3, 1.0, False),)


def test_nearness_tells_range_limit_and_the_next_numbers() -> None:
    near = nearness(zone_shares(nodes(13, 7)), 4)

    assert near is not None
    assert (near.granted, near.zone, near.ratio) == (False, "zone-a", 0.65)
    assert (near.low, near.high, near.limit) == (0.6, 0.7, 0.6)
    assert (near.fewer, near.more) == (3, 5)
    assert [reason.text for reason in near.reasons] == [
        "zone-a has 65 % of the ready CPU; with 4 ready endpoints the limit is 60 %",
        "with 4 ready there are no hints at these CPU shares; nearest with hints: 3 and 5",
    ]


def test_without_ratios_nothing_is_near() -> None:
    shares = zone_shares([node("n1")])

    assert nearness(shares, 4) is None
    assert (next_more(shares, 4), next_fewer(shares, 4)) == (None, None)
    assert granted(shares, 4) is False


def test_where_no_ratio_changes_the_answer_there_is_no_limit() -> None:
    near = nearness(zone_shares(nodes(1, 1)), 12)

    assert near is not None
    assert (near.granted, near.limit, near.reasons) == (True, None, ())


def test_a_ratio_that_lies_on_the_limit_where_only_rounding_refuses() -> None:
    """3:2 with three endpoints: exact fractions end at 0.6, and 0.6 is what the zone has."""
    near = nearness(zone_shares(nodes(3, 2)), 3)

    assert near is not None
    assert (near.granted, near.ratio, near.limit) == (False, 0.6, 0.6)


@pytest.mark.parametrize(("threshold", "refused"), [(0.2, (3, 5)), (0.5, ()), (0.05, (3, 5, 7))])
def test_the_threshold_is_a_parameter(threshold: float, refused: tuple[int, ...]) -> None:
    counts = refused_counts(zone_shares(nodes(1, 1)), 8, threshold)

    assert counts == refused


@given(cpus, st.integers(0, 40))
def test_granted_is_what_allocate_says(cpu: list[int], ready: int) -> None:
    shares = zone_shares(nodes(*cpu))

    assert granted(shares, ready) is isinstance(allocate(shares, ready), Allocations)


@given(cpus, st.integers(0, 40))
def test_the_next_numbers_are_the_first_ones_that_get_hints(cpu: list[int], ready: int) -> None:
    shares = zone_shares(nodes(*cpu))
    more, fewer = next_more(shares, ready), next_fewer(shares, ready)

    assert more == next(n for n in range(ready + 1, 100) if granted(shares, n))
    assert fewer == next((n for n in range(ready - 1, 0, -1) if granted(shares, n)), None)


@given(st.lists(st.integers(-40, 40), min_size=2, max_size=4), st.integers(0, 30))
def test_cpu_that_no_node_can_have_ends_in_an_answer_too(cpu: list[int], ready: int) -> None:
    shares = zone_shares(nodes(*cpu))

    near = nearness(shares, ready)

    assert (near is None) is (not shares.ratios)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 30), st.data())
def test_inside_a_span_the_answer_is_that_of_the_span(
    others: list[int], ready: int, data: st.DataObject
) -> None:
    shares = zone_shares(nodes(max(others), *others))
    found = spans(shares, ready)

    assert found[0].low == pytest.approx(1 / len(shares.cpu))
    assert found[-1].high == 1
    assert all(one.high == two.low and one.granted != two.granted for one, two in pairwise(found))
    for span in found:
        part = data.draw(st.floats(0.01, 0.99))
        ratio = span.low + (span.high - span.low) * part
        rest = sum(others) * 10**6
        largest = round(rest * ratio / (1 - ratio))
        moved = zone_shares(nodes(largest, *(cpu * 10**6 for cpu in others)))
        if span.low < moved.ratios["zone-a"] < span.high:
            assert granted(moved, ready) is span.granted
