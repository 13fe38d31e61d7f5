"""Pods and their templates: what is filled in when one is created (core/v1 ``SetDefaults_*``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nearwise.model.quantity import milli
from nearwise.model.validation.fields import Errors, forbidden, required
from nearwise.model.wellknown import ZONE
from nearwise.server.kinds.plain import at, each, filled, inside
from nearwise.server.objects.stored import Decoded

_REGION: Final = "topology.kubernetes.io/region"
_MODE: Final = 0o644
_TOLERATION_SECONDS: Final = 300
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_VOLUME_MODES: Final = ("configMap", "downwardAPI", "projected", "secret")


# --- Defaults -----------------------------------------------------------------------------


def with_pod_defaults(pod: Decoded) -> Decoded:
    """Return the pod as its author means it."""
    pod = inside(pod, "spec", with_spec_defaults)
    pod = inside(pod, "spec", lambda spec: each(spec, "containers", _with_requests))
    pod = inside(pod, "spec", lambda spec: each(spec, "initContainers", _with_requests))
    return inside(pod, "status", with_condition_times)


def with_spec_defaults(spec: Decoded) -> Decoded:
    """Return the spec of a pod or of a template with its defaults."""
    for containers in ("containers", "initContainers", "ephemeralContainers"):
        spec = each(spec, containers, _with_container_defaults)
    if spec.get("hostNetwork") is True:
        spec = each(spec, "containers", lambda one: each(one, "ports", _with_host_port))
    if spec.get("serviceAccountName"):
        spec = filled(spec, serviceAccount=spec["serviceAccountName"])
    return filled(
        each(spec, "volumes", _with_volume_defaults),
        dnsPolicy="ClusterFirst",
        enableServiceLinks=True,
        restartPolicy="Always",
        schedulerName="default-scheduler",
        securityContext={},
        terminationGracePeriodSeconds=30,
    )


def with_condition_times(status: Decoded) -> Decoded:
    """Return the status with the times of its conditions, which are always printed."""
    return each(
        status, "conditions", lambda one: filled(one, lastProbeTime=None, lastTransitionTime=None)
    )


def _with_container_defaults(container: Decoded) -> Decoded:
    container = each(container, "ports", lambda port: filled(port, protocol="TCP"))
    container = each(container, "env", _with_env_defaults)
    for probe in _PROBES:
        container = inside(container, probe, _with_probe_defaults)
    container = inside(container, "lifecycle", _with_lifecycle_defaults)
    return filled(
        container,
        imagePullPolicy=_pull_policy(container.get("image")),
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )


def _pull_policy(image: object) -> str:
    """Say when to pull an image: always when it is the latest one, else when it is not there."""
    name = image if isinstance(image, str) else ""
    if "@" in name:
        return "IfNotPresent"
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _with_env_defaults(variable: Decoded) -> Decoded:
    return inside(variable, "valueFrom", _with_field_ref)


def _with_field_ref(source: Decoded) -> Decoded:
    return inside(source, "fieldRef", lambda ref: filled(ref, apiVersion="v1"))


def _with_probe_defaults(probe: Decoded) -> Decoded:
    probe = inside(_with_http_defaults(probe), "grpc", lambda grpc: filled(grpc, service=""))
    return filled(probe, failureThreshold=3, periodSeconds=10, successThreshold=1, timeoutSeconds=1)


def _with_lifecycle_defaults(lifecycle: Decoded) -> Decoded:
    return inside(
        inside(lifecycle, "postStart", _with_http_defaults), "preStop", _with_http_defaults
    )


def _with_http_defaults(handler: Decoded) -> Decoded:
    return inside(handler, "httpGet", lambda get: filled(get, path="/", scheme="HTTP"))


def _with_host_port(port: Decoded) -> Decoded:
    return filled(port, hostPort=port["containerPort"]) if "containerPort" in port else port


def _with_volume_defaults(volume: Decoded) -> Decoded:
    if not volume.keys() - {"name"}:
        return {**volume, "emptyDir": {}}
    for source in _VOLUME_MODES:
        volume = inside(volume, source, lambda one: filled(one, defaultMode=_MODE))
    volume = inside(volume, "downwardAPI", lambda one: each(one, "items", _with_field_ref))
    return inside(volume, "hostPath", lambda one: filled(one, type=""))


def _with_requests(container: Decoded) -> Decoded:
    """Have the container request what it is limited to, where it does not say."""
    limits = at(container, "resources", "limits")
    if not isinstance(limits, dict):
        return container
    requests = at(container, "resources", "requests")
    given = requests if isinstance(requests, dict) else {}
    return {**container, "resources": {**container["resources"], "requests": {**limits, **given}}}


# --- What the server adds -----------------------------------------------------------------


def admitted(pod: Decoded, node: Decoded | None) -> Decoded:
    """Return the new pod with what admission adds: priority, tolerations, labels of its node."""
    tolerations = list(at(pod, "spec", "tolerations") or [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_covers(one, key) for one in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATION_SECONDS,
                }
            )
    spec = filled(
        {**pod["spec"], "tolerations": tolerations},
        preemptionPolicy="PreemptLowerPriority",
        priority=0,
    )
    return with_places({**pod, "spec": spec}, node)


def with_places(pod: Decoded, node: Decoded | None) -> Decoded:
    """Return the pod with the labels of its node that say where it is (KEP-4742)."""
    labels = at(node, "metadata", "labels") or {}
    places = {name: labels[name] for name in (ZONE, _REGION) if name in labels}
    if not places:
        return pod
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **places}}}


def started(pod: Decoded) -> Decoded:
    """Return the new pod with the status that every pod begins with."""
    return {**pod, "status": {"phase": "Pending", "qosClass": _quality_of_service(pod)}}


def _covers(toleration: Any, key: str) -> bool:
    tolerated = toleration.get("key", "")
    return tolerated in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _quality_of_service(pod: Decoded) -> str:
    """Say how the pod is treated when its node runs short (core/v1 ``PodQOSClass``)."""
    containers = list(_containers(pod))
    resources = [at(one, "resources") or {} for one in containers]
    if not any(_amounts(one, "requests") or _amounts(one, "limits") for one in resources):
        return "BestEffort"
    limits = [_amounts(one, "limits") for one in resources]
    requests = [_amounts(one, "requests") for one in resources]
    bounded = all(len(one) == 2 for one in limits) and requests == limits
    return "Guaranteed" if bounded else "Burstable"


def _amounts(resources: Decoded, which: str) -> dict[str, int]:
    found = resources.get(which)
    named = found if isinstance(found, dict) else {}
    amounts = {}
    for name in ("cpu", "memory"):
        try:
            amounts[name] = milli(named.get(name, 0))
        except ValueError:
            amounts[name] = 1  # not a quantity, but something was asked for
    return {name: amount for name, amount in amounts.items() if amount}


def _containers(pod: Decoded) -> Iterator[Decoded]:
    for name in ("containers", "initContainers"):
        yield from at(pod, "spec", name) or []


# --- What is refused ----------------------------------------------------------------------


def errors(pod: Decoded, old: Decoded | None) -> Errors:
    """Check the parts of a pod that a client is most likely to get wrong."""
    found = container_errors(pod["spec"], "spec")
    if old is not None and _fixed(pod["spec"]) != _fixed(old["spec"]):
        found.append(forbidden("spec", _FIXED))
    return found


def container_errors(spec: Decoded, path: str) -> Errors:
    """Check that there are containers, and that they have names and images."""
    containers = spec.get("containers")
    if not containers:
        return [required(f"{path}.containers")]
    return [
        required(f"{path}.containers[{place}].{field}")
        for place, container in enumerate(containers)
        for field in ("name", "image")
        if not container.get(field)
    ]


_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
_CHANGEABLE: Final = frozenset(["activeDeadlineSeconds", "tolerations"])


def _fixed(spec: Decoded) -> Decoded:
    """Return the parts of a spec that stay as they were at creation."""
    for name in ("containers", "initContainers"):
        spec = each(spec, name, lambda one: {**one, "image": ""})
    return {name: value for name, value in spec.items() if name not in _CHANGEABLE}
