"""Which nodes, services and pods a lab has: from numbers, and from dumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearwise.lab.dumps import objects_in
from nearwise.lab.marks import EVERY_NODE, POWER, READY
from nearwise.lab.topology import DEMO, Topology, Wanted, demo, topology, wanted
from nearwise.model.errors import InputError
from nearwise.model.wellknown import ZONE

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
Json = dict[str, Any]


def of(objects: Any, kind: str) -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def rebuilt(name: str) -> Topology:
    path = EXAMPLES / name
    return topology(objects_in(path.read_bytes(), str(path)))


# --- From numbers ---------------------------------------------------------------------------


def test_pods_go_round_the_zones_and_daemons_are_everywhere() -> None:
    objects = demo(3, 2, DEMO)
    assert list(of(objects, "Node")) == ["a1", "a2", "b1", "b2", "c1", "c2"]
    nodes = {name: pod["spec"]["nodeName"] for name, pod in of(objects, "Pod").items()}
    assert [nodes[f"web-{number}"] for number in range(1, 7)] == [
        *("a1", "b1", "c1", "a2", "b2", "c2"),
    ]
    assert {name for name in nodes if name.startswith("dns-")} == {
        *("dns-a1", "dns-a2", "dns-b1", "dns-b2", "dns-c1", "dns-c2"),
    }
    assert of(objects, "Pod")["dns-a1"]["metadata"]["annotations"] == {EVERY_NODE: "true"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("web=6", Wanted("web", 6)),
        ("web=6,PreferSameZone", Wanted("web", 6, "PreferSameZone")),
        ("log-agent=daemon,PreferSameNode", Wanted("log-agent", None, "PreferSameNode")),
        ("api=0,Auto", Wanted("api", 0, "Auto")),
    ],
)
def test_a_service_is_written_as_name_pods_and_way(text: str, meant: Wanted) -> None:
    assert wanted(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("web", "web: is not NAME=PODS"),
        ("Web=6", "is not NAME=PODS"),
        ("web=many", "is not NAME=PODS"),
        ("web=6,PreferSameZon", "did you mean PreferSameZone"),
        ("web=1001", "at most 1000 pods"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        wanted(text)
    assert said in str(refused.value)


def test_the_way_becomes_the_field_or_the_annotation() -> None:
    services = of(demo(1, 1, [Wanted("a", 1, "Auto"), Wanted("z", 1, "PreferClose")]), "Service")
    assert services["a"]["metadata"]["annotations"] == {
        "service.kubernetes.io/topology-mode": "Auto"
    }
    assert services["z"]["spec"]["trafficDistribution"] == "PreferClose"


# --- From files -----------------------------------------------------------------------------


def test_a_dump_moves_to_addresses_of_the_lab_as_a_whole() -> None:
    found = rebuilt("flag-server-1-hints-on.yaml")
    assert found.networks == ("10.96.0.0/16",)
    pods, slices = of(found.objects, "Pod"), of(found.objects, "EndpointSlice").values()
    assert pods["feature-flags-7c9f-0"]["status"]["podIP"] == "10.242.1.1"
    endpoints = {
        endpoint["targetRef"]["name"]: endpoint
        for each in slices
        for endpoint in each.get("endpoints") or ()
        if endpoint.get("targetRef")
    }
    for name, endpoint in endpoints.items():
        assert endpoint["addresses"] == [pods[name]["status"]["podIP"]]
        assert endpoint["hints"]["forZones"]  # they stay as they were
    node = of(found.objects, "Node")["ip-10-0-3-10"]
    assert [each["address"] for each in node["status"]["addresses"]] == ["10.89.2.1"]


def test_what_was_not_ready_is_marked_so() -> None:
    found = rebuilt("shop.yaml")
    pods = of(found.objects, "Pod").values()
    unready = [pod for pod in pods if pod["metadata"].get("annotations", {}).get(READY) == "false"]
    assert unready
    for pod in unready:
        ready = [each for each in pod["status"]["conditions"] if each["type"] == "Ready"]
        assert ready[0]["status"] != "True"
    node = {
        "kind": "Node",
        "metadata": {"name": "gone"},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
    }
    marked = topology([node]).objects[0]
    assert marked["metadata"]["annotations"] == {POWER: "off"}


def test_a_service_of_ipv6_brings_both_families() -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "fd00:10:96::9"}}
    node = {"kind": "Node", "metadata": {"name": "n"}}
    assert topology([node]).plan.versions == (4,)
    found = topology([node, service])
    assert found.plan.versions == (4, 6)
    assert found.networks == ("10.96.0.0/16", "fd00:10:96::/112")
    assert topology([node], dual_stack=True).plan.versions == (4, 6)


def test_files_that_make_no_lab_are_refused() -> None:
    with pytest.raises(InputError, match="a lab needs nodes"):
        topology([{"kind": "Pod", "metadata": {"name": "p"}}])
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "10.89.0.10"}}
    with pytest.raises(InputError, match="overlap"):
        topology([{"kind": "Node", "metadata": {"name": "n"}}, service])


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"metadata": {"labels": {}}}, "Node: metadata.name: a node needs a name"),
        ({"metadata": {"name": [1]}}, "metadata.name: expected text, got a list"),
        ({"metadata": {"name": "n", "labels": {ZONE: [1]}}}, "Node n: metadata.labels"),
        ({"metadata": {"name": "n"}, "status": {"addresses": [1]}}, "status.addresses[0]"),
    ],
)
def test_nodes_of_another_form_are_told_with_their_field(node: Json, said: str) -> None:
    with pytest.raises(InputError) as refused:
        topology([{"kind": "Node", **node}])
    assert said in str(refused.value)


def test_more_pods_than_a_node_has_addresses_are_refused() -> None:
    with pytest.raises(InputError, match="a1: a node of a lab has at most 250 pods"):
        topology(demo(1, 1, [Wanted("web", 251)]))
    assert topology(demo(1, 1, [Wanted("web", 250)])).plan.nodes


def test_the_example_is_a_lab() -> None:
    found = rebuilt("lab/two-zones.yaml")
    assert list(found.plan.zones) == ["big", "small"]
    assert {name for name, seat in found.plan.nodes.items() if seat.zone == "big"} == {
        *("big-1", "big-2"),
    }
