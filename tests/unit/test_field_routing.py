"""Field cases that the node's choice decides: what real users met, and what they needed to read."""

from __future__ import annotations

import pytest

from nearwise.model import Endpoint, EndpointConditions, Node
from nearwise.model.core import NodeStatus, NodeSystemInfo, ServicePort
from nearwise.routing import PROFILES, Client, Fate, Mode, merge, profile_for, select
from route_builders import (
    HTTP,
    choose,
    codes,
    draining,
    endpoint,
    node_port,
    numbers,
    service,
    slice_of,
    texts,
)


def test_f11_two_pods_with_one_address_are_one_backend_the_one_that_runs() -> None:
    leaving = endpoint(1, ready=False, serving=True, terminating=True, pod="vm-source")
    running = endpoint(1, pod="vm-target")

    for pair in ([leaving, running], [running, leaving]):
        view = merge(service(), [slice_of(*pair)], "IPv4")
        (backend,) = select(service(), view.backends[HTTP], Client("n1", "a")).cluster
        assert backend.label == "10.0.0.1:8080 (pod vm-target)"
        assert texts(view.reasons) == [
            "10.0.0.1:8080 is pod vm-target (slice web-1) now; listed with the same address, but "
            "terminating: pod vm-source (slice web-1)"
        ]


def test_f13_a_terminating_pod_is_listed_but_not_used_while_anything_is_ready() -> None:
    selection = choose(service(), [draining(1), endpoint(2)])

    assert [backend.terminating for backend in selection.pool] == [True, False]
    assert numbers(selection.cluster) == [2]


@pytest.mark.parametrize(
    ("conditions", "usable"),
    [(EndpointConditions(), True), (EndpointConditions(ready=False), False)],
)
def test_f14_an_absent_ready_means_usable(conditions: EndpointConditions, usable: bool) -> None:
    hand_made = Endpoint(("10.0.0.1",), conditions)

    assert bool(choose(service(), [hand_made]).cluster) is usable


def test_f34_hints_are_complete_but_the_node_has_no_zone_label() -> None:
    hinted = [endpoint(1, zones=("a",)), endpoint(2, "n2", "b", zones=("b",))]
    selection = choose(service(), hinted, "n1", None)

    assert numbers(selection.cluster) == [1, 2]
    assert texts(selection.reasons) == [
        "node n1 has no label topology.kubernetes.io/zone: nothing can be in its zone",
        "all 2 ready endpoints are used",
    ]


def test_f35_internal_policy_local_wins_over_the_hints() -> None:
    auto = service(internal="Local", annotations={"service.kubernetes.io/topology-mode": "Auto"})
    hinted = [endpoint(1, "n1", zones=("b",)), endpoint(2, "n2", zones=("a",))]

    here = choose(auto, hinted, "n1", "a")
    assert numbers(here.all) == [1]
    assert texts(here.reasons) == ["internalTrafficPolicy Local: 1 of 2 ready endpoints runs on n1"]
    elsewhere = choose(auto, hinted, "n3", "a")
    assert elsewhere.fate(local=True) is Fate.DROP
    assert codes(elsewhere.reasons) == ["route-local-nobody"]


def test_f41_no_endpoint_in_my_zone_means_all_of_them() -> None:
    hinted = [endpoint(1, zones=("a",)), endpoint(2, "n2", "b", zones=("b",))]
    selection = choose(service(), hinted, "n3", "c")

    assert numbers(selection.cluster) == [1, 2]
    assert texts(selection.reasons) == [
        "zone hints: 2 of 2 ready endpoints have one, none names c (they name a and b)",
        "all 2 ready endpoints are used",
    ]


def test_f42_one_endpoint_without_zone_switches_hints_off_for_everybody() -> None:
    pods = [endpoint(i, f"n{i}", "abc"[i % 3], zones=("abc"[i % 3],)) for i in range(1, 9)]
    pods.append(endpoint(9, "n9", None))

    for zone in ("a", "b", "c"):
        selection = choose(service(distribution="PreferSameZone"), pods, "n1", zone)
        assert numbers(selection.cluster) == list(range(1, 10))
        why = selection.reasons[0]
        assert why.text == (
            "zone hints: 8 of 9 ready endpoints have one, so nobody's count; without: "
            "10.0.0.9:8080 (pod web-9)"
        )
        assert why.facts["nodes"] == ["n9"]


def test_f43_a_near_pod_that_lacks_the_port_does_not_hold_the_traffic() -> None:
    of = service(
        ports=(
            ServicePort("http", "TCP", None, 80, 8080),
            ServicePort("grpc", "TCP", None, 81, 9090),
        ),
        distribution="PreferSameNode",
    )
    without_grpc = slice_of(endpoint(1, "n1", "a", zones=("a",), nodes=("n1",)), name="x")
    with_both = slice_of(
        endpoint(2, "n2", "a", zones=("a",), nodes=("n2",)),
        endpoint(3, "n3", "b", zones=("b",), nodes=("n3",)),
        name="y",
        ports=(("http", 8080), ("grpc", 9090)),
    )
    backends = merge(of, [without_grpc, with_both], "IPv4").backends
    http = select(of, backends[HTTP], Client("n1", "a"))
    grpc = select(of, backends["grpc", "TCP"], Client("n1", "a"))
    far = select(of, backends["grpc", "TCP"], Client("n1", "c"))

    assert (http.mode, numbers(http.cluster)) == (Mode.SAME_NODE, [1])
    assert (grpc.mode, numbers(grpc.cluster)) == (Mode.SAME_ZONE, [2])
    assert (far.mode, numbers(far.cluster)) == (Mode.CLUSTER, [2, 3])


def test_f43_a_near_pod_that_is_not_ready_does_not_hold_the_traffic() -> None:
    near = endpoint(1, "n1", "a", zones=("a",), nodes=("n1",), ready=False)
    far = endpoint(2, "n2", "a", zones=("a",), nodes=("n2",))

    assert numbers(choose(service(distribution="PreferSameNode"), [near, far]).cluster) == [2]


def test_f45_a_gateway_takes_prefer_same_node_for_the_same_zone() -> None:
    of = service(distribution="PreferSameNode")
    pods = [
        endpoint(1, "n1", "a", zones=("a",), nodes=("n1",)),
        endpoint(2, "n2", "a", zones=("a",), nodes=("n2",)),
        endpoint(3, "n3", "b", zones=("b",), nodes=("n3",)),
    ]
    proxy = choose(of, pods, "n1", "a")
    gateway = choose(of, pods, "n1", "a", PROFILES["envoy-gateway"])

    assert (proxy.mode, numbers(proxy.cluster)) == (Mode.SAME_NODE, [1])
    assert (gateway.mode, numbers(gateway.cluster)) == (Mode.SAME_ZONE, [1, 2])


def test_f49_an_old_proxy_takes_prefer_same_node_for_the_same_zone() -> None:
    of = service(distribution="PreferSameNode")
    pods = [
        endpoint(1, "n1", "a", zones=("a",), nodes=("n1",)),
        endpoint(2, "n2", "a", zones=("a",), nodes=("n2",)),
        endpoint(3, "n3", "b", zones=("b",), nodes=("n3",)),
    ]
    old = Node(status=NodeStatus(node_info=NodeSystemInfo("v1.32.4")))
    selection = choose(of, pods, "n1", "a", profile_for(old))

    assert (selection.mode, numbers(selection.cluster)) == (Mode.SAME_ZONE, [1, 2])
    assert texts(selection.reasons) == [
        "kube-proxy-1.33 does not follow the node hints of this service",
        "zone hints: 3 of 3 ready endpoints have one, 2 of them for a",
    ]


def test_f49_a_controller_that_knows_no_such_value_gives_no_hints_to_any_proxy() -> None:
    of = service(distribution="PreferSameNode")

    selection = choose(of, [endpoint(1), endpoint(2, "n2")], "n1", "a")
    assert texts(selection.reasons) == ["no ready endpoint has a hint: all 2 are used"]


def test_f49_a_very_old_proxy_insists_on_the_annotation() -> None:
    very_old = profile_for(Node(status=NodeStatus(node_info=NodeSystemInfo("v1.29.0"))))
    pods = [endpoint(1, zones=("a",)), endpoint(2, "n2", "b", zones=("b",))]

    assert numbers(choose(service(distribution="PreferClose"), pods, profile=very_old).cluster) == [
        1,
        2,
    ]


def test_f51_an_address_given_out_again_is_routed_in_any_order_and_slice() -> None:
    old = endpoint(5, ready=False, serving=False, terminating=True, pod="old")
    new = endpoint(5, pod="new")

    for slices in (
        [slice_of(old, new)],
        [slice_of(new, old)],
        [slice_of(old, name="x"), slice_of(new, name="y")],
        [slice_of(new, name="x"), slice_of(old, name="y")],
    ):
        view = merge(service(), slices, "IPv4")
        assert numbers(select(service(), view.backends[HTTP], Client("n1", "a")).cluster) == [5]


def test_f51_two_running_pods_with_one_address_have_a_fixed_winner_and_are_told() -> None:
    one = slice_of(endpoint(5, zones=("a",), pod="one"), name="x")
    two = slice_of(endpoint(5, zones=("b",), pod="two"), name="y")

    for slices in ([one, two], [two, one]):
        view = merge(service(), slices, "IPv4")
        (backend,) = view.backends[HTTP]
        assert backend.zones == ("b",)
        assert codes(view.reasons) == ["endpoint-contested"]


def test_f53_a_hand_made_slice_whose_port_has_another_name_is_told() -> None:
    unnamed = service(ports=(ServicePort("", "TCP", None, 80, 8080),))
    view = merge(unnamed, [slice_of(endpoint(1), name="manual")], "IPv4")

    assert len(view.backends["", "TCP"]) == 0
    assert texts(view.reasons) == [
        "the service asks for port '' (TCP); its slices (manual) offer http (TCP): name and "
        "protocol must be the same"
    ]


@pytest.mark.parametrize("written", ["", None])
def test_f53_unnamed_means_unnamed_on_both_sides(written: str | None) -> None:
    unnamed = service(ports=(ServicePort("", "TCP", None, 80, 8080),))
    view = merge(unnamed, [slice_of(endpoint(1), ports=((written, 8080),))], "IPv4")

    assert numbers(view.backends["", "TCP"]) == [1]


def test_f53_a_slice_without_the_label_is_told() -> None:
    view = merge(service(), [slice_of(endpoint(1), name="manual", label=None)], "IPv4")

    assert texts(view.reasons) == [
        "manual has no label kubernetes.io/service-name: it belongs to no service"
    ]


def test_f54_terminating_pods_serve_local_traffic_while_others_serve_the_cluster() -> None:
    of = node_port(external="Local")
    pods = [draining(1, "n1"), endpoint(2, "n2", "b")]
    first, second = choose(of, pods, "n1"), choose(of, pods, "n2", "b")

    assert (first.local_mode, numbers(first.local)) == (Mode.TERMINATING, [1])
    assert (first.mode, numbers(first.cluster)) == (Mode.CLUSTER, [2])
    assert numbers(first.all) == [1, 2]
    assert (first.healthy, second.healthy) == (0, 1)


def test_f54_when_all_pods_terminate_those_that_serve_are_used() -> None:
    selection = choose(service(), [draining(1), draining(2, "n2")])

    assert (selection.mode, numbers(selection.cluster)) == (Mode.TERMINATING, [1, 2])


def test_f55_what_neither_serves_nor_terminates_is_never_used() -> None:
    dead = endpoint(1, ready=False, serving=False, terminating=False)
    leaving = draining(2)

    assert numbers(choose(service(), [dead, leaving, endpoint(3)]).cluster) == [3]
    assert numbers(choose(service(), [dead, leaving]).cluster) == [2]
    assert numbers(choose(service(), [dead]).cluster) == []


def test_f57_nobody_anywhere_rejects_and_nobody_here_drops() -> None:
    of = node_port(external="Local")
    nobody, elsewhere = choose(of, []), choose(of, [endpoint(1, "n2")])

    assert (nobody.fate(local=False), nobody.fate(local=True)) == (Fate.REJECT, Fate.REJECT)
    assert (elsewhere.fate(local=False), elsewhere.fate(local=True)) == (Fate.FORWARD, Fate.DROP)


def test_f65_a_thousand_services_on_a_node_without_zone_have_one_thing_to_say() -> None:
    hinted = [
        choose(service(), [endpoint(1, zones=("a",)), endpoint(i % 250, zones=("b",))], "n1", None)
        for i in range(2, 1002)
    ]
    told = {why.text for selection in hinted for why in selection.reasons[:-1]}

    assert told == {"node n1 has no label topology.kubernetes.io/zone: nothing can be in its zone"}


def test_f65_where_nobody_wished_for_topology_the_zone_is_not_spoken_of() -> None:
    assert codes(choose(service(), [endpoint(1)], "n1", None).reasons) == ["route-unhinted"]
    assert codes(choose(service(), [], "n1", None).reasons) == ["route-nobody"]


def test_f66_a_node_that_changes_its_zone_gets_another_answer_from_the_same_view() -> None:
    pods = [endpoint(1, zones=("a",)), endpoint(2, "n2", "b", zones=("b",))]
    pool = merge(service(), [slice_of(*pods)], "IPv4").backends[HTTP]
    before, after = (select(service(), pool, Client("n1", zone)) for zone in ("a", "b"))

    assert (numbers(before.cluster), numbers(after.cluster)) == ([1], [2])
    assert before.reasons != after.reasons
