"""Whether a lab has come to rest: what is asked for is so, and everybody knows.

Law: pure, and in words: what is not so yet, empty when all is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from nearwise.lab.addresses import Plan
from nearwise.lab.marks import POWER, READY
from nearwise.model import Pod
from nearwise.model.core import PodIP
from nearwise.model.objects import Objects
from nearwise.model.selectors import matches
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded

_OVER: Final = ("Succeeded", "Failed")


def unsettled(objects: Objects, plan: Plan, pods: Sequence[Decoded]) -> str:
    """Return what is still to happen. ``pods`` are those of the objects, as they are stored."""
    return _nodes(objects, plan) or _pods(objects, pods) or _slices(objects)


def _nodes(objects: Objects, plan: Plan) -> str:
    for node in objects.nodes:
        name, on = node.metadata.name, node.metadata.annotations.get(POWER) != "off"
        if node.ready != on or (on and name not in plan.nodes):
            return f"node {name} is not {'ready' if on else 'seen to be gone'} yet"
    if gone := plan.nodes.keys() - {node.metadata.name for node in objects.nodes}:
        return f"node {min(gone)} is still there"
    return ""


def _pods(objects: Objects, pods: Iterable[Decoded]) -> str:
    crashed = {
        (pod["metadata"]["namespace"], pod["metadata"]["name"])
        for pod in pods
        for status in at(pod, "status", "containerStatuses") or ()
        if at(status, "state", "waiting", "reason") == "CrashLoopBackOff"
    }
    powered = {
        node.metadata.name
        for node in objects.nodes
        if node.metadata.annotations.get(POWER) != "off"
    }
    known = {node.metadata.name for node in objects.nodes}
    for pod in objects.pods:
        where = pod.spec.node_name
        if where not in known or pod.status.phase in _OVER or pod.metadata.deletion_timestamp:
            continue
        wanted = where in powered and pod.metadata.annotations.get(READY) != "false"
        wanted = wanted and pod.metadata.key not in crashed
        if pod.ready != wanted or (where in powered and not pod.status.pod_ips):
            return f"pod {'/'.join(pod.metadata.key)} is not {'' if wanted else 'un'}ready yet"
    return ""


def _slices(objects: Objects) -> str:
    """Say which service has slices that do not list its pods as they are."""
    nodes = {node.metadata.name for node in objects.nodes}
    listed: dict[tuple[str, str], dict[tuple[str, str], tuple[bool, bool]]] = defaultdict(dict)
    for each in objects.slices:
        key = (each.metadata.namespace, each.metadata.labels.get(SERVICE_NAME, ""))
        for endpoint in each.endpoints:
            if endpoint.target_ref is not None:
                name = endpoint.target_ref.name
                conditions = endpoint.conditions
                state = (conditions.serving is True, conditions.terminating is True)
                listed[key][name, endpoint.addresses[0]] = state
    for service in objects.services:
        if not service.spec.selector or service.spec.type == "ExternalName":
            continue
        wanted = {
            (pod.metadata.name, ip.ip): (pod.ready, pod.metadata.deletion_timestamp is not None)
            for pod in objects.pods
            if pod.metadata.namespace == service.metadata.namespace
            and matches(service.spec.selector, pod.metadata.labels)
            and pod.spec.node_name in nodes
            and pod.status.phase not in _OVER
            for ip in _of_families(pod, service.spec.ip_families)
        }
        if listed[service.metadata.key] != wanted:
            return f"service {'/'.join(service.metadata.key)} is not written to slices yet"
    return ""


def _of_families(pod: Pod, families: Iterable[str]) -> Iterable[PodIP]:
    versions = [family == "IPv6" for family in families]
    return [ip for ip in pod.status.pod_ips if (":" in ip.ip) in versions]
