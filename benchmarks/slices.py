"""Reconciling: whole runs against changes, and against the plainest Python that does the job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import msgspec

from benchmarks import clusters
from benchmarks.timing import Case
from nearwise.slices.nodes import Nodes
from nearwise.slices.reconcile import ServiceSlices, reconcile

NODES = 60


def cases() -> Iterator[Case]:
    """Yield the comparisons."""
    nodes = clusters.nodes(NODES)
    many = clusters.pods(10_000, NODES)
    plain = msgspec.to_builtins(many)
    zones = nodes.zones
    for name, service in (
        ("no hints", clusters.service()),
        ("PreferSameNode", clusters.service("PreferSameNode")),
        ("Auto", clusters.service(by_share=True)),
    ):
        yield Case(
            f"reconcile 10,000 pods from nothing, {name}",
            "plain dicts, no hints, labels or reasons",
            lambda: _plainly(plain, zones),
            lambda service=service: reconcile(service, many, nodes, ()),  # type: ignore[misc]
        )
    for name, service in (
        ("no hints", clusters.service()),
        ("Auto", clusters.service(by_share=True)),
    ):
        for count in (100, 10_000):
            pods = clusters.pods(count, NODES)
            stored = _settled(service, pods, nodes).slices()
            yield Case(
                f"one of {count:,} pods flips, {name}",
                "whole run over the same",
                lambda s=service, p=pods, st=stored: reconcile(s, p, nodes, st),  # type: ignore[misc]
                _Flips(_settled(service, pods, nodes), pods),
                repeat=500,
            )


class _Flips:
    """One pod after another loses its readiness and gets it back."""

    def __init__(self, state: ServiceSlices, pods: list[Any]) -> None:
        self._state = state
        self._changes = cycle([p for pod in pods for p in (clusters.flipped(pod), pod)])

    def __call__(self) -> None:
        self._state.put_pods([next(self._changes)])
        plan = self._state.plan()
        assert len(plan.updates) == 1
        self._state.commit(plan)


def _settled(service: Any, pods: list[Any], nodes: Nodes) -> ServiceSlices:
    state = ServiceSlices(service, nodes)
    state.put_pods(pods)
    state.commit(state.plan())
    return state


def _plainly(pods: list[dict[str, Any]], zones: dict[str, str | None]) -> list[Any]:
    """Build the endpoints as one would at first, and cut them into slices of 100."""
    endpoints = []
    for pod in pods:
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            continue
        ready = any(
            c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"]
        )
        terminating = pod["metadata"].get("deletionTimestamp") is not None
        ports = []
        for name in ("http", "metrics"):
            for container in pod["spec"]["containers"]:
                for port in container["ports"]:
                    if port["name"] == name and port["protocol"] == "TCP":
                        ports.append((name, port["containerPort"]))
        endpoints.append(
            {
                "addresses": [ip["ip"] for ip in pod["status"]["podIPs"] if "." in ip["ip"]],
                "conditions": {
                    "ready": ready and not terminating,
                    "serving": ready,
                    "terminating": terminating,
                },
                "nodeName": pod["spec"]["nodeName"],
                "zone": zones[pod["spec"]["nodeName"]],
                "targetRef": {
                    "kind": "Pod",
                    "namespace": pod["metadata"]["namespace"],
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                },
                "ports": ports,
            }
        )
    return [endpoints[i : i + 100] for i in range(0, len(endpoints), 100)]
