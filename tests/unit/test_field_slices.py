"""Field cases about slices and their hints: what real users met, and what they needed to read.

The clusters are small: the service ``shop/web`` selects app=web and leads to port 8080.
"""

from __future__ import annotations

import msgspec
import pytest

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.drift import Drift, drift
from nearwise.insight.hints import FamilyHints, ServiceHints, hints_of
from nearwise.insight.world import World
from nearwise.model import (
    EndpointPort,
    Endpoints,
    EndpointSlice,
    Event,
    Node,
    ObjectReference,
    Pod,
    Reason,
    Service,
)
from nearwise.model.codec import Objects
from nearwise.model.core import (
    ContainerPort,
    EndpointsAddress,
    EndpointsPort,
    EndpointsSubset,
    ServicePort,
)
from nearwise.model.validation import validate
from nearwise.model.wellknown import MANAGED_BY, TOPOLOGY_MODE, ZONE
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import ServicePlan, reconcile

AUTO = {TOPOLOGY_MODE: "Auto"}
PLACES = (node("n0", "a"), node("n1", "b"))


def written(of: Service, pods: list[Pod], slices: tuple[EndpointSlice, ...] = ()) -> ServicePlan:
    """Return what the EndpointSlice controller writes on two nodes in two zones."""
    return reconcile(of, pods, Nodes(PLACES), slices)


def pods_listed(slices: tuple[EndpointSlice, ...]) -> list[list[str]]:
    return [[e.target_ref.name for e in s.endpoints if e.target_ref] for s in slices]


def world(
    of: Service | None,
    pods: list[Pod],
    slices: tuple[EndpointSlice, ...],
    nodes: tuple[Node, ...] = PLACES,
    *,
    endpoints: tuple[Endpoints, ...] = (),
    events: tuple[Event, ...] = (),
) -> World:
    return World(
        Objects(
            services=(of,) if of else (),
            pods=tuple(pods),
            nodes=nodes,
            slices=slices,
            endpoints=endpoints,
            events=events,
        )
    )


def drifted(of: World) -> Drift:
    return drift(of, Nodes(of.objects.nodes), ("shop", "web"))


def hinted(of: World) -> ServiceHints:
    return hints_of(of, Nodes(of.objects.nodes), ("shop", "web"))


def texts(reasons: tuple[Reason, ...]) -> list[str]:
    return [each.text for each in reasons]


def foreign(name: str, *pods: str) -> EndpointSlice:
    made = slice_of(name, *map(endpoint, pods), labels={MANAGED_BY: "custom"})
    metadata = msgspec.structs.replace(made.metadata, owner_references=())
    return msgspec.structs.replace(made, metadata=metadata)


def without_selector(of: Service) -> Service:
    return msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, selector={}))


# --- A. Controller behaviour --------------------------------------------------------------


def test_f01_a_deleted_slice_is_made_again_under_the_same_name() -> None:
    first = written(service(), [pod("web-0")])

    again = written(service(), [pod("web-0")], ())

    assert pods_listed(again.creates) == [["web-0"]]
    assert again.creates == first.creates


def test_f01_an_address_edited_by_hand_is_put_back() -> None:
    (stored,) = written(service(), [pod("web-0")]).creates
    wrong = msgspec.structs.replace(stored.endpoints[0], addresses=("192.0.2.66",))
    edited = msgspec.structs.replace(stored, endpoints=(wrong,))

    plan = written(service(), [pod("web-0")], (edited,))

    assert [s.endpoints for s in plan.updates] == [stored.endpoints]
    assert texts(drifted(world(service(), [pod("web-0")], (edited,))).differences) == [
        f"web-0 in {stored.metadata.name} has changed: address 192.0.2.66 -> 10.0.0.0"
    ]


def test_f01_a_slice_of_another_manager_is_left_alone_and_mentioned() -> None:
    stored = written(service(), [pod("web-0")]).creates

    found = drifted(world(service(), [pod("web-0")], (*stored, foreign("mine", "web-0"))))

    assert (found.created, found.updated, found.deleted) == ((), (), ())
    assert texts(found.notes) == [
        "mine is managed by custom: it is used and left alone",
        "endpointslice-controller.k8s.io writes slices of its own beside those of custom",
    ]


def test_f05_a_service_being_deleted_gets_no_writes() -> None:
    plan = written(service(deleted=True), [pod(f"web-{n}") for n in range(3)])

    assert plan.writes == 0
    assert "shop/web is being deleted: it gets no new slices" in texts(plan.reasons)


def test_f05_slices_being_deleted_count_as_gone() -> None:
    going = slice_of("going", endpoint("web-0"))
    metadata = msgspec.structs.replace(going.metadata, deletion_timestamp="2026-01-01T00:00:00Z")

    plan = written(service(), [pod("web-0")], (msgspec.structs.replace(going, metadata=metadata),))

    assert pods_listed(plan.creates) == [["web-0"]]
    assert (plan.updates, plan.deletes) == ((), ())


def test_f06_slices_of_a_service_that_is_gone_are_left_to_the_garbage_collector_and_named() -> None:
    orphan = slice_of("web-repl", endpoint("web-0"), owner="uid-of-old")
    metadata = msgspec.structs.replace(orphan.metadata, creation_timestamp="2025-10-01T00:00:00Z")

    found = drifted(world(None, [], (msgspec.structs.replace(orphan, metadata=metadata),)))

    assert found.deleted == ()
    assert texts(found.notes) == [
        "web-repl is left over: its owner (Service shop/web, uid uid-of-old) does not exist; "
        "created 2025-10-01T00:00:00Z"
    ]
    assert found.differs


def test_f07_without_its_selector_a_service_keeps_frozen_slices_that_are_still_used() -> None:
    stored = slice_of("web-x", endpoint("web-0"), endpoint("web-1"))
    metadata = msgspec.structs.replace(stored.metadata, creation_timestamp="2023-06-01T00:00:00Z")
    stored = msgspec.structs.replace(stored, metadata=metadata)

    found = drifted(world(without_selector(service()), [], (stored,)))

    assert (found.created, found.updated, found.deleted) == ((), (), ())
    assert [(each.code, str(each.level)) for each in found.notes] == [("frozen-slice", "error")]
    assert texts(found.notes) == [
        "web-x is frozen since 2023-06-01T00:00:00Z: the service has no selector any more, nobody "
        "updates its 2 endpoints, and proxies still use them"
    ]


def test_f07_endpoints_made_by_hand_are_mirrored_beside_the_frozen_slice() -> None:
    frozen = slice_of("web-x", endpoint("web-0"))
    subset = EndpointsSubset((EndpointsAddress("192.0.2.1"),), (), (EndpointsPort("http", 80),))
    by_hand = Endpoints("v1", "Endpoints", service().metadata, (subset,))

    found = drifted(world(without_selector(service()), [], (frozen,), endpoints=(by_hand,)))

    assert len(found.created) == 1
    assert "frozen-slice" in [each.code for each in found.notes]


def test_f09_a_pod_on_an_unknown_node_does_not_hold_up_the_others() -> None:
    pods = [pod("web-0"), pod("web-1"), pod("web-2", on="n-unknown")]

    plan = written(service(), pods)

    assert pods_listed(plan.creates) == [["web-0", "web-1"]]
    assert plan.errors == ("skipping Pod web-2 for Service shop/web: Node n-unknown Not Found",)


def test_f09_published_in_any_state_it_is_listed_without_a_zone() -> None:
    pods = [pod("web-0"), pod("web-1"), pod("web-2", on="n-unknown")]

    plan = written(service(publish=True), pods)

    (made,) = plan.creates
    assert [e.zone for e in made.endpoints] == ["a", "a", None]
    assert plan.errors == ()


@pytest.mark.parametrize("publish", [False, True])
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_f10_the_address_of_a_finished_pod_may_be_anothers(phase: str, publish: bool) -> None:
    pods = [pod("web-0", ips=("10.0.0.9",), phase=phase), pod("web-1")]

    plan = written(service(publish=publish), pods)

    assert pods_listed(plan.creates) == [["web-1"]]
    assert f"pod web-0 is {phase}: its address may belong to another pod already" in texts(
        plan.reasons
    )


def test_f11_two_pods_with_one_address_are_two_endpoints() -> None:
    pods = [
        pod("web-0", ips=("10.0.0.1",), terminating=True),
        pod("web-1", ips=("10.0.0.1",)),
    ]

    (made,) = written(service(), pods).creates

    assert [
        (e.addresses, e.conditions.ready, e.conditions.terminating) for e in made.endpoints
    ] == [
        (("10.0.0.1",), False, True),
        (("10.0.0.1",), True, False),
    ]


def test_f15_a_pod_without_the_named_port_lies_in_a_slice_without_ports_and_is_named() -> None:
    by_name = service(ports=(ServicePort("http", "TCP", None, 80, "http"),))
    pods = [
        pod("web-0", ports=(ContainerPort("http", 8080, "TCP"),)),
        pod("web-1"),
    ]

    plan = written(by_name, pods)

    by_pod = {
        s.endpoints[0].target_ref.name: s.ports for s in plan.creates if s.endpoints[0].target_ref
    }
    assert by_pod == {"web-0": (EndpointPort("http", "TCP", 8080),), "web-1": ()}
    assert "pod web-1 has no port named http (TCP): it is listed without that port" in texts(
        plan.reasons
    )


def pods_in(*names: range) -> list[Pod]:
    return [
        pod(f"web-{n}", ips=(f"10.0.{n // 250}.{n % 250}",)) for numbers in names for n in numbers
    ]


def full(name: str, numbers: range) -> EndpointSlice:
    """Make the slice that holds these pods as they are."""
    (made,) = written(service(), pods_in(numbers)).creates
    metadata = msgspec.structs.replace(made.metadata, name=name)
    return msgspec.structs.replace(made, metadata=metadata)


def sizes(slices: tuple[EndpointSlice, ...]) -> dict[str, int]:
    return {s.metadata.name: len(s.endpoints) for s in slices}


def test_f17_ten_new_pods_go_into_one_new_slice_rather_than_into_two_with_room_for_five() -> None:
    stored = (full("s1", range(95)), full("s2", range(95, 190)))

    plan = written(service(), pods_in(range(200)), stored)

    assert [len(s.endpoints) for s in plan.creates] == [10]
    assert plan.updates == ()


def test_f17_a_slice_that_is_written_anyway_is_filled_first() -> None:
    stored = (full("s1", range(95)), full("s2", range(95, 190)))

    plan = written(service(), pods_in(range(1, 200)), stored)

    assert sizes(plan.updates) == {"s1": 100, "s2": 99}
    assert plan.creates == ()


def test_f18_slices_that_emptied_out_are_never_put_together_and_the_count_is_told() -> None:
    stored = tuple(full(f"s{i}", range(i * 100, i * 100 + 100)) for i in range(10))
    left = pods_in(*(range(i * 100, i * 100 + 5) for i in range(10)))
    shrunk = apply(stored, written(service(), left, stored))

    found = drifted(world(service(), left, shrunk))

    assert list(sizes(shrunk).values()) == [5] * 10
    assert (found.created, found.updated, found.deleted) == ((), (), ())
    assert texts(found.notes) == [
        "50 endpoints lie in 10 slices and would fit in 1: nobody ever puts them together; it "
        "would take 10 writes"
    ]


def test_f22_with_foreign_slices_only_it_is_said_that_no_controller_interferes() -> None:
    found = drifted(world(without_selector(service()), [], (foreign("theirs", "web-0"),)))

    assert texts(found.notes) == [
        "theirs is managed by custom: it is used and left alone",
        "no controller of Kubernetes writes slices here: there is neither a selector nor an "
        "Endpoints object",
    ]
    assert not found.differs


def test_f22_a_selector_brings_the_controller_in_beside_them() -> None:
    found = drifted(world(service(), [pod("web-0")], (foreign("theirs", "web-0"),)))

    assert len(found.created) == 1
    assert (
        "endpointslice-controller.k8s.io writes slices of its own beside those of custom"
        in texts(found.notes)
    )


# --- B. Hints by CPU share ----------------------------------------------------------------


def spread(count: int, families: tuple[str, ...] = ("IPv4",)) -> list[Pod]:
    """Make pods on the nodes n0, n1, n2 in turn."""
    ips = {"IPv4": "10.0.0.{}", "IPv6": "fd00::{}"}
    return [
        pod(f"web-{n}", on=f"n{n % 3}", ips=tuple(ips[f].format(n + 1) for f in families))
        for n in range(count)
    ]


def only(found: ServiceHints) -> FamilyHints:
    (family,) = found.families
    return family


THREE = (node("n0", "a"), node("n1", "b"), node("n2", "c"))


def disabled(time: str, first: str | None = None) -> Event:
    """Make the event that Kubernetes tells when hints go, and again while they are refused."""
    return Event(
        involved_object=ObjectReference("Service", "shop", "web"),
        reason="TopologyAwareHintsDisabled",
        message="Insufficient Node information: allocatable CPU or zone not specified on one or "
        "more nodes, addressType: IPv4",
        type="Warning",
        first_timestamp=first,
        last_timestamp=time,
    )


def test_f27_hints_lost_through_a_node_do_not_come_back_and_that_is_a_finding() -> None:
    auto = service(annotations=AUTO)
    unlabelled = Nodes([*THREE, node("spot", "")])
    stripped = reconcile(auto, spread(6), unlabelled, ()).creates

    found = only(
        hinted(world(auto, spread(6), stripped, THREE, events=(disabled("2026-01-01T10:00:00Z"),)))
    )

    assert found.hinted == 0
    assert [each.code for each in found.findings] == [
        "hints-stuck-off",
        "hints-off-since",
        "hints-touch",
    ]
    assert "2026-01-01T10:00:00Z" in found.findings[1].text
    assert 'kubectl annotate --overwrite -n shop service web touched="$(date +%s)"' in (
        found.findings[2].text
    )


def test_f27_hints_went_when_that_was_first_told_not_when_it_was_told_again() -> None:
    auto = service(annotations=AUTO)
    stripped = reconcile(auto, spread(6), Nodes([*THREE, node("spot", "")]), ()).creates
    first = disabled("2026-01-01T10:59:00Z", "2026-01-01T10:00:00Z")
    later = msgspec.structs.replace(
        disabled("2026-01-01T11:40:00Z", "2026-01-01T11:00:00Z"),
        message="Insufficient number of endpoints (2 endpoints, 3 zones), addressType: IPv4",
    )

    found = only(hinted(world(auto, spread(6), stripped, THREE, events=(first, later))))

    assert (
        found.findings[1].text
        == f"they went at 2026-01-01T10:00:00Z, with the event: {first.message}"
    )


def test_f37_a_node_resized_in_place_is_not_noticed_until_something_else_happens() -> None:
    auto = service(annotations=AUTO)
    pods = [pod(f"web-{n}", on=f"n{n % 2}") for n in range(8)]
    stored = reconcile(auto, pods, Nodes(PLACES), ()).creates
    resized = (node("n0", "a", "16"), node("n1", "b", "4"))

    found = only(hinted(world(auto, pods, stored, resized)))

    assert found.zones == {"a": 4, "b": 4}
    assert texts(found.findings)[0] == (
        "the slices carry hints of another time (a 4, b 4); today's CPU shares (a 0.8, b 0.2) ask "
        "for a 6.4, b 2"
    )
    assert found.findings[-1].code == "hints-touch"
    assert drifted(world(auto, pods, stored, resized)).updated == (stored[0].metadata.name,)


def test_f38_each_family_of_a_dual_stack_service_has_an_answer_of_its_own() -> None:
    both = ("IPv4", "IPv6")
    auto = service(annotations=AUTO, families=both)
    pods = [*spread(5, both), spread(6)[5]]  # the sixth has no IPv6 address
    stored = reconcile(auto, pods, Nodes(THREE), ()).creates

    found = hinted(world(auto, pods, stored, THREE))

    assert [(f.family, f.ready, f.hinted) for f in found.families] == [
        ("IPv4", 6, 6),
        ("IPv6", 5, 0),
    ]
    assert texts(found.findings) == [
        "IPv4 endpoints have hints, IPv6 endpoints have none: each family is decided on its own"
    ]
    assert found.families[0].findings == ()
    assert texts(found.families[1].findings)[:2] == [
        "hints are off: the zones need at least a 2, b 2, c 2 of 5 ready endpoints (CPU shares "
        "a 0.333, b 0.333, c 0.333), 6 in all",
        "Kubernetes tells it as: Unable to allocate minimum required endpoints to each zone "
        "without exceeding overload threshold (5 endpoints, 3 zones), addressType: IPv6",
    ]


# --- C. trafficDistribution ---------------------------------------------------------------


def test_f42_one_endpoint_without_zone_is_named_with_its_node_and_the_missing_label() -> None:
    near = service(distribution="PreferSameZone")
    nodes = (*THREE, node("bare", ""))
    pods = [*spread(8), pod("web-8", on="bare")]
    stored = reconcile(near, pods, Nodes(nodes), ()).creates

    found = only(hinted(world(near, pods, stored, nodes)))

    assert (found.ready, found.hinted) == (9, 8)
    assert texts(found.findings) == [
        f"web-8 has no zone hint, for its node bare has no label {ZONE}: one such endpoint takes "
        "zone hints from every client",
        "Kubernetes raises no event about this",
    ]


def test_f46_hints_follow_the_field_there_and_back_in_slices_where_nothing_else_changed() -> None:
    pods = spread(3)
    steps = [None, "PreferSameZone", None]
    slices: tuple[EndpointSlice, ...] = ()
    seen = []
    for distribution in steps:
        of = service(distribution=distribution)
        before = only(hinted(world(of, pods, slices, THREE)))
        slices = apply(slices, reconcile(of, pods, Nodes(THREE), slices))
        after = only(hinted(world(of, pods, slices, THREE)))
        seen.append(([each.code for each in before.findings], after.hinted))

    assert seen == [([], 0), (["hints-missing"], 3), (["hints-left-over"], 0)]


def test_f50_the_deprecated_value_is_accepted_and_told() -> None:
    raw = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"app": "web"},
            "ports": [{"port": 80}],
            "trafficDistribution": "PreferClose",
        },
    }

    found = hinted(world(service(distribution="PreferClose"), [], (), THREE))

    assert validate(raw).status == 201
    assert texts(found.findings) == [
        "trafficDistribution PreferClose is the deprecated name of PreferSameZone: both mean the "
        "same"
    ]
    assert found.alarms == 0


def test_f50_an_unknown_value_is_refused_with_the_known_ones_and_gives_no_hints() -> None:
    raw = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}], "trafficDistribution": "PreferRegion"},
    }

    verdict = validate(raw)
    found = hinted(world(service(distribution="PreferRegion"), [], (), THREE))

    assert [(cause.field, cause.message) for cause in verdict.causes] == [
        (
            "spec.trafficDistribution",
            'Unsupported value: "PreferRegion": supported values: "PreferClose", '
            '"PreferSameZone", "PreferSameNode"',
        )
    ]
    assert texts(found.findings) == [
        "no hints: trafficDistribution PreferRegion is not a known value"
    ]
