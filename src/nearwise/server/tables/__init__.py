"""Objects as kubectl prints them: the Tables of meta.k8s.io/v1.

Law: pure. A table is made of the objects and the time handed in, and any stored object can be
shown: what is missing or odd in it makes an empty cell, never an error. Columns and the rules of
their cells are those of Kubernetes 1.36; the server always fills the wide ones, and kubectl
chooses.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from nearwise.server.patch.values import Object
from nearwise.server.tables import nodes, pods, records, services, workloads
from nearwise.server.tables.ages import human_duration
from nearwise.server.tables.columns import Layout
from nearwise.server.tables.reading import part

__all__ = ["IncludeObject", "human_duration", "table"]

IncludeObject: TypeAlias = Literal["Metadata", "Object", "None"]
"""What a row has of its object: the query parameter ``includeObject``."""

_VERSION: Final = "meta.k8s.io/v1"

_LAYOUTS: Final[dict[tuple[str, str], Layout]] = {
    ("", "configmaps"): records.CONFIG_MAPS,
    ("", "endpoints"): services.ENDPOINTS,
    ("", "events"): records.EVENTS,
    ("", "namespaces"): nodes.NAMESPACES,
    ("", "nodes"): nodes.NODES,
    ("", "pods"): pods.PODS,
    ("", "serviceaccounts"): records.SERVICE_ACCOUNTS,
    ("", "services"): services.SERVICES,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("coordination.k8s.io", "leases"): records.LEASES,
    ("discovery.k8s.io", "endpointslices"): services.ENDPOINT_SLICES,
    ("events.k8s.io", "events"): records.EVENTS,
}
"""By group and plural."""


def table(
    plural: str,
    group: str,
    objects: Iterable[Object],
    *,
    now: datetime,
    include_object: IncludeObject = "Metadata",
    list_metadata: Object | None = None,
) -> dict[str, Any]:
    """Show objects of a resource as a Table.

    ``list_metadata`` is that of the list; left out for a single object, whose resource version
    the Table then has.
    """
    layout = _LAYOUTS.get((group, plural), records.ANYTHING)
    shown = list(objects)
    if list_metadata is None:
        version = part(shown[0], "metadata").get("resourceVersion") if shown else None
        list_metadata = {"resourceVersion": version} if version else {}
    return {
        "kind": "Table",
        "apiVersion": _VERSION,
        "metadata": list_metadata,
        "columnDefinitions": [msgspec.to_builtins(column) for column in layout.columns],
        "rows": [_row(layout, obj, now, include_object) for obj in shown],
    }


def _row(layout: Layout, obj: Object, now: datetime, include: IncludeObject) -> dict[str, Any]:
    conditions = layout.conditions(obj)
    return {
        "cells": layout.cells(obj, now),
        **({"conditions": conditions} if conditions else {}),
        "object": _of(obj, include),
    }


def _of(obj: Object, include: IncludeObject) -> Object | None:
    """Return what a row has of its object."""
    if include == "None":
        return None
    if include == "Object":
        return obj
    metadata = part(obj, "metadata")
    return {"kind": "PartialObjectMetadata", "apiVersion": _VERSION, "metadata": metadata}
