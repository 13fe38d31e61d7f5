"""Services drawn at random, as a node's proxy sees them, and a small cluster around that node.

The node is n1 in zone a. Pods near are on it, pods far on n2 and n3; each pod has an address and
listens on all ports in ``PORTS``.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForNode,
    ForZone,
    ObjectMeta,
    Service,
)
from nearwise.model.core import (
    ClientIPConfig,
    LoadBalancerIngress,
    LoadBalancerStatus,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
    SessionAffinityConfig,
)
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.nft.compile import Routes
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.routing import Client, merge, select

PORTS: Final = (8080, 8081)


class Place(NamedTuple):
    """The addresses of one family, as prefixes of numbers."""

    family: Family
    near: str  # pods on this node
    far: str  # pods on other nodes
    pods: str  # the network of both
    node: str  # this node's addresses: 1 answers on node ports, 2 does not
    cluster: str
    external: str
    balancer: str
    outside: str
    outside_network: str

    @property
    def settings(self) -> Settings:
        """How this node's table is to be, unless told otherwise."""
        return Settings(
            self.family,
            pod_networks=(self.pods,),
            node_port_addresses=(f"{self.node}1",),
            node_addresses=(f"{self.node}1", f"{self.node}2"),
        )


V4: Final = Place(
    Family.IPV4,
    near="10.244.1.",
    far="10.244.2.",
    pods="10.244.0.0/16",
    node="192.0.2.",
    cluster="10.96.0.",
    external="203.0.113.",
    balancer="198.18.0.",
    outside="198.51.100.",
    outside_network="198.51.100.0/24",
)
V6: Final = Place(
    Family.IPV6,
    near="fd00:244:1::",
    far="fd00:244:2::",
    pods="fd00:244::/32",
    node="2001:db8:2::",
    cluster="fd00:96::",
    external="2001:db8:e::",
    balancer="2001:db8:b::",
    outside="2001:db8:f::",
    outside_network="2001:db8:f::/64",
)

_CONDITIONS: Final = (
    *[EndpointConditions()] * 6,
    EndpointConditions(ready=False, serving=True, terminating=True),
    EndpointConditions(ready=False, serving=False, terminating=True),
    EndpointConditions(ready=False),
)


def random_service(
    random: Random, place: Place, number: int, protocols: tuple[str, ...] = ("TCP", "UDP")
) -> Routes:
    """Draw a service; each number has addresses and node ports of its own."""
    kind = random.choice(("ClusterIP", "NodePort", "LoadBalancer"))
    ports = tuple(
        ServicePort(
            name=f"p{index}",
            protocol=random.choice(protocols),
            port=80 + index,
            node_port=0 if kind == "ClusterIP" else 30000 + 2 * number + index,
        )
        for index in range(random.randint(1, 2))
    )
    external_ips = (f"{place.external}{number}",) if random.random() < 0.3 else ()
    balanced = kind == "LoadBalancer"
    fenced = balanced and random.random() < 0.5
    sticky = random.random() < 0.25
    timeout = random.choice((100, 10800))
    service = Service(
        metadata=ObjectMeta(name=f"s{number}", namespace="shop"),
        spec=ServiceSpec(
            ports=ports,
            type=kind,
            cluster_ip=f"{place.cluster}{number}",
            cluster_ips=(f"{place.cluster}{number}",),
            ip_families=(place.family.api,),
            external_ips=external_ips,
            internal_traffic_policy=random.choice(("Cluster", "Cluster", "Local")),
            external_traffic_policy=random.choice(("Cluster", "Local"))
            if kind != "ClusterIP" or external_ips
            else "",
            session_affinity="ClientIP" if sticky else "None",
            session_affinity_config=SessionAffinityConfig(ClientIPConfig(timeout))
            if sticky
            else None,
            load_balancer_source_ranges=_ranges(random, place) if fenced else (),
        ),
        status=ServiceStatus(
            LoadBalancerStatus(
                (
                    LoadBalancerIngress(
                        ip=f"{place.balancer}{number}",
                        ip_mode=random.choice(("VIP", "VIP", None, "Proxy")),
                    ),
                )
                if balanced
                else ()
            )
        ),
    )
    return routes(service, _endpoints(random, place), place.family)


def routes(service: Service, endpoints: tuple[Endpoint, ...], family: Family) -> Routes:
    """Return what the proxy of node n1 knows of a service whose pods listen on 8080 and 8081."""
    slice_ = EndpointSlice(
        metadata=ObjectMeta(
            name=f"{service.metadata.name}-1",
            namespace=service.metadata.namespace,
            labels={SERVICE_NAME: service.metadata.name},
        ),
        address_type=family.api,
        endpoints=endpoints,
        ports=tuple(
            EndpointPort(port.name, port.protocol, target)
            for port, target in zip(service.spec.ports, PORTS, strict=False)
        ),
    )
    view = merge(service, [slice_], family.api)
    here = Client("n1", "a")
    return Routes(
        service, {key: select(service, pool, here) for key, pool in view.backends.items()}
    )


def _endpoints(random: Random, place: Place) -> tuple[Endpoint, ...]:
    nodes = [(f"{place.near}{each}", "n1", "a") for each in (1, 2, 3)]
    nodes.append((f"{place.node}1", "n1", "a"))  # a pod on the node's own network
    nodes += [(f"{place.far}{each}", f"n{2 + each % 2}", "ab"[each % 2]) for each in (1, 2, 3, 4)]
    hinted = random.random() < 0.5
    return tuple(
        Endpoint(
            (address,),
            random.choice(_CONDITIONS),
            node_name=node,
            zone=zone,
            hints=EndpointHints((ForZone(zone),), (ForNode(node),) if node == "n2" else ())
            if hinted
            else None,
        )
        for address, node, zone in random.sample(nodes, random.choice((0, 1, 1, 2, 3, 5)))
    )


def _ranges(random: Random, place: Place) -> tuple[str, ...]:
    choices = (place.outside_network, place.pods, f"{place.node}1/{place.family.width * 8}")
    return tuple(random.sample(choices, random.randint(1, 3)))
