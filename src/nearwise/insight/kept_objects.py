"""What a snapshot keeps of a cluster: what decides routing, and nothing that need not be shown.

Law: a field stays because a decision reads it. The model has no place for a container's image,
command, environment and volumes, nor for managed fields and Secrets, so these are gone once an
object has been decoded; here goes what the model reads but no decision does.
"""

from __future__ import annotations

from typing import Any, Final

from nearwise.model.codec import to_dict
from nearwise.model.objects import Objects
from nearwise.model.wellknown import (
    LAST_APPLIED,
    LAST_CHANGE_TRIGGER_TIME,
    LEADER,
    OVER_CAPACITY,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)

DECIDING_ANNOTATIONS: Final = frozenset(
    [TOPOLOGY_MODE, TOPOLOGY_AWARE_HINTS, LEADER, LAST_CHANGE_TRIGGER_TIME, OVER_CAPACITY]
)
"""The annotations that a decision reads."""

_IN_ORDER: Final = ("nodes", "namespaces", "services", "endpoints", "slices", "pods", "events")
_ANNOTATED: Final = frozenset(["services", "endpoints", "slices"])
_RESOURCES: Final = frozenset(["cpu", "memory", "pods"])


def kept(
    objects: Objects, namespace: str | None = None, *, strip_annotations: bool = False
) -> list[dict[str, Any]]:
    """Return the objects of a namespace (None: of all), and the nodes, as plain dicts.

    Annotations stay on services, endpoints and slices, whose controllers copy them, all but the
    last applied configuration, which repeats everything; with ``strip_annotations`` only those
    that a decision reads.
    """
    items = []
    for field in _IN_ORDER:
        for obj in getattr(objects, field):
            inside = obj.metadata.name if field == "namespaces" else obj.metadata.namespace
            if namespace is not None and field != "nodes" and inside != namespace:
                continue
            plain = to_dict(obj)
            annotations = plain["metadata"].pop("annotations", {})
            if field in _ANNOTATED:
                _set_annotations(plain, annotations, strip_annotations)
            _drop_words(plain.get("status", {}))
            items.append(plain)
    return items


def _set_annotations(plain: dict[str, Any], annotations: dict[str, str], strip: bool) -> None:
    wanted = {
        name: value
        for name, value in annotations.items()
        if (name in DECIDING_ANNOTATIONS if strip else name != LAST_APPLIED)
    }
    if wanted:
        plain["metadata"]["annotations"] = wanted


def _drop_words(status: dict[str, Any]) -> None:
    """Drop the messages of conditions, and resources that nothing counts."""
    for condition in status.get("conditions", ()):
        condition.pop("message", None)
    for name in {"allocatable", "capacity"} & status.keys():
        status[name] = {key: each for key, each in status[name].items() if key in _RESOURCES}
