"""Other versions of kinds that we know, turned into the version that the rest works with."""

from __future__ import annotations

import msgspec

from nearwise.model.core import Event, EventSeries, EventSource
from nearwise.model.discovery import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
)
from nearwise.model.meta import Object, ObjectMeta, ObjectReference
from nearwise.model.wellknown import HOSTNAME, ZONE


class EventsEvent(Object, frozen=True):
    """An Event of ``events.k8s.io/v1``: the same object as the core one, with other names."""

    metadata: ObjectMeta = ObjectMeta()
    regarding: ObjectReference = ObjectReference()
    reason: str = ""
    note: str = ""
    type: str = ""
    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    deprecated_count: int = 0
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_source: EventSource = EventSource()


def core_event(event: EventsEvent) -> Event:
    """Return it as the ``v1`` Event (API server conversion of ``events.k8s.io/v1``)."""
    return Event(
        api_version="v1",
        kind="Event",
        metadata=event.metadata,
        involved_object=event.regarding,
        reason=event.reason,
        message=event.note,
        type=event.type,
        count=event.deprecated_count,
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
        event_time=event.event_time,
        source=event.deprecated_source,
        series=event.series,
        reporting_component=event.reporting_controller,
        reporting_instance=event.reporting_instance,
    )


class BetaEndpoint(Object, frozen=True):
    """An endpoint of ``discovery.k8s.io/v1beta1``: its place is a map of topology labels."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = msgspec.field(default_factory=EndpointConditions)
    hostname: str | None = None
    target_ref: ObjectReference | None = None
    topology: dict[str, str] = msgspec.field(default_factory=dict)
    node_name: str | None = None
    hints: EndpointHints | None = None


class BetaEndpointSlice(Object, frozen=True):
    """An EndpointSlice of ``discovery.k8s.io/v1beta1`` (served until Kubernetes 1.24)."""

    metadata: ObjectMeta = ObjectMeta()
    address_type: str = ""
    endpoints: tuple[BetaEndpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


def stable_slice(beta: BetaEndpointSlice) -> EndpointSlice:
    """Return it as ``discovery.k8s.io/v1``: zone and node come out of the topology labels."""
    return EndpointSlice(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=beta.metadata,
        address_type=beta.address_type,
        endpoints=tuple(
            Endpoint(
                addresses=endpoint.addresses,
                conditions=endpoint.conditions,
                hostname=endpoint.hostname,
                target_ref=endpoint.target_ref,
                node_name=endpoint.node_name or endpoint.topology.get(HOSTNAME),
                zone=endpoint.topology.get(ZONE),
                hints=endpoint.hints,
            )
            for endpoint in beta.endpoints
        ),
        ports=beta.ports,
    )
