"""Deployments, ReplicaSets, DaemonSets and StatefulSets as tables."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables.columns import AGE, NAME, Column, Layout, age_of, count, name_of, wide
from nearwise.server.tables.reading import labels_text, number, part, parts, text, texts

_CONTAINERS: Final = wide("Containers", "Names of each container in the template.")
_IMAGES: Final = wide("Images", "Images referenced by each container in the template.")
_SELECTOR: Final = wide("Selector", "Label selector of its pods.")


def _images(workload: Object) -> list[Json]:
    """Show the names and the images of the containers in the template."""
    containers = parts(part(workload, "spec", "template", "spec"), "containers")
    return [",".join(text(each, field) for each in containers) for field in ("name", "image")]


def _selector(workload: Object) -> str:
    """Show a label selector: ``app=web,tier in (back,front)``; empty when there is none."""
    selector = part(workload, "spec", "selector")
    shown = [(key, f"{key}={value}") for key, value in part(selector, "matchLabels").items()]
    for expression in parts(selector, "matchExpressions"):
        key, values = text(expression, "key"), ",".join(sorted(texts(expression, "values")))
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        shown.append((key, forms.get(text(expression, "operator"), "<invalid>")))
    return ",".join(words for _, words in sorted(shown))


def _wanted(workload: Object) -> int:
    return number(part(workload, "spec"), "replicas", 1)


def _deployment(deployment: Object, now: datetime) -> list[Json]:
    status = part(deployment, "status")
    return [
        name_of(deployment),
        f"{number(status, 'readyReplicas')}/{_wanted(deployment)}",
        number(status, "updatedReplicas"),
        number(status, "availableReplicas"),
        age_of(deployment, now),
        *_images(deployment),
        _selector(deployment),
    ]


DEPLOYMENTS: Final = Layout(
    (
        NAME,
        Column("Ready", "Number of the pod with ready state"),
        Column("Up-to-date", "Pods made from the present template."),
        Column("Available", "Pods that have been ready for long enough."),
        AGE,
        _CONTAINERS,
        _IMAGES,
        _SELECTOR,
    ),
    _deployment,
)


def _replica_set(replica_set: Object, now: datetime) -> list[Json]:
    status = part(replica_set, "status")
    return [
        name_of(replica_set),
        _wanted(replica_set),
        number(status, "replicas"),
        number(status, "readyReplicas"),
        age_of(replica_set, now),
        *_images(replica_set),
        _selector(replica_set) or "<none>",
    ]


REPLICA_SETS: Final = Layout(
    (
        NAME,
        count("Desired", "Pods that are wanted."),
        count("Current", "Pods that are there."),
        count("Ready", "Pods that are ready."),
        AGE,
        _CONTAINERS,
        _IMAGES,
        _SELECTOR,
    ),
    _replica_set,
)


def _daemon_set(daemon_set: Object, now: datetime) -> list[Json]:
    status = part(daemon_set, "status")
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name_of(daemon_set),
        *(number(status, name) for name in counts),
        labels_text(part(daemon_set, "spec", "template", "spec", "nodeSelector")),
        age_of(daemon_set, now),
        *_images(daemon_set),
        _selector(daemon_set) or "<none>",
    ]


DAEMON_SETS: Final = Layout(
    (
        NAME,
        count("Desired", "Nodes that should have the pod."),
        count("Current", "Nodes that have the pod."),
        count("Ready", "Nodes whose pod is ready."),
        count("Up-to-date", "Nodes whose pod is made from the present template."),
        count("Available", "Nodes whose pod has been ready for long enough."),
        Column("Node Selector", "Labels of the nodes that should have the pod."),
        AGE,
        _CONTAINERS,
        _IMAGES,
        _SELECTOR,
    ),
    _daemon_set,
)


def _stateful_set(stateful_set: Object, now: datetime) -> list[Json]:
    ready = number(part(stateful_set, "status"), "readyReplicas")
    return [
        name_of(stateful_set),
        f"{ready}/{_wanted(stateful_set)}",
        age_of(stateful_set, now),
        *_images(stateful_set),
    ]


STATEFUL_SETS: Final = Layout(
    (NAME, Column("Ready", "Number of the pod with ready state"), AGE, _CONTAINERS, _IMAGES),
    _stateful_set,
)
