"""What a proxy keeps of objects: enough to choose and compile the same, and little of it twice."""

from __future__ import annotations

import gc
import tracemalloc
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from nearwise.model import (
    EndpointPort,
    EndpointSlice,
    Node,
    ObjectMeta,
    ObjectReference,
    Service,
)
from nearwise.model.codec import decode, encode
from nearwise.model.core import Condition, NodeAddress, NodeStatus
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, SERVICE_NAME, ZONE
from nearwise.nft.compile import Routes, compiled
from nearwise.proxy.routes import routes_of
from nearwise.proxy.trimming import Trimmer
from nearwise.routing import Client, merge
from proxied_services import V4, random_service
from proxy_world import endpoint, node, service, slice_of


def big_slice(of: str, number: int) -> EndpointSlice:
    """Make a slice as the API server sends it: ten pods with all that is told of them."""
    endpoints = tuple(
        replace(
            endpoint(each, "abc"[each % 3], f"node-{each % 50}"),
            addresses=(f"10.{number // 250}.{number % 250}.{each}",),
            hostname=f"{of}-{each}",
            target_ref=ObjectReference("Pod", "shop", f"{of}-{each}-{'x' * 16}", "u" * 36),
        )
        for each in range(10)
    )
    made = slice_of(*endpoints, of=of, name=f"{of}-abcde", trigger="2026-01-01T00:00:00Z")
    annotations = {**made.metadata.annotations, "other": "x" * 200}
    labels = {**made.metadata.labels, "app": of, "team": "orders"}
    meta = replace(made.metadata, annotations=annotations, labels=labels, uid=f"{number:036}")
    return decode(encode(replace(made, metadata=meta)), EndpointSlice)


@given(st.integers(0, 1000))
def test_trimmed_objects_compile_to_the_same_table(seed: int) -> None:
    random, trimmer = Random(seed), Trimmer()
    whole, trimmed = {}, {}
    for number in range(1, 6):
        drawn = random_service(random, V4, number)
        key = drawn.service.metadata.key
        pool = next(iter(drawn.selections.values())).pool
        slices = [
            EndpointSlice(
                metadata=ObjectMeta(name="s", namespace=key[0], labels={SERVICE_NAME: key[1]}),
                address_type="IPv4",
                endpoints=tuple(dict.fromkeys(each.source for each in pool)),
                ports=slice_of(port=_port(drawn.service)).ports,
            )
        ]
        here = Client("n1", "a")
        whole[key] = routes_of(merge(drawn.service, slices, "IPv4"), here)
        less = trimmer.service(drawn.service)
        trimmed[key] = routes_of(merge(less, map(trimmer.slice, slices), "IPv4"), here)
    assert compiled(V4.settings, trimmed) == compiled(V4.settings, whole)


def _port(of: Service) -> EndpointPort:
    first = of.spec.ports[0]
    return EndpointPort(first.name, first.protocol, 8080)


def test_of_a_slice_the_label_the_trigger_and_the_first_addresses_stay() -> None:
    kept = Trimmer().slice(big_slice("web", 1))
    assert kept.metadata.labels == {SERVICE_NAME: "web"}
    assert kept.metadata.annotations == {LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"}
    first = kept.endpoints[0]
    assert (first.target_ref, first.hostname) == (None, None)
    assert (first.addresses, first.node_name, first.zone) == (("10.0.1.0",), "node-0", "a")
    assert first.hints is not None


def test_of_a_service_what_selects_pods_goes_and_what_leads_to_it_stays() -> None:
    made = replace(
        service(),
        metadata=ObjectMeta(
            name="web",
            namespace="shop",
            uid="u",
            resource_version="7",
            creation_timestamp="2026-01-01T00:00:00Z",
            annotations={"note": "x" * 1000},
            labels={"app": "web"},
        ),
    )
    kept = Trimmer().service(replace(made, spec=replace(made.spec, selector={"app": "web"})))
    assert kept.spec == replace(made.spec, selector={})
    assert kept.metadata == replace(made.metadata, uid="", annotations={}, labels={})


def test_of_a_node_its_zone_its_addresses_and_its_end_stay() -> None:
    made = node("a", deletion_timestamp="2026-01-01T00:00:00Z")
    full = replace(
        made,
        metadata=replace(made.metadata, labels={**made.metadata.labels, "arch": "x"}),
        status=NodeStatus(
            allocatable={"cpu": "4"},
            conditions=(Condition("Ready", "True"),),
            addresses=(NodeAddress("InternalIP", "192.0.2.1"),),
        ),
    )
    kept = Trimmer().node(full)
    assert kept.metadata.labels == {ZONE: "a"}
    assert kept.status == NodeStatus(addresses=full.status.addresses)
    assert kept.metadata.deletion_timestamp == "2026-01-01T00:00:00Z"
    assert Trimmer().node(Node()).metadata.labels == {}


def test_what_endpoints_have_alike_is_one_object() -> None:
    trimmer = Trimmer()
    one, other = (trimmer.slice(big_slice(name, 1)) for name in ("web", "db"))
    for part in ("conditions", "node_name", "zone", "hints"):
        assert getattr(one.endpoints[3], part) is getattr(other.endpoints[3], part)
    assert one.ports is other.ports


def test_an_endpoint_costs_little_memory() -> None:
    """The agent is to hold 10,000 services of 10 endpoints within 150 MB, all in all."""
    tracemalloc.start()
    try:
        trimmer = Trimmer()
        kept = [trimmer.slice(big_slice(f"s{number}", number)) for number in range(1000)]
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / sum(len(each.endpoints) for each in kept) < 400  # bytes


def test_routes_of_a_trimmed_service_are_those_of_the_service() -> None:
    view = merge(Trimmer().service(service()), [Trimmer().slice(slice_of(endpoint(1)))], "IPv4")
    routes = routes_of(view, Client("n1", "a"))
    assert isinstance(routes, Routes)
    assert [each.address for each in routes.selections["http", "TCP"].all] == ["10.0.0.1"]
