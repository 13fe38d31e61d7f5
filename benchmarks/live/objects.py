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
        "name": f"{app}-7d4b9c6f5-{i:05}",
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


def status(i: int, *, ready: bool) -> Plain:
    """Make the status of a pod that runs."""
    address = f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            {
                "type": kind,
                "status": "True" if ready else "False",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind in ("Ready", "ContainersReady")
        ],
    }
