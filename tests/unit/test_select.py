"""Choosing for a client: node hints, zone hints, all, terminating ones; and policy Local."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import Endpoint, Service
from nearwise.model.core import LoadBalancerIngress, LoadBalancerStatus, ServiceStatus
from nearwise.routing import PROFILES, Client, Fate, Mode, Pool, Profile, is_routed, merge, select
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

# --- Policy Cluster -------------------------------------------------------------------------

NEAR = [
    endpoint(1, "n1", zones=("a",), nodes=("n1",)),
    endpoint(2, "n2", zones=("a",), nodes=("n2",)),
    endpoint(3, "n3", zones=("b",), nodes=("n3",)),
]
GONE = endpoint(9, ready=False, serving=False, terminating=True)
STARTING = endpoint(8, ready=False, serving=False)


@pytest.mark.parametrize(
    ("case", "endpoints", "node", "zone", "mode", "chosen", "reasons"),
    [
        (
            "a node that a hint names uses its own",
            NEAR,
            "n1",
            "a",
            Mode.SAME_NODE,
            [1],
            ["node hints: 3 of 3 ready endpoints have one, 1 of them for n1"],
        ),
        (
            "a node that no hint names falls to its zone",
            NEAR,
            "n9",
            "a",
            Mode.SAME_ZONE,
            [1, 2],
            [
                "node hints: 3 of 3 ready endpoints have one, none names n9",
                "zone hints: 3 of 3 ready endpoints have one, 2 of them for a",
            ],
        ),
        (
            "a zone that no hint names falls to all",
            NEAR,
            "n9",
            "c",
            Mode.CLUSTER,
            [1, 2, 3],
            [
                "node hints: 3 of 3 ready endpoints have one, none names n9",
                "zone hints: 3 of 3 ready endpoints have one, none names c (they name a and b)",
                "all 3 ready endpoints are used",
            ],
        ),
        (
            "one endpoint without node hint leaves the zone hints",
            [*NEAR, endpoint(4, "n4", zones=("a",))],
            "n1",
            "a",
            Mode.SAME_ZONE,
            [1, 2, 4],
            [
                "node hints: 3 of 4 ready endpoints have one, so nobody's count; without: "
                "10.0.0.4:8080 (pod web-4)",
                "zone hints: 4 of 4 ready endpoints have one, 3 of them for a",
            ],
        ),
        (
            "one endpoint without any hint switches hints off",
            [*NEAR, endpoint(4, "n4")],
            "n1",
            "a",
            Mode.CLUSTER,
            [1, 2, 3, 4],
            [
                "node hints: 3 of 4 ready endpoints have one, so nobody's count; without: "
                "10.0.0.4:8080 (pod web-4)",
                "zone hints: 3 of 4 ready endpoints have one, so nobody's count; without: "
                "10.0.0.4:8080 (pod web-4)",
                "all 4 ready endpoints are used",
            ],
        ),
        (
            "an endpoint that is not ready need not have a hint",
            [*NEAR, GONE, STARTING],
            "n1",
            "a",
            Mode.SAME_NODE,
            [1],
            ["node hints: 3 of 3 ready endpoints have one, 1 of them for n1"],
        ),
        (
            "an endpoint may be hinted to several zones",
            [endpoint(1, zones=("a", "b")), endpoint(2, zones=("b",))],
            "n9",
            "b",
            Mode.SAME_ZONE,
            [1, 2],
            ["zone hints: 2 of 2 ready endpoints have one, 2 of them for b"],
        ),
        (
            "without hints all are used",
            [endpoint(1), endpoint(2, "n2", "b")],
            "n1",
            "a",
            Mode.CLUSTER,
            [1, 2],
            ["no ready endpoint has a hint: all 2 are used"],
        ),
        (
            "a node without zone cannot follow zone hints",
            [endpoint(1, zones=("a",))],
            "n1",
            None,
            Mode.CLUSTER,
            [1],
            [
                "node n1 has no label topology.kubernetes.io/zone: nothing can be in its zone",
                "the only ready endpoint is used",
            ],
        ),
        (
            "a node without zone follows the hint that names no zone",
            [endpoint(1, zones=("",)), endpoint(2, zones=("a",))],
            "n1",
            None,
            Mode.SAME_ZONE,
            [1],
            ["zone hints: 2 of 2 ready endpoints have one, 1 of them for ''"],
        ),
        (
            "without a ready one those that terminate and still serve are used",
            [draining(1), draining(2, "n2"), GONE, STARTING],
            "n1",
            "a",
            Mode.TERMINATING,
            [1, 2],
            ["no endpoint is ready; 2 that are terminating but still serving are used"],
        ),
        (
            "while one is ready nobody else is used",
            [draining(1), endpoint(2, "n2")],
            "n1",
            "a",
            Mode.CLUSTER,
            [2],
            ["no ready endpoint has a hint: the only one is used"],
        ),
        (
            "nobody ready and nobody serving is nobody",
            [GONE, STARTING],
            "n1",
            "a",
            Mode.NONE,
            [],
            [
                "no endpoint is ready, and none that is terminating still serves: connections are "
                "rejected"
            ],
        ),
        (
            "no endpoints are nobody",
            [],
            "n1",
            "a",
            Mode.NONE,
            [],
            [
                "no endpoint is ready, and none that is terminating still serves: connections are "
                "rejected"
            ],
        ),
    ],
)
def test_under_policy_cluster(
    case: str,
    endpoints: list[Endpoint],
    node: str,
    zone: str | None,
    mode: Mode,
    chosen: list[int],
    reasons: list[str],
) -> None:
    selection = choose(service(), endpoints, node, zone)

    assert selection.mode is mode, case
    assert numbers(selection.cluster) == chosen, case
    assert texts(selection.reasons) == reasons, case
    assert selection.all == selection.cluster
    assert (selection.local, selection.local_mode) == ((), Mode.NONE)
    assert selection.has_any is bool(chosen)
    assert selection.fate(local=False) is (Fate.FORWARD if chosen else Fate.REJECT)
    assert selection.why(local=True) == ()


# --- Policy Local ---------------------------------------------------------------------------

HERE_AND_THERE = [endpoint(1, "n1"), endpoint(2, "n1"), endpoint(3, "n2")]


@pytest.mark.parametrize(
    ("case", "endpoints", "node", "mode", "chosen", "has_any", "fate", "reason"),
    [
        (
            "the node's own ready ones",
            HERE_AND_THERE,
            "n1",
            Mode.SAME_NODE,
            [1, 2],
            True,
            Fate.FORWARD,
            "internalTrafficPolicy Local: 2 of 3 ready endpoints run on n1",
        ),
        (
            "the node's own terminating ones although others are ready elsewhere",
            [draining(1, "n1"), endpoint(3, "n2")],
            "n1",
            Mode.TERMINATING,
            [1],
            True,
            Fate.FORWARD,
            "internalTrafficPolicy Local: no ready endpoint on n1; 1 that is terminating but "
            "still serving is used",
        ),
        (
            "nobody here, somebody elsewhere: the packet is dropped",
            HERE_AND_THERE,
            "n9",
            Mode.NONE,
            [],
            True,
            Fate.DROP,
            "internalTrafficPolicy Local: no endpoint on n9, so this traffic is dropped there; 3 "
            "ready endpoints run elsewhere",
        ),
        (
            "nobody anywhere: the packet is rejected",
            [STARTING],
            "n1",
            Mode.NONE,
            [],
            False,
            Fate.REJECT,
            "no endpoint is ready, and none that is terminating still serves: connections are "
            "rejected",
        ),
        (
            "an endpoint without node is on no node, not even on one without name",
            [endpoint(1, None), endpoint(2, "")],
            "",
            Mode.NONE,
            [],
            True,
            Fate.DROP,
            "internalTrafficPolicy Local: no endpoint on , so this traffic is dropped there; 2 "
            "ready endpoints run elsewhere",
        ),
    ],
)
def test_under_policy_local(
    case: str,
    endpoints: list[Endpoint],
    node: str,
    mode: Mode,
    chosen: list[int],
    has_any: bool,
    fate: Fate,
    reason: str,
) -> None:
    selection = choose(service(internal="Local"), endpoints, node)

    assert selection.local_mode is mode, case
    assert numbers(selection.local) == chosen, case
    assert texts(selection.reasons) == [reason], case
    assert (selection.cluster, selection.mode) == ((), Mode.NONE)
    assert selection.all == selection.local
    assert selection.has_any is has_any
    assert selection.fate(local=True) is fate
    assert selection.healthy == (len(chosen) if mode is Mode.SAME_NODE else 0)


@pytest.mark.parametrize(
    ("case", "of", "cluster_used", "local_used"),
    [
        ("plain", service(), True, False),
        ("internal Local", service(internal="Local"), False, True),
        ("node port", node_port(external="Cluster"), True, False),
        ("external Local", node_port(external="Local"), True, True),
        ("both Local, reachable", node_port(internal="Local", external="Local"), True, True),
        ("internal Local, reachable", node_port(internal="Local", external="Cluster"), True, True),
        (
            "external Local, but nothing to reach it by yet",
            service(kind="LoadBalancer", external="Local"),
            True,
            False,
        ),
        ("external address", service(internal="Local", external_ips=("1.2.3.4",)), True, True),
    ],
)
def test_which_policies_a_service_has_traffic_under(
    case: str, of: Service, cluster_used: bool, local_used: bool
) -> None:
    selection = choose(of, NEAR)

    assert (selection.cluster_used, selection.local_used) == (cluster_used, local_used), case


@pytest.mark.parametrize(("ip_mode", "used"), [(None, True), ("VIP", True), ("Proxy", False)])
def test_a_load_balancer_address_makes_reachable_unless_it_is_a_proxy(
    ip_mode: str | None, used: bool
) -> None:
    balancer = LoadBalancerStatus((LoadBalancerIngress("1.2.3.4", ip_mode=ip_mode),))
    of = msgspec.structs.replace(
        service(kind="LoadBalancer", external="Local"), status=ServiceStatus(balancer)
    )

    assert choose(of, NEAR).local_used is used


def test_what_is_reachable_under_either_policy_comes_once_and_in_order() -> None:
    selection = choose(
        node_port(external="Local"), [*NEAR, draining(4, "n3"), draining(5)], "n3", "a"
    )

    assert numbers(selection.cluster) == [3]
    assert [backend.address for backend in selection.all] == ["10.0.0.3"]
    zone = choose(node_port(external="Local"), [*NEAR[1:], draining(1, "n9")], "n9", "b")
    assert numbers(zone.cluster) == [3]
    assert numbers(zone.local) == [1]
    assert [backend.address for backend in zone.all] == ["10.0.0.1", "10.0.0.3"]


def test_reasons_under_both_policies_are_told_apart() -> None:
    selection = choose(node_port(internal="Local", external="Local"), NEAR, "n1", "a")

    assert texts(selection.why(local=True)) == [
        "internalTrafficPolicy and externalTrafficPolicy Local: 1 of 3 ready endpoints runs on n1"
    ]
    assert codes(selection.why(local=False)) == ["route-node-hints"]
    assert selection.reasons == selection.why(local=True) + selection.why(local=False)
    nobody = choose(node_port(external="Local"), [])
    assert codes(nobody.reasons) == ["route-nobody"]


# --- Services that are not routed -----------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (service(cluster_ip="None"), "service-headless"),
        (service(kind="ExternalName", cluster_ip=""), "service-external-name"),
    ],
)
def test_proxies_do_nothing_for_some_services(of: Service, code: str) -> None:
    selection = choose(of, NEAR)

    assert not is_routed(of)
    assert selection.all == ()
    assert (selection.cluster_used, selection.local_used, selection.has_any) == (False,) * 3
    assert codes(selection.reasons) == [code]


# --- Any endpoints --------------------------------------------------------------------------

ENDPOINTS = st.lists(
    st.builds(
        endpoint,
        st.integers(1, 30),
        st.sampled_from(["n1", "n2", "n3", None]),
        st.sampled_from(["a", "b", None]),
        zones=st.sampled_from([("a",), ("b",), ("a", "b"), ("a",), ()]),
        nodes=st.sampled_from([("n1",), ("n2",), ("n1", "n2"), ()]),
        ready=st.sampled_from([True, True, False, None]),
        serving=st.sampled_from([True, False, None]),
        terminating=st.sampled_from([True, False, None]),
    ),
    max_size=8,
    unique_by=lambda each: each.addresses,
)
SERVICES = st.sampled_from(
    [
        service(),
        service(distribution="PreferSameNode"),
        service(distribution="PreferSameZone"),
        service(annotations={"service.kubernetes.io/topology-mode": "Auto"}),
        service(internal="Local"),
        node_port(external="Local"),
        node_port(internal="Local", external="Local"),
    ]
)
CLIENTS = st.builds(
    Client, st.sampled_from(["n1", "n2", "n9", ""]), st.sampled_from(["a", "c", "", None])
)


@given(SERVICES, ENDPOINTS, CLIENTS, st.sampled_from(list(PROFILES.values())), st.randoms())
def test_whatever_the_endpoints_the_choice_is_sound(
    of: Service, endpoints: list[Endpoint], client: Client, profile: Profile, random: Random
) -> None:
    pool = merge(of, [slice_of(*endpoints)], "IPv4").backends[HTTP]
    selection = select(of, pool, client, profile)

    ready = [backend for backend in pool if backend.ready]
    usable = [backend for backend in pool if backend.ready or backend.draining]
    assert selection.has_any is bool(usable)
    if selection.cluster_used:
        assert bool(selection.cluster) is bool(usable), "somebody is used while somebody can be"
    for chosen, mode in (
        (selection.cluster, selection.mode),
        (selection.local, selection.local_mode),
    ):
        assert bool(chosen) is (mode is not Mode.NONE)
        fallback = mode is Mode.TERMINATING
        assert all(backend.draining if fallback else backend.ready for backend in chosen)
        assert set(map(id, chosen)) <= set(map(id, usable))
    assert all(backend.node_name == client.node for backend in selection.local)
    assert not ready or selection.mode is not Mode.TERMINATING
    everybody = sorted([*selection.cluster, *selection.local], key=lambda b: b.address)
    assert selection.all == tuple({backend.address: backend for backend in everybody}.values())
    assert selection.reasons, "there is always something to say"
    assert all(reason.text for reason in selection.reasons)

    shuffled = random.sample(endpoints, len(endpoints))
    again = select(of, Pool.of(random.sample(list(pool), len(pool))), client, profile)
    assert (again.cluster, again.local, again.all) == (
        selection.cluster,
        selection.local,
        selection.all,
    )
    assert again.reasons == selection.reasons
    assert choose(of, shuffled, client.node, client.zone, profile).all == selection.all


@given(ENDPOINTS, CLIENTS)
def test_the_choice_is_what_the_rules_say_in_so_many_words(
    endpoints: list[Endpoint], client: Client
) -> None:
    pool = merge(service(), [slice_of(*endpoints)], "IPv4").backends[HTTP]
    ready = [backend for backend in pool if backend.ready]
    on_node = [backend for backend in ready if client.node in backend.nodes]
    in_zone = [backend for backend in ready if (client.zone or "") in backend.zones]
    if ready and all(backend.nodes for backend in ready) and on_node:
        expected = on_node
    elif ready and all(backend.zones for backend in ready) and in_zone:
        expected = in_zone
    else:
        expected = ready or [backend for backend in pool if backend.draining]

    assert list(select(service(), pool, client).cluster) == expected
