"""By what pods, services and slices are found.

Each function gives an object's values for one ``Index``; ``selected`` answers the question that
needs more than a look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nearwise.machinery.cache import Cache, Index, K, ObjectKey, Stored
from nearwise.model import EndpointSlice, Pod
from nearwise.model.selectors import matches
from nearwise.model.wellknown import SERVICE_NAME

LabelPair = tuple[str, str, str]
"""Namespace, label and its value."""


def node_of(pod: Pod) -> Iterator[str]:
    """Give the node that a pod runs on, if it has one."""
    if pod.spec.node_name:
        yield pod.spec.node_name


def label_pairs(obj: Stored) -> Iterator[LabelPair]:
    """Give each label of an object together with its namespace."""
    meta = obj.metadata
    for pair in meta.labels.items():
        yield (meta.namespace, *pair)


def service_of(slice_: EndpointSlice) -> Iterator[ObjectKey]:
    """Give the service that a slice says it belongs to."""
    name = slice_.metadata.labels.get(SERVICE_NAME)
    if name:
        yield (slice_.metadata.namespace, name)


def selected(
    objects: Cache[K], labels: Index[K], namespace: str, selector: Mapping[str, str]
) -> list[K]:
    """Return the objects of a namespace that a service's selector picks, in order.

    ``labels`` is the objects' index by ``label_pairs``. Only those with the rarest of the
    selector's pairs are looked at. An empty selector picks nothing.
    """
    if not selector:
        return []
    rarest = min(((namespace, *pair) for pair in selector.items()), key=labels.count)
    found = objects.select(labels, rarest)
    return [obj for obj in found if matches(selector, obj.metadata.labels)]
