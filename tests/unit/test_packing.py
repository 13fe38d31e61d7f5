"""Which endpoint lies in which slice: few writes beat full slices."""

from __future__ import annotations

from cluster import endpoint, node, pod, service, slice_of
from nearwise.model import EndpointSlice, Pod, Service
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import Rules, ServicePlan, reconcile

NODES = Nodes([node("n0")])


def plan(
    pods: list[Pod], *slices: EndpointSlice, most: int = 100, of: Service | None = None
) -> ServicePlan:
    return reconcile(of or service(), pods, NODES, slices, rules=Rules(max_endpoints=most))


def sizes(*slices: EndpointSlice) -> dict[str, int]:
    return {s.metadata.name: len(s.endpoints) for s in slices}


def test_from_nothing_slices_are_filled_in_order_of_the_pods_names() -> None:
    made = plan([pod(f"web-{i}") for i in (4, 2, 0, 3, 1)], most=2).creates

    listed = [[e.target_ref.name for e in s.endpoints if e.target_ref] for s in made]
    assert sorted(listed) == [["web-0", "web-1"], ["web-2", "web-3"], ["web-4"]]


def test_new_endpoints_go_into_the_one_unchanged_slice_that_they_fill_best() -> None:
    roomy = slice_of("s1", endpoint("web-0"))
    tight = slice_of("s2", endpoint("web-1"), endpoint("web-2"))
    result = plan([pod(f"web-{i}") for i in range(4)], roomy, tight, most=3)

    assert sizes(*result.updates) == {"s2": 3}
    assert not result.creates


def test_endpoints_that_fit_in_no_single_slice_get_a_new_one_rather_than_two_updates() -> None:
    one = slice_of("s1", endpoint("web-0"), endpoint("web-1"))
    two = slice_of("s2", endpoint("web-2"), endpoint("web-3"))
    result = plan([pod(f"web-{i}") for i in range(6)], one, two, most=3)

    assert not result.updates
    assert sorted(sizes(*result.creates).values()) == [2]


def test_a_slice_that_is_written_anyway_is_filled_first() -> None:
    losing = slice_of("s1", endpoint("web-0"), endpoint("web-9"))
    other = slice_of("s2", endpoint("web-1"))
    result = plan([pod(f"web-{i}") for i in range(4)], losing, other, most=3)

    assert sizes(*result.updates) == {"s1": 3}


def test_of_those_written_anyway_the_fullest_is_filled_first() -> None:
    small = slice_of("s1", endpoint("web-0"), endpoint("web-8"))
    large = slice_of("s2", endpoint("web-1"), endpoint("web-2"), endpoint("web-9"))
    result = plan([pod(f"web-{i}") for i in range(4)], small, large, most=3)

    assert sizes(*result.updates) == {"s1": 1, "s2": 3}


def test_a_changed_endpoint_is_updated_in_place() -> None:
    stored = slice_of("s1", endpoint("web-0"), endpoint("web-1"))
    result = plan([pod("web-0"), pod("web-1", ready=False)], stored)

    assert sizes(*result.updates) == {"s1": 2}
    assert [e.conditions.ready for e in result.updates[0].endpoints] == [True, False]
    assert [why.text for why in result.reasons][-1] == (
        "s1: 0 endpoints added, 0 removed, 1 changed"
    )


def test_a_pod_with_a_new_address_is_another_endpoint() -> None:
    stored = slice_of("s1", endpoint("web-0"), endpoint("web-1"))
    result = plan([pod("web-0"), pod("web-1", ips=("10.0.7.7",))], stored)

    assert [e.addresses for e in result.updates[0].endpoints] == [("10.0.0.0",), ("10.0.7.7",)]
    assert [why.text for why in result.reasons][-1] == (
        "s1: 1 endpoint added, 1 removed, 0 changed"
    )


def test_a_slice_that_lost_its_last_endpoint_is_deleted() -> None:
    result = plan(
        [pod("web-0")], slice_of("s1", endpoint("web-0")), slice_of("s2", endpoint("web-9"))
    )

    assert sizes(*result.deletes) == {"s2": 1}
    assert not result.updates


def test_a_slice_to_delete_and_one_to_create_become_one_update() -> None:
    old_ports = slice_of("s1", endpoint("web-0"), ports=())
    result = plan([pod("web-0")], old_ports)

    assert sizes(*result.updates) == {"s1": 1}
    assert not result.creates
    assert not result.deletes
    assert result.reasons[-1].text == "s1 is reused for what would be a new slice"


def test_a_service_with_nothing_to_list_keeps_one_empty_slice() -> None:
    made = plan([])
    (empty,) = made.creates
    again = plan([], empty)
    filled = plan([pod("web-0")], empty)

    assert not empty.endpoints
    assert not empty.ports
    assert again.writes == 0
    assert [s.metadata.name for s in filled.updates] == [empty.metadata.name]


def test_an_endpoint_listed_twice_stays_once() -> None:
    one, two = slice_of("s1", endpoint("web-0")), slice_of("s2", endpoint("web-0"))
    result = plan([pod("web-0")], one, two)

    assert sizes(*apply((one, two), result)) == {"s1": 1}


def test_labels_follow_the_service_but_the_headless_label_alone_writes_nothing() -> None:
    stored = slice_of("s1", endpoint("web-0"))
    relabelled = plan([pod("web-0")], stored, of=service(labels={"team": "x"}))
    headless = plan([pod("web-0")], stored, of=service(cluster_ip="None"))

    assert relabelled.updates[0].metadata.labels["team"] == "x"
    assert headless.writes == 0


def test_shrinking_leaves_slices_sparse_for_compacting_would_cost_writes() -> None:
    slices = [
        slice_of(f"s{n}", *(endpoint(f"web-{n * 3 + i}") for i in range(3))) for n in range(3)
    ]
    result = plan([pod(f"web-{n * 3}") for n in range(3)], *slices, most=3)

    assert sizes(*apply(slices, result)) == {"s0": 1, "s1": 1, "s2": 1}
