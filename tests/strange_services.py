"""Services and slices as nobody should write them: odd ones, and such as the API would refuse."""

from __future__ import annotations

from ipaddress import ip_address
from random import Random
from typing import Final

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
from nearwise.model.wellknown import HEADLESS, SERVICE_NAME
from nearwise.nft.compile import Routes
from nearwise.nft.frontends import OTHER_PROXY
from nearwise.nft.ruleset import Family
from nearwise.routing import Client, merge, select

WORDS: Final = ("", "web", "http", "w" * 200, 'a"b', "a\\b", "a\nb", "{ }", "ü", "\ud800", "a b;c")
_ADDRESSES: Final = (
    *("10.0.0.1", "10.0.0.2", "10.96.0.1", "010.0.0.003", "203.0.113.1", "255.255.255.255"),
    *("fd00::1", "FD00:0::2", "::ffff:10.0.0.4", "2001:db8::1", "1:2:3:4:5:6:7:8"),
    *("", "None", "10.0.0", "10.0.0.256", "10.0.0.1/32", "0.0.0.0", "127.0.0.1", "224.0.0.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "ff02::1", "1::2::3", "web.example.com", "٣.0.0.1"),
)
_RANGES: Final = (
    *("10.0.0.0/8", " 10.1.0.0/16\t", "10.1.2.3/16", "192.168.0.0/16", "0.0.0.0/0", "1.2.3.4/32"),
    *("fd00::/8", "::/0", "2001:db8::/33", "", "all", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/0x8"),
)
_NUMBERS: Final = (80, 443, 1, 65535, 30080, 0, -1, 65536, 2**31 - 1, -(2**31))
_PROTOCOLS: Final = (*("", "TCP", "UDP", "SCTP") * 4, "tcp", "DCCP")
_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_POLICIES: Final = ("", "Cluster", "Local", "local")
_FLAGS: Final = (None, None, True, True, False)


def strange_routes(random: Random, number: int) -> dict[Family, Routes]:
    """Draw a service and slices, and choose for the node n1 in both families."""
    some = random.choice
    of = strange_service(random, number)
    slices = [_slice(random, of, index) for index in range(random.randrange(5))]
    client = Client(some(("n1", "n1", "")), some(("a", "", None)))
    found = {}
    for family in Family:
        view = merge(of, slices, family.api)
        selections = {key: select(of, pool, client) for key, pool in view.backends.items()}
        if random.random() < 0.05:
            selections.clear()
        found[family] = Routes(of, selections)
    return found


def strange_service(random: Random, number: int) -> Service:
    """Draw a service; the number says how it is called."""
    some = random.choice
    affinity = some((None, SessionAffinityConfig(), SessionAffinityConfig(ClientIPConfig())))
    if random.random() < 0.4:
        affinity = SessionAffinityConfig(ClientIPConfig(some((30, 60, *_NUMBERS))))
    return Service(
        metadata=ObjectMeta(
            name=f"{WORDS[number % len(WORDS)]}{number}",
            namespace=WORDS[number % 7],
            creation_timestamp=some((None, "", "2026-01-01T00:00:00Z", "yesterday")),
            labels=some((*[{}] * 18, {OTHER_PROXY: "mine"}, {HEADLESS: ""})),
        ),
        spec=ServiceSpec(
            ports=tuple(
                ServicePort(some(WORDS), some(_PROTOCOLS), None, some(_NUMBERS), 0, some(_NUMBERS))
                for _ in range(random.randrange(4))
            ),
            type=some((*_TYPES, *_TYPES, "", "ExternalName", "Strange")),
            cluster_ip=_address(random),
            cluster_ips=_addresses(random),
            ip_families=some(((), (), ("IPv4",), ("IPv6", "IPv4"), ("IPX",))),
            external_ips=_addresses(random),
            internal_traffic_policy=some((None, *_POLICIES)),
            external_traffic_policy=some(_POLICIES),
            session_affinity=some(("", "None", "ClientIP", "ClientIP", "Strange")),
            session_affinity_config=affinity,
            load_balancer_source_ranges=_several(random, _RANGES),
        ),
        status=ServiceStatus(
            LoadBalancerStatus(
                tuple(
                    LoadBalancerIngress(address, ip_mode=some((None, None, "VIP", "Proxy", "")))
                    for address in _addresses(random)
                )
            )
        ),
    )


def _slice(random: Random, of: Service, index: int) -> EndpointSlice:
    some = random.choice
    family = some(("IPv4", "IPv6")) if random.random() < 0.9 else "FQDN"
    return EndpointSlice(
        metadata=ObjectMeta(
            name=f"slice-{index}",
            namespace=of.metadata.namespace,
            labels={SERVICE_NAME: of.metadata.name},
        ),
        address_type=family,
        endpoints=tuple(_endpoint(random, family) for _ in range(random.randrange(7))),
        ports=tuple(
            EndpointPort(port.name, some((port.protocol, None)), some((_port(random), None)))
            for port in of.spec.ports
        ),
    )


def _endpoint(random: Random, family: str) -> Endpoint:
    some = random.choice
    hints = EndpointHints(some(((), (ForZone("a"),))), some(((), (ForNode("n1"),))))
    return Endpoint(
        (_address(random, 32 if family == "IPv4" else 128), *_addresses(random)[1:]),
        EndpointConditions(some(_FLAGS), some(_FLAGS), some(_FLAGS)),
        node_name=some((None, "", "n1", "n2", "n2")),
        hints=some((None, hints)),
    )


def _addresses(random: Random) -> tuple[str, ...]:
    return tuple(_address(random) for _ in range(random.choice((0, 1, 1, 2, 3))))


def _address(random: Random, bits: int = 0) -> str:
    """Draw an address, of any family unless told which; mostly one that nobody else has."""
    if random.random() < 0.2:
        return random.choice(_ADDRESSES)
    bits = bits or random.choice((32, 128))
    return str(ip_address(random.getrandbits(bits).to_bytes(bits // 8)))


def _port(random: Random) -> int:
    return random.choice(_NUMBERS) if random.random() < 0.2 else random.randrange(1, 65536)


def _several(random: Random, choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(random.choices(choices, k=random.choice((0, 1, 1, 2, 3))))
