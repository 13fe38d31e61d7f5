"""Field cases that explaining one service answers: what the user saw, and what is to be read."""

from __future__ import annotations

from math import isclose

import pytest
from msgspec.structs import replace

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.explanation import Traffic
from nearwise.model import (
    EndpointPort,
    Pod,
    Service,
)
from nearwise.model.core import (
    ContainerPort,
    NodeSystemInfo,
    ServicePort,
)
from nearwise.model.wellknown import TOPOLOGY_MODE
from worlds import (
    client,
    explained,
    findings,
    gets,
    goes,
    headlines,
    nodes_in,
    only_part,
    settled,
    stored,
    web,
    why,
)

AUTO = {TOPOLOGY_MODE: "Auto"}
SAME_ZONE = "PreferSameZone"
SAME_NODE = "PreferSameNode"


def under(made: Service, **policies: object) -> Service:
    return replace(made, spec=replace(made.spec, **policies))


# --- Hints by CPU share -----------------------------------------------------------------------


def test_f25_with_one_endpoint_a_zone_the_zone_over_40_percent_is_named_with_the_limit() -> None:
    cluster = [node("n0", "a", "10"), node("n1", "b", "8"), node("n2", "c", "6")]
    found = explained(settled(service(annotations=AUTO), cluster, web("n0", "n1", "n2")))
    said = [reason.text for reason in found.hints[0].reasons]
    assert any("a has 41.7 % of the ready CPU" in text and "40 %" in text for text in said)


def test_f26_an_endpoint_of_the_small_zone_is_called_lent_to_the_big_one() -> None:
    cluster = [node("n0", "a", "8"), node("n1", "b", "4")]
    found = explained(
        settled(service(annotations=AUTO), cluster, web("n0", "n0", "n0", "n1", "n1", "n1"))
    )
    lent = [row for row in only_part(found).endpoints if row.lent_to]
    assert [(row.zone, row.lent_to) for row in lent] == [("b", "a")]
    assert headlines(found)[1] == (
        f"lent from zone b to zone a, because of the CPU shares (a 0.667, b 0.333): {lent[0].name}"
    )


def test_f27_hints_that_vanished_and_could_be_back_are_stuck_off() -> None:
    cluster = nodes_in(a=1, b=1, c=1)
    pods = web("a-0", "a-0", "b-0", "b-0", "c-0", "c-0")
    world = settled(service(), cluster, pods)
    stuck = world.with_service(service(annotations=AUTO))
    assert "come with the next change of a pod" in findings(explained(stuck))["hints-stuck-off"]


def test_f29_in_a_cluster_of_one_zone_the_true_reason_is_told() -> None:
    found = explained(settled(service(annotations=AUTO), nodes_in(a=2), web("a-0", "a-1")))
    assert headlines(found)[1] == (
        "hints are off: all ready nodes are in zone a, so zone hints are pointless"
    )


def test_f34_a_client_node_without_zone_label_uses_all_endpoints_despite_complete_hints() -> None:
    cluster = [*nodes_in(a=1, b=1), node("lost", "")]
    found = explained(
        settled(service(distribution=SAME_ZONE), cluster, web("a-0", "b-0")), origin="lost"
    )
    part = only_part(found)
    assert goes(part) == {"lost": ("web-0", "web-1")}
    assert any(
        "lost has no label topology.kubernetes.io/zone" in text for text in why(part, "lost")
    )


def test_f34_the_node_without_zone_label_is_a_finding() -> None:
    cluster = [*nodes_in(a=1, b=1), node("lost", "")]
    found = explained(settled(service(distribution=SAME_ZONE), cluster, web("a-0", "b-0")))
    assert "lost" in findings(found)["node-without-zone"]


def test_f35_local_policy_wins_over_auto_inside_the_cluster() -> None:
    made = under(service(annotations=AUTO), internal_traffic_policy="Local")
    found = explained(settled(made, nodes_in(a=1, b=1), web("a-0", "a-0", "b-0", "b-0")))
    assert findings(found)["local-overrides-hints"] == (
        "internalTrafficPolicy Local wins: hints (Auto) change nothing inside the cluster"
    )
    assert goes(only_part(found))["a-0"] == ("web-0", "web-1")


def test_f37_a_node_that_grew_in_place_leaves_hints_of_another_time() -> None:
    pods = web("n0", "n0", "n1", "n1")
    before = settled(service(annotations=AUTO), [node("n0", "a"), node("n1", "b")], pods)
    now = before.with_nodes([node("n0", "a", "16"), node("n1", "b")])
    told = findings(explained(now))["hints-outdated"]
    assert "(a 2, b 2)" in told
    assert "(a 0.8, b 0.2)" in told


def test_f38_the_two_families_of_a_service_are_two_answers() -> None:
    both = [
        pod(f"web-{i}", f"{zone}-0", ips=(f"10.0.0.{i}", f"fd00::{i}") if i else ("10.0.0.9",))
        for i, zone in enumerate("aabbcc")
    ]
    made = service(annotations=AUTO, families=("IPv4", "IPv6"))
    four, six = explained(settled(made, nodes_in(a=1, b=1, c=1), both)).hints
    assert (four.family, four.hinted, four.ready) == ("IPv4", 6, 6)
    assert (six.family, six.hinted, six.ready) == ("IPv6", 0, 5)
    assert "5 ready endpoints" in six.outline[0].text


# --- trafficDistribution ----------------------------------------------------------------------


def test_f39_the_lone_pod_of_a_busy_zone_gets_3_7_times_the_mean_that_the_autoscaler_sees() -> None:
    cluster = nodes_in(a=3, b=3, c=3)
    pods = web("a-0", *["b-0"] * 5, *["c-0"] * 5)
    found = explained(settled(service(distribution=SAME_ZONE), cluster, pods))
    part = only_part(found)
    assert gets(part)["web-0"] == 33.3
    assert gets(part)["web-1"] == 6.7
    assert findings(found)["hot-endpoints"] == (
        "hot: web-0, up to 33.3 % of the traffic, 3.7 times the mean of 9.1 % that an autoscaler "
        "sees"
    )


def test_f41_a_zone_without_an_endpoint_of_its_own_uses_all() -> None:
    found = explained(
        settled(service(distribution=SAME_ZONE), nodes_in(a=1, b=1, c=1), web("a-0", "b-0")),
        origin="c",
    )
    part = only_part(found)
    assert headlines(found) == ["traffic from c goes to web-0 and web-1"]
    assert any("none names c" in text for text in why(part, "c-0"))


def test_f42_one_pod_on_a_node_without_zone_switches_locality_off_for_all_and_is_named() -> None:
    cluster = [*nodes_in(a=1, b=1, c=1), node("bare", "")]
    pods = web(*["a-0"] * 3, *["b-0"] * 3, *["c-0"] * 2, "bare")
    found = explained(settled(service(distribution=SAME_ZONE), cluster, pods))
    assert set(gets(only_part(found)).values()) == {11.1}
    told = findings(found)["endpoint-without-hint-node"]
    assert "web-8" in told
    assert "node bare has no label topology.kubernetes.io/zone" in told


def test_f43_a_pod_on_the_client_s_node_that_lacks_the_port_is_passed_over_for_the_zone() -> None:
    ports = (ServicePort("http", "TCP", None, 80, "http"),)
    named = pod("web-1", "a-1", ports=(ContainerPort("http", 8080, "TCP"),))
    other = pod("web-2", "b-0", ports=(ContainerPort("http", 8080, "TCP"),))
    world = settled(
        service(ports=ports, distribution=SAME_NODE),
        nodes_in(a=2, b=1),
        [pod("web-0", "a-0"), named, other],
    )
    assert goes(only_part(explained(world)))["a-0"] == ("web-1",)


def test_f45_a_gateway_that_takes_same_node_for_same_zone_stands_beside_the_proxy() -> None:
    world = settled(service(distribution=SAME_NODE), nodes_in(a=2, b=1), web("a-0", "a-1", "b-0"))
    proxy, gateway = explained(world, profiles=["kube-proxy", "envoy-gateway"]).parts
    assert goes(proxy)["a-0"] == ("web-0",)
    assert goes(gateway)["a-0"] == ("web-0", "web-1")


def test_f47_while_the_pod_of_a_node_restarts_its_neighbour_in_the_zone_doubles() -> None:
    names = ["a-0", "a-1", "b-0", "b-1", "c-0", "c-1"]
    pods = [pod(f"web-{i}", on, ready=on != "a-0") for i, on in enumerate(names)]
    world = settled(service(distribution=SAME_NODE), nodes_in(a=2, b=2, c=2), pods)
    part = only_part(explained(world))
    assert goes(part)["a-0"] == ("web-1",)
    assert gets(part) == {"web-0": 0.0, "web-1": 33.3} | {f"web-{i}": 16.7 for i in range(2, 6)}
    assert part.unanswered == 0


def test_f49_an_old_proxy_takes_same_node_as_same_zone() -> None:
    world = settled(service(distribution=SAME_NODE), nodes_in(a=2, b=1), web("a-0", "a-1", "b-0"))
    part = only_part(explained(world, profiles=["kube-proxy-1.33"]))
    assert goes(part)["a-0"] == ("web-0", "web-1")


def test_f49_the_version_that_a_node_reports_decides_which_proxy_is_explained() -> None:
    old = node("a-0", "a")
    info = NodeSystemInfo(kubelet_version="v1.32.4")
    old = replace(old, status=replace(old.status, node_info=info))
    world = settled(service(distribution=SAME_NODE), [old, node("a-1", "a")], web("a-0", "a-1"))
    part = only_part(explained(world))
    assert goes(part) == {"a-0": ("web-0", "web-1"), "a-1": ("web-1",)}
    assert {group.profile for group in part.groups} == {"kube-proxy", "kube-proxy-1.33"}


def test_f49_a_controller_that_does_not_know_the_value_leaves_hints_missing() -> None:
    world = settled(service(), nodes_in(a=1), web("a-0"))
    found = explained(world.with_service(service(distribution=SAME_NODE)))
    assert findings(found)["hints-missing"].startswith("web-0 should have hints")


def test_f46_hints_that_nothing_asks_for_any_more_are_told() -> None:
    world = settled(service(distribution=SAME_ZONE), nodes_in(a=1), web("a-0"))
    assert "web-0" in findings(explained(world.with_service(service())))["hints-left-over"]


# --- What the proxy does ----------------------------------------------------------------------


def balanced(made: Service) -> Service:
    """Make the service reachable from outside, with policy Local for that."""
    ports = tuple(replace(port, node_port=30080) for port in made.spec.ports)
    return under(made, type="LoadBalancer", ports=ports, external_traffic_policy="Local")


def test_f54_outside_traffic_falls_back_to_the_node_s_terminating_pod_inside_traffic_does_not() -> (
    None
):
    pods = [pod("web-1", "n1", terminating=True), pod("web-2", "n2")]
    cluster = [node("n1"), node("n2")]
    inside, outside = explained(settled(balanced(service()), cluster, pods)).parts
    assert goes(inside) == {"n1": ("web-2",), "n2": ("web-2",)}
    assert goes(outside) == {"n1": ("web-1",), "n2": ("web-2",)}
    assert outside.clients.text.startswith("from outside, all of it through the one node")
    assert gets(outside) == {"web-1": 0.0, "web-2": 100.0}


def test_f57_nobody_anywhere_is_refused_and_nobody_here_is_dropped() -> None:
    nobody = explained(settled(service(), [node("n0")], []))
    assert headlines(nobody) == ["no endpoint can be used: connections are refused at once"]
    assert only_part(nobody).groups[0].fate == "reject"

    local = under(service(), internal_traffic_policy="Local")
    elsewhere = explained(settled(local, [node("n0"), node("n1")], web("n0")))
    assert headlines(elsewhere)[1].startswith("50 % of the traffic is dropped")
    assert {g.fate for g in only_part(elsewhere).groups} == {"forward", "drop"}


def test_f57_a_selector_that_picks_no_pod_is_pointed_at() -> None:
    world = settled(service(), [node("n0")], [], others=[client("job-1", "n0")])
    told = findings(explained(world))["selector-picks-nobody"]
    assert told == "no pod in namespace shop has the labels app=web"


# --- Seeing ------------------------------------------------------------------------------------


def test_f74_f77_traffic_is_counted_from_zone_to_zone_by_where_the_endpoints_are() -> None:
    world = settled(service(), nodes_in(a=1, b=1), web("b-0"))
    part = only_part(explained(world))
    assert [(p.source, p.target, p.share) for p in part.zones] == [
        ("a", "b", 0.5),
        ("b", "b", 0.5),
    ]
    assert part.crossing == 0.5


def test_f75_what_the_setting_saves_is_told_beside_what_crosses_now() -> None:
    world = settled(
        service(distribution=SAME_ZONE), nodes_in(a=1, b=1, c=1), web("a-0", "b-0", "c-0")
    )
    part = only_part(explained(world))
    assert part.notes[0].text == (
        "0 % of the traffic crosses zones; spread over all endpoints it would be 66.7 %"
    )
    assert all(group.in_zone == 1 for group in part.groups)


def test_f79_without_hints_two_thirds_of_the_traffic_over_three_zones_crosses() -> None:
    world = settled(service(), nodes_in(a=1, b=1, c=1), web("a-0", "b-0", "c-0"))
    part = only_part(explained(world))
    assert isclose(part.crossing, 2 / 3)
    assert part.notes[0].text == "66.7 % of the traffic crosses zones"


def test_f85_every_part_has_the_hottest_endpoint_against_the_mean_as_a_number() -> None:
    world = settled(
        service(distribution=SAME_ZONE), nodes_in(a=1, b=1), web("a-0", "b-0", "b-0", "b-0")
    )
    assert isclose(only_part(explained(world)).skew, 2)


@pytest.mark.parametrize(
    ("zone", "endpoints"), [("a", ("web-0",)), ("b", ("web-1", "web-2")), ("zone=c", ("web-3",))]
)
def test_f87_each_client_zone_is_answered_without_a_loop_of_curls(
    zone: str, endpoints: tuple[str, ...]
) -> None:
    world = settled(
        service(distribution=SAME_ZONE), nodes_in(a=2, b=2, c=2), web("a-0", "b-0", "b-1", "c-0")
    )
    assert set(goes(only_part(explained(world, origin=zone))).values()) == {endpoints}


def test_traffic_kinds_are_told_apart_only_where_the_policies_differ() -> None:
    def kinds(made: Service) -> list[Traffic]:
        return [part.traffic for part in explained(settled(made, [node("n0")], web("n0"))).parts]

    assert kinds(service()) == [Traffic.INSIDE]
    assert kinds(under(service(), type="NodePort")) == [Traffic.ANYWHERE]
    assert kinds(balanced(service())) == [Traffic.INSIDE, Traffic.OUTSIDE]
    both_local = under(balanced(service()), internal_traffic_policy="Local")
    assert kinds(both_local) == [Traffic.ANYWHERE]
    assert kinds(service(cluster_ip="None")) == [Traffic.DNS]
    unreachable = under(service(), type="LoadBalancer", external_traffic_policy="Local")
    assert kinds(unreachable) == [Traffic.INSIDE]


def pods_with_ports(*names: str) -> list[Pod]:
    return [pod(name, "n0") for name in names]


def test_ports_with_the_same_endpoints_are_one_part() -> None:
    ports = (
        ServicePort("http", "TCP", None, 80, 8080),
        ServicePort("metrics", "TCP", None, 9090, 9090),
    )
    part = only_part(
        explained(settled(service(ports=ports), [node("n0")], pods_with_ports("web-1")))
    )
    assert [(line.name, line.targets) for line in part.ports] == [
        ("http", (8080,)),
        ("metrics", (9090,)),
    ]


def test_ports_that_lead_to_other_endpoints_are_parts_of_their_own() -> None:
    ports = (EndpointPort("http", "TCP", 8080),)
    more = (*ports, EndpointPort("metrics", "TCP", 9090))
    world = stored(
        service(
            ports=(
                ServicePort("http", "TCP", None, 80, "http"),
                ServicePort("metrics", "TCP", None, 9090, "metrics"),
            )
        ),
        [node("n0")],
        slices=[
            slice_of("web-a", endpoint("web-1"), ports=ports),
            slice_of("web-b", endpoint("web-2"), ports=more),
        ],
    )
    http, metrics = explained(world).parts
    assert gets(http) == {"web-1": 50.0, "web-2": 50.0}
    assert gets(metrics) == {"web-2": 100.0}


def test_f27_hints_that_today_would_be_refused_are_stuck_on() -> None:
    pods = web("n0", "n0", "n1", "n1")
    before = settled(service(annotations=AUTO), [node("n0", "a"), node("n1", "b")], pods)
    now = before.with_nodes([node("n0", "a", "6500m"), node("n1", "b", "3500m")])
    found = explained(now)
    assert findings(found)["hints-stuck-on"].startswith("the slices still carry hints (a 2, b 2)")
    assert "5 in all" in headlines(found)[1]
