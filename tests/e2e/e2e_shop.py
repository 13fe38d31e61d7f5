"""A namespace with a service, its pods and their nodes: what is written about them, and seen."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, NamedTuple

from e2e_cluster import Cluster, Json, RefusedError, Watching, eventually

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"
MIRRORING = "endpointslicemirroring-controller.k8s.io"
ZONE = "topology.kubernetes.io/zone"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"


class State(NamedTuple):
    """The conditions of an endpoint."""

    ready: bool | None
    serving: bool | None
    terminating: bool | None


READY = State(True, True, False)
NOT_READY = State(False, False, False)
TERMINATING = State(False, True, True)


class Nodes:
    """Nodes that are the test's own, known by short names."""

    def __init__(self, cluster: Cluster, prefix: str) -> None:
        self._cluster = cluster
        self._prefix = prefix
        self.names: list[str] = []

    def full(self, name: str) -> str:
        """Return how the cluster calls a node."""
        return f"{self._prefix}-{name}"

    def add(self, name: str, zone: str = "", cpu: str = "4", *, ready: bool = True) -> None:
        """Add a node, on which nobody else's pods are put."""
        full = self.full(name)
        self.names.append(full)
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": full, "labels": {ZONE: zone} if zone else {}},
            "spec": {"unschedulable": True},
            "status": _node_status(cpu, ready),
        }
        self._cluster.ask("POST", "/api/v1/nodes", node)

    def set(self, name: str, cpu: str = "4", *, ready: bool = True) -> None:
        """Have a node say what it has and how it is."""
        path = f"/api/v1/nodes/{self.full(name)}/status"
        self._cluster.patch(path, {"status": _node_status(cpu, ready)})

    def remove(self, *names: str) -> None:
        """Take nodes out."""
        for name in names:
            self.names.remove(self.full(name))
            self._cluster.ask("DELETE", f"/api/v1/nodes/{self.full(name)}")


def _node_status(cpu: str, ready: bool) -> Json:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    condition = {
        "type": "Ready",
        "status": str(ready),
        "reason": "KubeletReady",
        "message": "",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {"allocatable": allocatable, "capacity": allocatable, "conditions": [condition]}


class Shop:
    """A namespace, and what is done in it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.path = f"/api/v1/namespaces/{namespace}"
        self.slices_path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"

    def kubectl(self, *words: str, stdin: object = None) -> str:
        """Run kubectl in this namespace."""
        return self.cluster.kubectl("--namespace", self.namespace, *words, stdin=stdin)

    def apply(self, *objects: Json) -> None:
        """``kubectl apply`` these objects."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "--filename=-", stdin=listed)

    # --- as the kubelet ---------------------------------------------------------------------

    def run(self, pod: Json, node: str, address: str, *, ready: bool = True) -> None:
        """Have a pod run on a node."""
        eventually(lambda: self._is_created({**pod, "spec": {**pod["spec"], "nodeName": node}}))
        status = {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [_condition(ready)],
        }
        self.set_status(pod["metadata"]["name"], status)

    def _is_created(self, pod: Json) -> bool:
        """Create a pod, unless the service account that a real cluster wants is still missing."""
        try:
            self.cluster.ask("POST", f"{self.path}/pods", pod)
        except RefusedError as refused:
            if refused.code == 403:
                return False
            raise
        return True

    def run_many(self, pods: Iterable[tuple[Json, str, str]]) -> None:
        """Have pods run, many at a time."""
        with ThreadPoolExecutor(8) as threads:
            tuple(threads.map(lambda one: self.run(*one), pods))

    def set_ready(self, name: str, ready: bool) -> None:
        """Have a pod become ready, or not ready."""
        self.set_status(name, {"conditions": [_condition(ready)]})

    def set_status(self, name: str, status: Json) -> None:
        """Change what is said about a pod."""
        self.cluster.patch(f"{self.path}/pods/{name}/status", {"status": status})

    def end(self, *names: str) -> None:
        """Have pods be gone at once."""
        self.kubectl("delete", "pod", "--grace-period=0", "--force", "--wait=false", *names)

    # --- what is seen -----------------------------------------------------------------------

    def slices(self, service: str, manager: str = CONTROLLER) -> list[Json]:
        """Return the slices of a service that a controller manages."""
        selector = f"{SERVICE_NAME}={service},{MANAGED_BY}={manager}"
        listed = self.cluster.get(f"{self.slices_path}?labelSelector={selector}")
        items: list[Json] = listed["items"]
        return items

    def endpoints(self, service: str, manager: str = CONTROLLER) -> dict[str, State]:
        """Return the endpoints of a service by their addresses."""
        return {
            address: State(*(each["conditions"].get(name) for name in State._fields))
            for one in self.slices(service, manager)
            for each in one["endpoints"] or ()
            for address in each["addresses"]
        }

    def await_endpoint(self, service: str, address: str, state: State) -> None:
        """Wait until an endpoint is in a state."""
        eventually(lambda: self.endpoints(service).get(address), state)

    def await_number(self, service: str, number: int) -> None:
        """Wait until a service has so many endpoints."""
        eventually(lambda: len(self.endpoints(service)), number)

    def hints(self, service: str) -> dict[str, tuple[str, ...]]:
        """Return for which zones, and then for which nodes, endpoints are meant."""
        return {
            each["addresses"][0]: tuple(
                hint["name"]
                for part in ("forZones", "forNodes")
                for hint in (each.get("hints") or {}).get(part, ())
            )
            for one in self.slices(service)
            for each in one["endpoints"] or ()
        }

    def events(self, service: str) -> list[tuple[str, str, int]]:
        """Return the events about a service: type, reason, and how often it happened."""
        selector = f"involvedObject.name={service},involvedObject.kind=Service"
        items = self.cluster.get(f"{self.path}/events?fieldSelector={selector}")["items"]
        return [(each["type"], each["reason"], each.get("count") or 1) for each in items]

    def watching(self, version: str = "") -> AbstractContextManager[Watching]:
        """Watch all slices, from a version or from now on."""
        return self.cluster.watching(self.slices_path, version)


_MOMENTS: Final = count(int(time.time()))  # no two transitions in one second


def _condition(ready: bool) -> Json:
    moment = datetime.fromtimestamp(next(_MOMENTS), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "Ready", "status": str(ready), "lastTransitionTime": moment}


# --- Objects ------------------------------------------------------------------------------


def service(name: str = "web", **spec: Any) -> Json:
    """Return a service that leads to the port 8080 of the pods with its name."""
    content = {
        "selector": {"app": name},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}],
        **spec,
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {field: value for field, value in content.items() if value is not None},
    }


def pod(name: str, app: str = "web", ports: Iterable[Json] = (), **spec: Any) -> Json:
    """Return a pod that is gone at once when it is deleted."""
    container = {"name": "main", "image": "registry.example/web:1", "ports": list(ports)}
    content = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": content,
    }
