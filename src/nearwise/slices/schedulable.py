"""Which nodes a pod may ever run on, by taints and node selector.

Kubernetes counts the CPU of every ready worker node, also of those that a service's pods can never
use. ``zone_shares(schedulable(nodes, pod))`` is the counterfactual: the shares if only the nodes
counted that could hold such a pod. Affinity and free resources are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.model import Node, Pod
from nearwise.model.core import Taint, Toleration


def schedulable(nodes: Iterable[Node], pod: Pod) -> tuple[Node, ...]:
    """Return the nodes that the pod's node selector picks and whose taints it tolerates."""
    selector = pod.spec.node_selector
    return tuple(
        node
        for node in nodes
        if selector.items() <= node.metadata.labels.items()
        and all(_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints)
    )


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    # PreferNoSchedule only makes a node less liked.
    return taint.effect == "PreferNoSchedule" or any(
        _matches(toleration, taint) for toleration in tolerations
    )


def _matches(toleration: Toleration, taint: Taint) -> bool:
    """Follow core/v1 ``Toleration``: what is empty matches everything."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in {"", taint.key}
    equal = toleration.operator in {"", "Equal"}
    return equal and toleration.key == taint.key and toleration.value == taint.value
