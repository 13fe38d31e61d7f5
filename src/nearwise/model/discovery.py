"""EndpointSlice (``discovery.k8s.io/v1``)."""

from __future__ import annotations

import msgspec

from nearwise.model.meta import Int32, Object, ObjectMeta, ObjectReference
from nearwise.model.wellknown import MANAGED_BY


class EndpointConditions(Object, frozen=True):
    """State of an endpoint. For readers an absent ready or serving means true (API field docs)."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(Object, frozen=True):
    """A zone whose clients should use the endpoint."""

    name: str


class ForNode(Object, frozen=True):
    """A node whose clients should use the endpoint."""

    name: str


class EndpointHints(Object, frozen=True):
    """Who should use the endpoint (KEP-2433 zones, KEP-3015 nodes)."""

    for_zones: tuple[ForZone, ...] = ()
    for_nodes: tuple[ForNode, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Whom it is for in words: ``node n1``, ``zone a``."""
        nodes = [f"node {node.name}" for node in self.for_nodes]
        return (*nodes, *(f"zone {zone.name}" for zone in self.for_zones))


class Endpoint(Object, frozen=True):
    """One backend: its addresses are equivalent, and readers use the first."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = msgspec.field(default_factory=EndpointConditions)
    hostname: str | None = None
    target_ref: ObjectReference | None = None
    node_name: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None

    @property
    def ready(self) -> bool:
        """Whether readers take it as ready, to whom absent means true (API field docs).

        The controllers, which write the condition, ask ``conditions.ready`` itself.
        """
        return self.conditions.ready is not False

    @property
    def called(self) -> str:
        """What a user calls it: its pod, or its address."""
        if self.target_ref is not None and self.target_ref.name:
            return self.target_ref.name
        return next(iter(self.addresses), "")


class EndpointPort(Object, frozen=True):
    """One port that every endpoint of a slice serves."""

    name: str | None = None
    protocol: str | None = None
    port: Int32 | None = None
    app_protocol: str | None = None


class EndpointSlice(Object, frozen=True):
    """A part of a service's endpoints: one address family, one set of ports."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    address_type: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    @property
    def manager(self) -> str:
        """Who writes it, by its label ``managed-by``; empty when it has none."""
        return self.metadata.labels.get(MANAGED_BY, "")
