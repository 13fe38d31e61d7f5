"""A pod assigned to a node: what a scheduler asks for (``pods/binding``)."""

from __future__ import annotations

from typing import Final

from nearwise.model.validation.fields import required
from nearwise.server.kinds.plain import at
from nearwise.server.kinds.pods import with_places
from nearwise.server.objects.stored import Decoded
from nearwise.server.resources import PODS, Resource
from nearwise.server.statuses import invalid, unmet

_BINDINGS: Final = Resource("", "v1", "bindings", "Binding")


def target(binding: Decoded) -> str:
    """Return the node that a Binding names. Raises Refusal (422)."""
    name = at(binding, "target", "name")
    if not isinstance(name, str) or not name:
        given = at(binding, "metadata", "name") or ""
        raise invalid(_BINDINGS, str(given), [required("target.name")])
    return name


def bound(pod: Decoded, name: str, node: Decoded | None) -> Decoded:
    """Return the pod on the node of this name. Raises Refusal (409) for one that has a node."""
    pod_name, there = pod["metadata"]["name"], at(pod, "spec", "nodeName")
    if there:
        raise unmet(PODS, pod_name, f'pod {pod_name} is already assigned to node "{there}"')
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {pod_name} is being deleted, cannot be assigned to a host"
        raise unmet(PODS, pod_name, why)
    conditions = [one for one in at(pod, "status", "conditions") or [] if not _is_scheduled(one)]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    return with_places(
        {
            **pod,
            "spec": {**pod["spec"], "nodeName": name},
            "status": {**pod["status"], "conditions": [*conditions, scheduled]},
        },
        node,
    )


def _is_scheduled(condition: object) -> bool:
    return bool(at(condition, "type") == "PodScheduled")
