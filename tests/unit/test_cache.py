"""Objects as last seen, the indexes over them, and what is kept of a pod."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nearwise.machinery.cache import Cache, Delta, Index
from nearwise.machinery.indexes import label_pairs, node_of, selected, service_of
from nearwise.machinery.selector_index import SelectorIndex
from nearwise.machinery.trim import PodTrimmer
from nearwise.model import EndpointSlice, ObjectMeta, ObjectReference, OwnerReference, Pod
from nearwise.model.core import (
    Condition,
    Container,
    ContainerPort,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
    Toleration,
)
from nearwise.model.selectors import matches
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.slices.endpoints import EndpointRule


def pod(name: str, node: str = "", namespace: str = "shop", **labels: str) -> Pod:
    return Pod(metadata=ObjectMeta(name, "", namespace, labels=labels), spec=PodSpec(node))


# --- objects ------------------------------------------------------------------------------


def test_putting_and_dropping_tell_what_was_there_before() -> None:
    cache = Cache[Pod]()
    first, second = pod("web", "n1"), pod("web", "n2")

    assert cache.put(first) == Delta(None, first)
    assert cache.put(second) == Delta(first, second)
    assert cache.drop(("shop", "web")) == Delta(second, None)


def test_objects_are_found_by_namespace_and_name_and_walked_over_in_that_order() -> None:
    cache = Cache[Pod]()
    for obj in (pod("b"), pod("a"), pod("c", namespace="bar")):
        cache.put(obj)

    assert cache.get(("shop", "a")) == pod("a")
    assert cache.get(("bar", "a")) is None
    assert ("bar", "c") in cache
    assert [obj.metadata.key for obj in cache] == [("bar", "c"), ("shop", "a"), ("shop", "b")]
    assert len(cache) == 3


def test_what_is_not_there_cannot_be_dropped() -> None:
    with pytest.raises(KeyError):
        Cache[Pod]().drop(("shop", "web"))


# --- indexes ------------------------------------------------------------------------------


def test_an_object_is_found_by_its_values_of_now() -> None:
    by_node = Index(node_of)
    cache = Cache(by_node)
    cache.put(pod("a", "n1"))
    cache.put(pod("b", "n1"))
    cache.put(pod("pending"))
    assert cache.select(by_node, "n1") == [pod("a", "n1"), pod("b", "n1")]

    cache.put(pod("a", "n2"))
    cache.drop(("shop", "b"))

    assert cache.select(by_node, "n1") == []
    assert cache.select(by_node, "n2") == [pod("a", "n2")]
    assert by_node.count("n2") == 1
    assert len(by_node) == 1, "a value that no object has takes no room"


def test_a_value_of_one_object_takes_no_more_room_than_its_key() -> None:
    by_node = Index(node_of)
    cache = Cache(by_node)
    cache.put(pod("a", "n1"))

    assert by_node._keys == {"n1": ("shop", "a")}


def test_slices_are_found_by_the_service_they_name() -> None:
    by_service = Index(service_of)
    cache = Cache(by_service)
    named = EndpointSlice(metadata=ObjectMeta("web-1", "", "shop", labels={SERVICE_NAME: "web"}))
    cache.put(named)
    cache.put(EndpointSlice(metadata=ObjectMeta("stray", "", "shop")))

    assert cache.select(by_service, ("shop", "web")) == [named]


def test_the_pods_of_a_service_are_those_of_its_namespace_with_all_its_labels() -> None:
    by_label = Index(label_pairs)
    cache = Cache(by_label)
    for obj in (
        pod("a", app="web", tier="front"),
        pod("b", app="web", tier="back"),
        pod("c", app="db", tier="front"),
        pod("d", namespace="bar", app="web", tier="front"),
    ):
        cache.put(obj)

    found = selected(cache, by_label, "shop", {"app": "web", "tier": "front"})

    assert [obj.metadata.name for obj in found] == ["a"]
    assert selected(cache, by_label, "shop", {}) == []
    assert selected(cache, by_label, "shop", {"app": "mail"}) == []


class Counting(dict[str, str]):
    """A selector or labels that count how often they are compared."""

    asked = 0

    def items(self):  # type: ignore[no-untyped-def]
        Counting.asked += 1
        return super().items()


def test_finding_the_pods_of_a_service_looks_only_at_those_with_its_rarest_label() -> None:
    by_label = Index(label_pairs)
    cache = Cache(by_label)
    for i in range(500):
        labels = Counting(tier="front", app=f"app-{i % 100}")
        cache.put(Pod(metadata=ObjectMeta(f"p-{i}", "", "shop", labels=labels)))
    Counting.asked = 0

    assert len(selected(cache, by_label, "shop", {"tier": "front", "app": "app-7"})) == 5
    assert Counting.asked <= 5


# --- selectors ----------------------------------------------------------------------------


def test_the_services_of_a_pod_are_those_whose_selectors_pick_it() -> None:
    index = SelectorIndex()
    index.put(("shop", "all"), {"app": "web"})
    index.put(("shop", "front"), {"app": "web", "tier": "front"})
    index.put(("bar", "all"), {"app": "web"})
    index.put(("shop", "none"), {})

    assert index.matching("shop", {"app": "web", "tier": "front", "x": "y"}) == [
        ("shop", "all"),
        ("shop", "front"),
    ]
    assert index.matching("shop", {"app": "web"}) == [("shop", "all")]
    assert index.matching("shop", {}) == []


def test_a_selector_that_changed_or_went_picks_as_it_is_now() -> None:
    index = SelectorIndex()
    index.put(("shop", "web"), {"app": "web"})
    index.put(("shop", "web"), {"app": "db"})
    assert index.matching("shop", {"app": "web"}) == []
    assert index.matching("shop", {"app": "db"}) == [("shop", "web")]

    index.put(("shop", "web"), {})
    index.drop(("shop", "web"))
    assert index.matching("shop", {"app": "db"}) == []


def test_ten_thousand_services_with_a_label_in_common_are_not_all_looked_at() -> None:
    index = SelectorIndex()
    for i in range(10_000):
        index.put(("shop", f"web-{i}"), Counting({"a-tier": "front", "name": f"web-{i}"}))
    Counting.asked = 0

    assert index.matching("shop", {"a-tier": "front", "name": "web-7"}) == [("shop", "web-7")]
    assert Counting.asked <= 2


PAIRS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
NAMES = st.sampled_from(["n1", "n2", "n3", "n4"])
SPACES = st.sampled_from(["shop", "bar"])


class Indexes(RuleBasedStateMachine):
    """An index is never but a faster scan."""

    def __init__(self) -> None:
        super().__init__()
        self.by_node = Index(node_of)
        self.by_label = Index[Pod](label_pairs)
        self.cache = Cache(self.by_node, self.by_label)
        self.pods: dict[tuple[str, str], Pod] = {}
        self.selectors: dict[tuple[str, str], dict[str, str]] = {}
        self.selector_index = SelectorIndex()

    @rule(space=SPACES, name=NAMES, node=NAMES, labels=PAIRS)
    def put(self, space: str, name: str, node: str, labels: dict[str, str]) -> None:
        obj = pod(name, node, space, **labels)
        assert self.cache.put(obj).old == self.pods.get(obj.metadata.key)
        self.pods[obj.metadata.key] = obj

    @rule(space=SPACES, name=NAMES)
    def drop(self, space: str, name: str) -> None:
        if self.pods.pop((space, name), None):
            self.cache.drop((space, name))

    @rule(space=SPACES, name=NAMES, selector=PAIRS)
    def select(self, space: str, name: str, selector: dict[str, str]) -> None:
        self.selector_index.put((space, name), selector)
        self.selectors[space, name] = selector

    @rule(space=SPACES, name=NAMES)
    def unselect(self, space: str, name: str) -> None:
        self.selector_index.drop((space, name))
        self.selectors.pop((space, name), None)

    @rule(space=SPACES, labels=PAIRS)
    def ask(self, space: str, labels: dict[str, str]) -> None:
        assert self.selector_index.matching(space, labels) == sorted(
            key
            for key, selector in self.selectors.items()
            if key[0] == space and matches(selector, labels)
        )
        assert selected(self.cache, self.by_label, space, labels) == [
            obj
            for key, obj in sorted(self.pods.items())
            if key[0] == space and matches(labels, obj.metadata.labels)
        ]

    @invariant()
    def the_index_is_the_scan(self) -> None:
        for node in ("n1", "n2", "n3", "n4"):
            found = [p for _, p in sorted(self.pods.items()) if p.spec.node_name == node]
            assert self.cache.select(self.by_node, node) == found
            assert self.by_node.count(node) == len(found)
        assert len(self.by_node) == len({p.spec.node_name for p in self.pods.values()})
        assert list(self.cache) == [p for _, p in sorted(self.pods.items())]


TestIndexes = Indexes.TestCase


# --- what is kept of a pod ----------------------------------------------------------------


def whole_pod(name: str = "web-1", **changes: str) -> Pod:
    """Make a pod much as the API server sends it."""
    return Pod(
        "v1",
        "Pod",
        ObjectMeta(
            name=name,
            namespace="shop",
            uid=f"uid-{name}",
            resource_version="7",
            creation_timestamp="2026-01-01T00:00:00Z",
            deletion_timestamp=changes.get("deleted"),
            labels={"app": "web"},
            annotations={"checksum/config": "f" * 64},
            owner_references=(OwnerReference("apps/v1", "ReplicaSet", "web", "uid-rs", True),),
        ),
        PodSpec(
            node_name="n1",
            hostname="web-1",
            subdomain=changes.get("subdomain", "web"),
            containers=(
                Container(
                    "app", (ContainerPort("http", 8080, "TCP"), ContainerPort("", 8081, "TCP"))
                ),
                Container("no-ports"),
            ),
            init_containers=(
                Container("once", (ContainerPort("setup", 1, "TCP"),)),
                Container("sidecar", (ContainerPort("metrics", 9090, "TCP"),), "Always"),
            ),
            tolerations=(Toleration("spot", "Exists"),),
        ),
        PodStatus(
            phase=changes.get("phase", "Running"),
            pod_ip="10.0.0.1",
            pod_ips=(PodIP("10.0.0.1"), PodIP("fd00::1")),
            conditions=(
                Condition("Initialized", "True"),
                Condition("Ready", changes.get("ready", "True"), 0, "2026-01-01T00:00:09Z", "x"),
            ),
        ),
    )


def test_of_a_pod_is_kept_what_decides_about_its_endpoint() -> None:
    kept = PodTrimmer()(whole_pod())

    assert kept == Pod(
        metadata=ObjectMeta(
            name="web-1",
            namespace="shop",
            uid="uid-web-1",
            resource_version="7",
            labels={"app": "web"},
        ),
        spec=PodSpec(
            node_name="n1",
            hostname="web-1",
            subdomain="web",
            containers=(Container("", (ContainerPort("http", 8080, "TCP"),)),),
            init_containers=(Container("", (ContainerPort("metrics", 9090, "TCP"),), "Always"),),
        ),
        status=PodStatus(
            phase="Running",
            pod_ip="10.0.0.1",
            pod_ips=(PodIP("10.0.0.1"), PodIP("fd00::1")),
            conditions=(Condition("Ready", "True", 0, "2026-01-01T00:00:09Z"),),
        ),
    )


SERVICE = Service(
    metadata=ObjectMeta("web", "", "shop"),
    spec=ServiceSpec(
        ports=(
            ServicePort("http", "TCP", None, 80, "http"),
            ServicePort("metrics", "TCP", None, 81, "metrics"),
            ServicePort("setup", "TCP", None, 82, "setup"),
            ServicePort("plain", "TCP", None, 83, 8081),
        ),
        ip_families=("IPv4", "IPv6"),
    ),
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "phase": st.sampled_from(["Running", "Succeeded", "Pending"]),
            "ready": st.sampled_from(["True", "False"]),
            "subdomain": st.sampled_from(["web", "", "other"]),
            "deleted": st.just("2026-01-01T00:00:00Z"),
        },
    )
)
def test_a_trimmed_pod_makes_the_same_endpoint(changes: dict[str, str]) -> None:
    rule = EndpointRule(SERVICE, {"n1": "zone-a"}, "PreferSameZone")
    whole = whole_pod(**changes)

    placed = rule.place(PodTrimmer()(whole))

    assert placed == rule.place(whole)
    if placed.endpoints and placed.endpoints[0]:
        assert placed.endpoints[0].target_ref == ObjectReference(
            "Pod", "shop", "web-1", "uid-web-1"
        )


def test_pods_without_addresses_or_conditions_are_trimmed_too() -> None:
    kept = PodTrimmer()(Pod(metadata=ObjectMeta("web", "", "shop")))

    assert kept == Pod(metadata=ObjectMeta("web", "", "shop"))
    only_list = PodTrimmer()(Pod(status=PodStatus(pod_ips=(PodIP("10.0.0.1"),))))
    assert only_list.status.pod_ip == "10.0.0.1"


def test_trimming_what_is_trimmed_changes_nothing() -> None:
    trim = PodTrimmer()

    assert trim(trim(whole_pod())) == trim(whole_pod())


def test_pods_of_one_workload_share_their_labels_and_ports() -> None:
    trim = PodTrimmer()
    first, second = trim(whole_pod("web-1")), trim(whole_pod("web-2"))

    assert first.metadata.labels is second.metadata.labels
    assert first.spec.containers is second.spec.containers
    assert first.status.conditions is second.status.conditions


def test_what_is_remembered_for_sharing_is_bounded_and_stays_right_beyond() -> None:
    trim = PodTrimmer()
    for i in range(6_000):
        kept = trim(pod(f"p-{i}", f"n-{i}", number=str(i)))
        assert kept.metadata.labels == {"number": str(i)}
        assert kept.spec.node_name == f"n-{i}"

    assert len(trim._shared) <= 10_000
