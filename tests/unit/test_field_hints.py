"""Field cases about hints by CPU share: what real users met, and what they needed to read."""

from itertools import pairwise

import pytest

from hint_builders import endpoint, endpoints, node, nodes, refused_counts, zones_hinted
from nearwise.model import Node, ObjectMeta, Pod, Reason, Service
from nearwise.model.core import PodSpec, ServiceSpec, Taint, Toleration
from nearwise.model.wellknown import TOPOLOGY_MODE
from nearwise.slices.allocation import (
    Allocations,
    Assigned,
    Refusal,
    ZoneShares,
    allocate,
    assign,
    zone_shares,
)
from nearwise.slices.asked import Mode, asked
from nearwise.slices.schedulable import schedulable
from nearwise.slices.thresholds import nearness, next_more


def spread(cluster: list[Node], *counts: int) -> Assigned:
    """Give hints to so many endpoints a zone, which must be possible."""
    allocations = allocate(zone_shares(cluster), sum(counts))
    assert isinstance(allocations, Allocations)
    outcome = assign(allocations, [endpoints(*counts)], {})
    assert isinstance(outcome, Assigned)
    return outcome


def refused(cluster: list[Node], ready: int) -> Refusal:
    outcome = allocate(zone_shares(cluster), ready)
    assert isinstance(outcome, Refusal)
    return outcome


def texts(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.text for reason in reasons]


@pytest.mark.parametrize(
    ("cpu", "without_hints"),
    [
        ((1, 1), (3, 5)),
        ((1, 1, 1), (2, 4, 5, 8, 11)),
        ((1, 1, 1, 1), (2, 3, 5, 6, 7, 10, 11, 15)),
        ((2, 1), (2, 4)),
        ((3, 2), (3,)),
        ((4, 3, 3), (2, 3, 5, 6)),
        ((2, 2, 1), (2, 3, 4, 6, 7, 12)),
        ((5, 3, 2), (2, 3, 5, 6)),
        ((10, 8, 6), (2, 3, 4, 5, 6)),
    ],
)
def test_which_numbers_of_ready_endpoints_get_no_hints(
    cpu: tuple[int, ...], without_hints: tuple[int, ...]
) -> None:
    assert refused_counts(zone_shares(nodes(*cpu)), 30) == without_hints


def test_a_rollout_jumps_in_and_out_of_hints() -> None:
    """Three equal zones: 10 yes, 11 no, 12 yes."""
    shares = zone_shares(nodes(1, 1, 1))

    answers = [isinstance(allocate(shares, ready), Allocations) for ready in (10, 11, 12)]

    assert all(one is not two for one, two in pairwise(answers))


@pytest.mark.parametrize(
    ("cluster", "ready", "sentence"),
    [
        (
            [*nodes(4, 4), node("worker-7", None)],
            4,
            "hints are off: node worker-7 has no zone, and one such node is enough",
        ),
        (
            nodes(1, 1, 1),
            2,
            "hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints",
        ),
        (
            nodes(1, 1, 1),
            5,
            "hints are off: the zones need at least zone-a 2, zone-b 2, zone-c 2 of 5 ready "
            "endpoints (CPU shares zone-a 0.333, zone-b 0.333, zone-c 0.333), 6 in all",
        ),
    ],
)
def test_f23_every_refusal_is_one_sentence_with_the_numbers_that_decided(
    cluster: list[Node], ready: int, sentence: str
) -> None:
    assert texts(refused(cluster, ready).reasons) == [sentence]


def test_f25_with_one_endpoint_a_zone_the_largest_zone_may_have_two_fifths_of_the_cpu() -> None:
    refusal = refused(nodes(10, 8, 6), 3)
    near = nearness(zone_shares(nodes(10, 8, 6)), 3)

    assert refusal.reasons[0].facts["minimums"] == {"zone-a": 2, "zone-b": 1, "zone-c": 1}
    assert near is not None
    assert texts(near.reasons) == [
        "zone-a has 41.7 % of the ready CPU; with 3 ready endpoints the limit is 40 %",
        "with 3 ready there are no hints at these CPU shares; nearest with hints: 7",
    ]
    assert spread(nodes(10, 9, 8), 1, 1, 1).hints == {"zone-a": 1, "zone-b": 1, "zone-c": 1}


def test_f26_an_endpoint_hinted_to_another_zone_is_lent_and_named() -> None:
    outcome = spread(nodes(8, 4), 3, 3)

    assert outcome.hints == {"zone-a": 4, "zone-b": 2}
    assert texts(outcome.reasons)[1:] == [
        "web-b-0 in zone zone-b is lent to zone zone-a, because of the CPU shares "
        "(zone-a 0.667, zone-b 0.333)"
    ]


def test_f29_in_one_zone_kubernetes_speaks_of_nodes_and_the_true_reason_is_beside_it() -> None:
    refusal = refused([node("n1", "z0"), node("n2", "z0")], 4)

    assert refusal.text == (
        "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
    )
    assert texts(refusal.reasons) == [
        "hints are off: all ready nodes are in zone z0, so zone hints are pointless"
    ]


def test_f30_control_plane_nodes_do_not_count_and_are_listed_with_their_cpu() -> None:
    """Pods there keep their zone for themselves, as recorded: nobody borrows from zone-c."""
    control_plane = [
        node(f"cp-{letter}", f"zone-{letter}", "2", control_plane=True) for letter in "abc"
    ]
    cluster = [*nodes(4, 4), *control_plane]

    shares = zone_shares(cluster)

    assert shares.ratios == {"zone-a": 0.5, "zone-b": 0.5}
    assert [(each.name, each.why, each.zone, each.cpu) for each in shares.excluded] == [
        ("cp-a", "control-plane", "zone-a", 2000),
        ("cp-b", "control-plane", "zone-b", 2000),
        ("cp-c", "control-plane", "zone-c", 2000),
    ]
    assert spread(cluster, 2, 2, 2).hints == {"zone-a": 2, "zone-b": 2, "zone-c": 2}


def tainted_groups() -> list[Node]:
    """Make two groups of nodes: T1 with 4:4:4 CPUs, T2 with 32:4:4."""
    return [
        node(
            f"{group}-{letter}",
            f"zone-{letter}",
            cpu,
            taints=(Taint("group", group, "NoSchedule"),),
        )
        for group, amounts in (("t1", (4, 4, 4)), ("t2", (32, 4, 4)))
        for letter, cpu in zip("abc", amounts, strict=True)
    ]


def test_f31_nodes_that_the_pods_can_never_use_distort_the_shares() -> None:
    cluster = tainted_groups()
    lives_on_t1 = Pod(spec=PodSpec(tolerations=(Toleration("group", "Equal", "t1"),)))

    outcome = spread(cluster, 2, 2, 2)

    assert zone_shares(cluster).cpu == {"zone-a": 36000, "zone-b": 8000, "zone-c": 8000}
    assert outcome.hints == {"zone-a": 4, "zone-b": 1, "zone-c": 1}
    lent = [reason.facts["to"] for reason in outcome.reasons if reason.code == "hint-lent"]
    assert lent == ["zone-a", "zone-a"]
    assert refused(cluster, 9).reasons[0].code == "hints-off-minimums"

    tolerated = list(schedulable(cluster, lives_on_t1))
    assert spread(tolerated, 2, 2, 2).hints == {"zone-a": 2, "zone-b": 2, "zone-c": 2}
    assert spread(tolerated, 3, 3, 3).hints == {"zone-a": 3, "zone-b": 3, "zone-c": 3}


def test_f33_a_small_service_is_told_what_it_needs_and_the_next_number_that_works() -> None:
    shares = zone_shares(nodes(1, 1, 1))

    assert texts(refused(nodes(1, 1, 1), 2).reasons) == [
        "hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints"
    ]
    assert [next_more(shares, ready) for ready in (0, 2, 4, 7, 10)] == [3, 3, 6, 9, 12]
    assert next_more(ZoneShares({}, {}, 0), 2) is None


def test_f38_dual_stack_families_are_decided_apart() -> None:
    shares = zone_shares(nodes(1, 1, 1))

    ipv4, ipv6 = allocate(shares, 6), allocate(shares, 5)

    assert isinstance(ipv4, Allocations)
    assert isinstance(ipv6, Refusal)


def test_an_annotation_that_asks_wins_even_when_it_then_gives_nothing() -> None:
    service = Service(
        metadata=ObjectMeta(name="web", annotations={TOPOLOGY_MODE: "Auto"}),
        spec=ServiceSpec(traffic_distribution="PreferSameZone"),
    )

    wish = asked(service)

    assert (wish.mode, wish.distribution) == (Mode.SHARES, None)
    assert refused(nodes(1, 1, 1), 5).reasons
    assert texts(wish.reasons)[-1] == (
        "the annotation service.kubernetes.io/topology-mode=Auto wins over trafficDistribution "
        "PreferSameZone, whether it gives hints or not: the field counts only without it"
    )


def test_the_flag_server_two_of_four_pods_in_one_zone_are_lent_to_the_callers() -> None:
    """All four pods in 2c, all callers in 2a: half the pods get everything while hints are on."""
    even = [node("n1", "2a"), node("n2", "2c")]
    pods = tuple(endpoint(f"flags-{number}", "2c") for number in range(4))
    allocations = allocate(zone_shares(even), 4)
    assert isinstance(allocations, Allocations)

    outcome = assign(allocations, [pods], {})

    assert isinstance(outcome, Assigned)
    assert zones_hinted(outcome.slices[0]) == {"2a": 2, "2c": 2}

    grown = [node("n1", "2a", "6500m"), node("n2", "2c", "3500m")]
    assert texts(refused(grown, 4).reasons) == [
        "hints are off: the zones need at least 2a 3, 2c 2 of 4 ready endpoints "
        "(CPU shares 2a 0.65, 2c 0.35), 5 in all"
    ]
