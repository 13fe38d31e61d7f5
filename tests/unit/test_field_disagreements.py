"""Field cases of objects that disagree about a service: what is wrong, and which one is right."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from cluster import endpoint, node, pod, service, slice_of
from nearwise.model import (
    Endpoint,
    EndpointConditions,
    Endpoints,
    EndpointSlice,
    ObjectMeta,
    Service,
)
from nearwise.model.core import (
    ContainerPort,
    EndpointsAddress,
    EndpointsPort,
    EndpointsSubset,
    ServicePort,
)
from nearwise.model.wellknown import (
    LAST_CHANGE_TRIGGER_TIME,
    MANAGED_BY,
    MIRRORING_CONTROLLER,
)
from nearwise.slices.mirror import mirror
from worlds import (
    explained,
    findings,
    gets,
    headlines,
    nodes_in,
    only_part,
    rows,
    settled,
    stored,
)

SAME_ZONE = "PreferSameZone"
MIRRORED = {MANAGED_BY: MIRRORING_CONTROLLER}


def without_selector(**how: object) -> Service:
    made = service(**how)  # type: ignore[arg-type]
    return replace(made, spec=replace(made.spec, selector={}))


def at(slice_: EndpointSlice, **meta: object) -> EndpointSlice:
    return replace(slice_, metadata=replace(slice_.metadata, **meta))


def bare(address: str, **conditions: bool) -> Endpoint:
    """Make an endpoint as somebody writes it by hand."""
    return Endpoint((address,), EndpointConditions(**conditions))


def legacy(*ready: str, waiting: tuple[str, ...] = (), version: str = "") -> Endpoints:
    """Make the Endpoints ``shop/web``."""
    return Endpoints(
        metadata=ObjectMeta(name="web", namespace="shop", resource_version=version),
        subsets=(
            EndpointsSubset(
                addresses=tuple(EndpointsAddress(ip) for ip in ready),
                not_ready_addresses=tuple(EndpointsAddress(ip) for ip in waiting),
                ports=(EndpointsPort("http", 8080, "TCP"),),
            ),
        ),
    )


def at_time(made: Endpoints, time: str) -> Endpoints:
    """Say when the change happened that these Endpoints were last written for."""
    return replace(
        made, metadata=replace(made.metadata, annotations={LAST_CHANGE_TRIGGER_TIME: time})
    )


def draining(made: Endpoint) -> Endpoint:
    return replace(made, conditions=EndpointConditions(False, True, True))


# --- Objects that disagree --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoints", "slice_", "newer"), [("9", "7", "Endpoints"), ("7", "9", "slice")]
)
def test_f03_f83_endpoints_say_not_ready_for_days_while_slice_and_pod_say_ready(
    endpoints: str, slice_: str, newer: str
) -> None:
    world = stored(
        service(),
        [node("n0")],
        pods=[pod("web-1")],
        slices=[at(slice_of("web-abc", endpoint("web-1")), resource_version=slice_)],
        endpoints=[legacy(waiting=("10.0.0.1",), version=endpoints)],
    )
    told = findings(explained(world))["endpoints-slice-disagree-pod"]
    assert told == (
        "Endpoints say 10.0.0.1 is not ready, web-abc says ready; pod web-1 is ready, so the slice "
        f"is right; newer is {newer} (resourceVersion 9)"
    )


def test_f03_a_pod_that_is_ready_and_terminating_is_not_ready_any_more() -> None:
    world = stored(
        service(),
        [node("n0")],
        pods=[pod("web-1", terminating=True)],
        slices=[slice_of("web-abc", draining(endpoint("web-1")))],
        endpoints=[legacy("10.0.0.1")],
    )
    told = findings(explained(world))["endpoints-slice-disagree-pod"]
    assert "pod web-1 is not ready, so the slice is right" in told


def test_f03_a_slice_that_missed_the_last_change_of_its_pod_is_named() -> None:
    world = stored(
        service(),
        [node("n0")],
        pods=[pod("web-1", ready=False)],
        slices=[slice_of("web-abc", endpoint("web-1"))],
    )
    told = findings(explained(world))["slice-pod-disagree"]
    assert told.startswith("web-abc says web-1 is ready, the pod itself is not ready")


def test_f06_a_slice_whose_service_is_gone_is_told_with_owner_and_age() -> None:
    left = at(slice_of("web-repl", endpoint("web-1")), creation_timestamp="2025-10-01T00:00:00Z")
    told = findings(explained(stored(None, slices=[left])))["orphan-slice"]
    assert told == (
        "web-repl is left over: its owner (Service shop/web, uid service-uid) does not exist; "
        "created 2025-10-01T00:00:00Z"
    )


def test_f07_a_slice_of_a_service_that_lost_its_selector_is_frozen_and_still_used() -> None:
    frozen = at(
        slice_of("web-abc", endpoint("web-1"), endpoint("web-2")),
        creation_timestamp="2026-01-01T00:00:00Z",
    )
    found = explained(stored(without_selector(), [node("n0")], slices=[frozen]))
    assert "web-abc is frozen since 2026-01-01T00:00:00Z" in findings(found)["frozen-slice"]
    assert gets(only_part(found)) == {"web-1": 50.0, "web-2": 50.0}


@pytest.mark.parametrize("swapped", [False, True])
def test_f11_f51_of_a_terminating_and_a_running_pod_with_one_ip_the_running_one_is_used(
    swapped: bool,
) -> None:
    old, new = draining(endpoint("old-1")), endpoint("new-1")
    listed = (new, old) if swapped else (old, new)
    found = explained(stored(service(), [node("n0")], slices=[slice_of("web-abc", *listed)]))
    assert gets(only_part(found)) == {"new-1": 100.0}
    assert "pod new-1" in findings(found)["endpoint-address-reused"]


def test_f51_two_running_endpoints_with_one_address_are_a_finding() -> None:
    twins = (endpoint("old-1", hint="a"), endpoint("new-1", hint="b"))
    found = explained(stored(service(), [node("n0")], slices=[slice_of("web-abc", *twins)]))
    assert "endpoint-contested" in findings(found)


def test_f13_a_terminating_pod_is_listed_and_not_used_while_anything_is_ready() -> None:
    world = settled(service(), [node("n0")], [pod("web-1", terminating=True), pod("web-2")])
    part = only_part(explained(world))
    assert gets(part) == {"web-1": 0.0, "web-2": 100.0}
    assert "web-1: terminating, so listed but not used while anything is ready" in [
        note.text for note in part.notes
    ]


def test_f14_an_endpoint_without_conditions_is_used_and_one_that_is_not_ready_is_not() -> None:
    by_hand = slice_of("web-abc", bare("10.0.0.1"), bare("10.0.0.2", ready=False))
    part = only_part(explained(stored(without_selector(), [node("n0")], slices=[by_hand])))
    assert gets(part) == {"10.0.0.1": 100.0, "10.0.0.2": 0.0}
    assert rows(part)["10.0.0.2"].state == "not ready"


def test_f15_the_pod_without_the_named_port_is_named_and_gets_nothing() -> None:
    ports = (ServicePort("http", "TCP", None, 80, "http"),)
    named = pod("web-1", ports=(ContainerPort("http", 8080, "TCP"),))
    found = explained(settled(service(ports=ports), [node("n0")], [named, pod("web-2")]))
    assert gets(only_part(found)) == {"web-1": 100.0}
    assert findings(found)["pod-without-port"].startswith("pod web-2 has no port named http")
    assert "slice-without-ports" in findings(found)


def test_f22_a_slice_that_somebody_else_manages_is_used_and_its_manager_is_named() -> None:
    foreign = slice_of("web-own", bare("10.0.0.1"), labels={MANAGED_BY: "my-operator"})
    found = explained(stored(without_selector(), [node("n0")], slices=[foreign]))
    assert gets(only_part(found)) == {"10.0.0.1": 100.0}
    assert findings(found)["slice-foreign"].startswith("web-own is managed by my-operator")


def test_f53_a_slice_whose_port_has_another_name_is_ignored_and_both_names_are_told() -> None:
    unnamed = without_selector(ports=(ServicePort("", "TCP", None, 80, 8080),))
    by_hand = slice_of("web-1", bare("10.0.0.1"), labels={MANAGED_BY: "by-hand"})
    found = explained(stored(unnamed, [node("n0")], slices=[by_hand]))
    assert headlines(found) == ["no endpoint can be used: connections are refused at once"]
    assert "''" in findings(found)["port-not-offered"]
    assert "offer http (TCP)" in findings(found)["port-not-offered"]


def test_f53_a_slice_without_the_service_name_label_is_pointed_at() -> None:
    forgotten = at(slice_of("web-1", bare("10.0.0.1")), labels={})
    found = explained(stored(without_selector(), [node("n0")], slices=[forgotten]))
    assert findings(found)["slice-unlabelled"].startswith("web-1 has no label")
    selecting = explained(stored(service(), [node("n0")], slices=[forgotten]))
    assert "slice-unlabelled" not in findings(selecting)


def test_f71_an_address_that_only_the_stale_mirror_lists_is_told_with_its_writer() -> None:
    world = stored(
        without_selector(),
        [node("n0")],
        slices=[
            slice_of(
                "web-own", bare("10.0.0.1"), bare("10.0.0.2"), labels={MANAGED_BY: "operator"}
            ),
            slice_of(
                "web-mirror", bare("10.0.0.1"), bare("10.0.0.2"), bare("10.0.0.3"), labels=MIRRORED
            ),
        ],
        endpoints=[at_time(legacy("10.0.0.1", "10.0.0.2", "10.0.0.3"), "2025-07-01T00:00:00Z")],
    )
    told = findings(explained(world))["two-writers-mirror"]
    assert told == (
        "two managers list endpoints; only the mirror of Endpoints shop/web, last written "
        "2025-07-01T00:00:00Z, lists 10.0.0.3"
    )


def test_f67_what_a_mirror_leaves_out_is_listed_with_the_reason() -> None:
    ready = tuple(f"10.1.{n // 250}.{n % 250}" for n in range(987))
    waiting = tuple(f"10.2.0.{n}" for n in range(10, 30))
    source = legacy("not-an-ip-0", "not-an-ip-1", "not-an-ip-2", *ready, waiting=waiting)
    mirrored = mirror(without_selector(), source, ()).creates
    found = explained(stored(without_selector(), [node("n0")], slices=mirrored, endpoints=[source]))
    left_out = {
        each.code: each.facts["addresses"]
        for each in found.findings
        if each.code.startswith("mirror-") and "addresses" in each.facts
    }
    assert left_out == {
        "mirror-invalid-address": ("not-an-ip-0", "not-an-ip-1", "not-an-ip-2"),
        "mirror-over-limit": waiting[13:],
    }
    assert findings(found)["mirror-over-limit"] == (
        "not mirrored, for a subset may have 1000 addresses: 10.2.0.23, 10.2.0.24, 10.2.0.25, "
        "10.2.0.26, 10.2.0.27, 10.2.0.28 and 10.2.0.29"
    )


def test_f73_mirrored_endpoints_get_no_hints_and_their_zone_could_be_known() -> None:
    on_node = replace(bare("10.0.0.1", ready=True), node_name="a-0")
    world = stored(
        without_selector(distribution=SAME_ZONE),
        nodes_in(a=1, b=1),
        slices=[slice_of("web-1", on_node, labels=MIRRORED)],
    )
    found = explained(world)
    assert "a mirror knows no zone" in findings(found)["mirror-without-zone"]
    assert "could be filled from nodeName" in findings(found)["mirror-zone-known"]
    assert only_part(found).crossing == 0.5


def test_f82_an_address_that_only_one_reader_lists_is_named() -> None:
    world = stored(
        service(),
        [node("n0")],
        slices=[slice_of("web-abc", endpoint("web-1"))],
        endpoints=[legacy("10.0.0.1", "10.12.19.29")],
    )
    assert "10.12.19.29" in findings(explained(world))["endpoints-only"]


def test_f03_endpoints_and_slice_that_disagree_about_many_addresses_are_told_in_short() -> None:
    numbers = range(1, 9)
    world = stored(
        without_selector(),
        [node("n0")],
        slices=[slice_of("web-abc", *(bare(f"10.0.0.{n}", ready=True) for n in numbers))],
        endpoints=[legacy(waiting=tuple(f"10.0.0.{n}" for n in numbers))],
    )
    told = [reason.text for reason in explained(world).findings]
    assert "Endpoints say 10.0.0.1 is not ready, web-abc says ready; newer is unknown" in told
    assert "Endpoints and slices disagree about 10.0.0.6, 10.0.0.7 and 10.0.0.8 too" in told
