"""Nodes and namespaces as tables."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables import descriptions
from nearwise.server.tables.ages import UNKNOWN
from nearwise.server.tables.columns import AGE, NAME, Column, Layout, age_of, name_of, wide
from nearwise.server.tables.reading import or_none, part, parts, text

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


def _node(node: Object, now: datetime) -> list[Json]:
    info = part(node, "status", "nodeInfo")
    software = ("osImage", "kernelVersion", "containerRuntimeVersion")
    return [
        name_of(node),
        _status(node),
        or_none(",".join(_roles(node))),
        age_of(node, now),
        text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        *(text(info, name) or UNKNOWN for name in software),
    ]


def _status(node: Object) -> str:
    """Show whether a node is ready, and whether it takes no new pods."""
    conditions = {
        text(each, "type"): text(each, "status")
        for each in parts(part(node, "status"), "conditions")
    }
    ready = conditions.get("Ready")
    shown = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    closed = part(node, "spec").get("unschedulable") is True
    return f"{shown},SchedulingDisabled" if closed else shown


def _roles(node: Object) -> list[str]:
    """Return the roles that labels give a node."""
    labels = part(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((roles | {text(labels, _ROLE)}) - {""})


def _address(node: Object, wanted: str) -> str:
    addresses = parts(part(node, "status"), "addresses")
    return next(
        (text(each, "address") for each in addresses if text(each, "type") == wanted), "<none>"
    )


NODES: Final = Layout(
    (
        NAME,
        Column("Status", "The status of the node"),
        Column("Roles", "The roles of the node"),
        AGE,
        Column("Version", "Kubelet Version reported by the node."),
        wide("Internal-IP", descriptions.NODE_ADDRESSES),
        wide("External-IP", descriptions.NODE_ADDRESSES),
        wide("OS-Image", descriptions.OS_IMAGE),
        wide("Kernel-Version", descriptions.KERNEL),
        wide("Container-Runtime", descriptions.RUNTIME),
    ),
    _node,
)


def _namespace(namespace: Object, now: datetime) -> list[Json]:
    phase = text(part(namespace, "status"), "phase")
    return [name_of(namespace), phase, age_of(namespace, now)]


NAMESPACES: Final = Layout((NAME, Column("Status", "The status of the namespace"), AGE), _namespace)
