"""Made-up objects as they come out of an API server, for a dump to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NAMESPACE = "shop"
NODES = 50

Plain = dict[str, Any]


def cluster(services: int, pods: int) -> Iterator[Plain]:
    """Yield services and their ready pods, the same number for each."""
    for i in range(NODES):
        yield node(i)
    for i in range(services):
        yield service(f"web-{i}")
    for i in range(pods):
        yield pod(i, f"web-{i % services}", uid=f"pod-{i}", status=status(i, ready=True))


def node(i: int) -> Plain:
    """Make a ready node."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{i}",
            "uid": f"node-{i}",
            "labels": {"topology.kubernetes.io/zone": f"zone-{i % 3}"},
        },
        "status": {
            "allocatable": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def service(name: str) -> Plain:
    """Make a service that selects the pods of its name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "selector": {"app": name},
            "trafficDistribution": "PreferClose",
            "ports": [{"name": "http", "port": 80, "targetPort": 8080}],
        },
    }


def pod(i: int, app: str, **more: Any) -> Plain:
    """Make a pod on a node, of about the size that pods have."""
    metadata = {
        "name": pod_name(i, app),
        "namespace": NAMESPACE,
        "labels": {"app": app, "pod-template-hash": "7d4b9c6f5"},
        "annotations": {"checksum/config": "f" * 64},
        **({"uid": more.pop("uid")} if "uid" in more else {}),
    }
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{n}", "value": "x" * 40} for n in range(5)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    spec = {"nodeName": f"node-{i % NODES}", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more}


def pod_name(i: int, app: str) -> str:
    """Return what such a pod is called."""
    return f"{app}-7d4b9c6f5-{i:05}"


def address(i: int) -> str:
    """Return the address of such a pod."""
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def status(i: int, *, ready: bool) -> Plain:
    """Make the status of a pod that runs."""
    return {
        "phase": "Running",
        "podIP": address(i),
        "podIPs": [{"ip": address(i)}],
        "conditions": [
            {
                "type": kind,
                "status": "True" if ready else "False",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind in ("Ready", "ContainersReady")
        ],
    }


def slice_name(i: int) -> str:
    """Return what such a slice is called."""
    return f"web-{i:05}"


def slice_(i: int) -> Plain:
    """Make a slice of ten endpoints, of a service ``web``."""
    endpoints = [
        {
            "addresses": [f"10.1.{i}.{n}"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "hints": {"forZones": [{"name": f"zone-{n % 3}"}]},
            "nodeName": f"node-{n}",
            "targetRef": {
                "kind": "Pod",
                "namespace": NAMESPACE,
                "name": pod_name(10 * i + n, "web"),
                "uid": f"{i:08x}-1111-2222-3333-44445555{n:04x}",
            },
            "zone": f"zone-{n % 3}",
        }
        for n in range(10)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": slice_name(i),
            "namespace": NAMESPACE,
            "uid": f"slice-{i}",
            "labels": {"kubernetes.io/service-name": "web"},
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }
