"""Where the API has each kind of object."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from nearwise.model.coordination import Lease
from nearwise.model.core import Endpoints, Event, Namespace, Node, Pod, Service
from nearwise.model.discovery import EndpointSlice

K = TypeVar("K", bound=msgspec.Struct)


class Resource(NamedTuple, Generic[K]):
    """A kind of object, and where the API has it."""

    api_version: str
    plural: str
    kind: str
    type: type[K]
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """Return the path of one object, or of the list in one namespace or in all, not quoted."""
        root = "apis" if "/" in self.api_version else "api"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        one = f"/{name}" if name else ""
        return f"/{root}/{self.api_version}{inside}/{self.plural}{one}"


NODES: Final = Resource("v1", "nodes", "Node", Node, namespaced=False)
NAMESPACES: Final = Resource("v1", "namespaces", "Namespace", Namespace, namespaced=False)
SERVICES: Final = Resource("v1", "services", "Service", Service)
ENDPOINTS: Final = Resource("v1", "endpoints", "Endpoints", Endpoints)
ENDPOINT_SLICES: Final = Resource(
    "discovery.k8s.io/v1", "endpointslices", "EndpointSlice", EndpointSlice
)
PODS: Final = Resource("v1", "pods", "Pod", Pod)
EVENTS: Final = Resource("v1", "events", "Event", Event)
LEASES: Final = Resource("coordination.k8s.io/v1", "leases", "Lease", Lease)
