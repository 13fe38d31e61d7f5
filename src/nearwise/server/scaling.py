"""The number of pods of a workload, at an address of its own (``autoscaling/v1`` Scale)."""

from __future__ import annotations

from typing import Any, Final

from nearwise.model.meta import Int32, Object, ObjectMeta
from nearwise.model.validation.bodies import BadBody, object_of
from nearwise.model.validation.fields import Errors, invalid
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded
from nearwise.server.statuses import bad_request

API_VERSION: Final = "autoscaling/v1"


class ScaleSpec(Object, frozen=True):
    """How many pods are wanted."""

    replicas: Int32 = 0


class Scale(Object, frozen=True):
    """The number of pods of a workload."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()


def scale_of(workload: Decoded) -> Decoded:
    """Return the Scale of a stored workload."""
    metadata = workload["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {name: metadata[name] for name in shown if name in metadata},
        "spec": {"replicas": at(workload, "spec", "replicas") or 0},
        "status": {
            "replicas": at(workload, "status", "replicas") or 0,
            "selector": _selector_text(at(workload, "spec", "selector") or {}),
        },
    }


def scaled(workload: Decoded, scale: Decoded) -> Decoded:
    """Return the workload with the number of pods of a Scale. Raises Refusal (400)."""
    try:
        wanted = object_of(scale, API_VERSION, Scale)
    except BadBody as error:
        raise bad_request(str(error)) from None
    metadata = dict(workload["metadata"])
    version = wanted.metadata.resource_version
    if version:
        metadata["resourceVersion"] = version
    spec = {**workload["spec"], "replicas": wanted.spec.replicas}
    return {**workload, "metadata": metadata, "spec": spec}


def errors(workload: Decoded) -> Errors:
    """Check the number of pods."""
    replicas = at(workload, "spec", "replicas") or 0
    detail = "must be greater than or equal to 0"
    return [invalid("spec.replicas", replicas, detail)] if replicas < 0 else []


def _selector_text(selector: Decoded) -> str:
    """Write a label selector as ``kubectl get -l`` takes it."""
    labels = selector.get("matchLabels") or {}
    parts = [f"{key}={value}" for key, value in sorted(labels.items())]
    parts += [_requirement_text(each) for each in selector.get("matchExpressions") or []]
    return ",".join(parts)


def _requirement_text(requirement: dict[str, Any]) -> str:
    key, operator = requirement.get("key", ""), requirement.get("operator")
    values = ",".join(sorted(requirement.get("values") or []))
    match operator:
        case "Exists":
            return f"{key}"
        case "DoesNotExist":
            return f"!{key}"
        case "In":
            return f"{key} in ({values})"
        case _:
            return f"{key} notin ({values})"
