"""The shop of docs/tutorial.md, rebuilt as a lab: what is said of it there is what packets do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from lab_stories import Json, begin_to_end, clients, end, example, short, spread

from nearwise.cli import cli
from nearwise.lab import namespaces
from nearwise.lab.addresses import API
from nearwise.lab.rollout import successor
from nearwise.lab.running import Lab, lab
from nearwise.lab.waiting import wait

PATIENCE = 0.3  # seconds in which nothing comes back where packets are dropped


@pytest.fixture(scope="module")
def running_shop() -> Iterator[Lab]:
    with lab(example("shop.yaml"), f"sh{os.getpid()}") as it:
        yield it


@pytest.fixture
def shop(running_shop: Lab) -> Lab:
    """Give the shop as the tutorial has it: each story leaves it so."""
    running_shop.settle()
    return running_shop


# --- The tutorial says so -----------------------------------------------------------------


def test_nodes_without_a_ready_preloader_use_the_one_in_their_zone(shop: Lab) -> None:
    for node, number in (("worker-1", 0), ("worker-2", 1), ("worker-3", 2), ("worker-5", 4)):
        spread(shop, node, "cache-preloader", [f"cache-preloader-{number}"])
    spread(shop, "worker-4", "cache-preloader", ["cache-preloader-0"])  # its own is not ready
    spread(shop, "worker-6", "cache-preloader", ["cache-preloader-2"])  # it has none yet
    shop.heal("cache-preloader-3")
    shop.settle()
    spread(shop, "worker-4", "cache-preloader", ["cache-preloader-3"])
    shop.fail("cache-preloader-3")


def test_the_zone_without_a_checkout_uses_all_three(shop: Lab) -> None:
    spread(shop, "worker-4", "checkout", ["checkout-0"])
    spread(shop, "worker-5", "checkout", ["checkout-1", "checkout-2"])
    for node in ("worker-3", "worker-6"):
        spread(shop, node, "checkout", ["checkout-0", "checkout-1", "checkout-2"])


def test_only_the_ready_one_of_three_draining_pods_gets_connections(shop: Lab) -> None:
    for node in ("worker-1", "worker-3"):
        spread(shop, node, "draining", ["draining-2"])


# --- Local policies -----------------------------------------------------------------------


def test_internal_policy_local_uses_the_pod_of_the_own_node_and_else_drops(shop: Lab) -> None:
    for node, number in (("worker-1", 0), ("worker-4", 3), ("worker-6", 5)):
        spread(shop, node, "metrics-agent", [f"metrics-agent-{number}"])
    for node in ("worker-3", "control-1"):
        assert _silent(shop, node, "metrics-agent")


def test_internal_policy_local_uses_a_terminating_pod_of_the_own_node_before_it_drops(
    shop: Lab,
) -> None:
    old = shop.api.get("Pod", "metrics-agent-4", "shop")
    with clients(shop, "metrics-agent", "worker-1", "worker-5") as running:
        begin_to_end(shop, "metrics-agent-4")
        shop.settle()
        spread(shop, "worker-5", "metrics-agent", ["metrics-agent-4"])
    assert running.journey("worker-5") == ["metrics-agent-4"]
    end(shop, "metrics-agent-4")
    shop.settle()
    assert _silent(shop, "worker-5", "metrics-agent")
    _replace(shop, old)
    spread(shop, "worker-5", "metrics-agent", ["metrics-agent-4"])


def test_external_policy_local_keeps_what_comes_in_and_whom_it_comes_from(shop: Lab) -> None:
    for node, pod in (("worker-1", "ingress-0"), ("worker-3", "ingress-1")):
        answers = shop.curl("outside", "ingress", 50, node_port=node, timeout=5)
        assert {(short(each), each.client) for each in answers} == {(pod, API)}
    assert _silent(shop, "outside", "ingress", node_port="worker-2")
    # Under policy Cluster any node will do, and the pod sees the node.
    answers = shop.curl("outside", "web", 50, node_port="worker-5", timeout=5)
    assert {each.client for each in answers} == {shop.plan.nodes["worker-5"].address(4)}
    spread(shop, "outside", "web", [f"web-{each}" for each in range(4)], node_port="worker-5")


def test_the_health_check_port_says_which_nodes_outside_traffic_may_come_to(shop: Lab) -> None:
    assert _health(shop, "worker-1") == (200, 1)
    assert _health(shop, "worker-3") == (200, 1)
    assert _health(shop, "worker-2") == (503, 0)
    with clients(shop, "ingress", "outside", node_port="worker-3"):
        shop.fail("ingress-0")
        wait(lambda: "" if _health(shop, "worker-1") == (503, 0) else "worker-1 passes")
        shop.settle()
        assert _silent(shop, "outside", "ingress", node_port="worker-1")
        spread(shop, "worker-1", "ingress", ["ingress-1"])  # from inside it goes on
        shop.heal("ingress-0")
        wait(lambda: "" if _health(shop, "worker-1") == (200, 1) else "worker-1 does not pass")
    assert _health(shop, "worker-3") == (200, 1)


def test_a_node_whose_last_pod_is_terminating_fails_the_check_and_goes_on_serving(
    shop: Lab,
) -> None:
    """So that the load balancer turns to others while nobody is refused."""
    old = shop.api.get("Pod", "ingress-1", "shop")
    with clients(shop, "ingress", "outside", node_port="worker-3") as running:
        begin_to_end(shop, "ingress-1")
        wait(lambda: "" if _health(shop, "worker-3") == (503, 0) else "worker-3 passes")
        shop.settle()
        answers = shop.curl("outside", "ingress", 50, node_port="worker-3", timeout=5)
        assert {(short(each), each.terminating) for each in answers} == {("ingress-1", True)}
    assert running.journey("outside") == ["ingress-1"]
    end(shop, "ingress-1")
    _replace(shop, old)
    wait(lambda: "" if _health(shop, "worker-3") == (200, 1) else "worker-3 does not pass")
    spread(shop, "outside", "ingress", ["ingress-1"], node_port="worker-3")


def _replace(it: Lab, old: Json) -> None:
    """Put another pod of the same name in the place of one that ends."""
    name = old["metadata"]["name"]
    it.until(lambda objects: all(pod.metadata.name != name for pod in objects.pods), "its end")
    new = successor(old)
    new["metadata"]["name"] = name
    it.api.create(new)
    it.settle()


def _silent(it: Lab, place: str, service: str, *, node_port: str = "") -> bool:
    """Tell whether nothing comes back, as often as one tries."""
    answers = it.curl(place, service, 2, node_port=node_port, timeout=PATIENCE)
    return {short(each) for each in answers} == {"timeout"}


def _health(it: Lab, node: str) -> tuple[int, int]:
    """Ask as a load balancer does: the status, and how many pods of ingress are on a node."""
    (port,) = [
        each.spec.health_check_node_port
        for each in it.objects().services
        if each.metadata.name == "ingress"
    ]
    connection = HTTPConnection(it.plan.nodes[node].address(4), port, timeout=5)
    with namespaces.entered(it.namespace("outside")):
        connection.connect()
    connection.request("GET", "/")
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said["localEndpoints"]


# --- Explained and real -------------------------------------------------------------------


class Explained(NamedTuple):
    """What ``nearwise explain`` says of a service to clients on a node."""

    fate: str
    shares: dict[str, float]


@pytest.mark.parametrize("node", ["control-1", *(f"worker-{each}" for each in range(1, 7))])
def test_connections_go_where_explain_says_in_the_shares_it_says(shop: Lab, node: str) -> None:
    fates = set()
    for service in SERVICES:
        for traffic, said in _explained(shop, service, node):
            for place, door in WAYS_IN[traffic]:
                fates.add((traffic, said.fate))
                at = (place.format(node=node), service, door.format(node=node))
                _as_said(shop, *at, said)
    assert {("inside", "forward"), ("inside", "reject"), ("anywhere", "forward")} <= fates
    assert "outside" in {traffic for traffic, _ in fates}


WAYS_IN = {
    "inside": [("{node}", "")],
    "outside": [("outside", "{node}")],
    "anywhere": [("{node}", ""), ("outside", "{node}")],
}
"""For each kind of traffic: from where it comes, and through the node port of which node."""

SERVICES = [
    *("shop/cache-preloader", "shop/checkout", "shop/orders", "shop/search", "shop/recommend"),
    *("shop/web", "shop/metrics-agent", "shop/ingress", "edge/draining", "edge/empty"),
]
"""Those with a cluster address whose endpoints are pods."""


def _explained(it: Lab, service: str, node: str) -> list[tuple[str, Explained]]:
    """Return what is said of each kind of traffic."""
    access = ["--kubeconfig", str(it.kubeconfig), "-o", "json"]
    done = CliRunner().invoke(cli, ["explain", service, "--from", node, *access])
    assert done.exit_code == 0, done.output
    found = []
    parts: list[Json] = json.loads(done.stdout)["parts"]
    for part in parts:
        (group,) = part["groups"]
        shares = {each["name"]: each["share"] for each in part["endpoints"]}
        found.append((part["traffic"], Explained(group["fate"], shares)))
    return found


def _as_said(it: Lab, place: str, service: str, door: str, said: Explained) -> None:
    if said.fate == "forward":
        spread(it, place, service, said.shares, node_port=door)
    elif said.fate == "drop":
        assert _silent(it, place, service, node_port=door), (place, service)
    else:
        answers = it.curl(place, service, 5, node_port=door)
        assert {short(each) for each in answers} == {"refused"}, (place, service)
