"""The overview of hints: what is asked for, what the slices carry, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.hint_findings import of_cluster, of_thresholds
from nearwise.insight.hints import FamilyHints, ServiceHints, hints_of
from nearwise.insight.world import World
from nearwise.model import (
    Endpoint,
    EndpointSlice,
    ForNode,
    Node,
    Pod,
    Reason,
    Service,
)
from nearwise.model.codec import Objects, read
from nearwise.model.core import Taint, Toleration
from nearwise.model.discovery import EndpointHints
from nearwise.model.wellknown import (
    CONTROL_PLANE,
    MANAGED_BY,
    MIRRORING_CONTROLLER,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)
from nearwise.slices.allocation import zone_shares
from nearwise.slices.nodes import Nodes
from nearwise.slices.reconcile import reconcile
from nearwise.slices.thresholds import granted, nearness

EXAMPLES = Path(__file__).parents[2] / "examples"
AUTO = {TOPOLOGY_MODE: "Auto"}
THREE = (node("n0", "a"), node("n1", "b"), node("n2", "c"))


def spread(count: int) -> list[Pod]:
    """Make pods on the nodes n0, n1, n2 in turn."""
    return [pod(f"web-{n}", on=f"n{n % 3}") for n in range(count)]


def world(
    of: Service,
    pods: list[Pod],
    nodes: tuple[Node, ...] = THREE,
    slices: tuple[EndpointSlice, ...] | None = None,
) -> World:
    """Make a world; unless they are given, its slices are those that the controller writes."""
    if slices is None:
        slices = reconcile(of, pods, Nodes(nodes), ()).creates
    return World(Objects(services=(of,), pods=tuple(pods), nodes=nodes, slices=slices))


def hinted(of: World) -> ServiceHints:
    return hints_of(of, Nodes(of.objects.nodes), ("shop", "web"))


def only(found: ServiceHints) -> FamilyHints:
    (family,) = found.families
    return family


def texts(reasons: tuple[Reason, ...]) -> list[str]:
    return [each.text for each in reasons]


def codes(reasons: tuple[Reason, ...]) -> list[str]:
    return [each.code for each in reasons]


def example(name: str, namespace: str, service_name: str) -> ServiceHints:
    found = World(read((EXAMPLES / f"{name}.yaml").read_bytes()))
    return hints_of(found, Nodes(found.objects.nodes), (namespace, service_name))


# --- The examples -------------------------------------------------------------------------


def test_the_flag_server_with_hints_on_is_near_to_losing_them() -> None:
    found = example("flag-server-1-hints-on", "platform", "feature-flags")
    family = only(found)

    assert (found.mode, found.by, found.value) == ("cpu-shares", TOPOLOGY_MODE, "Auto")
    assert (family.ready, family.hinted) == (4, 4)
    assert family.zones == {"ap-northeast-2a": 2, "ap-northeast-2c": 2}
    assert family.lent == {"10.244.0.6": "ap-northeast-2a", "10.244.0.7": "ap-northeast-2a"}
    assert family.last_event is not None
    assert family.last_event.event == "TopologyAwareHintsEnabled"
    assert family.last_event.time == "2026-11-30T05:43:40Z"
    assert family.thresholds is not None
    assert family.thresholds.limit == 0.6
    assert found.alarms == 0
    assert texts(family.reasons)[-2:] == [
        "off at 4 endpoints between ratio 0.6 and 0.7; now 0.5 (ap-northeast-2a)",
        "at these CPU shares hints would be lost with 3 and 5 ready endpoints",
    ]


def test_the_flag_server_with_hints_off_says_why_with_the_numbers_and_what_would_help() -> None:
    found = example("flag-server-2-hints-off", "platform", "feature-flags")
    family = only(found)

    assert (family.ready, family.hinted) == (4, 0)
    assert found.alarms == 1
    assert texts(family.findings) == [
        "hints are off: the zones need at least ap-northeast-2a 3, ap-northeast-2c 2 of 4 ready "
        "endpoints (CPU shares ap-northeast-2a 0.65, ap-northeast-2c 0.35), 5 in all",
        "Kubernetes tells it as: Unable to allocate minimum required endpoints to each zone "
        "without exceeding overload threshold (4 endpoints, 2 zones), addressType: IPv4",
        "ap-northeast-2a has 65 % of the ready CPU; with 4 ready endpoints the limit is 60 %",
        "with 4 ready there are no hints at these CPU shares; nearest with hints: 3 and 5",
    ]
    assert "off at 4 endpoints between ratio 0.6 and 0.7; now 0.65 (ap-northeast-2a)" in texts(
        family.reasons
    )


def test_in_the_shop_annotation_and_field_are_told_apart() -> None:
    search = example("shop", "shop", "search")

    assert (search.by, search.value, search.traffic_distribution) == (
        TOPOLOGY_MODE,
        "Auto",
        "PreferClose",
    )
    assert codes(search.findings) == ["hints-field-overridden", "deprecated-value"]


def test_in_the_shop_node_hints_are_counted_by_node() -> None:
    checkout = only(example("shop", "shop", "checkout"))

    assert checkout.zones == {"zone-a": 1, "zone-b": 2}
    assert checkout.nodes == {"worker-1": 1, "worker-2": 2}
    assert checkout.thresholds is None


@pytest.mark.parametrize(
    ("service_name", "concerned"), [("web", False), ("orders", True), ("search", True)]
)
def test_a_service_that_asks_for_nothing_is_not_concerned(
    service_name: str, concerned: bool
) -> None:
    assert example("shop", "shop", service_name).concerned is concerned


def test_a_service_that_carries_hints_without_asking_is_concerned() -> None:
    stored = slice_of("s", endpoint("web-0", hint="a"))

    found = hinted(world(service(), [pod("web-0")], slices=(stored,)))

    assert found.mode == "none"
    assert found.concerned


# --- What is asked for --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotations", "unknown"),
    [
        ({TOPOLOGY_MODE: "Auto"}, []),
        ({TOPOLOGY_MODE: "auto"}, []),
        ({TOPOLOGY_MODE: "Disabled"}, []),
        ({TOPOLOGY_MODE: "AUTO"}, [TOPOLOGY_MODE]),
        ({TOPOLOGY_AWARE_HINTS: "true"}, [TOPOLOGY_AWARE_HINTS]),
        ({TOPOLOGY_AWARE_HINTS: "yes", TOPOLOGY_MODE: "on"}, [TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE]),
    ],
)
def test_a_value_of_the_annotation_that_nobody_knows_is_told(
    annotations: dict[str, str], unknown: list[str]
) -> None:
    found = hinted(world(service(annotations=annotations), spread(3)))

    told = [r.facts["annotation"] for r in found.findings if r.code == "hints-annotation-unknown"]
    assert told == unknown


def test_f35_policy_local_wins_over_hints() -> None:
    of = service(annotations=AUTO)
    spec = msgspec.structs.replace(of.spec, internal_traffic_policy="Local")

    found = hinted(world(msgspec.structs.replace(of, spec=spec), spread(3)))

    assert texts(found.findings) == [
        "internalTrafficPolicy Local wins: hints (Auto) change nothing inside the cluster"
    ]


def test_policy_local_is_no_finding_where_no_hints_are_asked_for() -> None:
    of = service()
    spec = msgspec.structs.replace(of.spec, internal_traffic_policy="Local")

    assert hinted(world(msgspec.structs.replace(of, spec=spec), spread(3))).findings == ()


def test_an_annotation_that_refuses_keeps_the_hints_of_the_field_away() -> None:
    of = service(annotations=AUTO, distribution="PreferSameZone")

    family = only(hinted(world(of, spread(5))))

    assert (
        "service.kubernetes.io/topology-mode gives no hints and keeps trafficDistribution "
        "PreferSameZone from giving any: without the annotation 5 of 5 ready endpoints would have "
        "a hint"
    ) in texts(family.findings)


def test_where_the_annotation_grants_hints_nothing_is_kept_away() -> None:
    of = service(annotations=AUTO, distribution="PreferSameZone")

    assert "hints-annotation-refuses" not in codes(only(hinted(world(of, spread(6)))).findings)


# --- CPU shares ---------------------------------------------------------------------------


def test_rounding_alone_is_named_as_the_cause() -> None:
    nodes = (node("n0", "a", "4"), node("n1", "b", "3"), node("n2", "c", "3"))

    found = only(hinted(world(service(annotations=AUTO), spread(3), nodes)))

    assert "only rounding refuses the hints: exact fractions would grant them" in texts(
        found.findings
    )


def test_f29_in_one_zone_both_sentences_are_told_once_for_all_services() -> None:
    nodes = (node("n0", "z0"), node("n1", "z0"))

    assert texts(tuple(of_cluster(zone_shares(nodes)))) == [
        "CPU of the ready worker nodes by zone: z0 8",
        "hints are off: all ready nodes are in zone z0, so zone hints are pointless",
        "Kubernetes tells it as: Insufficient Node information: allocatable CPU or zone not "
        "specified on one or more nodes",
    ]


def test_f30_nodes_that_do_not_count_are_listed_with_their_cpu_and_so_are_pods_there() -> None:
    control = msgspec.structs.replace(
        node("cp-c", "c", "2"),
        metadata=msgspec.structs.replace(
            node("cp-c", "c").metadata,
            labels={**node("cp-c", "c").metadata.labels, CONTROL_PLANE: ""},
        ),
    )
    nodes = (*THREE[:2], control, node("sick", "a", ready=False))
    pods = [*(pod(f"web-{n}", on=f"n{n % 2}") for n in range(4)), pod("web-4", on="cp-c")]

    found = only(hinted(world(service(annotations=AUTO), pods, nodes)))

    assert texts(tuple(of_cluster(zone_shares(nodes)))) == [
        "CPU of the ready worker nodes by zone: a 4, b 4",
        "not counted in the CPU shares (control-plane), with their CPU: cp-c 2",
        "not counted in the CPU shares (not ready), with their CPU: sick 4",
    ]
    assert [each.text for each in found.findings if each.code == "hints-zone-not-counted"] == [
        "web-4 runs in zone c, which has no part in the shares: its nodes are not counted "
        "(CPU: cp-c 2)"
    ]


def on_group(name: str, tolerates: str) -> Pod:
    """Make a pod that may run on the nodes of a tainted group."""
    made = pod(name, on=f"{tolerates}-{int(name[4:]) % 3}")
    tolerations = (Toleration(key="group", operator="Equal", value=tolerates),)
    return msgspec.structs.replace(
        made, spec=msgspec.structs.replace(made.spec, tolerations=tolerations)
    )


def group(name: str, *cpu: str) -> tuple[Node, ...]:
    """Make a tainted node in each of the zones a, b and c."""
    taints = (Taint("group", name, "NoSchedule"),)
    return tuple(
        msgspec.structs.replace(
            node(f"{name}-{number}", zone, amount),
            spec=msgspec.structs.replace(node("x").spec, taints=taints),
        )
        for number, (zone, amount) in enumerate(zip("abc", cpu, strict=True))
    )


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        (6, "the hints by zone would be a 2, b 2, c 2; counting all they are a 4, b 1, c 1"),
        (9, "the hints by zone would be a 3, b 3, c 3; counting all they are none"),
    ],
)
def test_f31_what_the_hints_would_be_if_only_usable_nodes_counted(pods: int, told: str) -> None:
    nodes = (*group("t1", "4", "4", "4"), *group("t2", "32", "4", "4"))

    found = only(
        hinted(
            world(
                service(annotations=AUTO), [on_group(f"web-{n}", "t1") for n in range(pods)], nodes
            )
        )
    )

    assert [each.text for each in found.findings if each.code == "hints-nodes-tolerated"] == [
        f"counting only nodes on which these pods may run, {told}"
    ]


def test_taints_that_say_how_a_node_is_are_no_groups() -> None:
    taint = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    cordoned = msgspec.structs.replace(
        node("n0", "a"), spec=msgspec.structs.replace(node("n0").spec, taints=(taint,))
    )

    found = only(hinted(world(service(annotations=AUTO), spread(6), (cordoned, *THREE[1:]))))

    assert "hints-nodes-tolerated" not in codes(found.findings)


def test_hints_lost_are_told_without_a_time_when_the_event_is_gone() -> None:
    of = service(annotations=AUTO)
    bare = reconcile(of, spread(6), Nodes([*THREE, node("x", "")]), ()).creates

    assert codes(only(hinted(world(of, spread(6), slices=bare))).findings) == [
        "hints-stuck-off",
        "hints-off-since-unknown",
        "hints-touch",
    ]


def test_a_bad_node_is_told_once_and_kubernetes_words_are_not_repeated_for_each_service() -> None:
    nodes = (*THREE, node("spot", ""))

    found = hinted(world(service(annotations=AUTO), spread(6), nodes))

    assert codes(only(found).findings) == ["hints-off-node-info"]
    assert only(found).findings[0] in tuple(of_cluster(zone_shares(nodes)))


# --- Places that are gone -----------------------------------------------------------------


def stored(*endpoints: Endpoint) -> tuple[EndpointSlice, ...]:
    return (slice_of("s", *endpoints),)


def for_node(name: str, node_name: str) -> Endpoint:
    made = endpoint(name, hint="a")
    return msgspec.structs.replace(
        made, hints=EndpointHints(made.hints.for_zones if made.hints else (), (ForNode(node_name),))
    )


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (THREE, []),
        (THREE[:1], ["1 ready endpoint is hinted to zone b, where no ready node is"]),
        (
            (THREE[0], node("n1", "b", ready=False)),
            ["1 ready endpoint is hinted to zone b, where no ready node is"],
        ),
        ((), []),
    ],
    ids=["all there", "zone gone", "no node ready", "nothing known of nodes"],
)
def test_hints_for_a_zone_without_ready_nodes_are_stale(
    nodes: tuple[Node, ...], said: list[str]
) -> None:
    slices = stored(endpoint("web-0", hint="a"), endpoint("web-1", hint="b"))

    found = only(hinted(world(service(annotations=AUTO), spread(2), nodes, slices)))

    assert [r.text for r in found.findings if r.code.startswith("hint-stale")] == said


def test_hints_for_a_node_that_is_gone_or_not_ready_are_stale() -> None:
    nodes = (node("n0", "a"), node("n1", "a", ready=False))
    slices = stored(for_node("web-0", "n0"), for_node("web-1", "n1"), for_node("web-2", "n2"))

    found = only(hinted(world(service(distribution="PreferSameNode"), [], nodes, slices)))

    assert [r.text for r in found.findings if r.code.startswith("hint-stale")] == [
        "1 ready endpoint is hinted to node n1, which is not ready",
        "1 ready endpoint is hinted to node n2, which does not exist",
    ]


def test_slices_of_others_without_hints_take_locality_away_and_are_told() -> None:
    of = service(distribution="PreferSameZone")
    of = msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, selector={}))
    mirror = slice_of("m", endpoint("web-0"), labels={MANAGED_BY: MIRRORING_CONTROLLER})

    found = only(hinted(world(of, [], slices=(mirror,))))

    assert texts(found.findings) == [
        "endpointslicemirroring-controller.k8s.io gives its 1 ready endpoint no hints: one "
        "endpoint without takes locality from every client"
    ]


# --- Thresholds ---------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=4),
    st.integers(1, 30),
)
def test_the_numbers_at_which_hints_go_are_refused_and_those_between_are_not(
    cpu: list[int], ready: int
) -> None:
    shares = zone_shares(
        node(f"n{letter}", letter, str(amount)) for letter, amount in zip("abcd", cpu, strict=False)
    )
    near = nearness(shares, ready)
    assert near is not None

    told = {each.code: each.facts for each in of_thresholds(shares, near)}

    if "hints-lost-at" in told:
        numbers = [int(str(number)) for number in told["hints-lost-at"]["counts"]]  # type: ignore[union-attr]
        assert near.granted
        assert not any(granted(shares, number) for number in numbers)
        low = max((n for n in numbers if n < ready), default=ready)
        high = min((n for n in numbers if n > ready), default=ready)
        assert all(granted(shares, n) for n in range(low + 1, high) if n >= 1)
    if "hints-threshold" in told:
        facts = told["hints-threshold"]
        assert float(str(facts["low"])) <= float(str(facts["high"]))
        inside = float(str(facts["low"])) < near.ratio < float(str(facts["high"]))
        assert not (inside and near.granted)
