"""Hints as users turn them on and off, and what the nodes do to them."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from e2e_cluster import eventually
from e2e_shop import READY, TOPOLOGY_MODE, Nodes, Shop, pod, service

ON_NODES = ("a1", "a2", "b1", "b2")


def annotate(shop: Shop, mode: str) -> None:
    shop.kubectl("annotate", "service", "web", f"{TOPOLOGY_MODE}{mode}")


def set_distribution(shop: Shop, value: str | None) -> None:
    patch = json.dumps({"spec": {"trafficDistribution": value}})
    shop.kubectl("patch", "service", "web", "--patch", patch)


def serve(shop: Shop, nodes: Nodes, *places: str) -> None:
    """Have a service with a ready pod on each of these nodes, at 10.1.0.0 and so on."""
    shop.apply(service())
    add(shop, nodes, *places)


def add(shop: Shop, nodes: Nodes, *places: str) -> None:
    there = len(shop.endpoints("web"))
    for number, place in enumerate(places, there):
        shop.run(pod(f"web-{number}"), nodes.full(place), f"10.1.0.{number}")
    wanted = {f"10.1.0.{number}": READY for number in range(there + len(places))}
    eventually(lambda: shop.endpoints("web"), wanted)


def test_f46_hints_follow_traffic_distribution_there_and_back(shop: Shop, zones: Nodes) -> None:
    serve(shop, zones, *ON_NODES)
    names = [one["metadata"]["name"] for one in shop.slices("web")]
    of_zone = {f"10.1.0.{n}": (place[0],) for n, place in enumerate(ON_NODES)}
    of_node = {
        address: (*zone, zones.full(place))
        for (address, zone), place in zip(of_zone.items(), ON_NODES, strict=True)
    }
    for value, hints in (
        ("PreferSameZone", of_zone),
        ("PreferSameNode", of_node),
        ("PreferClose", of_zone),
        (None, dict.fromkeys(of_zone, ())),
    ):
        set_distribution(shop, value)
        eventually(lambda: shop.hints("web"), hints)
    assert [one["metadata"]["name"] for one in shop.slices("web")] == names


def test_f50_an_unknown_value_is_refused_with_the_known_ones(shop: Shop) -> None:
    shop.apply(service())
    with pytest.raises(AssertionError, match=r'supported values: .*"PreferSameNode"'):
        set_distribution(shop, "PreferRegion")


def test_f42_one_endpoint_without_a_zone_has_no_hint_and_that_is_told(
    shop: Shop, zones: Nodes
) -> None:
    zones.add("nowhere")
    serve(shop, zones, "a1", "b1", "nowhere")
    set_distribution(shop, "PreferSameZone")
    eventually(lambda: shop.hints("web"), {"10.1.0.0": ("a",), "10.1.0.1": ("b",), "10.1.0.2": ()})
    told = shop.cluster.nearwise("explain", f"{shop.namespace}/web").stdout
    assert zones.full("nowhere") in told


ENABLED, DISABLED = "TopologyAwareHintsEnabled", "TopologyAwareHintsDisabled"


@pytest.mark.alone
def test_hints_by_cpu_share_are_turned_on_and_off_with_an_event_each_time(
    shop: Shop, zones: Nodes
) -> None:
    def told() -> Counter[str]:
        times: Counter[str] = Counter()
        for _, reason, count in shop.events("web"):
            times[reason] += count
        return times

    serve(shop, zones, "a1", "a2", "b1")
    annotate(shop, "=Auto")  # three endpoints cannot be divided among two equal zones
    eventually(lambda: shop.events("web"), [("Warning", DISABLED, 1)])
    assert set(shop.hints("web").values()) == {()}

    add(shop, zones, "b2")
    eventually(lambda: told()[ENABLED], 1)
    assert sorted(shop.hints("web").values()) == [("a",), ("a",), ("b",), ("b",)]

    times = told()[DISABLED]  # it is told again whenever the service is looked at meanwhile
    shop.set_ready("web-3", False)
    eventually(lambda: told() == {ENABLED: 1, DISABLED: times + 1})
    assert set(shop.hints("web").values()) == {()}

    shop.set_ready("web-3", True)
    eventually(lambda: told() == {ENABLED: 2, DISABLED: times + 1})
    assert f"(x{times + 1} over " in shop.kubectl("describe", "service", "web")

    annotate(shop, "-")
    eventually(lambda: told() == {ENABLED: 2, DISABLED: times + 2})
    assert set(shop.hints("web").values()) == {()}


@pytest.mark.alone
def test_f26_the_zone_with_more_cpu_borrows_and_a_node_that_goes_takes_the_hints(
    shop: Shop, nodes: Nodes
) -> None:
    for name, zone, cpu in (("a1", "a", "8"), ("b1", "b", "2"), ("b2", "b", "2")):
        nodes.add(name, zone, cpu)
    serve(shop, nodes, "a1", "a1", "a1", "b1", "b1", "b1")
    annotate(shop, "=Auto")
    eventually(lambda: sorted(shop.hints("web").values()), [("a",)] * 4 + [("b",)] * 2)

    nodes.set("b1", "2", ready=False)
    nodes.set("b2", "2", ready=False)
    eventually(lambda: set(shop.hints("web").values()), {()})
