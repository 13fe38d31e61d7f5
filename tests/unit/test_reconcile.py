"""What is written for a service beyond packing: owners, events, memory, trigger time."""

from __future__ import annotations

import msgspec

from cluster import endpoint, node, pod, service, slice_of
from nearwise.model import Node, Service
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, TOPOLOGY_MODE
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import HintMemory, ServiceSlices, reconcile

AUTO = {TOPOLOGY_MODE: "Auto"}
EQUAL = [node("n0", "a"), node("n1", "b")]


def told(events: object) -> list[tuple[str, str]]:
    return [(e["reason"], e["message"]) for e in msgspec.to_builtins(events)]


def test_a_new_slice_names_its_service_and_carries_a_name_that_a_second_try_would_carry_too() -> (
    None
):
    first = reconcile(service(labels={"team": "x"}), [pod("web-0")], Nodes(EQUAL), ())
    again = reconcile(service(labels={"team": "x"}), [pod("web-0")], Nodes(EQUAL), ())
    meta = first.creates[0].metadata

    assert meta.generate_name == "web-"
    assert meta.name.startswith("web-")
    assert meta.name == again.creates[0].metadata.name
    assert meta.labels == {
        "team": "x",
        "kubernetes.io/service-name": "web",
        MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    assert [(o.kind, o.name, o.uid, o.controller) for o in meta.owner_references] == [
        ("Service", "web", "service-uid", True)
    ]


def test_slices_of_an_older_service_of_the_name_go_and_those_of_another_manager_stay() -> None:
    older = slice_of("older", endpoint("web-9"), owner="an-older-uid")
    custom = slice_of("custom", endpoint("web-8"), labels={MANAGED_BY: "somebody-else"})
    plan = reconcile(service(), [pod("web-0")], Nodes(EQUAL), (older, custom))

    assert [s.metadata.name for s in plan.deletes] == ["older"]
    assert len(plan.creates) == 1
    assert not plan.updates


def test_slices_of_a_family_that_the_service_gave_up_go() -> None:
    plan = reconcile(service(), [pod("web-0")], Nodes(EQUAL), (slice_of("six", family="IPv6"),))

    assert [s.metadata.name for s in plan.deletes] == ["six"]
    assert "six is deleted: the service has no IPv6 addresses" in [r.text for r in plan.reasons]


def test_a_service_being_deleted_gets_no_new_slices_but_its_old_ones_are_kept_true() -> None:
    going = service(deleted=True)
    fresh = reconcile(going, [pod(f"web-{i}") for i in range(3)], Nodes(EQUAL), ())
    stored = slice_of("s1", endpoint("web-0"), endpoint("web-9"))
    later = reconcile(going, [pod("web-0")], Nodes(EQUAL), (stored,))

    assert fresh.writes == 0
    assert "being deleted" in fresh.reasons[-1].text
    assert [len(s.endpoints) for s in later.updates] == [1]


def test_the_trigger_time_is_noted_on_what_is_written_and_taken_away_when_none_is_known() -> None:
    made = reconcile(
        service(), [pod("web-0")], Nodes(EQUAL), (), trigger_time="2026-01-01T00:00:00Z"
    )
    later = reconcile(service(), [pod("web-0", ready=False)], Nodes(EQUAL), apply((), made))

    assert made.creates[0].metadata.annotations == {
        LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"
    }
    assert later.updates[0].metadata.annotations == {}


def test_a_pod_that_waits_for_its_node_is_told_in_kubernetes_words() -> None:
    plan = reconcile(service(), [pod("web-0"), pod("web-1", on="ghost")], Nodes(EQUAL), ())

    assert plan.errors == ("skipping Pod web-1 for Service shop/web: Node ghost Not Found",)
    assert [len(s.endpoints) for s in plan.creates] == [1]


def four_pods(of: Service, nodes: list[Node], state: ServiceSlices | None = None) -> ServiceSlices:
    state = ServiceSlices(of, Nodes(nodes))
    state.put_pods([pod(f"web-{i}", on=f"n{i % 2}") for i in range(4)])
    return state


def test_hints_by_share_are_told_once_when_they_begin_and_each_time_they_are_refused() -> None:
    state = four_pods(service(annotations=AUTO), EQUAL)
    begin = state.plan()
    state.commit(begin)
    state.put_pods([pod("web-0", ready=False)])
    refused = state.plan()
    state.commit(refused)
    again = state.plan()

    assert told(begin.events) == [
        ("TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4")
    ]
    assert told(refused.events) == told(again.events)
    assert told(refused.events) == [
        (
            "TopologyAwareHintsDisabled",
            "Unable to allocate minimum required endpoints to each zone without exceeding "
            "overload threshold (3 endpoints, 2 zones), addressType: IPv4",
        )
    ]
    assert all(e.hints is None for s in state.slices() for e in s.endpoints)


def test_memory_is_read_back_from_the_slices_so_that_nothing_is_told_twice() -> None:
    state = four_pods(service(annotations=AUTO), EQUAL)
    state.commit(state.plan())
    restarted = reconcile(
        service(annotations=AUTO),
        [pod(f"web-{i}", on=f"n{i % 2}") for i in range(4)],
        Nodes(EQUAL),
        state.slices(),
    )

    assert restarted.writes == 0
    assert restarted.events == ()
    assert restarted.memory == HintMemory(True, {"IPv4": {"a": 2, "b": 2}})


def test_taking_the_annotation_away_removes_the_hints_and_says_so() -> None:
    state = four_pods(service(annotations=AUTO), EQUAL)
    state.commit(state.plan())
    state.put_service(service())
    plan = state.plan()

    assert told(plan.events) == [
        ("TopologyAwareHintsDisabled", "Topology Aware Hints has been disabled, addressType: IPv4")
    ]
    assert all(e.hints is None for s in plan.updates for e in s.endpoints)


def test_traffic_distribution_hints_every_ready_endpoint_and_corrects_slices_it_did_not_write() -> (
    None
):
    stored = slice_of("s1", endpoint("web-0", hint="b"), endpoint("web-1", hint="a"))
    plan = reconcile(
        service(distribution="PreferSameZone"),
        [pod("web-0"), pod("web-1")],
        Nodes(EQUAL),
        (stored,),
    )
    (written,) = plan.updates

    assert [e.hints.for_zones[0].name for e in written.endpoints if e.hints] == ["a", "a"]
    assert plan.reasons[-1].text == "s1: hints changed"


def test_a_node_that_moves_to_another_zone_takes_its_endpoints_along() -> None:
    nodes = Nodes(EQUAL)
    state = ServiceSlices(service(distribution="PreferSameZone"), nodes)
    state.put_pods([pod("web-0", on="n0"), pod("web-1", on="n1")])
    state.commit(state.plan())
    nodes.put(node("n1", "c"))
    state.node_changed("n1")
    (written,) = state.plan().updates

    assert [(e.zone, e.hints and e.hints.for_zones[0].name) for e in written.endpoints] == [
        ("a", "a"),
        ("c", "c"),
    ]
