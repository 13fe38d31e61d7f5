"""What changed between two looks at a service: for whom, from what to what, and why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster import node, pod, service
from nearwise.insight.changes import Change, Move, Way, absent, change
from nearwise.insight.explanation import Explanation
from nearwise.insight.world import World
from nearwise.model import EndpointSlice, Node, Pod, Service
from nearwise.model.core import NodeStatus, NodeSystemInfo, ServicePort
from nearwise.model.wellknown import TOPOLOGY_MODE
from worlds import KEY, explained, settled, web

NODES = [node("a-0", "a"), node("a-1", "a"), node("b-0", "b"), node("b-1", "b")]
PLACES = ("a-0", "a-1", "b-0", "b-1")
NEAR = service(distribution="PreferSameZone")
EVERYWHERE = service()


def look(pods: Sequence[Pod], of: Service = NEAR, nodes: Sequence[Node] = NODES) -> Explanation:
    """Explain the service when its slices are as the controller writes them."""
    return explained(settled(of, nodes, pods))


def unready(pods: Sequence[Pod], *numbers: int) -> list[Pod]:
    """Return the pods with some of them not ready."""
    return [
        pod(each.metadata.name, each.spec.node_name, ready=False) if number in numbers else each
        for number, each in enumerate(pods)
    ]


def without_hint(world: World, name: str) -> World:
    """Return the world with an endpoint that lost its hint."""

    def bare(slice_: EndpointSlice) -> EndpointSlice:
        endpoints = tuple(
            replace(each, hints=None) if each.target_ref and each.target_ref.name == name else each
            for each in slice_.endpoints
        )
        return replace(slice_, endpoints=endpoints)

    return world.with_slices(map(bare, world.objects.slices))


def changed(before: Explanation, after: Explanation) -> Change:
    found = change(before, after)
    assert found is not None
    return found


def the_move(found: Change) -> Move:
    (move,) = found.moves
    return move


def why(found: Change) -> list[str]:
    return [reason.text for reason in found.reasons]


# --- Nothing happened -------------------------------------------------------------------------


def test_nothing_changed_when_nothing_happened() -> None:
    assert change(look(web(*PLACES)), look(web(*PLACES))) is None


def test_other_shares_are_no_change_of_an_answer() -> None:
    before = look(web(*PLACES))
    crowd = replace(pod("client-1", "a-0", ips=("10.9.0.1",)))
    crowd = replace(crowd, metadata=replace(crowd.metadata, labels={"app": "client"}))
    after = explained(settled(NEAR, NODES, web(*PLACES), others=[crowd]))
    assert [row.share for row in before.parts[0].endpoints] != [
        row.share for row in after.parts[0].endpoints
    ]
    assert change(before, after) is None


def test_a_reason_with_other_numbers_alone_is_no_change() -> None:
    """A third pod in zone b: clients in zone a are told "5 of 5" now, and go where they went."""
    found = changed(look(web(*PLACES)), look(web(*PLACES, "b-0")))
    assert [move.zones for move in found.moves] == [("b",)]
    assert all("zone a" not in reason.text for reason in (*found.came, *found.went))


# --- Whose answer, from what to what ----------------------------------------------------------


def test_a_pod_that_is_no_longer_ready_shrinks_the_choice_of_its_zone_alone() -> None:
    found = changed(look(web(*PLACES)), look(unready(web(*PLACES), 1)))
    move = the_move(found)
    assert (move.before, move.after) == (
        Way("same-zone", "forward", 2),
        Way("same-zone", "forward", 1),
    )
    assert (move.nodes, move.zones, move.everybody) == ({"a": ("a-0", "a-1")}, ("a",), False)
    assert (move.gained, move.lost) == ((), ("web-1",))
    assert why(found) == ["web-1 lost readiness"]


def test_the_last_pod_of_a_zone_sends_its_clients_to_all_others() -> None:
    found = changed(look(web("a-0", "b-0", "b-1")), look(unready(web("a-0", "b-0", "b-1"), 0)))
    move = the_move(found)
    assert move.before == Way("same-zone", "forward", 1)
    assert move.after == Way("cluster", "forward", 2)
    assert (move.gained, move.lost) == (("web-1", "web-2"), ("web-0",))
    assert why(found) == [
        "web-0 lost readiness",
        "zone hints: 2 of 2 ready endpoints have one, none names a (they name b)",
    ]


def test_one_endpoint_without_a_hint_takes_locality_from_everybody_and_is_named() -> None:
    world = settled(NEAR, NODES, web(*PLACES))
    found = changed(explained(world), explained(without_hint(world, "web-2")))
    move = the_move(found)
    assert (move.before, move.after) == (
        Way("same-zone", "forward", 2),
        Way("cluster", "forward", 4),
    )
    assert move.everybody
    assert why(found) == [
        "web-2 should have hints (trafficDistribution PreferSameZone) and has none: a rollout, or "
        "a controller that does not know the value",
        "zone hints: 3 of 4 ready endpoints have one, so nobody's count; without: 10.0.0.2:8080 "
        "(pod web-2)",
    ]


def test_when_the_hint_is_back_that_is_the_reason() -> None:
    world = settled(NEAR, NODES, web(*PLACES))
    found = changed(explained(without_hint(world, "web-2")), explained(world))
    assert why(found) == [
        "web-2 got other hints",
        "zone hints: 4 of 4 ready endpoints have one, 2 of them for a",
    ]
    assert "hints-missing" in {reason.code for reason in found.went}


def test_hints_by_cpu_share_that_go_off_are_told_with_their_numbers() -> None:
    asked = service(annotations={TOPOLOGY_MODE: "Auto"})
    uneven = [node("a-0", "a", cpu="13"), node("b-0", "b", cpu="7")]
    even = [node("a-0", "a", cpu="8"), node("b-0", "b", cpu="8")]
    pods = web("a-0", "a-0", "b-0", "b-0")
    found = changed(look(pods, asked, even), look(pods, asked, uneven))
    assert the_move(found).after == Way("cluster", "forward", 4)
    assert why(found) == [
        "hints are off: the zones need at least a 3, b 2 of 4 ready endpoints (CPU shares a 0.65, "
        "b 0.35), 5 in all"
    ]


def test_a_reason_that_came_before_the_answer_changed_is_told_with_the_change() -> None:
    """Nodes change first; the slices lose their hints only when the controller looks again."""
    asked = service(annotations={TOPOLOGY_MODE: "Auto"})
    uneven = [node("a-0", "a", cpu="13"), node("b-0", "b", cpu="7")]
    even = [node("a-0", "a", cpu="8"), node("b-0", "b", cpu="8")]
    pods = web("a-0", "a-0", "b-0", "b-0")
    first = settled(asked, even, pods)
    assert change(explained(first), explained(first.with_nodes(uneven))) is None
    found = changed(explained(first), look(pods, asked, uneven))
    assert [reason.code for reason in found.reasons] == ["hints-off-minimums"]


def test_another_wish_is_the_reason_when_the_answer_follows_it() -> None:
    found = changed(look(web(*PLACES), EVERYWHERE), look(web(*PLACES)))
    assert why(found) == ["hints ask for the same zone (trafficDistribution PreferSameZone)"]
    assert [reason.code for reason in found.went if reason.code.startswith("hints-not")] == [
        "hints-not-asked"
    ]


def test_clients_that_use_what_runs_on_their_own_node_are_one_move() -> None:
    of = service(distribution="PreferSameNode")
    found = changed(look(web(*PLACES), EVERYWHERE), look(web(*PLACES), of))
    move = the_move(found)
    assert move.after == Way("same-node", "forward", 1)
    assert move.everybody
    assert move.nodes == {"a": ("a-0", "a-1"), "b": ("b-0", "b-1")}


def test_what_one_node_loses_falls_back_to_its_zone_and_concerns_that_node_alone() -> None:
    of = service(distribution="PreferSameNode")
    found = changed(look(web(*PLACES), of), look(unready(web(*PLACES), 1), of))
    move = the_move(found)
    assert (move.nodes, move.zones) == ({"a": ("a-1",)}, ())
    assert (move.before, move.after) == (
        Way("same-node", "forward", 1),
        Way("same-zone", "forward", 1),
    )


def test_nothing_left_is_told_as_what_becomes_of_connections() -> None:
    found = changed(look(web("a-0"), EVERYWHERE), look(unready(web("a-0"), 0), EVERYWHERE))
    assert the_move(found).after == Way("none", "reject", 0)
    assert why(found) == ["web-0 lost readiness"]


# --- What became of endpoints -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (web("a-0"), ["web-1 left"]),
        (unready(web("a-0", "a-1"), 1), ["web-1 lost readiness"]),
        ([*web("a-0"), pod("web-1", "a-1", terminating=True)], ["web-1 began to terminate"]),
        (web("a-0", "a-1", "a-0"), ["web-2 joined"]),
        ([*web("a-0"), pod("web-7", "a-1")], ["web-7 joined", "web-1 left"]),
        ([*web("a-0"), pod("web-1", "a-1", ips=("10.0.0.99",))], ["web-1 changed address"]),
    ],
)
def test_what_became_of_an_endpoint_is_told_in_one_reason(
    after: list[Pod], told: list[str]
) -> None:
    assert why(changed(look(web("a-0", "a-1"), EVERYWHERE), look(after, EVERYWHERE))) == told


def test_several_endpoints_with_the_same_fate_are_one_reason() -> None:
    found = changed(look(web(*PLACES), EVERYWHERE), look(unready(web(*PLACES), 0, 3), EVERYWHERE))
    assert why(found) == ["web-0 and web-3 lost readiness"]


def test_terminating_endpoints_serve_until_they_do_not() -> None:
    draining = [pod("web-0", "a-0", terminating=True)]
    over = [pod("web-0", "a-0", terminating=True, ready=False)]
    found = changed(look(web("a-0"), EVERYWHERE), look(draining, EVERYWHERE))
    assert the_move(found).after == Way("terminating-fallback", "forward", 1)
    found = changed(look(draining, EVERYWHERE), look(over, EVERYWHERE))
    assert why(found) == ["web-0 terminates and stopped serving"]


# --- Clients, ports, services -----------------------------------------------------------------


def test_a_new_node_has_a_new_answer_and_its_zone_is_not_called_so() -> None:
    found = changed(look(web(*PLACES)), look(web(*PLACES), nodes=[*NODES, node("a-2", "a")]))
    move = the_move(found)
    assert (move.before, move.after) == (None, Way("same-zone", "forward", 2))
    assert (move.nodes, move.zones, move.everybody) == ({"a": ("a-2",)}, (), False)
    assert found.reasons == ()


def test_a_node_that_is_gone_has_no_answer_any_more() -> None:
    found = changed(look(web("a-0", "b-0")), look(web("a-0", "b-0"), nodes=NODES[:3]))
    move = the_move(found)
    assert (move.before, move.after) == (Way("same-zone", "forward", 1), None)
    assert move.nodes == {"b": ("b-1",)}


def test_a_new_node_does_not_keep_the_others_from_being_all_clients() -> None:
    more = [*NODES, node("a-2", "a")]
    found = changed(look(web(*PLACES)), look(web(*PLACES), EVERYWHERE, more))
    assert [(move.everybody, move.before is None) for move in found.moves] == [
        (True, False),
        (False, True),
    ]


def test_a_node_that_moves_to_another_zone_is_told_where_it_is_now() -> None:
    moved = [node("a-0", "b"), *NODES[1:]]
    pods = web("a-1", "b-0")
    found = changed(look(pods), look(pods, nodes=moved))
    move = the_move(found)
    assert (move.nodes, move.zones) == ({"b": ("a-0",)}, ())
    assert why(found) == ["zone hints: 2 of 2 ready endpoints have one, 1 of them for b"]


def test_an_older_proxy_on_a_node_is_the_reason_when_it_does_not_read_the_hints() -> None:
    of = service(distribution="PreferSameNode")
    old = replace(
        NODES[0],
        status=replace(NODES[0].status, node_info=NodeSystemInfo(kubelet_version="v1.33.1")),
    )
    assert isinstance(old.status, NodeStatus)
    found = changed(look(web(*PLACES), of), look(web(*PLACES), of, [old, *NODES[1:]]))
    assert the_move(found).nodes == {"a": ("a-0",)}
    assert why(found) == ["kube-proxy-1.33 does not follow the node hints of this service"]


def test_ports_that_part_ways_are_told_apart_and_a_new_port_is_new() -> None:
    http = ServicePort("http", "TCP", None, 80, 8080)
    metrics = ServicePort("metrics", "TCP", None, 9090, 9090)
    before = look(web("a-0"), service(ports=(http,)))
    found = changed(before, look(web("a-0"), service(ports=(http, metrics))))
    move = the_move(found)
    assert [port.name for port in move.ports] == ["metrics"]
    assert move.before is None


def test_a_service_that_is_gone_has_no_answers_and_that_is_the_reason() -> None:
    before = look(web(*PLACES))
    found = changed(before, absent(KEY))
    move = the_move(found)
    assert (move.after, move.everybody) == (None, True)
    assert why(found) == ["there is no service shop/web"]
    again = changed(absent(KEY), before)
    assert the_move(again).before is None
    assert [reason.code for reason in again.went] == ["service-absent"]


def test_a_headless_service_has_the_answers_of_dns() -> None:
    of = service(cluster_ip="None")
    found = changed(look(web("a-0", "b-0"), of), look(unready(web("a-0", "b-0"), 1), of))
    assert the_move(found).before == Way("dns", "forward", 2)
    assert why(found) == ["web-1 lost readiness"]


def test_the_headline_says_who_gets_the_traffic_now() -> None:
    found = changed(look(web(*PLACES), EVERYWHERE), look(web("a-0", "a-1"), EVERYWHERE))
    assert [reason.text for reason in found.headline] == [
        "all 2 ready endpoints share the traffic evenly: 50 % each"
    ]


# --- Laws -------------------------------------------------------------------------------------

LOOKS = st.builds(
    lambda places, off, of: look(unready(web(*places), *off), of),
    st.lists(st.sampled_from(PLACES), max_size=5),
    st.sets(st.integers(0, 4), max_size=3),
    st.sampled_from([NEAR, EVERYWHERE, service(distribution="PreferSameNode")]),
)


def answers(found: Explanation) -> dict[str, tuple[str, str, frozenset[str]]]:
    return {
        on: (group.mode, group.fate, frozenset(group.endpoints))
        for part in found.parts
        for group in part.groups
        for nodes in group.nodes.values()
        for on in nodes
    }


@given(LOOKS, LOOKS)
def test_exactly_the_clients_whose_answer_differs_are_told_and_each_once(
    before: Explanation, after: Explanation
) -> None:
    was, now = answers(before), answers(after)
    differ = {on for on in now if was[on] != now[on]}
    found = change(before, after)
    moves = found.moves if found else ()
    told = [on for move in moves for nodes in move.nodes.values() for on in nodes]
    assert sorted(told) == sorted(differ)


@given(LOOKS, LOOKS)
def test_what_came_one_way_goes_the_other_way(before: Explanation, after: Explanation) -> None:
    there, back = change(before, after), change(after, before)
    assert (there is None) == (back is None)
    if there and back:
        assert (there.came, there.went) == (back.went, back.came)
        assert {move.gained for move in there.moves} == {move.lost for move in back.moves}


@given(LOOKS, LOOKS)
def test_a_change_among_the_same_clients_always_has_a_reason(
    before: Explanation, after: Explanation
) -> None:
    found = change(before, after)
    assert found is None or found.reasons
