"""Nodes, namespaces and the small kinds: what is filled in and checked when they are written."""

from __future__ import annotations

from typing import Final

from nearwise.model.validation.fields import Errors, forbidden, invalid
from nearwise.server.kinds.plain import at, each, filled, inside
from nearwise.server.objects.stored import Decoded

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
NAMESPACE_FINALIZER: Final = "kubernetes"
"""What keeps a namespace until everything in it is gone."""

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def with_node_defaults(node: Decoded) -> Decoded:
    """Return the node with the times of its conditions, which are always printed."""
    return inside(
        node,
        "status",
        lambda status: each(
            status,
            "conditions",
            lambda one: filled(one, lastHeartbeatTime=None, lastTransitionTime=None),
        ),
    )


def admitted_node(node: Decoded) -> Decoded:
    """Return the new node with the taint that keeps pods away until it is ready."""
    taints = at(node, "spec", "taints") or []
    if any(at(one, "key") == _NOT_READY["key"] for one in taints):
        return node
    return {**node, "spec": {**(node.get("spec") or {}), "taints": [*taints, _NOT_READY]}}


def with_namespace_defaults(namespace: Decoded) -> Decoded:
    """Return the namespace with its name as a label."""
    metadata = namespace["metadata"]
    if not metadata.get("name"):
        return namespace
    labels = {**metadata.get("labels", {}), NAMESPACE_LABEL: metadata["name"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}}


def started_namespace(namespace: Decoded) -> Decoded:
    """Return the new namespace as an active one that will be emptied before it goes."""
    finalizers = at(namespace, "spec", "finalizers") or []
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers = [*finalizers, NAMESPACE_FINALIZER]
    named = with_namespace_defaults(namespace)  # its name may be generated, and new by now
    return {**named, "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}


def lease_errors(lease: Decoded, old: Decoded | None) -> Errors:
    """Check the numbers of a lease (``ValidateLeaseSpec``)."""
    found: Errors = []
    duration = at(lease, "spec", "leaseDurationSeconds")
    if duration is not None and duration <= 0:
        found.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = at(lease, "spec", "leaseTransitions")
    if transitions is not None and transitions < 0:
        detail = "must be greater than or equal to 0"
        found.append(invalid("spec.leaseTransitions", transitions, detail))
    return found


def config_map_errors(config_map: Decoded, old: Decoded | None) -> Errors:
    """Check that what was made immutable stays as it is."""
    if old is None or not old.get("immutable"):
        return []
    detail = "field is immutable when `immutable` is set"
    return [
        forbidden(field, detail)
        for field in ("immutable", "data", "binaryData")
        if config_map.get(field) != old.get(field)
    ]
