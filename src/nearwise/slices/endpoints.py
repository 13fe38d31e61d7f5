"""One pod to one endpoint: is it in, under which ports, and with which conditions.

Law: all that a service and a pod say about the pod's endpoint is decided here, from the two of
them and the pod's node alone. Where the endpoint goes is ``packing``'s business.

The rules are those of the EndpointSlice API and its controller: KEP-752 (slices), KEP-1672
(serving and terminating), and the fields' own documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    ObjectReference,
    Pod,
    Reason,
    Service,
    reason,
)
from nearwise.model.core import Container, PodIP, ServicePort
from nearwise.slices.distribution import hints_for

PortSet = tuple[EndpointPort, ...]

IPV4: Final = "IPv4"
IPV6: Final = "IPv6"


class Placement(msgspec.Struct, frozen=True, gc=False):
    """What a pod is to a service.

    ``ports`` is None for a pod that is out. ``endpoints`` has one entry for each family of the
    rule, None where the pod has no address of it or must wait for its node.
    """

    ports: PortSet | None
    endpoints: tuple[Endpoint | None, ...]
    reasons: tuple[Reason, ...]


def families_of(service: Service) -> tuple[str, ...]:
    """Return the address families that the service wants slices for, in the service's order.

    Services stored before dual-stack have no ``ipFamilies``: then the cluster IP tells, and a
    headless one gets both.
    """
    if service.spec.ip_families:
        return tuple(dict.fromkeys(service.spec.ip_families))
    cluster_ip = service.spec.cluster_ip
    if cluster_ip and cluster_ip != "None":
        return (IPV6 if ":" in cluster_ip else IPV4,)
    return (IPV4, IPV6)


def port_key(ports: PortSet) -> PortSet:
    """Return the ports in an order of their own, so that equal sets are equal."""
    filled = [
        msgspec.structs.replace(port, name=port.name or "", protocol=port.protocol or "TCP")
        for port in ports
    ]
    return tuple(
        sorted(filled, key=lambda p: (p.name, p.protocol, p.port or 0, p.app_protocol or ""))
    )


class EndpointRule:
    """Turns the pods of one service into endpoints; what pods share is worked out once."""

    def __init__(
        self, service: Service, zones: Mapping[str, str | None], distribution: str | None
    ) -> None:
        """Prepare the rule of a service.

        ``zones`` has every node that exists, with its zone; it may change between two pods.
        ``distribution`` is the trafficDistribution in force, if hints follow it.
        """
        spec = service.spec
        self.families = families_of(service)
        self._only_family = self.families[0] if len(self.families) == 1 else None
        self._service = service.metadata.name
        self._namespace = service.metadata.namespace
        self._publish = spec.publish_not_ready_addresses
        self._zones = zones
        self._distribution = distribution
        self._hints: dict[tuple[str, str | None], EndpointHints | None] = {}
        self._conditions = {
            (serving, terminating): EndpointConditions(
                ready=self._publish or (serving and not terminating),
                serving=serving,
                terminating=terminating,
            )
            for serving in (False, True)
            for terminating in (False, True)
        }
        self._service_ports = spec.ports
        self._named = any(isinstance(port.target_port, str) for port in spec.ports)
        self._port_sets: dict[tuple[int | None, ...], PortSet] = {}
        self._latest_containers: tuple[tuple[Container, ...], ...] = ()
        self._latest_ports: PortSet = ()
        self._fixed = None if self._named else self._port_set(_numbers(spec.ports))

    def place(self, pod: Pod) -> Placement:
        """Say what the pod is to the service."""
        status = pod.status
        phase = status.phase
        if phase in ("Succeeded", "Failed"):
            return self._out(pod, reason("pod-finished", pod=pod.metadata.name, phase=phase))
        if not status.pod_ips and not status.pod_ip:
            family = " or ".join(self.families)
            return self._out(pod, reason("pod-without-ip", pod=pod.metadata.name, family=family))

        spec, meta = pod.spec, pod.metadata
        reasons: tuple[Reason, ...] = ()
        ports = self._fixed
        if ports is None:
            ports, reasons = self._named_ports(pod)

        node = spec.node_name
        zones = self._zones
        zone = zones.get(node)
        if zone is None and node not in zones and not self._publish:
            missing = reason("pod-node-missing", pod=meta.name, node=node)
            return Placement(ports, (None,) * len(self.families), (*reasons, missing))

        serving = False  # pod.ready, written out: this runs for every pod, and a call would be felt
        for condition in status.conditions:
            if condition.type == "Ready":
                serving = condition.status == "True"
                break
        conditions = self._conditions[serving, meta.deletion_timestamp is not None]
        hints = None
        if self._distribution is not None and conditions.ready:
            hints = self._hints_at(node, zone)
        hostname = None
        if spec.hostname and spec.subdomain == self._service and meta.namespace == self._namespace:
            hostname = spec.hostname
        target = ObjectReference("Pod", meta.namespace, meta.name, meta.uid)

        # The API server keeps podIPs and podIP alike; a dump made by hand may have the one only.
        ips = status.pod_ips or (PodIP(status.pod_ip),)
        if self._only_family is not None and len(ips) == 1:
            address = ips[0].ip
            if (":" in address) is not (self._only_family == IPV6):
                return Placement(ports, (None,), reasons)
            endpoint = Endpoint((address,), conditions, hostname, target, node or None, zone, hints)
            return Placement(ports, (endpoint,), reasons)
        endpoints: list[Endpoint | None] = []
        for family in self.families:
            addresses = tuple(ip.ip for ip in ips if (":" in ip.ip) is (family == IPV6))
            endpoints.append(
                Endpoint(addresses, conditions, hostname, target, node or None, zone, hints)
                if addresses
                else None
            )
        return Placement(ports, tuple(endpoints), reasons)

    def _out(self, pod: Pod, why: Reason) -> Placement:
        return Placement(None, (), (why,))

    def _hints_at(self, node: str, zone: str | None) -> EndpointHints | None:
        place = (node, zone)
        if place not in self._hints:
            somebody = Endpoint(
                conditions=self._conditions[True, False], node_name=node or None, zone=zone
            )
            self._hints[place] = hints_for(somebody, self._distribution)
        return self._hints[place]

    def _named_ports(self, pod: Pod) -> tuple[PortSet, tuple[Reason, ...]]:
        # Pods of one workload name the same ports, and comparing is cheaper than looking up.
        containers = (pod.spec.containers, pod.spec.init_containers)
        if containers == self._latest_containers:
            return self._latest_ports, ()
        numbers = tuple([_number_on(pod, port) for port in self._service_ports])
        if None not in numbers:
            self._latest_containers = containers
            self._latest_ports = self._port_set(numbers)
            return self._latest_ports, ()
        reasons = tuple(
            reason(
                "pod-without-port",
                pod=pod.metadata.name,
                port=str(port.target_port),
                protocol=port.protocol or "TCP",
            )
            for port, number in zip(self._service_ports, numbers, strict=True)
            if number is None
        )
        return self._port_set(numbers), reasons

    def _port_set(self, numbers: tuple[int | None, ...]) -> PortSet:
        if numbers not in self._port_sets:
            self._port_sets[numbers] = tuple(
                EndpointPort(port.name, port.protocol or "TCP", number, port.app_protocol)
                for port, number in zip(self._service_ports, numbers, strict=True)
                if number is not None
            )
        return self._port_sets[numbers]


def _numbers(ports: tuple[ServicePort, ...]) -> tuple[int | None, ...]:
    # Without a target port the service's own number counts (API defaulting).
    return tuple(int(port.target_port) or port.port for port in ports)


def _number_on(pod: Pod, port: ServicePort) -> int | None:
    """Return the pod's number for a service port; a sidecar's ports count like a container's."""
    name = port.target_port
    if not isinstance(name, str):
        return name or port.port
    protocol = port.protocol or "TCP"
    for container in pod.spec.containers:
        for own in container.ports:
            if own.name == name and (own.protocol or "TCP") == protocol:
                return own.container_port
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            for own in container.ports:
                if own.name == name and (own.protocol or "TCP") == protocol:
                    return own.container_port
    return None
