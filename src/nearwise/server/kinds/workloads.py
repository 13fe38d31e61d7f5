"""Deployments, ReplicaSets, StatefulSets and DaemonSets: what keeps pods running (``apps/v1``).

They are stored as they are sent, with their defaults; nobody here acts on them.
"""

from __future__ import annotations

from typing import Final

from nearwise.model.validation.fields import Errors, invalid, required
from nearwise.server.kinds.plain import Change, at, each, filled, inside
from nearwise.server.kinds.pods import container_errors, with_spec_defaults
from nearwise.server.objects.stored import Decoded
from nearwise.server.patch import blank

_REVISIONS: Final = 10


def with_deployment_defaults(obj: Decoded) -> Decoded:
    """Return the Deployment with its defaults."""
    rolling = {"maxSurge": "25%", "maxUnavailable": "25%"}

    def spec(given: Decoded) -> Decoded:
        return filled(
            _with_strategy(given, "strategy", rolling),
            progressDeadlineSeconds=600,
            replicas=1,
            revisionHistoryLimit=_REVISIONS,
        )

    return _with_defaults(obj, spec, "lastUpdateTime", "lastTransitionTime")


def with_replica_set_defaults(obj: Decoded) -> Decoded:
    """Return the ReplicaSet with its defaults."""
    return _with_defaults(obj, lambda given: filled(given, replicas=1), "lastTransitionTime")


def with_stateful_set_defaults(obj: Decoded) -> Decoded:
    """Return the StatefulSet with its defaults."""

    def spec(given: Decoded) -> Decoded:
        return filled(
            _with_strategy(given, "updateStrategy", {"partition": 0}),
            persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"},
            podManagementPolicy="OrderedReady",
            replicas=1,
            revisionHistoryLimit=_REVISIONS,
        )

    return _with_defaults(obj, spec, "lastTransitionTime")


def with_daemon_set_defaults(obj: Decoded) -> Decoded:
    """Return the DaemonSet with its defaults."""
    rolling = {"maxSurge": 0, "maxUnavailable": 1}

    def spec(given: Decoded) -> Decoded:
        return filled(
            _with_strategy(given, "updateStrategy", rolling), revisionHistoryLimit=_REVISIONS
        )

    return _with_defaults(obj, spec, "lastTransitionTime")


def started(obj: Decoded) -> Decoded:
    """Return the new workload with a status that says nothing yet."""
    return {**obj, "status": blank(obj["apiVersion"], obj["kind"])["status"]}


def errors(obj: Decoded, old: Decoded | None) -> Errors:
    """Check that the workload selects the pods that it makes, and always the same ones."""
    found: Errors = []
    selector = at(obj, "spec", "selector")
    wanted = at(selector, "matchLabels") or {}
    labels = at(obj, "spec", "template", "metadata", "labels") or {}
    if not selector:
        found.append(required("spec.selector"))
    elif not wanted.items() <= labels.items():
        detail = "`selector` does not match template `labels`"
        found.append(invalid("spec.template.metadata.labels", labels, detail))
    template = at(obj, "spec", "template", "spec")
    found += container_errors(template or {}, "spec.template.spec")
    if old is not None and selector != at(old, "spec", "selector"):
        found.append(invalid("spec.selector", selector, "field is immutable"))
    return found


def _with_defaults(obj: Decoded, spec: Change, *times: str) -> Decoded:
    """Fill in the template, the spec, and the times of conditions, which are always printed."""
    obj = inside(obj, "spec", lambda one: inside(one, "template", _with_template_defaults))
    obj = inside(obj, "spec", spec)
    absent = dict.fromkeys(times)
    return inside(
        obj, "status", lambda one: each(one, "conditions", lambda each: filled(each, **absent))
    )


def _with_template_defaults(template: Decoded) -> Decoded:
    return inside(template, "spec", with_spec_defaults)


def _with_strategy(spec: Decoded, field: str, rolling: Decoded) -> Decoded:
    """Fill in how pods are replaced, in the field that says it."""
    strategy = {"type": "RollingUpdate", **(at(spec, field) or {})}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**rolling, **(at(strategy, "rollingUpdate") or {})}
    return {**spec, field: strategy}
