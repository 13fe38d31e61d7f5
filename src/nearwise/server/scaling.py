"""The number of pods of a workload, at an address of its own (``autoscaling/v1`` Scale)."""

from __future__ import annotations

from typing import Any, Final

from nearwise.model.meta import Int32, Object, ObjectMeta
from nearwise.model.validation.bodies import BadBody, object_of
from nearwise.model.validation.fields import invalid
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded
from nearwise.server.options import Patch, PatchType
from nearwise.server.resources import Resource
from nearwise.server.statuses import bad_request, unsupported_patch
from nearwise.server.statuses import invalid as refused
from nearwise.server.writing import PATCHES

SCALES: Final = Resource("autoscaling", "v1", "scales", "Scale")
API_VERSION: Final = SCALES.api_version


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


def patched_scale(workload: Decoded, patch: Patch) -> Decoded:
    """Return the Scale of a stored workload as a patch changes it. Raises Refusal, PatchError."""
    if patch.type is PatchType.APPLY:
        raise unsupported_patch()
    return PATCHES[patch.type](scale_of(workload), patch.content)


def scaled(workload: Decoded, scale: Decoded) -> Decoded:
    """Return the workload with the number of pods of a Scale. Raises Refusal (400, 422)."""
    try:
        wanted = object_of(scale, API_VERSION, Scale)
    except BadBody as error:
        raise bad_request(str(error)) from None
    replicas = wanted.spec.replicas
    if replicas < 0:
        wrong = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise refused(SCALES, workload["metadata"]["name"], [wrong])
    metadata = {**workload["metadata"], "resourceVersion": wanted.metadata.resource_version}
    return {**workload, "metadata": metadata, "spec": {**workload["spec"], "replicas": replicas}}


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
