"""Explaining a service: who the clients are, how answers are put together, what is refused."""

from __future__ import annotations

import random
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.explain import explain
from nearwise.insight.world import World
from nearwise.model import EndpointHints, EndpointSlice, ForNode, ForZone, Node, Service
from nearwise.model.errors import InputError
from nearwise.model.wellknown import CONTROL_PLANE
from nearwise.routing import Client, merge, select
from worlds import (
    client,
    explained,
    findings,
    gets,
    goes,
    headlines,
    only_part,
    rows,
    settled,
    stored,
    web,
)

SAME_ZONE = "PreferSameZone"


def control_plane(name: str, zone: str) -> Node:
    made = node(name, zone)
    labels = {**made.metadata.labels, CONTROL_PLANE: ""}
    return replace(made, metadata=replace(made.metadata, labels=labels))


CLUSTER = [
    node("a-0", "a", "8"),
    node("a-1", "a", "4"),
    node("b-0", "b", "4"),
    control_plane("c-0", "c"),
]


def assumed(world: World, **how: object) -> tuple[str, dict[str, float]]:
    """Return what is assumed about clients, and the traffic from each node in percent."""
    part = only_part(explained(world, **how))
    traffic: dict[str, float] = {}
    for group in part.groups:
        for nodes in group.nodes.values():
            traffic[",".join(nodes)] = round(group.traffic * 100, 1)
    return part.clients.text, traffic


def on_own_nodes(*others: tuple[str, str]) -> World:
    """Make a world in which every node has its own answer: one pod of the service on each."""
    pods = web("a-0", "a-1", "b-0", "c-0")
    return settled(
        service(distribution="PreferSameNode"),
        CLUSTER,
        pods,
        others=[client(name, on) for name, on in others],
    )


# --- Who the clients are ----------------------------------------------------------------------


def test_clients_are_the_nodes_that_run_something_else_each_alike() -> None:
    world = on_own_nodes(("job-1", "a-0"), ("job-2", "a-0"), ("job-3", "c-0"))
    assert assumed(world) == (
        "the same from each of the 2 ready nodes that run other pods",
        {"a-0": 50.0, "a-1": 0.0, "b-0": 0.0, "c-0": 50.0},
    )


def test_pods_of_kube_system_and_finished_pods_make_no_client() -> None:
    world = on_own_nodes(("job-1", "a-0"))
    system = client("dns-2", "b-0")
    system = replace(system, metadata=replace(system.metadata, namespace="kube-system"))
    done = client("job-3", "a-1")
    done = replace(done, status=replace(done.status, phase="Succeeded"))
    world = World(replace(world.objects, pods=(*world.objects.pods, system, done)))
    assert assumed(world)[1]["a-0"] == 100.0


def test_a_node_that_is_not_ready_sends_nothing_whatever_runs_on_it() -> None:
    world = on_own_nodes(("job-1", "a-0"), ("job-2", "b-0"))
    broken = [node("a-0", "a"), node("a-1", "a"), node("b-0", "b", ready=False)]
    assert assumed(world.with_nodes(broken))[1] == {"a-0": 100.0, "a-1": 0.0, "b-0": 0.0}


def test_where_nobody_else_is_known_every_ready_worker_counts() -> None:
    assert assumed(on_own_nodes()) == (
        "the same from each of the 3 ready worker nodes; no pods of anybody else are known",
        {"a-0": 33.3, "a-1": 33.3, "b-0": 33.3, "c-0": 0.0},
    )


def test_where_no_node_is_ready_all_count() -> None:
    unready = [replace(each, status=replace(each.status, conditions=())) for each in CLUSTER]
    said, traffic = assumed(on_own_nodes().with_nodes(unready))
    assert said == "the same from each of the 4 nodes"
    assert set(traffic.values()) == {25.0}


def test_clients_by_cpu_are_the_ready_workers_by_their_allocatable_cpu() -> None:
    assert assumed(on_own_nodes(("job-1", "c-0")), clients="cpu") == (
        "by the allocatable CPU of the 3 ready worker nodes, as hints by CPU share assume",
        {"a-0": 50.0, "a-1": 25.0, "b-0": 25.0, "c-0": 0.0},
    )


def test_a_node_whose_cpu_cannot_be_read_sends_nothing_by_cpu() -> None:
    world = on_own_nodes().with_nodes([node("a-0", "a", "many"), node("b-0", "b", "4")])
    assert assumed(world, clients="cpu")[1] == {"a-0": 0.0, "b-0": 100.0}


def test_clients_by_pods_are_counted_without_the_service_s_own() -> None:
    world = on_own_nodes(("job-1", "a-0"), ("job-2", "a-0"), ("job-3", "a-0"), ("job-4", "b-0"))
    assert assumed(world, clients="pods") == (
        "by the number of other pods: 4 of them on 2 ready nodes",
        {"a-0": 75.0, "a-1": 0.0, "b-0": 25.0, "c-0": 0.0},
    )


def test_clients_by_selector_are_the_running_pods_that_it_picks() -> None:
    world = on_own_nodes(("job-1", "a-0"), ("job-2", "b-0"), ("job-3", "b-0"))
    assert assumed(world, clients="app=client") == (
        "the same from each of the 3 running pods with app=client, on 2 nodes",
        {"a-0": 33.3, "a-1": 0.0, "b-0": 66.7, "c-0": 0.0},
    )
    assert assumed(world, clients="app in (web)")[1] == dict.fromkeys(
        ["a-0", "a-1", "b-0", "c-0"], 25.0
    )


@pytest.mark.parametrize(
    ("clients", "complaint"),
    [("app=nobody", "no running pod there has the labels app=nobody"), ("app=(", "label selector")],
)
def test_a_selector_that_picks_nobody_or_is_none_is_refused(clients: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace("(", r"\(")):
        explained(on_own_nodes(), clients=clients)


def test_the_pods_that_may_be_clients_are_listed_with_their_group() -> None:
    world = on_own_nodes(("job-1", "a-0"), ("job-2", "a-0"))
    groups = only_part(explained(world)).groups
    assert [group.pods for group in groups if group.traffic] == [("shop/job-1", "shop/job-2")]


# --- From one place ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "nodes"),
    [
        ("a-1", {"a-1"}),
        ("a", {"a-0", "a-1"}),
        ("zone=b", {"b-0"}),
        ("job-1", {"b-0"}),
        ("shop/job-1", {"b-0"}),
        ("web-3", {"c-0"}),
    ],
)
def test_a_place_is_a_node_a_zone_or_a_pod(origin: str, nodes: set[str]) -> None:
    found = explained(on_own_nodes(("job-1", "b-0")), origin=origin)
    assert set(goes(only_part(found))) == nodes
    assert isclose(sum(row.share for row in only_part(found).endpoints), 1)


def test_from_one_place_the_first_sentence_says_where_to() -> None:
    found = explained(on_own_nodes(("job-1", "b-0")), origin="job-1")
    assert headlines(found) == ["traffic from job-1 goes to web-2"]
    assert only_part(found).clients.text == "all of it from node b-0"
    assert not only_part(found).findings


def test_from_a_zone_with_several_answers_each_is_said() -> None:
    assert headlines(explained(on_own_nodes(), origin="a")) == [
        "traffic from a-0 goes to web-0",
        "traffic from a-1 goes to web-1",
    ]


@pytest.mark.parametrize(
    ("origin", "told"),
    [
        ("a-00", "no node, zone or pod is called a-00 (did you mean a-0"),
        ("zone=d", "no node is in zone d (the zones are a, b, c)"),
        ("other/web-1", "no node, zone or pod is called other/web-1"),
        ("web-7", "pod web-7 is not on a node yet"),
        ("twin", "twin is the name of 2 pods (say which: one/twin, two/twin)"),
    ],
)
def test_a_place_that_is_not_there_is_refused_with_what_is(origin: str, told: str) -> None:
    world = on_own_nodes()
    twins = [
        replace(pod("twin-1"), metadata=replace(pod("twin-1").metadata, name="twin", namespace=ns))
        for ns in ("one", "two")
    ]
    more = (*world.objects.pods, pod("web-7", ""), *twins)
    with pytest.raises(InputError) as refused:
        explained(World(replace(world.objects, pods=more)), origin=origin)
    assert str(refused.value).startswith(told)


def test_a_pod_in_the_service_s_namespace_is_meant_before_others() -> None:
    world = on_own_nodes()
    elsewhere = pod("web-0", "b-0")
    elsewhere = replace(elsewhere, metadata=replace(elsewhere.metadata, namespace="other"))
    world = World(replace(world.objects, pods=(*world.objects.pods, elsewhere)))
    assert set(goes(only_part(explained(world, origin="web-0")))) == {"a-0"}


def test_an_unknown_service_or_data_plane_is_refused_with_what_is_near() -> None:
    with pytest.raises(InputError, match=r"no service shop/wed \(did you mean shop/web"):
        explain(on_own_nodes(), ("shop", "wed"))
    with pytest.raises(InputError, match=r"kube-prox .did you mean kube-proxy"):
        explained(on_own_nodes(), profiles=["kube-prox"])


# --- What is put together ---------------------------------------------------------------------

PLACES = ["a-0", "a-1", "b-0", "c-0", "elsewhere"]


@st.composite
def cluster(draw: st.DrawFn) -> tuple[Service, list[EndpointSlice]]:
    """Draw a service with endpoints anywhere, in any state, with any hints or none."""
    policy = draw(st.sampled_from([None, "Cluster", "Local"]))
    made = service(distribution=draw(st.sampled_from([None, SAME_ZONE, "PreferSameNode"])))
    made = replace(made, spec=replace(made.spec, internal_traffic_policy=policy))
    endpoints = []
    zone_hints, node_hints = draw(st.booleans()), draw(st.booleans())
    for number in range(draw(st.integers(0, 6))):
        on = draw(st.sampled_from(PLACES))
        each = endpoint(f"web-{number}", on[0], on)
        state = draw(
            st.sampled_from([(True, True, False), (False, True, True), (False, False, False)])
        )
        conditions = replace(
            each.conditions, ready=state[0], serving=state[1], terminating=state[2]
        )
        hints = EndpointHints(
            (ForZone(draw(st.sampled_from("abc"))),) if zone_hints else (),
            (ForNode(draw(st.sampled_from(PLACES))),) if node_hints else (),
        )
        bare = draw(st.integers(0, 9)) == 0
        endpoints.append(replace(each, conditions=conditions, hints=None if bare else hints))
    return made, [slice_of("web-a", *endpoints)]


@given(cluster())
def test_a_group_answers_for_each_of_its_nodes_as_that_node_would(
    drawn: tuple[Service, list[EndpointSlice]],
) -> None:
    made, slices = drawn
    world = stored(made, [*CLUSTER, node("lost", "")], slices=slices)
    told = goes(only_part(explained(world)))
    pool = merge(made, slices, "IPv4").backends["http", "TCP"]
    assert set(told) == set(world.nodes)
    for name, zone in world.zones.items():
        chosen = select(made, pool, Client(name, zone))
        local = made.spec.internal_traffic_policy == "Local"
        used = chosen.local if local else chosen.cluster
        assert told[name] == tuple(each.target.name for each in used if each.target)


@given(cluster())
def test_all_traffic_goes_to_endpoints_or_is_said_to_be_lost(
    drawn: tuple[Service, list[EndpointSlice]],
) -> None:
    made, slices = drawn
    part = only_part(explained(stored(made, CLUSTER, slices=slices)))
    assert isclose(sum(row.share for row in part.endpoints) + part.unanswered, 1)
    assert isclose(sum(group.traffic for group in part.groups), 1)
    for row in part.endpoints:
        assert isclose(sum(row.reached_from.values()), row.share, abs_tol=1e-12)
    lost = {reason.code for reason in part.headline} & {"traffic-dropped", "traffic-refused"}
    assert bool(lost) is (part.unanswered > 0)


@given(cluster(), st.integers(0, 1000))
def test_the_order_of_the_objects_changes_nothing(
    drawn: tuple[Service, list[EndpointSlice]], seed: int
) -> None:
    made, slices = drawn
    shuffled = list(slices[0].endpoints)
    random.Random(seed).shuffle(shuffled)
    others = [client("job-1", "a-0"), client("job-2", "b-0")]
    one = stored(made, CLUSTER, pods=others, slices=slices)
    other = stored(
        made,
        CLUSTER[::-1],
        pods=others[::-1],
        slices=[replace(slices[0], endpoints=tuple(shuffled))],
    )
    assert explained(one) == explained(other)


def test_clients_with_the_same_endpoints_for_other_reasons_are_groups_of_their_own() -> None:
    world = settled(
        service(distribution=SAME_ZONE), [*CLUSTER, node("lost", "")], web("a-0", "b-0")
    )
    groups = only_part(explained(world)).groups
    both = [group for group in groups if len(group.endpoints) == 2]
    assert sorted(tuple(group.nodes.values()) for group in both) == [(("c-0",),), (("lost",),)]
    codes = [[reason.code for reason in group.reasons] for group in both]
    assert codes[0] != codes[1]


def test_nodes_that_are_not_ready_have_an_answer_and_send_nothing() -> None:
    world = settled(service(), [node("a-0", "a"), node("a-1", "a", ready=False)], web("a-0"))
    part = only_part(explained(world))
    assert goes(part) == {"a-0": ("web-0",), "a-1": ("web-0",)}
    assert part.clients.text.startswith("all of it from the one ready worker node")


def test_an_endpoint_knows_how_many_nodes_and_which_zones_reach_it() -> None:
    world = settled(service(distribution=SAME_ZONE), CLUSTER, web("a-0", "b-0"))
    found = rows(only_part(explained(world)))
    # The control-plane node in zone c has no endpoint near and uses both, but sends nothing.
    assert (found["web-0"].nodes, found["web-1"].nodes) == (3, 2)
    assert set(found["web-0"].reached_from) == {"a"}
    assert set(found["web-1"].reached_from) == {"b"}


def test_a_headless_service_is_answered_by_dns_and_no_proxy_chooses() -> None:
    world = settled(
        service(cluster_ip="None", distribution=SAME_ZONE),
        CLUSTER,
        [*web("a-0", "b-0"), pod("web-2", "b-0", ready=False)],
    )
    found = explained(world)
    assert headlines(found) == [
        "DNS answers with all 2 addresses and each client picks one: hints do nothing"
    ]
    assert gets(only_part(found)) == {"web-0": 50.0, "web-1": 50.0, "web-2": 0.0}
    assert found.hints == ()


def test_an_external_name_has_no_endpoints_and_says_so() -> None:
    made = service(cluster_ip="")
    made = replace(made, spec=replace(made.spec, type="ExternalName", external_name="db.example"))
    found = explained(stored(made, CLUSTER))
    assert found.parts == ()
    assert [reason.code for reason in found.asked] == ["service-external-name"]
    assert not findings(found)


def test_a_snapshot_of_slices_alone_is_answered_and_what_lacks_is_said() -> None:
    slices = [slice_of("web-a", endpoint("web-1", "a", "n1"), endpoint("web-2", "b", "n2"))]
    found = explained(stored(service(), slices=slices))
    assert gets(only_part(found)) == {"web-1": 50.0, "web-2": 50.0}
    assert "snapshot-without-nodes" in findings(found)


def test_a_snapshot_without_any_place_is_answered_for_a_client_of_no_known_place() -> None:
    slices = [replace(slice_of("web-a", endpoint("web-1")), endpoints=())]
    found = explained(stored(service(), slices=slices))
    assert headlines(found) == ["no endpoint can be used: connections are refused at once"]


def test_two_endpoints_of_one_name_are_told_apart_by_their_addresses() -> None:
    one = endpoint("web-1")
    two = replace(one, addresses=("10.0.0.2",))
    part = only_part(explained(stored(service(), CLUSTER, slices=[slice_of("web-a", one, two)])))
    assert sorted(rows(part)) == ["web-1 (10.0.0.1:8080)", "web-1 (10.0.0.2:8080)"]


def test_a_service_of_which_the_snapshot_has_no_slices_says_so() -> None:
    assert "service-without-slices" in findings(explained(stored(service(), CLUSTER)))


def test_a_slice_of_the_service_that_was_here_before_is_left_over() -> None:
    before = slice_of("web-a", endpoint("web-1"), owner="older-uid")
    told = findings(explained(stored(service(), CLUSTER, slices=[before])))["orphan-slice"]
    assert "uid older-uid) does not exist" in told


def test_pods_and_slices_that_do_not_know_of_each_other_are_named() -> None:
    world = stored(
        service(),
        CLUSTER,
        pods=[pod("web-1", "a-0")],
        slices=[slice_of("web-a", endpoint("web-2"))],
    )
    told = findings(explained(world))
    assert told["pods-not-listed"].startswith("no slice lists web-1")
    assert told["endpoints-without-pod"].startswith("slices list web-2")
