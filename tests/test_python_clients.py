"""The official Python client and a kopf operator against the embedded server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient

from nearwise.testing import KubeApi

SERVICE = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
}
POD = {
    "metadata": {"name": "web-0", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "image"}]},
}
READY = {
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


@pytest.fixture
def official(kube_api: KubeApi) -> Iterator[Any]:
    with config.new_client_from_config(str(kube_api.kubeconfig)) as api:
        yield api


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- The official client --------------------------------------------------------------------


def test_objects_are_created_read_replaced_patched_and_deleted(official: Any) -> None:
    core = client.CoreV1Api(official)
    core.create_namespaced_service("default", SERVICE)
    service = core.read_namespaced_service("web", "default")
    assert service.spec.cluster_ip.startswith("10.96.")

    service.metadata.labels = {"a": "b"}
    replaced = core.replace_namespaced_service("web", "default", service)
    assert replaced.metadata.labels == {"a": "b"}
    with pytest.raises(client.ApiException) as conflict:
        core.replace_namespaced_service("web", "default", service)
    assert (conflict.value.status, conflict.value.reason) == (409, "Conflict")

    patched = core.patch_namespaced_service("web", "default", {"spec": {"type": "NodePort"}})
    assert 30000 <= patched.spec.ports[0].node_port <= 32767
    core.delete_namespaced_service("web", "default")
    with pytest.raises(client.ApiException) as absent:
        core.read_namespaced_service("web", "default")
    assert absent.value.status == 404


def test_lists_come_in_pages_and_by_selectors(official: Any) -> None:
    core = client.CoreV1Api(official)
    for number in range(5):
        metadata = {"name": f"c{number}", "labels": {"odd": str(number % 2)}}
        core.create_namespaced_config_map("default", {"metadata": metadata})
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map("default", limit=2, _continue=token)
        names += [one.metadata.name for one in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"c{number}" for number in range(5)]
    odd = core.list_config_map_for_all_namespaces(label_selector="odd=1")
    assert [one.metadata.name for one in odd.items] == ["c1", "c3"]


def test_a_watch_sees_the_controllers_at_work(official: Any) -> None:
    core, discovery = client.CoreV1Api(official), client.DiscoveryV1Api(official)
    core.create_node({"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}}})
    seen: list[tuple[str, int]] = []

    def follow() -> None:
        stream = watch.Watch()
        for event in stream.stream(
            discovery.list_namespaced_endpoint_slice, "default", timeout_seconds=20
        ):
            if event["object"].metadata.name.startswith("web-"):
                seen.append((event["type"], len(event["object"].endpoints or [])))
            if event["type"] == "DELETED":
                stream.stop()

    thread = Thread(target=follow)
    thread.start()
    core.create_namespaced_service("default", SERVICE)
    eventually(lambda: seen == [("ADDED", 0)])
    core.create_namespaced_pod("default", POD)
    core.patch_namespaced_pod_status("web-0", "default", READY)
    eventually(lambda: seen[1:] == [("MODIFIED", 1)])
    core.delete_namespaced_service("web", "default")
    thread.join(20)
    assert seen[2:] == [("DELETED", 1)]


def test_leases_events_scales_and_collections(official: Any) -> None:
    core, apps = client.CoreV1Api(official), client.AppsV1Api(official)
    leases = client.CoordinationV1Api(official)
    now = datetime.now(UTC)
    spec = client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=now)
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name="mine"), spec=spec)
    leases.create_namespaced_lease("default", lease)
    held = leases.read_namespaced_lease("mine", "default")
    assert held.spec.renew_time == now
    held.spec.holder_identity = "you"
    leases.replace_namespaced_lease("mine", "default", held)

    containers = [{"name": "main", "image": "image"}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    selector = {"matchLabels": {"app": "web"}}
    deployment = {"metadata": {"name": "web"}, "spec": {"selector": selector, "template": template}}
    apps.create_namespaced_deployment("default", deployment)
    scale = apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 4}})
    assert scale.spec.replicas == 4

    about = {"kind": "Service", "name": "web", "namespace": "default"}
    event = {"metadata": {"name": "web.1"}, "involvedObject": about, "reason": "Told"}
    core.create_namespaced_event("default", event)
    told = core.list_namespaced_event("default", field_selector="involvedObject.name=web")
    assert "Told" in [one.reason for one in told.items]
    core.delete_collection_namespaced_event("default")
    assert core.list_namespaced_event("default").items == []


def test_the_dynamic_client_finds_its_way_by_discovery(official: Any, tmp_path: Path) -> None:
    dynamic = DynamicClient(official, cache_file=str(tmp_path / "discovery"))
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mine"},
        "data": {"a": "1"},
    }
    applied = maps.server_side_apply(
        body=body, name="mine", namespace="default", field_manager="me"
    )
    assert applied.data.a == "1"
    assert applied.metadata.managedFields[0].operation == "Apply"


def test_what_is_not_served_is_refused(official: Any) -> None:
    core = client.CoreV1Api(official)
    with pytest.raises(client.ApiException) as refused:
        core.read_namespaced_pod_log("web-0", "default")
    assert refused.value.status == 404


# --- An operator ----------------------------------------------------------------------------

OPERATOR = """
import kopf

@kopf.on.create("configmaps", labels={"operated": "yes"})
def created(patch, **_):
    patch.metadata.annotations["state"] = "created"

@kopf.on.update("configmaps", labels={"operated": "yes"}, field="data")
def updated(patch, new, **_):
    patch.metadata.annotations["state"] = f"updated to {new['a']}"

@kopf.on.delete("configmaps", labels={"operated": "yes"})
def deleted(memo, name, namespace, **_):
    print(f"deleted {namespace}/{name}", flush=True)
"""


def test_a_kopf_operator_does_its_work(kube_api: KubeApi, official: Any, tmp_path: Path) -> None:
    core = client.CoreV1Api(official)
    (tmp_path / "works.py").write_text(OPERATOR)

    def state() -> str:
        found = core.read_namespaced_config_map("mine", "default")
        return str((found.metadata.annotations or {}).get("state"))

    operator = subprocess.Popen(
        [sys.executable, "-m", "kopf", "run", "-A", "works.py"],
        cwd=tmp_path,
        env={**os.environ, "KUBECONFIG": str(kube_api.kubeconfig)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with operator:
        try:
            metadata = {"name": "mine", "labels": {"operated": "yes"}}
            core.create_namespaced_config_map("default", {"metadata": metadata, "data": {"a": "1"}})
            eventually(lambda: state() == "created")
            core.patch_namespaced_config_map("mine", "default", {"data": {"a": "2"}})
            eventually(lambda: state() == "updated to 2")
            core.delete_namespaced_config_map("mine", "default")
            eventually(lambda: not core.list_namespaced_config_map("default").items)
        finally:
            operator.send_signal(signal.SIGTERM)
            out, _ = operator.communicate(timeout=20)
    assert out == "deleted default/mine\n"
