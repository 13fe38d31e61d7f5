"""Where the API has each kind of object."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

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
    whole: bool = False  # every field is kept, so that what was read can be written back

    def named(self, obj: K) -> K:
        """Return an object with its kind and version, which lists and stores leave out."""
        return replace(obj, api_version=self.api_version, kind=self.kind)

    def written_back(self, obj: K) -> K:
        """Return an object as it is to be sent in place of the one that was read.

        Raises ValueError for a kind of which only a part is kept, as of pods and nodes: the rest
        would be lost.
        """
        if not self.whole:
            raise ValueError(f"a {self.kind} is not written back: only a part of it is kept")
        return self.named(obj)

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """Return the path of one object, or of the list in one namespace or in all, not quoted."""
        root = "apis" if "/" in self.api_version else "api"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        one = f"/{name}" if name else ""
        return f"/{root}/{self.api_version}{inside}/{self.plural}{one}"


NODES: Final = Resource("v1", "nodes", "Node", Node, namespaced=False)
NAMESPACES: Final = Resource("v1", "namespaces", "Namespace", Namespace, namespaced=False)
SERVICES: Final = Resource("v1", "services", "Service", Service, whole=True)
ENDPOINTS: Final = Resource("v1", "endpoints", "Endpoints", Endpoints, whole=True)
ENDPOINT_SLICES: Final = Resource(
    "discovery.k8s.io/v1", "endpointslices", "EndpointSlice", EndpointSlice, whole=True
)
PODS: Final = Resource("v1", "pods", "Pod", Pod)
EVENTS: Final = Resource("v1", "events", "Event", Event, whole=True)
LEASES: Final = Resource("coordination.k8s.io/v1", "leases", "Lease", Lease, whole=True)
