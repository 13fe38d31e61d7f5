"""What an object of a kind looks like before anybody set anything, and what a write resets.

A creation counts as a change of the blank object. Kubernetes' Go types always print some fields,
null or empty, and those are in the blank; it decides whether their container is recorded as set
by the creator (recorded: ``f:source`` of an Event has no ``.``, ``f:labels`` has one).
"""

from __future__ import annotations

from typing import Final

from nearwise.server.patch.fields import FieldSet, path_of
from nearwise.server.patch.values import Json, Object


def blank(api_version: str, kind: str) -> Object:
    """Return the object of this kind with nothing in it."""
    group = api_version.rpartition("/")[0]
    content = _PRINTED.get((group, kind), {})
    return {"apiVersion": api_version, "kind": kind, "metadata": {}, **content}


def reset_fields(api_version: str, kind: str, subresource: str) -> FieldSet:
    """Return the roots of what a write through this (sub)resource cannot change.

    Such fields keep their stored value and their owners, whatever is sent.
    """
    group = api_version.rpartition("/")[0]
    return _RESETS.get((group, kind, subresource), frozenset())


_POD: Final[Object] = {"spec": {"containers": None}}
_TEMPLATE: Final[Object] = {"metadata": {}, **_POD}
_WORKLOAD: Final[Object] = {"selector": None, "template": _TEMPLATE}

_NODE_INFO: Final[Json] = {
    "architecture": "",
    "bootID": "",
    "containerRuntimeVersion": "",
    "kernelVersion": "",
    "kubeProxyVersion": "",
    "kubeletVersion": "",
    "machineID": "",
    "operatingSystem": "",
    "osImage": "",
    "systemUUID": "",
}

_DAEMONS: Final[Json] = {
    "currentNumberScheduled": 0,
    "desiredNumberScheduled": 0,
    "numberMisscheduled": 0,
    "numberReady": 0,
}

_PRINTED: Final[dict[tuple[str, str], Object]] = {
    ("", "Event"): {
        "eventTime": None,
        "firstTimestamp": None,
        "involvedObject": {},
        "lastTimestamp": None,
        "reportingComponent": "",
        "reportingInstance": "",
        "source": {},
    },
    ("", "Namespace"): {"spec": {}, "status": {}},
    ("", "Node"): {
        "spec": {},
        "status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": _NODE_INFO},
    },
    ("", "Pod"): {**_POD, "status": {}},
    ("", "Service"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("apps", "DaemonSet"): {"spec": {**_WORKLOAD, "updateStrategy": {}}, "status": _DAEMONS},
    ("apps", "Deployment"): {"spec": {**_WORKLOAD, "strategy": {}}, "status": {}},
    ("apps", "ReplicaSet"): {"spec": _WORKLOAD, "status": {"replicas": 0}},
    ("apps", "StatefulSet"): {
        "spec": {**_WORKLOAD, "serviceName": "", "updateStrategy": {}},
        "status": {"availableReplicas": 0, "replicas": 0},
    },
    ("coordination.k8s.io", "Lease"): {"spec": {}},
    ("discovery.k8s.io", "EndpointSlice"): {"addressType": "", "endpoints": None, "ports": None},
    ("events.k8s.io", "Event"): {
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "deprecatedSource": {},
        "eventTime": None,
        "regarding": {},
    },
}


def _paths(*texts: str) -> FieldSet:
    return frozenset(path_of(text) for text in texts)


_SPEC: Final = _paths("spec")
_STATUS: Final = _paths("status")

_RESETS: Final[dict[tuple[str, str, str], FieldSet]] = {
    ("", "Namespace", ""): _STATUS,
    ("", "Namespace", "finalize"): _STATUS,
    ("", "Namespace", "status"): _SPEC,
    ("", "Node", ""): _STATUS,
    ("", "Node", "status"): _SPEC,
    ("", "Pod", ""): _STATUS,
    ("", "Pod", "ephemeralcontainers"): _STATUS,
    ("", "Pod", "status"): _SPEC | _paths("metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("", "Service", ""): _STATUS,
    ("", "Service", "status"): _SPEC,
    ("apps", "DaemonSet", ""): _STATUS,
    ("apps", "DaemonSet", "status"): _SPEC,
    ("apps", "Deployment", ""): _STATUS,
    ("apps", "Deployment", "status"): _SPEC | _paths("metadata.labels"),
    ("apps", "ReplicaSet", ""): _STATUS,
    ("apps", "ReplicaSet", "status"): _SPEC,
    ("apps", "StatefulSet", ""): _STATUS,
    ("apps", "StatefulSet", "status"): _SPEC,
}
