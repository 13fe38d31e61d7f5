"""A cluster at one moment, indexed for questions.

Law: a world is a value. It is made from objects, never changes, and answers only what stands in
them; a change makes another world (``with_...``). Indexes, and what all services share, are worked
out when first asked for, once. What is decided about one service does not live here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from nearwise.model import (
    Endpoints,
    EndpointSlice,
    Event,
    Node,
    ObjectMeta,
    Pod,
    Service,
    wellknown,
)
from nearwise.model.objects import Objects
from nearwise.model.selectors import matches
from nearwise.slices.allocation import ZoneShares, zone_shares

Key = tuple[str, str]

_LONGEST_VERSION: Final = 40


@dataclass(frozen=True, eq=False)
class World:
    """A snapshot of a cluster. Keys are (namespace, name)."""

    objects: Objects

    @cached_property
    def services(self) -> Mapping[Key, Service]:
        """Every service."""
        return {service.metadata.key: service for service in self.objects.services}

    @cached_property
    def service_uids(self) -> frozenset[str]:
        """The uids of the services that have one."""
        uids = (service.metadata.uid for service in self.objects.services)
        return frozenset(uid for uid in uids if uid)

    @cached_property
    def pods(self) -> Mapping[Key, Pod]:
        """Every pod."""
        return {pod.metadata.key: pod for pod in self.objects.pods}

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Every node by its name, in order of names."""
        return {
            node.metadata.name: node
            for node in sorted(self.objects.nodes, key=lambda node: node.metadata.name)
        }

    @cached_property
    def endpoints(self) -> Mapping[Key, Endpoints]:
        """Every Endpoints object."""
        return {endpoints.metadata.key: endpoints for endpoints in self.objects.endpoints}

    @cached_property
    def zones(self) -> Mapping[str, str]:
        """The zone of every node, empty where it has no label.

        In a snapshot without nodes, the nodes that pods and endpoints name, with the zones that
        the endpoints tell.
        """
        if self.nodes:
            return {name: node.zone for name, node in self.nodes.items()}
        found = {pod.spec.node_name: "" for pod in self.objects.pods if pod.spec.node_name}
        for slice_ in self.objects.slices:
            for endpoint in slice_.endpoints:
                if node := endpoint.node_name:
                    found[node] = max(found.get(node, ""), endpoint.zone or "")
        return dict(sorted(found.items()))

    @cached_property
    def sliced(self) -> frozenset[Key]:
        """Every service that a slice is labelled with, whether it exists or not."""
        return frozenset(self._slices_by_service)

    @cached_property
    def shares(self) -> ZoneShares:
        """The CPU shares of the zones, which all services have in common."""
        return zone_shares(self.nodes.values())

    def slices_of(self, service: Key) -> tuple[EndpointSlice, ...]:
        """Return the slices labelled with the service, whoever manages them, by name."""
        return self._slices_by_service.get(service, ())

    def pods_of(self, service: Service) -> tuple[Pod, ...]:
        """Return the pods that the service selects, by name, without looking at all pods."""
        namespace, selector = service.metadata.namespace, service.spec.selector
        candidates = (self._pods_by_label.get((namespace, *pair), ()) for pair in selector.items())
        fewest = min(candidates, key=len, default=())
        return tuple(pod for pod in fewest if matches(selector, pod.metadata.labels))

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return the pods on the node, by namespace and name."""
        return self._pods_by_node.get(node, ())

    def events_of(self, kind: str, key: Key) -> tuple[Event, ...]:
        """Return the events about an object, the latest last."""
        return self._events_by_object.get((kind, *key), ())

    def with_nodes(self, nodes: Iterable[Node]) -> World:
        """Return the same world on other nodes."""
        return World(msgspec.structs.replace(self.objects, nodes=tuple(nodes)))

    def with_service(self, service: Service) -> World:
        """Return the same world with one service added or replaced."""
        others = (
            other for other in self.objects.services if other.metadata.key != service.metadata.key
        )
        return World(msgspec.structs.replace(self.objects, services=(*others, service)))

    def with_slices(self, slices: Iterable[EndpointSlice]) -> World:
        """Return the same world with other EndpointSlices in all."""
        return World(msgspec.structs.replace(self.objects, slices=tuple(slices)))

    @cached_property
    def _slices_by_service(self) -> Mapping[Key, tuple[EndpointSlice, ...]]:
        found: dict[Key, list[EndpointSlice]] = {}
        for slice_ in sorted(self.objects.slices, key=lambda slice_: slice_.metadata.key):
            if name := slice_.metadata.labels.get(wellknown.SERVICE_NAME):
                found.setdefault((slice_.metadata.namespace, name), []).append(slice_)
        return {key: tuple(slices) for key, slices in found.items()}

    @cached_property
    def _sorted_pods(self) -> tuple[Pod, ...]:
        return tuple(sorted(self.objects.pods, key=lambda pod: pod.metadata.key))

    @cached_property
    def _pods_by_label(self) -> Mapping[tuple[str, str, str], list[Pod]]:
        found: dict[tuple[str, str, str], list[Pod]] = {}
        for pod in self._sorted_pods:
            for pair in pod.metadata.labels.items():
                found.setdefault((pod.metadata.namespace, *pair), []).append(pod)
        return found

    @cached_property
    def _pods_by_node(self) -> Mapping[str, tuple[Pod, ...]]:
        found: dict[str, list[Pod]] = {}
        for pod in self._sorted_pods:
            if pod.spec.node_name:
                found.setdefault(pod.spec.node_name, []).append(pod)
        return {node: tuple(pods) for node, pods in found.items()}

    @cached_property
    def _events_by_object(self) -> Mapping[tuple[str, str, str], tuple[Event, ...]]:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in sorted(self.objects.events, key=_when):
            about = event.involved_object
            found.setdefault((about.kind, about.namespace, about.name), []).append(event)
        return {key: tuple(events) for key, events in found.items()}


def last_told(event: Event) -> str:
    """Return when the event was last told (RFC 3339), or nothing."""
    series = event.series.last_observed_time if event.series else None
    return (
        series
        or event.last_timestamp
        or event.event_time
        or event.metadata.creation_timestamp
        or ""
    )


def _when(event: Event) -> tuple[str, int, str]:
    """Order events by time; within one second the resource version tells."""
    # Some times have fractions of a second and some have none: whole seconds always compare.
    return (last_told(event)[:19], version_of(event.metadata), event.metadata.name)


def version_of(metadata: ObjectMeta) -> int:
    """Return the resource version, which one cluster counts up for all objects; 0 for none."""
    version = metadata.resource_version
    known = version.isascii() and version.isdigit() and len(version) < _LONGEST_VERSION
    return int(version) if known else 0
