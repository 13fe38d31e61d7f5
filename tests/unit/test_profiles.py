"""How data planes read the same hints: one service, many answers."""

from __future__ import annotations

import pytest

from nearwise.model import Endpoint, Node
from nearwise.model.core import NodeStatus, NodeSystemInfo
from nearwise.routing import KUBE_PROXY, PROFILES, Mode, profile_for
from route_builders import choose, codes, endpoint, numbers, service, texts

AUTO = {"service.kubernetes.io/topology-mode": "Auto"}
OLDER_AUTO = {"service.kubernetes.io/topology-aware-hints": "Auto"}
OFF = {"service.kubernetes.io/topology-mode": "Disabled"}
HIDDEN = {"service.kubernetes.io/topology-aware-hints": "disabled", **AUTO}
OWN_VALUE = {"service.kubernetes.io/topology-mode": "example.com/lowest-rtt"}
MESH = {"networking.istio.io/traffic-distribution": "PreferSameNode"}

# A pod on the client's node, another in its zone, one lent to it from zone b, one elsewhere.
NEAR = [
    endpoint(1, "n1", "a", zones=("a",), nodes=("n1",)),
    endpoint(2, "n2", "a", zones=("b",), nodes=("n2",)),
    endpoint(3, "n3", "b", zones=("a",), nodes=("n3",)),
    endpoint(4, "n4", "b", zones=("b",), nodes=("n4",)),
]
ZONES_ONLY = [
    endpoint(1, "n1", "a", zones=("a",)),
    endpoint(2, "n2", "a", zones=("b",)),
    endpoint(3, "n3", "b", zones=("a",)),
]
SAME_NODE, HINTED, ALL = [1], [1, 3], [1, 2, 3, 4]
OWN_ZONE = [1, 2]


@pytest.mark.parametrize(
    ("profile", "annotations", "distribution", "chosen"),
    [
        ("kube-proxy", {}, None, SAME_NODE),
        ("kube-proxy", OFF, None, SAME_NODE),
        ("kube-proxy-1.33", {}, None, HINTED),
        ("kube-proxy-1.33", {}, "PreferSameNode", HINTED),
        ("kube-proxy-1.30", {}, "PreferClose", ALL),
        ("kube-proxy-1.30", AUTO, None, HINTED),
        ("kube-proxy-1.30", OWN_VALUE, None, HINTED),
        ("kube-proxy-1.30", OLDER_AUTO, None, HINTED),
        ("kube-proxy-1.30", OFF, None, ALL),
        ("kube-proxy-1.30", HIDDEN, None, ALL),
        ("kube-proxy-1.26", OLDER_AUTO, None, HINTED),
        ("kube-proxy-1.26", AUTO, None, ALL),
        ("no-hints", AUTO, "PreferSameNode", ALL),
        ("cilium", {}, "PreferSameNode", HINTED),
        ("linkerd", {}, "PreferSameZone", HINTED),
        ("istio", {}, None, ALL),
        ("istio", AUTO, None, ALL),
        ("istio", {}, "PreferSameZone", OWN_ZONE),
        ("istio", {}, "PreferClose", OWN_ZONE),
        ("istio", {}, "PreferSameNode", SAME_NODE),
        ("istio", MESH, None, SAME_NODE),
        ("istio", MESH, "PreferSameZone", OWN_ZONE),
        ("envoy-gateway", {}, None, ALL),
        ("envoy-gateway", {}, "PreferSameZone", OWN_ZONE),
        ("envoy-gateway", {}, "PreferSameNode", OWN_ZONE),
    ],
)
def test_one_service_seen_by_many_data_planes(
    profile: str, annotations: dict[str, str], distribution: str | None, chosen: list[int]
) -> None:
    of = service(annotations=annotations, distribution=distribution)

    assert numbers(choose(of, NEAR, "n1", "a", PROFILES[profile]).cluster) == chosen


@pytest.mark.parametrize("profile", [*PROFILES])
@pytest.mark.parametrize("distribution", [None, "PreferSameZone", "PreferSameNode"])
def test_every_data_plane_falls_back_to_all(profile: str, distribution: str | None) -> None:
    of = service(annotations=OLDER_AUTO, distribution=distribution)
    far = choose(of, NEAR, "n9", "c", PROFILES[profile])
    nowhere = choose(of, NEAR, "n9", None, PROFILES[profile])

    assert (far.mode, numbers(far.cluster)) == (Mode.CLUSTER, ALL)
    assert (nowhere.mode, numbers(nowhere.cluster)) == (Mode.CLUSTER, ALL)


@pytest.mark.parametrize(
    ("profile", "distribution", "endpoints", "reasons"),
    [
        (
            "kube-proxy-1.33",
            "PreferSameNode",
            NEAR,
            [
                "kube-proxy-1.33 does not follow the node hints of this service",
                "zone hints: 4 of 4 ready endpoints have one, 2 of them for a",
            ],
        ),
        (
            "kube-proxy-1.30",
            "PreferClose",
            ZONES_ONLY,
            [
                "kube-proxy-1.30 does not follow the zone hints of this service",
                "all 3 ready endpoints are used",
            ],
        ),
        (
            "istio",
            "PreferSameZone",
            ZONES_ONLY,
            [
                "istio does not follow the zone hints of this service",
                "2 of 3 ready endpoints run in a",
            ],
        ),
        (
            "istio",
            "PreferSameNode",
            [endpoint(2, "n2", "a")],
            ["0 of 1 ready endpoints run on n1", "the only ready endpoint is used"],
        ),
        ("istio", None, [endpoint(1)], ["no ready endpoint has a hint: the only one is used"]),
    ],
)
def test_a_data_plane_says_what_it_does_not_follow(
    profile: str, distribution: str | None, endpoints: list[Endpoint], reasons: list[str]
) -> None:
    of = service(distribution=distribution)

    assert texts(choose(of, endpoints, "n1", "a", PROFILES[profile]).reasons) == reasons


def test_a_mesh_needs_the_label_of_the_zone() -> None:
    of = service(distribution="PreferSameZone")
    selection = choose(of, [endpoint(1)], "n1", None, PROFILES["istio"])

    assert codes(selection.reasons) == ["route-node-without-zone", "route-all"]


def node_of(kubelet: str, kube_proxy: str = "") -> Node:
    return Node(status=NodeStatus(node_info=NodeSystemInfo(kubelet, kube_proxy)))


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("v1.36.2", "kube-proxy"),
        ("v1.34.0", "kube-proxy"),
        ("v1.33.4-gke.1172000", "kube-proxy-1.33"),
        ("v1.31.0+k3s1", "kube-proxy-1.33"),
        ("v1.30.9-eks-8cce635", "kube-proxy-1.30"),
        ("1.27", "kube-proxy-1.30"),
        ("v1.26.15", "kube-proxy-1.26"),
        ("v1.24.0", "kube-proxy-1.26"),
        ("v1.23.17", "no-hints"),
        ("v2.0.0", "kube-proxy"),
        ("", "kube-proxy"),
        ("unknown", "kube-proxy"),
    ],
)
def test_the_version_of_a_node_says_how_it_reads_hints(version: str, name: str) -> None:
    assert profile_for(node_of(version)).name == name
    assert profile_for(node_of("", version)).name == name


def test_the_kubelets_version_counts_before_what_it_says_of_kube_proxy() -> None:
    assert profile_for(node_of("v1.36.0", "v1.30.0")) is KUBE_PROXY


@pytest.mark.parametrize("name", [*PROFILES])
def test_every_profile_says_what_it_does_and_where_that_is_written(name: str) -> None:
    profile = PROFILES[name]

    assert profile.name == name
    assert profile.rule in profile.describe
    assert profile.source in profile.describe
    assert ("Not known" in profile.describe) is bool(profile.unknown)
