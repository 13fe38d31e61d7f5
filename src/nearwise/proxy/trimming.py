"""What is kept of services, slices and the node in a proxy's caches.

Law: dropped is what neither choosing nor the ruleset nor a metric reads. What many objects have
alike (zones, nodes, conditions, hints, ports) is kept once, for a proxy holds every endpoint of
the cluster on every node.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

from msgspec.structs import replace

from nearwise.model import Endpoint, EndpointSlice, Node, ObjectMeta, Service
from nearwise.model.core import NodeStatus
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, SERVICE_NAME, ZONE

T = TypeVar("T", bound=Hashable)

_MOST_SHARED: Final = 10_000
_NONE: Final[dict[str, str]] = {}


class Trimmer:
    """Trims what one proxy caches. The more goes through it, the more is shared."""

    def __init__(self) -> None:
        # When it is full it is begun anew: what is in use then is only shared no further.
        self._shared: dict[Hashable, Hashable] = {}
        self._triggers: dict[str, dict[str, str]] = {}

    def service(self, service: Service) -> Service:
        """Return a service without its selector, and without what others wrote on it."""
        spec, once = service.spec, self._once
        first = spec.cluster_ip
        return Service(
            metadata=replace(
                self._meta(service.metadata),
                creation_timestamp=once(service.metadata.creation_timestamp),
            ),
            spec=replace(
                spec,
                ports=once(spec.ports),
                selector={},
                # The first of clusterIPs is clusterIP (core/v1): one text for both.
                cluster_ips=tuple([first if each == first else each for each in spec.cluster_ips]),
                type=once(spec.type),
                session_affinity=once(spec.session_affinity),
                session_affinity_config=once(spec.session_affinity_config),
                load_balancer_ip="",
                external_traffic_policy=once(spec.external_traffic_policy),
                internal_traffic_policy=once(spec.internal_traffic_policy),
                ip_families=once(spec.ip_families),
                ip_family_policy=None,
                traffic_distribution=once(spec.traffic_distribution),
            ),
            status=once(replace(service.status, conditions=())),
        )

    def slice(self, slice_: EndpointSlice) -> EndpointSlice:
        """Return a slice with what a connection can be sent to, and when it last changed."""
        meta, once = slice_.metadata, self._once
        service, trigger = (
            meta.labels.get(SERVICE_NAME),
            meta.annotations.get(LAST_CHANGE_TRIGGER_TIME),
        )
        return EndpointSlice(
            metadata=replace(
                self._meta(meta),
                labels={} if service is None else {SERVICE_NAME: service},
                annotations=self._triggered(trigger),
            ),
            address_type=once(slice_.address_type),
            endpoints=tuple([self._endpoint(each) for each in slice_.endpoints]),
            ports=once(slice_.ports),
        )

    def node(self, node: Node) -> Node:
        """Return a node with its zone, its addresses, and what says that it is about to go."""
        labels = {ZONE: node.zone} if node.zone else {}
        return Node(
            metadata=replace(
                self._meta(node.metadata),
                labels=labels,
                deletion_timestamp=node.metadata.deletion_timestamp,
            ),
            spec=node.spec,
            status=NodeStatus(addresses=node.status.addresses),
        )

    def _meta(self, meta: ObjectMeta) -> ObjectMeta:
        """Keep by what an object is known; one of the same name in its place is a change of it."""
        return ObjectMeta(
            name=meta.name,
            namespace=self._once(meta.namespace),
            resource_version=meta.resource_version,
        )

    def _triggered(self, trigger: str | None) -> dict[str, str]:
        """Return annotations that say when a change began; alike for all slices of a moment."""
        if trigger is None:
            return _NONE
        known = self._triggers.get(trigger)
        if known is None:
            if len(self._triggers) >= _MOST_SHARED:
                self._triggers.clear()
            known = self._triggers[trigger] = {LAST_CHANGE_TRIGGER_TIME: trigger}
        return known

    def _endpoint(self, endpoint: Endpoint) -> Endpoint:
        """Keep its first address, which is the only one that is used, and where it is."""
        once = self._once
        return Endpoint(
            addresses=endpoint.addresses[:1],
            conditions=once(endpoint.conditions),
            node_name=once(endpoint.node_name),
            zone=once(endpoint.zone),
            hints=once(endpoint.hints),
        )

    def _once(self, part: T) -> T:
        """Return what is equal to the part and is kept already, or else the part."""
        if len(self._shared) >= _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(part, part)  # type: ignore[return-value]
