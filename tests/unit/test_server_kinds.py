"""What a new object of each kind has that its author left out."""

from __future__ import annotations

from typing import Any

import pytest

from nearwise.model.validation.bodies import BadBody
from nearwise.server.kinds import completed, kind_of
from nearwise.server.kinds.types import misfit
from nearwise.server.openapi.definitions import definition_of
from nearwise.server.resources import NODES, PODS, RESOURCES, Resource
from served import DEFAULT, DEPLOYMENTS, Server, deployment, play, pod

POD_PATH = f"{DEFAULT}/pods"


def container(**given: Any) -> dict[str, Any]:
    """Return a container of a pod as it is completed."""
    spec = {"containers": [{"name": "c", "image": "web:1", **given}]}
    found: dict[str, Any] = completed({"metadata": {"name": "a"}, "spec": spec}, PODS)["spec"][
        "containers"
    ][0]
    return found


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.full_name)
def test_every_kind_that_is_served_has_its_rules_and_its_types(resource: Resource) -> None:
    assert kind_of(resource)
    assert definition_of(resource.api_version, resource.kind)


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("web", "Always"),
        ("web:latest", "Always"),
        ("web:1", "IfNotPresent"),
        ("registry:5000/web", "Always"),
        ("registry:5000/web:1", "IfNotPresent"),
        ("web@sha256:0123", "IfNotPresent"),
    ],
)
def test_when_an_image_is_pulled(image: str, policy: str) -> None:
    assert container(image=image)["imagePullPolicy"] == policy
    assert container(image=image, imagePullPolicy="Never")["imagePullPolicy"] == "Never"


def test_containers() -> None:
    found = container(
        ports=[{"containerPort": 80}],
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        readinessProbe={"httpGet": {"port": 80}},
        livenessProbe={"grpc": {"port": 80}, "periodSeconds": 3},
        lifecycle={"preStop": {"httpGet": {"port": 80}}},
        resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
    )

    assert found["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert found["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert found["readinessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "failureThreshold": 3,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    assert found["livenessProbe"]["grpc"] == {"port": 80, "service": ""}
    assert found["livenessProbe"]["periodSeconds"] == 3
    assert found["lifecycle"]["preStop"]["httpGet"]["scheme"] == "HTTP"
    assert found["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_pods_in_the_network_of_their_node_have_its_ports() -> None:
    spec = {
        "hostNetwork": True,
        "containers": [
            {"name": "c", "image": "x", "ports": [{"containerPort": 80}, {"name": "b"}]}
        ],
    }

    found = completed({"metadata": {"name": "a"}, "spec": spec}, PODS)

    ports = found["spec"]["containers"][0]["ports"]
    assert ports == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
        {"name": "b", "protocol": "TCP"},
    ]


def test_volumes() -> None:
    volumes = [
        {"name": "none"},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "host", "hostPath": {"path": "/x"}},
        {"name": "down", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "b"}}]}},
    ]
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": volumes}

    found = completed({"metadata": {"name": "a"}, "spec": spec}, PODS)["spec"]["volumes"]

    assert found[0]["emptyDir"] == {}
    assert found[1]["secret"] == {"secretName": "s", "defaultMode": 420}
    assert found[2]["hostPath"] == {"path": "/x", "type": ""}
    assert found[3]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        (
            [{"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "1"}}],
            "Guaranteed",
        ),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_how_a_pod_is_treated_when_its_node_runs_short(
    resources: list[dict[str, Any]], quality: str
) -> None:
    async def scenario(server: Server) -> None:
        containers = [
            {"name": f"c{place}", "image": "x", "resources": one}
            for place, one in enumerate(resources)
        ]

        created = await server.create(POD_PATH, pod(containers=containers))

        assert created["status"]["qosClass"] == quality

    play(scenario)


def test_a_pod_tolerates_what_its_author_says_and_a_while_without_its_node() -> None:
    async def scenario(server: Server) -> None:
        own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}

        created = await server.create(POD_PATH, pod(tolerations=[own]))
        everything = await server.create(POD_PATH, pod("b", tolerations=[{"operator": "Exists"}]))

        keys = [one.get("key") for one in created["spec"]["tolerations"]]
        assert keys == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        assert created["spec"]["tolerations"][0] == own
        assert everything["spec"]["tolerations"] == [{"operator": "Exists"}]

    play(scenario)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({}, "spec.containers"),
        ({"containers": [{"image": "x"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "c"}]}, "spec.containers[0].image"),
    ],
)
def test_a_pod_without_what_it_runs(spec: dict[str, Any], field: str) -> None:
    async def scenario(server: Server) -> None:
        body = {"metadata": {"name": "a"}, "spec": spec}

        status = await server.create(POD_PATH, body, 422)

        assert status["message"] == f'Pod "a" is invalid: {field}: Required value'

    play(scenario)


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        (
            "deployments",
            {
                "progressDeadlineSeconds": 600,
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
            },
        ),
        ("replicasets", {"replicas": 1}),
        (
            "statefulsets",
            {
                "podManagementPolicy": "OrderedReady",
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "serviceName": "",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
        ),
        (
            "daemonsets",
            {
                "revisionHistoryLimit": 10,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
                },
            },
        ),
    ],
)
def test_workloads(plural: str, expected: dict[str, Any]) -> None:
    async def scenario(server: Server) -> None:
        path = DEPLOYMENTS.replace("deployments", plural)
        given = deployment()
        given["status"] = {"replicas": 7}

        created = await server.create(path, given)

        spec = created["spec"]
        assert expected.items() <= spec.items()
        assert spec["template"]["spec"]["restartPolicy"] == "Always"
        assert spec["template"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
        assert created["metadata"]["generation"] == 1
        assert created.get("status", {}).get("replicas", 0) == 0

    play(scenario)


def test_a_deployment_that_recreates_its_pods_rolls_nothing() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(DEPLOYMENTS, deployment(strategy={"type": "Recreate"}))

        assert created["spec"]["strategy"] == {"type": "Recreate"}

    play(scenario)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"selector": None}, "spec.selector: Required value"),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not '
            "match template `labels`",
        ),
        ({"template": {}}, "spec.template.spec.containers: Required value"),
    ],
)
def test_a_workload_selects_the_pods_that_it_makes(spec: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.create(DEPLOYMENTS, deployment(**spec), 422)

        assert message in status["message"]

    play(scenario)


def test_namespaces() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(
            "/api/v1/namespaces", {"metadata": {"generateName": "shop-"}, "status": {"phase": "X"}}
        )

        name = created["metadata"]["name"]
        assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
        assert created["spec"] == {"finalizers": ["kubernetes"]}
        assert created["status"] == {"phase": "Active"}

    play(scenario)


def test_a_node_that_is_tainted_already_is_not_tainted_again() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}

    async def scenario(server: Server) -> None:
        body = {"metadata": {"name": "n1"}, "spec": {"taints": [taint]}}

        created = await server.create("/api/v1/nodes", body)

        assert created["spec"]["taints"] == [taint]

    play(scenario)


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        ({}, "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"),
        ({"addresses": [{"ip": "none"}]}, "subsets[0].addresses[0].ip: Invalid value"),
        ({"notReadyAddresses": [{"ip": "127.0.0.1"}]}, "loopback"),
        ({"addresses": [{"ip": "10.1.1.1", "hostname": "A"}]}, ".hostname: Invalid value"),
        ({"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 0}]}, "must be between 1 and"),
        (
            {"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 1}, {"port": 2}]},
            "subsets[0].ports[0].name: Required value",
        ),
        (
            {"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 1, "protocol": "ICMP"}]},
            "Unsupported value",
        ),
    ],
)
def test_endpoints_that_are_wrong(subset: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        body = {"metadata": {"name": "e"}, "subsets": [subset]}

        status = await server.create(f"{DEFAULT}/endpoints", body, 422)

        assert message in status["message"]

    play(scenario)


def test_a_config_map_may_be_made_immutable() -> None:
    async def scenario(server: Server) -> None:
        path = f"{DEFAULT}/configmaps"
        body = {"metadata": {"name": "c"}, "data": {"a": "b"}, "immutable": True}
        await server.create(path, body)

        changed = await server.patch(f"{path}/c", {"data": {"a": "c"}}, 422)
        labelled = await server.patch(f"{path}/c", {"metadata": {"labels": {"a": "c"}}})

        assert "field is immutable when `immutable` is set" in changed["message"]
        assert labelled["data"] == {"a": "b"}

    play(scenario)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"leaseDurationSeconds": 0}, "must be greater than 0"),
        ({"leaseTransitions": -1}, "must be greater than or equal to 0"),
    ],
)
def test_leases_that_are_wrong(spec: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

        status = await server.create(path, {"metadata": {"name": "l"}, "spec": spec}, 422)

        assert message in status["message"]

    play(scenario)


# --- What is empty, and what is of the wrong type -----------------------------------------


def test_what_is_null_or_empty_is_not_there() -> None:
    found = completed(
        {
            "metadata": {"name": "n", "creationTimestamp": None, "labels": {}, "finalizers": []},
            "spec": {"taints": [], "podCIDRs": None},
            "status": {"capacity": {}, "addresses": None, "nodeInfo": None},
        },
        NODES,
    )

    assert found["metadata"] == {"name": "n"}
    assert found["spec"] == {}
    assert found["status"].keys() == {"daemonEndpoints", "nodeInfo"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"spec": 5}, "json: cannot unmarshal number into Go struct field Node.spec of type v1."),
        (
            {"spec": {"taints": {}}},
            "object into Go struct field NodeSpec.spec.taints of type []v1.",
        ),
        (
            {"spec": {"taints": ["x"]}},
            "string into Go struct field NodeSpec.spec.taints of type v1.",
        ),
        ({"spec": {"unschedulable": "yes"}}, "string into Go struct field NodeSpec.spec.unschedu"),
        ({"status": {"capacity": []}}, "array into Go struct field NodeStatus.status.capacity of"),
        ({"status": {"capacity": {"cpu": True}}}, "quantities must match the regular expression"),
        (
            {"status": {"conditions": [{"lastHeartbeatTime": 5}]}},
            "number into Go value of type str",
        ),
        (
            {"status": {"conditions": [{"lastHeartbeatTime": "2026-01-01T00:00:00"}]}},
            'parsing time "2026-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00"',
        ),
        (
            {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 2**31}}}},
            f"number {2**31} into Go struct field DaemonEndpoint.status.daemonEndpoints."
            "kubeletEndpoint.Port of type int32",
        ),
    ],
)
def test_values_of_the_wrong_type(content: dict[str, Any], complaint: str) -> None:
    assert complaint in misfit(content, "v1", "Node")
    with pytest.raises(BadBody, match='Node in version "v1" cannot be handled as a Node: '):
        completed({"metadata": {"name": "n"}, **content}, NODES)


def test_values_of_the_right_type() -> None:
    content = {
        "spec": {"taints": [{"key": "a", "timeAdded": "2026-01-01T00:00:00+01:00"}, None]},
        "status": {"capacity": {"cpu": "250m", "memory": 1024, "pods": "1e3", "x": None}},
        "unknown": {"to": ["us"]},
    }

    assert misfit(content, "v1", "Node") == ""
