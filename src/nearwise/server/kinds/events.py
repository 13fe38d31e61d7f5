"""Events: stored as ``v1`` and served as ``events.k8s.io/v1`` too, with other names for fields."""

from __future__ import annotations

from typing import Final

from nearwise.model.validation.fields import Errors, invalid, required
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded

_NAMES: Final = {
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "involvedObject": "regarding",
    "lastTimestamp": "deprecatedLastTimestamp",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
}
"""The fields of ``v1`` that ``events.k8s.io/v1`` calls otherwise."""

_CORE_NAMES: Final = {name: core_name for core_name, name in _NAMES.items()}


def to_core(event: Decoded) -> Decoded:
    """Return an ``events.k8s.io/v1`` Event as the ``v1`` one."""
    renamed = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    renamed.setdefault("reportingComponent", "")
    renamed.setdefault("reportingInstance", "")
    return {**renamed, "apiVersion": "v1"}


def from_core(event: Decoded) -> Decoded:
    """Return a ``v1`` Event as the ``events.k8s.io/v1`` one."""
    renamed = {_NAMES.get(name, name): value for name, value in event.items()}
    for name in ("reportingController", "reportingInstance"):
        if not renamed.get(name):
            renamed.pop(name, None)
    return {**renamed, "apiVersion": "events.k8s.io/v1"}


def errors(event: Decoded, old: Decoded | None) -> Errors:
    """Check that a ``v1`` Event is in the namespace of what it is about."""
    where = at(event, "metadata", "namespace")
    about = at(event, "involvedObject", "namespace") or ""
    if about == where or (not about and where == "default"):
        return []
    return [invalid("involvedObject.namespace", about, "does not match event.namespace")]


def errors_v1(event: Decoded, old: Decoded | None) -> Errors:
    """Check what ``events.k8s.io/v1`` asks of a new Event besides; it is given as stored."""
    found = errors(event, old)
    if old is not None:
        return found
    wanted = {
        "eventTime": "eventTime",
        "reportingController": "reportingComponent",
        "reportingInstance": "reportingInstance",
        "action": "action",
        "reason": "reason",
    }
    found += [required(name) for name, stored in wanted.items() if not event.get(stored)]
    if event.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", str(event.get("type", "")), ""))
    return found
