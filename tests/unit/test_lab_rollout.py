"""Pods that come in the place of others."""

from __future__ import annotations

from typing import Any

from nearwise.lab.marks import EVERY_NODE, READY
from nearwise.lab.rollout import for_new_node, is_on_every_node, successor
from nearwise.model.wellknown import ZONE


def pod(name: str, node: str = "a1", **metadata: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": "u", **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "server"}]},
        "status": {"phase": "Running"},
    }


def test_a_successor_has_the_next_name_on_the_same_node_and_no_past() -> None:
    old = pod("web-1", labels={"app": "web", ZONE: "a"}, annotations={READY: "false", "mine": "1"})
    new = successor(old)
    assert new["metadata"] == {
        "name": "web-1-r2",
        "namespace": "default",
        "labels": {"app": "web"},
        "annotations": {"mine": "1"},
    }
    assert new["spec"] == old["spec"]
    assert "status" not in new
    assert successor({**new, "kind": "Pod"})["metadata"]["name"] == "web-1-r3"


def test_a_rollout_that_broke_off_does_not_stand_in_the_way_of_the_next() -> None:
    taken = ["web-1", "web-1-r2", "web-1-r3"]
    assert successor(pod("web-1"), taken)["metadata"]["name"] == "web-1-r4"


def test_daemons_are_known_by_their_owner_or_by_their_mark() -> None:
    assert is_on_every_node(pod("x", ownerReferences=[{"kind": "DaemonSet", "name": "x"}]))
    assert is_on_every_node(pod("x", annotations={EVERY_NODE: "true"}))
    assert not is_on_every_node(pod("x", ownerReferences=[{"kind": "ReplicaSet", "name": "x"}]))


def test_a_new_node_gets_one_pod_of_each_daemon() -> None:
    mark = {EVERY_NODE: "true"}
    owner = [{"kind": "DaemonSet", "name": "agent", "uid": "d"}]
    pods = [
        pod("dns-a1", "a1", annotations=mark),
        pod("dns-a2-r2", "a2", annotations=mark),
        pod("agent-x7k2p", "a1", ownerReferences=owner),
        pod("agent-b9f4q", "a2", ownerReferences=owner),
        pod("web-1", "a1"),
    ]
    new = list(for_new_node(pods, "c1"))
    assert [(each["metadata"]["name"], each["spec"]["nodeName"]) for each in new] == [
        *(("dns-c1", "c1"), ("agent-c1", "c1")),
    ]
    assert new[1]["metadata"]["ownerReferences"] == owner
