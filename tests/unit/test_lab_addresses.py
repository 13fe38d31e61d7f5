"""Who has which address in a lab."""

from __future__ import annotations

import pytest

from nearwise.lab.addresses import Plan, check_service_networks, zone_networks
from nearwise.model.errors import InputError


def test_an_address_tells_zone_node_and_pod() -> None:
    plan = Plan((4, 6))
    plan.add_node("a1", "zone-a")
    seat = plan.add_node("b1", "zone-b")
    assert (seat.address(4), seat.address(6)) == ("10.89.2.1", "fd89::2:1")
    assert (seat.pods(4), seat.pods(6)) == ("10.242.1.0/24", "fd89:240:2:1::/64")
    assert (seat.pod(4, 7), seat.pod(6, 255)) == ("10.242.1.7", "fd89:240:2:1::ff")
    assert zone_networks(4, 2) == ("10.89.2.0/24", "10.242.0.0/16")


def test_a_node_keeps_its_seat_and_a_free_one_is_taken_again() -> None:
    plan = Plan()
    first = plan.add_node("a1", "zone-a")
    assert plan.add_node("a2", "zone-a").number == 2
    assert plan.add_node("a1", "another zone") == first
    del plan.nodes["a1"]
    assert plan.add_node("a3", "zone-a") == first


def test_nodes_without_a_zone_have_a_router_of_their_own() -> None:
    plan = Plan()
    plan.add_node("a1", "zone-a")
    assert plan.add_node("stray", "").zone_number == 2


def test_more_than_there_are_addresses_for_is_refused() -> None:
    plan = Plan()
    for number in range(15):
        plan.add_zone(f"zone-{number}")
    with pytest.raises(InputError, match="a lab has at most 15 zones"):
        plan.add_node("one", "more")
    for number in range(250):
        plan.add_node(f"n{number}", "zone-0")
    with pytest.raises(InputError, match="at most 250 nodes in zone zone-0"):
        plan.add_node("more", "zone-0")


@pytest.mark.parametrize("network", ["10.89.3.0/24", "10.0.0.0/8", "10.250.0.0/16", "fd89::/16"])
def test_cluster_addresses_among_those_of_nodes_or_pods_are_refused(network: str) -> None:
    with pytest.raises(InputError, match="overlap with"):
        check_service_networks(["172.20.0.0/16", network])


def test_cluster_addresses_elsewhere_are_fine() -> None:
    check_service_networks(["10.96.0.0/16", "fd00:10:96::/112"])
