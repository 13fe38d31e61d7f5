"""The cluster of the soak: services under test, strangers beside them, and the next change.

Law: a service under test always has an endpoint that is ready (and on the node itself, where only
those count), so whoever connects to it is served at any moment.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForZone,
    Node,
    ObjectMeta,
    Service,
)
from nearwise.model.core import (
    ClientIPConfig,
    LoadBalancerIngress,
    LoadBalancerStatus,
    NodeAddress,
    NodeStatus,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
    SessionAffinityConfig,
)
from nearwise.model.wellknown import SERVICE_NAME, ZONE
from nearwise.routing import Client, Selection, merge, select

NODE, NODE_ADDRESS = "node-1", "192.168.10.1"
TARGET = 8080

_NAMESPACE = "soak"
_ZONES = ("a", "b", "c")
_NODES = {"node-1": "a", "node-2": "a", "node-3": "b", "node-4": "c"}
_MOST = 8  # endpoints of a service under test
_STRANGERS = 60
_EACH = 3  # services under test of each kind


class Tell(NamedTuple):
    """A change that the API server tells; ``gone`` if the object was deleted."""

    obj: Any
    gone: bool = False


class Spot(NamedTuple):
    """What an endpoint is like now."""

    node: str
    ready: bool = True
    leaving: bool = False


class Tested:
    """A service under test."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number
        self.protocol = "UDP" if kind == "udp" else "TCP"
        self.address = f"10.96.0.{number}"
        outside = kind in {"node-port", "here"}
        port = 30000 + number if outside else 0
        spec = ServiceSpec(
            type="NodePort" if outside else "ClusterIP",
            cluster_ip=self.address,
            cluster_ips=(self.address,),
            ip_families=("IPv4",),
            ports=(ServicePort("main", self.protocol, None, 80, TARGET, port),),
            internal_traffic_policy="Cluster",
            external_traffic_policy={"node-port": "Cluster", "here": "Local"}.get(kind, ""),
            session_affinity="ClientIP" if kind == "sticky" else "None",
            session_affinity_config=_stay(10800) if kind == "sticky" else None,
        )
        self.service = Service(metadata=_meta(f"{kind}-{number}"), spec=spec)
        nodes = list(_NODES)
        self.spots = {i: Spot(nodes[i % len(nodes)]) for i in range(4)}

    @property
    def places(self) -> dict[str, bool]:
        """Where it is reached, and whether only endpoints on the node answer there."""
        found = {f"{self.protocol.lower()}/{self.address}/80": False}
        if port := self.service.spec.ports[0].node_port:
            found[f"tcp/{NODE_ADDRESS}/{port}"] = self.kind == "here"
        return found

    def selection(self, client: Client) -> Selection:
        """Choose for a client."""
        view = merge(self.service, [self.slice(half) for half in (0, 1)], "IPv4")
        return select(self.service, view.backends["main", self.protocol], client)

    def slice(self, half: int) -> EndpointSlice:
        """Return one of its two slices: who has an even number, and who has an odd one."""
        spots = {i: spot for i, spot in sorted(self.spots.items()) if i % 2 == half}
        endpoints = [
            _endpoint(f"10.1.{self.number}.{i + 1}", spot, hinted=self.kind == "near")
            for i, spot in spots.items()
        ]
        return _slice(self.service, half, endpoints)

    def change(self, lot: random.Random) -> Iterator[Tell]:
        """Have an endpoint come, go, or change."""
        i = lot.randrange(_MOST)
        spot, before = self.spots.get(i), dict(self.spots)
        if spot is None:
            self.spots[i] = Spot(lot.choice(list(_NODES)))
        elif spot.leaving:
            del self.spots[i]
        elif lot.random() < 0.7:
            self.spots[i] = spot._replace(ready=not spot.ready)
        else:
            self.spots[i] = spot._replace(leaving=True)
        if not self._is_served():
            self.spots = before
            return
        yield Tell(self.slice(i % 2))

    def _is_served(self) -> bool:
        ready = [spot.node for spot in self.spots.values() if spot.ready and not spot.leaving]
        return NODE in ready if self.kind == "here" else bool(ready)


class Town:
    """All there is, and what happens next."""

    def __init__(self, lot: random.Random) -> None:
        self.client = Client(NODE, "a")
        kinds = ("plain", "udp", "sticky", "near", "node-port", "here") * _EACH
        self.tested = [Tested(kind, number) for number, kind in enumerate(kinds, 1)]
        self._lot = lot
        self._strangers: dict[int, Service] = {}

    def begin(self) -> Iterator[Tell]:
        """Give everything there is at first."""
        yield Tell(self._node())
        for each in self.tested:
            yield Tell(each.service)
            yield Tell(each.slice(0))
            yield Tell(each.slice(1))

    def change(self) -> Iterator[Tell]:
        """Give what happens next; can be nothing."""
        what = self._lot.random()
        if what < 0.01:
            self.client = Client(NODE, self._lot.choice(_ZONES))
            yield Tell(self._node())
        elif what < 0.7:
            yield from self._lot.choice(self.tested).change(self._lot)
        else:
            yield from self._stranger(self._lot.randrange(_STRANGERS))

    def places(self, *, outside: bool) -> list[str]:
        """Return where services under test are reached, from outside or from the node itself.

        Where only endpoints on the node answer from outside, the node gets all, which is another
        matter.
        """
        return [
            place
            for each in self.tested
            for place, here in each.places.items()
            if outside or not here
        ]

    def chosen(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Give the places where services under test are reached, and who may answer there."""
        for each in self.tested:
            selection = each.selection(self.client)
            for place, here in each.places.items():
                backends = selection.local if here else selection.cluster
                yield place, tuple(backend.address for backend in backends)

    def _node(self) -> Node:
        assert self.client.zone is not None
        return Node(
            metadata=ObjectMeta(name=NODE, labels={ZONE: self.client.zone}),
            status=NodeStatus(addresses=(NodeAddress("InternalIP", NODE_ADDRESS),)),
        )

    def _stranger(self, number: int) -> Iterator[Tell]:
        """Have a service that nobody connects to come, change, or go."""
        before = self._strangers.pop(number, None)
        if before is not None and self._lot.random() < 0.4:
            yield Tell(_slice(before, 0, ()), gone=True)
            yield Tell(before, gone=True)
            return
        service = self._strangers[number] = _any_service(number, self._lot)
        nodes = [self._lot.choice(list(_NODES)) for _ in range(self._lot.choice((0, 1, 3, 12)))]
        hinted = self._lot.random() < 0.5
        endpoints = [
            _endpoint(f"10.1.{100 + number}.{i}", Spot(node), hinted=hinted)
            for i, node in enumerate(nodes, 1)
        ]
        yield Tell(service)
        yield Tell(_slice(service, 0, endpoints))


def _any_service(number: int, lot: random.Random) -> Service:
    address = f"10.96.1.{number}"
    kind = lot.choice(("ClusterIP", "ClusterIP", "NodePort", "LoadBalancer"))
    ports = []
    for i, protocol in enumerate(lot.sample(("TCP", "UDP", "SCTP"), lot.randint(1, 3))):
        node_port = 31000 + 10 * number + i if kind != "ClusterIP" else 0
        ports.append(ServicePort(protocol.lower(), protocol, None, 80, TARGET, node_port))
    sticky = lot.random() < 0.3
    spec = ServiceSpec(
        type=kind,
        cluster_ip=address,
        cluster_ips=(address,),
        ip_families=("IPv4",),
        ports=tuple(ports),
        internal_traffic_policy=lot.choice(("Cluster", "Cluster", "Local")),
        external_traffic_policy=lot.choice(("Cluster", "Local")) if kind != "ClusterIP" else "",
        external_ips=(f"198.51.100.{number}",) if lot.random() < 0.2 else (),
        load_balancer_source_ranges=("192.0.2.0/25", "192.0.2.200/32")
        if kind == "LoadBalancer" and lot.random() < 0.5
        else (),
        session_affinity="ClientIP" if sticky else "None",
        session_affinity_config=_stay(lot.choice((10, 60, 10800))) if sticky else None,
    )
    ingress = (LoadBalancerIngress(ip=f"203.0.113.{number}"),) if kind == "LoadBalancer" else ()
    status = ServiceStatus(load_balancer=LoadBalancerStatus(ingress=ingress))
    return Service(metadata=_meta(f"stranger-{number}"), spec=spec, status=status)


def _slice(service: Service, number: int, endpoints: Any) -> EndpointSlice:
    name = service.metadata.name
    meta = replace(_meta(f"{name}-{number}"), labels={SERVICE_NAME: name})
    ports = tuple(EndpointPort(port.name, port.protocol, TARGET) for port in service.spec.ports)
    return EndpointSlice(
        metadata=meta, address_type="IPv4", endpoints=tuple(endpoints), ports=ports
    )


def _endpoint(address: str, spot: Spot, *, hinted: bool) -> Endpoint:
    zone = _NODES[spot.node]
    return Endpoint(
        addresses=(address,),
        conditions=EndpointConditions(spot.ready and not spot.leaving, spot.ready, spot.leaving),
        node_name=spot.node,
        zone=zone,
        hints=EndpointHints(for_zones=(ForZone(zone),)) if hinted else None,
    )


def _meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=_NAMESPACE, uid=name)


def _stay(seconds: int) -> SessionAffinityConfig:
    return SessionAffinityConfig(client_ip=ClientIPConfig(seconds))
