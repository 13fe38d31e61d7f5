"""Hints by CPU share: the shares, the allocation, and who is lent to whom."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hint_builders import endpoint, endpoints, node, nodes, zones_hinted
from nearwise.model import EndpointHints, ForZone, Node
from nearwise.model.wellknown import MASTER
from nearwise.slices.allocation import (
    Allocations,
    Assigned,
    ExcludedNode,
    LackingNode,
    Refusal,
    ZoneShares,
    allocate,
    assign,
    zone_shares,
)

NODE_INFO = (
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
)


def granted(shares: ZoneShares, ready: int, threshold: float = 0.2) -> Allocations:
    outcome = allocate(shares, ready, threshold)
    assert isinstance(outcome, Allocations)
    return outcome


def refused(shares: ZoneShares, ready: int) -> Refusal:
    outcome = allocate(shares, ready)
    assert isinstance(outcome, Refusal)
    return outcome


def assigned(outcome: Assigned | Refusal) -> Assigned:
    assert isinstance(outcome, Assigned)
    return outcome


def said(refusal: Refusal) -> list[str]:
    return [reason.text for reason in refusal.reasons]


# --- Shares -------------------------------------------------------------------------------


def test_a_zones_ratio_is_its_part_of_the_cpu_of_all_ready_workers() -> None:
    shares = zone_shares(
        [node("n1", "zone-a", "6"), node("n2", "zone-b", "1500m"), node("n3", "zone-b", 0.5)]
    )

    assert shares.cpu == {"zone-a": 6000, "zone-b": 2000}
    assert shares.ratios == {"zone-a": 0.75, "zone-b": 0.25}
    assert (shares.total, shares.largest) == (8000, "zone-a")


def test_control_plane_and_unready_nodes_drop_out_before_anything_is_wrong_with_them() -> None:
    shares = zone_shares(
        [
            *nodes(4, 4),
            node("cp", "zone-c", "2", control_plane=True),
            node("old-cp", None, None, labels={MASTER: ""}),
            node("down", None, "2", ready="False"),
            node("lost", "zone-a", "2", ready="Unknown"),
            node("new", "zone-a", None, ready=None),
        ]
    )

    assert shares.ratios == {"zone-a": 0.5, "zone-b": 0.5}
    assert shares.excluded == (
        ExcludedNode("cp", "control-plane", "zone-c", 2000),
        ExcludedNode("down", "not ready", "", 2000),
        ExcludedNode("lost", "not ready", "zone-a", 2000),
        ExcludedNode("new", "not ready", "zone-a", 0),
        ExcludedNode("old-cp", "control-plane", "", 0),
    )


@pytest.mark.parametrize(
    ("bad", "missing"),
    [
        (node("bad", None), ("zone",)),
        (node("bad", ""), ("zone",)),
        (node("bad", "zone-a", None), ("CPU",)),
        (node("bad", "zone-a", "0"), ("CPU",)),
        (node("bad", "zone-a", "lots"), ("CPU",)),
        (node("bad", "zone-a", "-5"), ("CPU",)),
        (node("bad", None, "0"), ("zone", "CPU")),
    ],
)
def test_one_ready_node_without_zone_or_cpu_stops_everything(
    bad: Node, missing: tuple[str, ...]
) -> None:
    shares = zone_shares([*nodes(4, 4), bad])

    assert (shares.ratios, shares.cpu) == ({}, {"zone-a": 4000, "zone-b": 4000})
    assert shares.lacking == (LackingNode("bad", missing),)


def test_a_cluster_of_one_zone_has_no_ratios_but_its_cpu_is_known() -> None:
    shares = zone_shares([node("n1"), node("n2")])

    assert (shares.cpu, shares.ratios, shares.lacking) == ({"zone-a": 8000}, {}, ())


def test_without_nodes_there_is_no_largest_zone() -> None:
    assert zone_shares([]).largest == ""


# --- Allocation ---------------------------------------------------------------------------


def test_what_the_minimums_leave_over_is_how_far_a_zone_may_exceed_its_own() -> None:
    allocation = granted(zone_shares(nodes(3, 1)), 10)

    assert msgspec.to_builtins(allocation.zones) == {
        "zone-a": {"minimum": 7, "maximum": 7, "desired": 7.5},
        "zone-b": {"minimum": 3, "maximum": 3, "desired": 3.0},
    }


def test_a_higher_threshold_lowers_the_minimums() -> None:
    shares = zone_shares(nodes(65, 35))

    assert isinstance(allocate(shares, 4, 0.2), Refusal)
    assert [zone.minimum for zone in granted(shares, 4, 0.4).zones.values()] == [2, 1]


@pytest.mark.parametrize(
    ("cluster", "ready", "event", "reasons"),
    [
        (
            [*nodes(4, 4), node("bad", None, None)],
            4,
            NODE_INFO,
            ["hints are off: node bad has no zone and no CPU, and one such node is enough"],
        ),
        (
            [node("n1"), node("n2")],
            4,
            NODE_INFO,
            ["hints are off: all ready nodes are in zone zone-a, so zone hints are pointless"],
        ),
        (
            [],
            4,
            NODE_INFO,
            ["hints are off: no ready worker node"],
        ),
        (
            nodes(1, 1, 1),
            2,
            "Insufficient number of endpoints (2 endpoints, 3 zones)",
            ["hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints"],
        ),
        (
            nodes(13, 7),
            4,
            "Unable to allocate minimum required endpoints to each zone without exceeding overload "
            "threshold (4 endpoints, 2 zones)",
            [
                "hints are off: the zones need at least zone-a 3, zone-b 2 of 4 ready endpoints "
                "(CPU shares zone-a 0.65, zone-b 0.35), 5 in all"
            ],
        ),
    ],
    ids=["a bad node", "one zone", "no nodes", "too few endpoints", "minimums too high"],
)
def test_a_refusal_has_the_words_of_kubernetes_and_the_true_reason(
    cluster: list[Node], ready: int, event: str, reasons: list[str]
) -> None:
    refusal = refused(zone_shares(cluster), ready)

    assert (refusal.text, said(refusal)) == (event, reasons)


def test_a_refusal_has_the_shares_that_the_minimums_come_from() -> None:
    facts = refused(zone_shares(nodes(13, 7)), 4).reasons[0].facts

    assert facts["shares"] == {"zone-a": 2.6, "zone-b": 1.4}


@pytest.mark.parametrize(
    ("cpu", "counts"),
    [((4, 3, 3), (3, 6)), ((3, 2), (3,)), ((2, 2, 1), (3, 6, 12)), ((5, 3, 2), (6,))],
)
def test_where_only_rounding_refuses_the_reason_says_so(
    cpu: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    shares = zone_shares(nodes(*cpu))

    by_rounding = [
        ready
        for ready in range(len(cpu), 31)
        if isinstance(outcome := allocate(shares, ready), Refusal)
        and "hints-off-rounding" in {reason.code for reason in outcome.reasons}
    ]

    assert tuple(by_rounding) == counts


# --- Who is lent to whom ------------------------------------------------------------------


def test_each_ready_endpoint_starts_with_its_own_zone_and_stays_there_while_shares_fit() -> None:
    shares = zone_shares(nodes(4, 4))

    outcome = assigned(assign(granted(shares, 4), [endpoints(2, 2)], {}))

    assert [each.hints for each in outcome.slices[0]] == [
        EndpointHints((ForZone(zone),)) for zone in ("zone-a", "zone-a", "zone-b", "zone-b")
    ]
    assert [reason.text for reason in outcome.reasons] == [
        "hints follow CPU: 4 ready endpoints over zones zone-a 2, zone-b 2 "
        "(CPU shares zone-a 0.5, zone-b 0.5)"
    ]


def test_zones_with_too_many_lend_the_first_in_line_and_the_reason_names_it() -> None:
    shares = zone_shares(nodes(8, 4))

    outcome = assigned(assign(granted(shares, 6), [endpoints(3, 3)], {}))

    assert outcome.hints == {"zone-a": 4, "zone-b": 2}
    assert outcome.reasons[1].facts == {
        "endpoint": "web-b-0",
        "zone": "zone-b",
        "to": "zone-a",
        "ratios": {"zone-a": 8 / 12, "zone-b": 4 / 12},
    }


def test_an_endpoint_that_is_not_ready_loses_its_hint_and_is_not_counted() -> None:
    hint = EndpointHints((ForZone("zone-a"),))
    idle = msgspec.structs.replace(endpoint("idle", None, ready=False), hints=hint)

    outcome = assigned(assign(granted(zone_shares(nodes(4, 4)), 2), [(idle, *endpoints(1, 1))], {}))

    assert outcome.slices[0][0].hints is None
    assert outcome.hints == {"zone-a": 1, "zone-b": 1}


def test_a_ready_endpoint_without_zone_refuses_all_and_is_named() -> None:
    lost = endpoint("lost", None)

    outcome = assign(granted(zone_shares(nodes(4, 4)), 4), [(*endpoints(1, 2), lost)], {})

    assert isinstance(outcome, Refusal)
    assert outcome.text == "One or more endpoints do not have a zone specified"
    assert said(outcome) == ["hints are off: endpoint lost has no zone"]


def test_an_endpoint_that_is_no_pod_is_called_by_its_address() -> None:
    bare = msgspec.structs.replace(endpoint("x", None), target_ref=None)

    outcome = assign(granted(zone_shares(nodes(4, 4)), 4), [(*endpoints(1, 2), bare)], {})

    assert isinstance(outcome, Refusal)
    assert outcome.reasons[0].facts == {"endpoint": bare.addresses[0]}


def test_hints_in_slices_that_stay_count_and_only_the_rewritten_ones_lend() -> None:
    allocation = granted(zone_shares(nodes(8, 4)), 6)

    outcome = assigned(assign(allocation, [endpoints(0, 2)], {"zone-a": 3, "zone-b": 1}))

    assert zones_hinted(outcome.slices[0]) == {"zone-a": 1, "zone-b": 1}
    assert outcome.hints == {"zone-a": 4, "zone-b": 2}


def test_the_zone_that_lacks_most_borrows_first_and_equal_ones_by_name() -> None:
    allocation = granted(zone_shares(nodes(1, 1, 1)), 9)

    outcome = assigned(assign(allocation, [endpoints(9)], {}))

    assert [reason.facts["to"] for reason in outcome.reasons[1:]] == ["zone-b"] * 3 + ["zone-c"] * 3


def test_less_than_half_an_endpoint_is_not_worth_a_loan() -> None:
    allocation = granted(zone_shares(nodes(53, 47)), 10)

    outcome = assigned(assign(allocation, [endpoints(6, 4)], {}))

    assert outcome.hints == {"zone-a": 6, "zone-b": 4}


def test_a_zone_without_ready_nodes_keeps_its_endpoints_for_itself() -> None:
    """As recorded from Kubernetes 1.36, though its clients are few."""
    cluster = [*nodes(4, 4), node("down", "zone-c", ready="False")]

    outcome = assigned(assign(granted(zone_shares(cluster), 4), [endpoints(1, 0, 3)], {}))

    assert outcome.hints == {"zone-a": 1, "zone-c": 3}


# --- Laws ---------------------------------------------------------------------------------

cpus = st.lists(st.integers(1, 64), min_size=2, max_size=6)


@given(cpus, st.integers(0, 60), st.floats(0.01, 1))
def test_minimums_fit_and_maximums_leave_the_other_zones_theirs(
    cpu: list[int], ready: int, threshold: float
) -> None:
    outcome = allocate(zone_shares(nodes(*cpu)), ready, threshold)

    if isinstance(outcome, Allocations):
        least = sum(zone.minimum for zone in outcome.zones.values())
        assert least <= ready
        for zone in outcome.zones.values():
            assert 1 <= zone.minimum <= zone.maximum
            assert zone.maximum + least - zone.minimum == ready
            assert zone.desired >= zone.minimum
    else:
        assert outcome.reasons


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["zone-a", "zone-b", "zone-c", "", None]),
            st.sampled_from(["4", "250m", "1.5", "0", None]),
            st.sampled_from(["True", "False", None]),
            st.booleans(),
        ),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_nodes_never_matters(
    drawn: list[tuple[str | None, str | None, str | None, bool]], random: Random
) -> None:
    cluster = [
        node(f"n{number}", zone, cpu, ready=ready, control_plane=control_plane)
        for number, (zone, cpu, ready, control_plane) in enumerate(drawn)
    ]
    shuffled = list(cluster)
    random.shuffle(shuffled)

    assert zone_shares(shuffled) == zone_shares(cluster)


@given(cpus, st.lists(st.integers(0, 12), min_size=6, max_size=6), st.integers(1, 20))
def test_after_assigning_every_ready_endpoint_has_one_zone_and_nothing_is_left_to_lend(
    cpu: list[int], counts: list[int], size: int
) -> None:
    ready = endpoints(*counts[: len(cpu)])
    allocation = allocate(zone_shares(nodes(*cpu)), len(ready))
    if isinstance(allocation, Refusal):
        return
    slices = [ready[start : start + size] for start in range(0, len(ready), size)]

    outcome = assigned(assign(allocation, slices, {}))

    hinted = [each for slice_ in outcome.slices for each in slice_]
    assert all(each.hints is not None and len(each.hints.for_zones) == 1 for each in hinted)
    assert zones_hinted(hinted) == outcome.hints
    assert sum(outcome.hints.values()) == len(ready)
    # Not even the maximum is kept for sure: 9.53 of 12 wanted, 10 there, is too little to move.
    over = [outcome.hints.get(zone, 0) - share.desired for zone, share in allocation.zones.items()]
    give, take = max(over), max(-amount for amount in over)
    assert min(give, take) < 0.5 or max(give, take) < 1.0


def test_half_an_endpoint_too_many_may_stay_even_above_the_maximum() -> None:
    """Kubernetes rounds its loans without a look at the maximum."""
    allocation = granted(zone_shares(nodes(27, 7)), 12)

    outcome = assigned(assign(allocation, [endpoints(10, 2)], {}))

    assert allocation.zones["zone-a"].maximum == 9
    assert outcome.hints == {"zone-a": 10, "zone-b": 2}
