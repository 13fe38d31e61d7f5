"""Which nodes, services and pods a lab has: from a few numbers, or from files.

Law: pure. Objects of a dump move to the addresses of the lab, all of them at once, with the slices
and Endpoints that name them: so the controllers find the cluster as it was, and hints stay as they
were until something changes. A pod that was not ready, and a node, stay so by their marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_network
from string import ascii_lowercase
from typing import Any, Final, NamedTuple

from nearwise.lab.addresses import MOST_PODS, Plan, check_service_networks, service_networks
from nearwise.lab.dumps import networks_for
from nearwise.lab.marks import EVERY_NODE, POWER, READY
from nearwise.model.codec import from_dict
from nearwise.model.errors import InputError
from nearwise.model.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES
from nearwise.model.suggestion import did_you_mean
from nearwise.model.wellknown import (
    HOSTNAME,
    PREFER_CLOSE,
    PREFER_SAME_NODE,
    PREFER_SAME_ZONE,
    TOPOLOGY_MODE,
    ZONE,
)
from nearwise.server.kinds.plain import at, inside
from nearwise.server.kinds.plain import each as each_of
from nearwise.server.objects.stored import Decoded
from nearwise.store import MemoryStore

DAEMON: Final = "daemon"
"""In place of a number of pods: one on every node."""

_WAYS: Final = ("Auto", PREFER_CLOSE, PREFER_SAME_ZONE, PREFER_SAME_NODE)
_WANTED: Final = re.compile(r"([a-z]([-a-z0-9]*[a-z0-9])?)=(\d+|daemon)(?:,(\w+))?")
_MOST: Final = 1000  # pods of a service
_GRACE: Final = 3  # seconds; Kubernetes' 30 are long when one looks on
_READ: Final = {
    each.kind: each.type for each in (NODES, PODS, SERVICES, ENDPOINT_SLICES, ENDPOINTS)
}
_OVER: Final = ("Succeeded", "Failed")


class Topology(NamedTuple):
    """What a lab begins with."""

    objects: tuple[Decoded, ...]
    plan: Plan
    networks: tuple[str, ...]
    """Of cluster addresses."""


# --- From numbers -------------------------------------------------------------------------


class Wanted(NamedTuple):
    """A service that somebody wants: with so many pods, None for one on every node."""

    name: str
    pods: int | None
    way: str = ""
    """A trafficDistribution, or Auto for hints by CPU share."""


DEMO: Final = (
    Wanted("web", 6, PREFER_SAME_ZONE),
    Wanted("dns", None, PREFER_SAME_NODE),
)
"""What a lab shows when nobody says otherwise."""


def wanted(text: str) -> Wanted:
    """Read ``NAME=PODS[,WAY]``, such as ``web=6,PreferSameZone``. Raises InputError."""
    found = _WANTED.fullmatch(text)
    if found is None:
        raise InputError("is not NAME=PODS or NAME=PODS,DISTRIBUTION", object=text)
    name, _, pods, way = found.groups()
    if way and way not in _WAYS:
        hint = did_you_mean(way, _WAYS) or f"there are {', '.join(_WAYS)}"
        raise InputError(f"there is no distribution {way}", object=text, hint=hint)
    if pods != DAEMON and int(pods) > _MOST:
        raise InputError(f"a service of a lab has at most {_MOST} pods", object=text)
    return Wanted(name, None if pods == DAEMON else int(pods), way or "")


def demo(zones: int, nodes: int, services: Sequence[Wanted] = DEMO) -> list[Decoded]:
    """Return the objects of a cluster with so many zones, and nodes in each.

    Zones are ``zone-a``, ``zone-b``, their nodes ``a1``, ``a2``, ``b1``. Pods go round the zones.
    """
    letters = ascii_lowercase[:zones]
    places = [(f"{letter}{n + 1}", f"zone-{letter}") for n in range(nodes) for letter in letters]
    objects = [node(name, zone) for name, zone in sorted(places)]
    for each in services:
        objects.append(_service(each))
        if each.pods is None:
            objects += [_pod(each.name, f"{each.name}-{name}", name, {EVERY_NODE: "true"})
                        for name, _ in places]  # fmt: skip
        else:
            objects += [
                _pod(each.name, f"{each.name}-{number + 1}", places[number % len(places)][0])
                for number in range(each.pods)
            ]
    return objects


def node(name: str, zone: str, cpu: str = "4") -> Decoded:
    """Return a node; a zone of "" is none."""
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {})}
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": resources, "allocatable": resources},
    }


def _service(each: Wanted) -> Decoded:
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    spec: dict[str, Any] = {
        "type": "NodePort",
        "selector": {"app": each.name},
        "ipFamilyPolicy": "PreferDualStack",
        "ports": ports,
    }
    if each.name == "dns":
        spec["type"] = "ClusterIP"
        spec["ports"] = [
            {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 5353},
            {"name": "dns-tcp", "protocol": "TCP", "port": 53, "targetPort": 5353},
        ]
    metadata: dict[str, Any] = {"name": each.name, "namespace": "default"}
    if each.way == "Auto":
        metadata["annotations"] = {TOPOLOGY_MODE: "Auto"}
    elif each.way:
        spec["trafficDistribution"] = each.way
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _pod(app: str, name: str, node: str, marks: Mapping[str, str] | None = None) -> Decoded:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": app}}
    if marks:
        metadata["annotations"] = dict(marks)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": _GRACE,
            "containers": [{"name": "server", "image": "nearwise"}],
        },
    }


# --- From objects -------------------------------------------------------------------------


def topology(objects: Iterable[Decoded], *, dual_stack: bool = False) -> Topology:
    """Return objects as a lab begins with them, with addresses of the lab.

    There are both address families when that is asked for, or when a service has IPv6. InputError
    when it cannot be a lab: there are no nodes, or too many, or cluster addresses lie among others.
    """
    found = list(objects)
    for obj in found:
        _check(obj)
    plan = Plan((4, 6) if dual_stack or any(map(_has_ipv6, found)) else (4,))
    for obj in found:
        if obj["kind"] == "Node":
            plan.add_node(obj["metadata"]["name"], at(obj, "metadata", "labels", ZONE) or "")
    if not plan.nodes:
        raise InputError("a lab needs nodes", hint="add objects of kind Node to the file")
    networks = _networks(found, plan)
    check_service_networks(networks)
    moved = _moves(found, plan)
    return Topology(tuple(_moved(obj, moved, plan.versions) for obj in found), plan, networks)


def _check(obj: Decoded) -> None:
    """Raise InputError unless an object is one of its kind, as far as a lab looks at it."""
    kind = _READ.get(obj["kind"])
    if kind is None:
        return
    name = obj["metadata"].get("name") or "without a name"
    try:
        from_dict(obj, kind)
    except InputError as error:
        raise InputError(error.what, object=f"{obj['kind']} {name}", field=error.field) from None
    if obj["kind"] == "Node" and not obj["metadata"].get("name"):
        raise InputError("a node needs a name", object="Node", field="metadata.name")


def _networks(objects: Sequence[Decoded], plan: Plan) -> tuple[str, ...]:
    """Return where cluster addresses are: where those of a dump are, and else as usual."""
    found = (ip_network(text) for text in networks_for(objects, MemoryStore().read))
    given = {int(network.version): str(network) for network in found}
    usual = zip(plan.versions, service_networks(plan.versions), strict=True)
    return tuple(given.get(version, text) for version, text in usual)


def _has_ipv6(obj: Decoded) -> bool:
    addresses = at(obj, "spec", "clusterIPs") or [at(obj, "spec", "clusterIP") or ""]
    families = at(obj, "spec", "ipFamilies") or []
    is_6 = "IPv6" in families or any(":" in each for each in addresses)
    return obj["kind"] == "Service" and is_6


# --- New addresses ------------------------------------------------------------------------


def _moves(objects: Iterable[Decoded], plan: Plan) -> dict[str, str]:
    """Return the new address of each old one, of nodes and of pods that run on them."""
    moved: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for obj in objects:
        if obj["kind"] == "Node":
            seat = plan.nodes[obj["metadata"]["name"]]
            for each in at(obj, "status", "addresses") or ():
                if each.get("type") == "InternalIP":
                    version = _version(each["address"])
                    moved[each["address"]] = seat.address(version)
        elif obj["kind"] == "Pod" and _runs(obj) and not at(obj, "spec", "hostNetwork"):
            name = obj["spec"]["nodeName"]
            if name not in plan.nodes:
                continue
            numbers[name] += 1
            if numbers[name] > MOST_PODS:
                raise InputError(f"a node of a lab has at most {MOST_PODS} pods", object=name)
            for address in _addresses(obj):
                moved[address] = plan.nodes[name].pod(_version(address), numbers[name])
    return moved


def _moved(obj: Decoded, moved: Mapping[str, str], versions: Iterable[int]) -> Decoded:
    """Return an object with new addresses in the place of old ones."""
    match obj["kind"]:
        case "Node":
            return _moved_node(obj, moved, versions)
        case "Pod":
            return _moved_pod(obj, moved, versions)
        case "EndpointSlice":
            return each_of(obj, "endpoints", lambda one: _readdressed(one, moved))
        case "Endpoints":
            return each_of(obj, "subsets", lambda subset: _moved_subset(subset, moved))
        case _:
            return obj


def _moved_node(obj: Decoded, moved: Mapping[str, str], versions: Iterable[int]) -> Decoded:
    if not _is_ready(obj, otherwise=True):
        obj = _marked(obj, POWER, "off")
    addresses = [
        {**each, "address": moved[each["address"]]}
        for each in at(obj, "status", "addresses") or ()
        if each["address"] in moved and _version(each["address"]) in versions
    ]
    return inside(obj, "status", lambda status: {**status, "addresses": addresses})


def _moved_pod(obj: Decoded, moved: Mapping[str, str], versions: Iterable[int]) -> Decoded:
    if not _runs(obj):
        return obj
    if not _is_ready(obj, otherwise=True):
        obj = _marked(obj, READY, "false")
    there = [each for each in _addresses(obj) if each in moved and _version(each) in versions]
    if not there:
        return obj
    new = [moved[each] for each in there]
    return inside(
        obj,
        "status",
        lambda status: {**status, "podIP": new[0], "podIPs": [{"ip": each} for each in new]},
    )


def _moved_subset(subset: Decoded, moved: Mapping[str, str]) -> Decoded:
    for name in ("addresses", "notReadyAddresses"):
        subset = each_of(subset, name, lambda one: {**one, "ip": moved.get(one["ip"], one["ip"])})
    return subset


def _readdressed(endpoint: Decoded, moved: Mapping[str, str]) -> Decoded:
    return {**endpoint, "addresses": [moved.get(each, each) for each in endpoint["addresses"]]}


def _marked(obj: Decoded, mark: str, value: str) -> Decoded:
    annotations = {mark: value, **(at(obj, "metadata", "annotations") or {})}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _runs(pod: Decoded) -> bool:
    """Tell whether a pod is to have a process."""
    return bool(at(pod, "spec", "nodeName")) and at(pod, "status", "phase") not in _OVER


def _is_ready(obj: Decoded, *, otherwise: bool) -> bool:
    """Tell whether a node or pod is ready, if it says so at all."""
    for condition in at(obj, "status", "conditions") or ():
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "True")
    return otherwise


def _addresses(pod: Decoded) -> list[str]:
    listed = [each["ip"] for each in at(pod, "status", "podIPs") or ()]
    first = at(pod, "status", "podIP")
    return listed or ([first] if first else [])


def _version(address: str) -> int:
    return 6 if ":" in address else 4
