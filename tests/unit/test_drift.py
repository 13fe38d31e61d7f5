"""Stored slices against what the controllers would write, endpoint by endpoint."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.drift import Drift, compare, drift, drift_from_scratch
from nearwise.insight.sync import next_sync, unjudged, writer
from nearwise.insight.world import World
from nearwise.model import EndpointPort, Endpoints, EndpointSlice, Node, Pod, Service
from nearwise.model.codec import Objects, read
from nearwise.model.core import EndpointsAddress, EndpointsPort, EndpointsSubset
from nearwise.model.wellknown import (
    LAST_CHANGE_TRIGGER_TIME,
    MANAGED_BY,
    MIRRORING_CONTROLLER,
    TOPOLOGY_MODE,
)
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply

EXAMPLES = Path(__file__).parents[2] / "examples"
WEB = ("shop", "web")
PLACES = (node("n0", "a"), node("n1", "b"))


def world(
    of: Service | None,
    pods: tuple[Pod, ...] = (),
    slices: tuple[EndpointSlice, ...] = (),
    nodes: tuple[Node, ...] = PLACES,
    endpoints: tuple[Endpoints, ...] = (),
) -> World:
    return World(
        Objects(
            services=(of,) if of else (),
            pods=pods,
            nodes=nodes,
            slices=slices,
            endpoints=endpoints,
        )
    )


def drifted(of: World) -> Drift:
    return drift(of, Nodes(of.objects.nodes), WEB)


def texts(found: Drift) -> list[str]:
    return [each.text for each in found.differences]


def without_selector(of: Service) -> Service:
    return msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, selector={}))


def mirrored() -> Endpoints:
    """Make Endpoints ``shop/web`` with one address."""
    subset = EndpointsSubset(
        addresses=(EndpointsAddress("192.0.2.1"),), ports=(EndpointsPort("http", 8080, "TCP"),)
    )
    return Endpoints("v1", "Endpoints", service().metadata, (subset,))


# --- The examples -------------------------------------------------------------------------

LENT_ELSEWHERE = {
    "flag-server-1-hints-on": {"platform/feature-flags": 2},
    "flag-server-2-hints-off": {},
    "flag-server-3-hints-on-again": {"platform/feature-flags": 2},
    "shop": {},
    "fleet": {
        "infra/svc-023": 4,
        "infra/svc-038": 3,
        "prod/svc-030": 2,
        "prod/svc-039": 2,
        "stage/svc-022": 2,
        "stage/svc-031": 2,
    },
}


@pytest.mark.parametrize("name", sorted(LENT_ELSEWHERE))
def test_in_the_examples_the_controllers_have_nothing_to_write(name: str) -> None:
    cluster = World(read((EXAMPLES / f"{name}.yaml").read_bytes()))
    nodes = Nodes(cluster.objects.nodes)

    found = [drift(cluster, nodes, key) for key in sorted(cluster.services)]

    assert [each for each in found if each.differs or each.differences or each.notes] == []
    assert sum(len(each.slices) for each in found) == len(cluster.objects.slices)


@pytest.mark.parametrize("name", sorted(LENT_ELSEWHERE))
def test_written_anew_the_examples_differ_only_in_who_is_lent_to_which_zone(name: str) -> None:
    cluster = World(read((EXAMPLES / f"{name}.yaml").read_bytes()))
    nodes = Nodes(cluster.objects.nodes)

    found = [drift_from_scratch(cluster, nodes, key) for key in sorted(cluster.services)]

    codes = {each.service: Counter(r.code for r in each.differences) for each in found}
    lent = {name: Counter({"diff-lent-elsewhere": n}) for name, n in LENT_ELSEWHERE[name].items()}
    assert {service: count for service, count in codes.items() if count} == lent
    assert not any(each.differs for each in found)


def test_a_lent_endpoint_is_named_with_both_zones() -> None:
    cluster = World(read((EXAMPLES / "flag-server-1-hints-on.yaml").read_bytes()))
    nodes = Nodes(cluster.objects.nodes)

    found = drift_from_scratch(cluster, nodes, ("platform", "feature-flags"))

    assert texts(found)[0] == (
        "feature-flags-7c9f-0 in feature-flags-g6gc9 is hinted to zone ap-northeast-2c, made anew "
        "it would be to zone ap-northeast-2a: each zone gets the same number, and which endpoint "
        "is lent does not matter"
    )


def test_a_dump_from_the_middle_of_a_rollout_names_each_pod_that_is_behind() -> None:
    shop = World(read((EXAMPLES / "shop.yaml").read_bytes()))
    behind = [
        msgspec.structs.replace(
            pod,
            status=msgspec.structs.replace(
                pod.status,
                conditions=tuple(
                    msgspec.structs.replace(each, status="True") for each in pod.status.conditions
                ),
            ),
        )
        if pod.metadata.name == "cache-preloader-3"
        else pod
        for pod in shop.objects.pods
        if pod.metadata.name != "orders-5"
    ]
    cluster = World(msgspec.structs.replace(shop.objects, pods=tuple(behind)))
    nodes = Nodes(cluster.objects.nodes)

    found = {key[1]: drift(cluster, nodes, key) for key in sorted(cluster.services)}

    assert {name: texts(each) for name, each in found.items() if each.differs} == {
        "cache-preloader": [
            "cache-preloader-3 in cache-preloader-bf8dq has changed: state not ready -> ready",
            "cache-preloader-3 in cache-preloader-bf8dq has hints none; it would get node worker-4 "
            "and zone zone-a",
        ],
        "orders": [
            "orders-5 (IPv4) is listed in orders-ckkz6 and should not be",
            "there is no pod orders-5 any more",
        ],
    }
    assert found["orders"].updated == ("orders-ckkz6",)
    assert [r.text for r in found["orders"].reasons if r.code.startswith("slice-")] == [
        "orders-ckkz6: 0 endpoints added, 1 removed, 0 changed"
    ]


# --- One endpoint -------------------------------------------------------------------------


def test_nothing_differs_between_a_service_and_the_slices_made_for_it() -> None:
    of, pods = service(), (pod("web-0"), pod("web-1", on="n1"))
    made = next_sync(world(of, pods), Nodes(PLACES), WEB).creates

    found = drifted(world(of, pods, made))

    assert not found.differs
    assert found.slices == made


def test_a_pod_that_is_not_listed_is_named() -> None:
    found = drifted(
        world(service(), (pod("web-0"), pod("web-1")), (slice_of("s", endpoint("web-0")),))
    )

    assert texts(found) == ["web-1 (IPv4) is not listed and should be"]
    assert (found.created, found.updated, found.deleted) == ((), ("s",), ())


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        ((), "there is no pod web-1 any more"),
        (
            (pod("web-1", phase="Failed"),),
            "pod web-1 is Failed: its address may belong to another pod already",
        ),
        (
            (pod("web-1", on="gone"),),
            "pod web-1 is left out: its node gone does not exist; tried again later",
        ),
        ((pod("web-1", ips=()),), "pod web-1 has no IPv4 address yet"),
        (
            (
                msgspec.structs.replace(
                    pod("web-1"),
                    metadata=msgspec.structs.replace(pod("web-1").metadata, labels={"app": "api"}),
                ),
            ),
            "pod web-1 is not selected by the service",
        ),
    ],
    ids=["gone", "failed", "on an unknown node", "without an address", "relabelled"],
)
def test_an_endpoint_that_should_not_be_listed_is_named_with_the_reason(
    pods: tuple[Pod, ...], why: str
) -> None:
    stored = slice_of("s", endpoint("web-0"), endpoint("web-1"))

    found = drifted(world(service(), (pod("web-0"), *pods), (stored,)))

    assert texts(found) == ["web-1 (IPv4) is listed in s and should not be", why]


def test_what_changed_in_an_endpoint_is_said_field_by_field() -> None:
    stored = slice_of("s", endpoint("web-0", zone="b", on="n9"))

    found = drifted(world(service(), (pod("web-0", terminating=True),), (stored,)))

    assert texts(found) == [
        "web-0 in s has changed: state ready -> terminating, node n9 -> n0, zone b -> a"
    ]


def test_an_endpoint_under_other_ports_is_told_once_and_not_as_two() -> None:
    stored = slice_of("s", endpoint("web-0"), ports=(EndpointPort("http", "TCP", 9090),))

    found = drifted(world(service(), (pod("web-0"),), (stored,)))

    assert texts(found) == [
        "web-0 lies in s under ports http 9090/TCP; it belongs under http 8080/TCP"
    ]


def test_an_endpoint_that_is_listed_twice_is_named_with_its_slices() -> None:
    stored = (slice_of("s1", endpoint("web-0")), slice_of("s2", endpoint("web-0")))

    found = drifted(world(service(), (pod("web-0"),), stored))

    assert texts(found) == ["web-0 (IPv4) is listed more than once: in s1 and s2"]
    assert found.deleted == ("s2",)


def test_hints_differ_when_a_zone_gets_another_number() -> None:
    before = slice_of("s", endpoint("web-0", hint="a"), endpoint("web-1", hint="a"))
    after = slice_of("t", endpoint("web-0", hint="b"), endpoint("web-1", hint="a"))

    assert [each.text for each in compare((before,), (after,))] == [
        "web-0 in s has hints zone a; it would get zone b"
    ]


def test_neither_names_nor_the_number_of_slices_nor_the_trigger_time_is_a_difference() -> None:
    noted = slice_of("s", endpoint("web-0"), endpoint("web-1"))
    annotations = {LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"}
    noted = msgspec.structs.replace(
        noted, metadata=msgspec.structs.replace(noted.metadata, annotations=annotations)
    )

    assert (
        compare((noted,), (slice_of("t", endpoint("web-1")), slice_of("u", endpoint("web-0"))))
        == ()
    )


def test_a_write_that_changes_nothing_is_no_update() -> None:
    """Hints by CPU share that are looked at again are written again, the same."""
    of = service(annotations={TOPOLOGY_MODE: "Auto"})
    pods = tuple(pod(f"web-{n}", on=f"n{n % 2}") for n in range(4))
    made = next_sync(world(of, pods), Nodes(PLACES), WEB).creates
    noted = tuple(
        msgspec.structs.replace(
            s,
            metadata=msgspec.structs.replace(
                s.metadata, annotations={LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"}
            ),
        )
        for s in made
    )

    assert not drifted(world(of, pods, noted)).differs


# --- Who writes ---------------------------------------------------------------------------


def test_mirrored_endpoints_are_compared_with_their_mirror() -> None:
    of = without_selector(service())
    made = next_sync(world(of, endpoints=(mirrored(),)), Nodes(PLACES), WEB).creates
    stale = (
        msgspec.structs.replace(
            made[0],
            endpoints=(
                *made[0].endpoints,
                msgspec.structs.replace(made[0].endpoints[0], addresses=("192.0.2.9",)),
            ),
        ),
    )

    assert not drifted(world(of, slices=made, endpoints=(mirrored(),))).differs
    assert texts(drifted(world(of, slices=stale, endpoints=(mirrored(),)))) == [
        f"192.0.2.9 (IPv4) is listed in {made[0].metadata.name} and should not be"
    ]


def test_a_mirror_goes_when_its_service_gets_a_selector() -> None:
    mirror = slice_of("m", endpoint("web-9"), labels={MANAGED_BY: MIRRORING_CONTROLLER})

    found = drifted(world(service(), (pod("web-0"),), (mirror,), endpoints=(mirrored(),)))

    assert found.deleted == ("m",)
    assert "the service has a selector" in " ".join(each.text for each in found.reasons)


@pytest.mark.parametrize(
    ("of", "by"),
    [
        (world(service()), "endpointslice-controller.k8s.io"),
        (
            world(without_selector(service()), endpoints=(mirrored(),)),
            "endpointslicemirroring-controller.k8s.io",
        ),
        (world(without_selector(service())), ""),
        (world(None), ""),
    ],
    ids=["selector", "endpoints", "neither", "no service"],
)
def test_the_writer_is_who_would_write_the_slices(of: World, by: str) -> None:
    assert writer(of, WEB) == by


def test_an_external_name_gets_no_slices_even_with_a_selector() -> None:
    of = service()
    of = msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, type="ExternalName"))

    found = drifted(world(of, (pod("web-0"),)))

    assert found.slices == ()


def test_nothing_is_compared_with_nothing_for_a_service_or_a_slice_that_is_being_deleted() -> None:
    stored = slice_of("s", endpoint("web-0"))
    going = msgspec.structs.replace(
        stored,
        metadata=msgspec.structs.replace(
            stored.metadata, deletion_timestamp="2026-01-01T00:00:00Z"
        ),
    )
    pods = (pod("web-0"),)

    service_goes = drift_from_scratch(
        world(service(deleted=True), pods, (stored,)), Nodes(PLACES), WEB
    )
    slice_goes = drift_from_scratch(world(service(), pods, (going,)), Nodes(PLACES), WEB)

    assert not service_goes.differs
    assert texts(slice_goes) == ["web-0 (IPv4) is not listed and should be"]


# --- What a snapshot cannot tell ----------------------------------------------------------


@pytest.mark.parametrize(
    ("lacking", "kind"),
    [
        (world(service(), (), (slice_of("s", endpoint("web-0")),)), "pods"),
        (world(service(), (pod("web-0"),), (slice_of("s", endpoint("web-0")),), ()), "nodes"),
        (
            world(
                without_selector(service()),
                slices=(
                    slice_of("s", endpoint("web-0"), labels={MANAGED_BY: MIRRORING_CONTROLLER}),
                ),
            ),
            "Endpoints",
        ),
    ],
)
def test_a_snapshot_without_what_slices_are_made_of_is_not_compared(
    lacking: World, kind: str
) -> None:
    nodes = Nodes(lacking.objects.nodes)

    for found in (drift(lacking, nodes, WEB), drift_from_scratch(lacking, nodes, WEB)):
        assert found.unjudged is not None
        assert found.unjudged.facts == {"kind": kind}
        assert (found.updated, found.deleted, found.differences) == ((), (), ())


def test_a_service_without_endpoints_needs_no_pods() -> None:
    assert unjudged(world(service(), (), (slice_of("s", ports=()),)), WEB) is None


# --- For all clusters ---------------------------------------------------------------------


@st.composite
def clusters(draw: st.DrawFn) -> World:
    """Draw a service with pods, and slices as they were for other pods."""
    asks = st.sampled_from([None, "PreferSameZone", "PreferSameNode"])
    annotations = st.sampled_from([{}, {TOPOLOGY_MODE: "Auto"}])
    of = service(distribution=draw(asks), annotations=draw(annotations))

    def some_pods() -> tuple[Pod, ...]:
        names = draw(st.lists(st.integers(0, 9), unique=True, max_size=8))
        return tuple(
            pod(f"web-{n}", on=draw(st.sampled_from(["n0", "n1"])), ready=draw(st.booleans()))
            for n in names
        )

    stored = next_sync(world(of, some_pods()), Nodes(PLACES), WEB).creates
    return world(of, some_pods(), stored)


@given(clusters())
def test_after_the_writes_nothing_differs_any_more(cluster: World) -> None:
    found = drifted(cluster)
    after = cluster.with_slices(found.slices)

    again = drifted(after)

    assert (again.created, again.updated, again.deleted, again.differences) == ((), (), (), ())
    assert bool(found.differences) <= found.differs


@given(clusters())
def test_the_order_of_objects_changes_nothing(cluster: World) -> None:
    turned = {
        kind: tuple(reversed(getattr(cluster.objects, kind)))
        for kind in ("pods", "slices", "nodes")
    }

    assert drifted(World(msgspec.structs.replace(cluster.objects, **turned))) == drifted(cluster)


@given(clusters())
def test_slices_written_from_nothing_differ_in_nothing_from_those_written_from_nothing(
    cluster: World,
) -> None:
    made = next_sync(cluster, Nodes(PLACES), WEB, ()).creates
    after = cluster.with_slices(apply((), next_sync(cluster, Nodes(PLACES), WEB, ())))

    assert drift_from_scratch(after, Nodes(PLACES), WEB).differences == ()
    assert drifted(after).slices == made
