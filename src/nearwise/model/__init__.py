"""Kubernetes objects as typed, immutable values, and how they are read and written."""

from nearwise.model.coordination import Lease
from nearwise.model.core import Endpoints, Event, Namespace, Node, Pod, Service
from nearwise.model.discovery import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForNode,
    ForZone,
)
from nearwise.model.meta import ObjectMeta, ObjectReference, OwnerReference, Status
from nearwise.model.reasons import Reason, reason

__all__ = [
    "Endpoint",
    "EndpointConditions",
    "EndpointHints",
    "EndpointPort",
    "EndpointSlice",
    "Endpoints",
    "Event",
    "ForNode",
    "ForZone",
    "Lease",
    "Namespace",
    "Node",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "Pod",
    "Reason",
    "Service",
    "Status",
    "reason",
]
