"""A proxy that runs on a model cluster and a fake kernel, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

import cluster as objects
from fake_kernel import FakeFlows, FakeKernel
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
from nearwise.model.core import NodeAddress, NodeStatus, ServicePort, ServiceSpec
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME, SERVICE_NAME
from nearwise.nft.compile import compiled
from nearwise.nft.layout import ENDPOINTS, SERVICES
from nearwise.nft.registers import address_of, port_of
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.node import Options
from nearwise.proxy.process import Machine, Process
from simulation.model_cluster import ModelCluster, now, surroundings

MACHINE = ("127.0.0.1", "192.0.2.10", "::1", "fd00::10")
HTTP = ServicePort("http", "TCP", None, 80, 8080)
DNS = ServicePort("dns", "UDP", None, 53, 53)


def node(zone: str = "a", **meta: Any) -> Node:
    """Make the node that the proxy is for."""
    made = objects.node("n1", zone)
    addresses = (NodeAddress("InternalIP", "192.0.2.10"), NodeAddress("InternalIP", "fd00::10"))
    return replace(
        made,
        metadata=replace(made.metadata, **meta),
        status=NodeStatus(addresses=addresses),
    )


def service(name: str = "web", ip: str = "10.96.0.1", *ports: ServicePort, **spec: Any) -> Service:
    """Make a service of the namespace ``shop``."""
    return Service(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=ServiceSpec(
            **{
                "ports": ports or (HTTP,),
                "cluster_ip": ip,
                "cluster_ips": (ip,),
                "type": "ClusterIP",
                "internal_traffic_policy": "Cluster",
                **spec,
            }
        ),
    )


def endpoint(
    number: int, zone: str = "", on: str = "n9", *, ready: bool = True, serving: bool | None = None
) -> Endpoint:
    """Make the endpoint 10.0.0.NUMBER, hinted to a zone if one is given."""
    return Endpoint(
        (f"10.0.0.{number}",),
        EndpointConditions(ready, serving, None if serving is None else not ready),
        node_name=on,
        zone=zone or None,
        hints=EndpointHints((ForZone(zone),)) if zone else None,
    )


def slice_of(
    *endpoints: Endpoint,
    of: str = "web",
    name: str = "",
    port: EndpointPort = EndpointPort("http", "TCP", 8080),  # noqa: B008 (it is frozen)
    family: str = "IPv4",
    trigger: str = "",
) -> EndpointSlice:
    """Make a slice of a service of the namespace ``shop``."""
    return EndpointSlice(
        metadata=ObjectMeta(
            name=name or f"{of}-1",
            namespace="shop",
            labels={SERVICE_NAME: of},
            annotations={LAST_CHANGE_TRIGGER_TIME: trigger} if trigger else {},
        ),
        address_type=family,
        endpoints=endpoints,
        ports=(port,),
    )


class World:
    """A cluster, a machine, and the proxy on it."""

    def __init__(self, *things: Any, flows: FakeFlows | None = None, lag: float = 0.005) -> None:
        self.cluster = ModelCluster(lag=lag)
        self.cluster.put(*things)
        self.kernel = FakeKernel(now)
        self.flows = flows or FakeFlows()
        self.addresses: tuple[str, ...] = MACHINE
        self.process: Process

    @asynccontextmanager
    async def running(self, settle: float = 1.0, **options: Any) -> AsyncIterator[Process]:
        """Run a proxy meanwhile, and stop it in good order."""
        chosen = Options(**{"node": "n1", **options})
        machine = Machine(self.kernel, self.flows, lambda: self.addresses)
        self.process = Process(self.cluster, machine, chosen, surroundings())
        stop = asyncio.Event()
        task = asyncio.create_task(self.process.run(stop))
        try:
            await asyncio.sleep(settle)
            yield self.process
            stop.set()
            await task
        finally:
            task.cancel()

    def table(self, family: Family = Family.IPV4) -> Ruleset:
        """Return what is in the kernel."""
        return self.kernel.tables[family]

    def endpoints(self, ip: str = "10.96.0.1", port: int = 80) -> list[str]:
        """Return who can be drawn at an address and port, by the last byte of the address."""
        table = self.table()
        return sorted(
            address_of(value[:4]).rpartition(".")[2]
            for key, value in table.elements.get(ENDPOINTS, {}).items()
            if address_of(key[:4]) == ip and port_of(key[8:12]) == port
            if isinstance(value, bytes)
        )

    def verdict(self, ip: str = "10.96.0.1", port: int = 80) -> str:
        """Return what becomes of connections to an address and port."""
        for key, value in self.table().elements.get(SERVICES, {}).items():
            if address_of(key[:4]) == ip and port_of(key[8:12]) == port:
                what = value.what  # type: ignore[union-attr]
                return getattr(what, "chain", "drop")
        return "nothing"

    def assert_as_compiled(self) -> None:
        """Check that the kernel has what compiling from nothing gives, but for slots."""
        for family, each in self.process.programming.families.items():
            wanted = compiled(each.table.settings, each.routes.routes)
            found = self.table(family)
            assert found.chains.items() >= wanted.chains.items()  # others stay for later
            assert found.sets == wanted.sets
            for name, some in wanted.elements.items():
                there = found.elements.get(name, {})
                assert there.keys() == some.keys(), name
                assert Counter(there.values()) == Counter(some.values()), name


async def settle(seconds: float = 1.0) -> None:
    """Let the proxy do what it has to."""
    await asyncio.sleep(seconds)
