"""Nodes that come and nodes that are lost, told with real connections."""

from __future__ import annotations

import time

from lab_stories import clients, pods_of, spread

from nearwise.lab.probe import Failure
from nearwise.lab.running import Lab, Traffic
from nearwise.lab.topology import node
from nearwise.lab.waiting import wait
from nearwise.model.wellknown import ZONE


def test_a_node_that_joins_cold_serves_its_clients_from_the_first_rules_on(town: Lab) -> None:
    """It has no zone label at first, so its clients use all pods; then it has, and they do not."""
    pods = pods_of(town, "orders")
    with clients(town, "orders", "a1", "b1", "c1") as others:
        town.api.create(node("d1", ""))
        wait(lambda: "" if "d1" in town.plan.nodes else "node d1 is not there yet")
        # Until its proxy has rules nobody there knows what a cluster address is.
        wait(lambda: str(town.curl("d1", "orders", timeout=0.2)[0].failure or ""))
        with clients(town, "orders", "d1"):
            spread(town, "d1", "orders", pods.values())
            town.settle()
            spread(town, "d1", "orders", pods.values())
            town.api.patch("Node", "d1", {"metadata": {"labels": {ZONE: "zone-c"}}})
            town.settle()  # its proxy is in step when it goes by the zone that the node has now
            spread(town, "d1", "orders", [pods["c1"], pods["c2"]])
    for place in ("a", "b", "c"):
        assert set(others.journey(f"{place}1")) == {pods[f"{place}1"], pods[f"{place}2"]}
    town.remove_node("d1")


def test_when_a_node_is_lost_its_zone_goes_on_and_nobody_is_sent_to_it_any_more(
    town: Lab,
) -> None:
    """Connections to its pods get lost until that is noticed; all others go on all the time."""
    pods = pods_of(town, "orders")
    with (
        clients(town, "orders", "b1", "c2"),
        Traffic(town.route("a1", "orders"), rate=100, timeout=0.3) as near,
    ):
        town.kill_node("a2")
        killed = time.monotonic()
        town.settle()
        noticed = time.monotonic()
        spread(town, "a1", "orders", [pods["a1"]])
        town.start_node("a2")
        town.settle()
        spread(town, "a1", "orders", [pods["a1"], pods["a2"]])
        spread(town, "a2", "orders", [pods["a1"], pods["a2"]])
    lost = [each for each in near.answers if each.failure]
    assert lost, "half of the connections should have been sent to the node that is off"
    assert {each.failure for each in lost} == {Failure.TIMEOUT}
    assert [each for each in lost if not killed - 0.3 < each.at < noticed] == []


def test_when_the_only_node_of_the_zone_with_a_pod_is_lost_the_cluster_steps_in(
    town: Lab,
) -> None:
    """``checkout`` has one pod in each zone, that of zone-a on a1."""
    pods = pods_of(town, "checkout")
    spread(town, "a2", "checkout", [pods["a1"]])
    with clients(town, "checkout", "b2", "c1") as others:
        town.kill_node("a1")
        town.settle()
        with clients(town, "checkout", "a2") as moved:
            spread(town, "a2", "checkout", [pods["b1"], pods["c1"]])
        assert set(moved.journey("a2")) == {pods["b1"], pods["c1"]}
        town.start_node("a1")
        town.settle()
        spread(town, "a2", "checkout", [pods["a1"]])
    assert others.journey("b2") == [pods["b1"]]
    assert others.journey("c1") == [pods["c1"]]
