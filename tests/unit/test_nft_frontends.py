"""What clients can connect to: cluster addresses, node ports, external IPs, load balancers."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import Service
from nearwise.nft.addresses import is_special, parsed, parsed_network
from nearwise.nft.frontends import frontends, written
from nft_words import V4, V6, service


def found(of: Service, settings: Any = V4) -> list[str]:
    return [f"{each.kind} {written(each.key)}" for each in frontends(of, settings)[0]]


def told(of: Service) -> list[str]:
    return [why.text for why in frontends(of, V4)[1]]


BOTH: dict[str, Any] = {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1", "fd00:96::1"]}
TWO_PORTS: list[dict[str, Any]] = [
    {"name": "http", "port": 80, "nodePort": 30080},
    {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053},
]


@pytest.mark.parametrize(
    ("case", "of", "v4", "v6"),
    [
        (
            "a cluster address",
            service(),
            ["cluster address 10.96.0.1:80/TCP"],
            [],
        ),
        (
            "one of each family",
            service(**BOTH),
            ["cluster address 10.96.0.1:80/TCP"],
            ["cluster address [fd00:96::1]:80/TCP"],
        ),
        (
            "several ports and protocols",
            service(ports=TWO_PORTS),
            ["cluster address 10.96.0.1:80/TCP", "cluster address 10.96.0.1:53/UDP"],
            [],
        ),
        (
            "node ports, which only two types have",
            service(type="NodePort", ports=TWO_PORTS, **BOTH),
            [
                "cluster address 10.96.0.1:80/TCP",
                "cluster address 10.96.0.1:53/UDP",
                "node port 192.168.1.1:30080/TCP",
                "node port 192.168.1.1:30053/UDP",
            ],
            [
                "cluster address [fd00:96::1]:80/TCP",
                "cluster address [fd00:96::1]:53/UDP",
                "node port [2001:db8::1]:30080/TCP",
                "node port [2001:db8::1]:30053/UDP",
            ],
        ),
        (
            "external IPs of each family",
            service(externalIPs=["203.0.113.1", "2001:db8:e::1"], **BOTH),
            ["cluster address 10.96.0.1:80/TCP", "external IP 203.0.113.1:80/TCP"],
            ["cluster address [fd00:96::1]:80/TCP", "external IP [2001:db8:e::1]:80/TCP"],
        ),
        (
            "load balancers, but not those that are proxies or have a name only",
            service(
                type="LoadBalancer",
                ingress=(
                    "198.18.0.1",
                    {"ip": "198.18.0.2", "ipMode": "VIP"},
                    {"ip": "198.18.0.3", "ipMode": "Proxy"},
                    {"ip": "198.18.0.4", "ipMode": "SomethingNew"},
                    {"hostname": "lb.example.com"},
                ),
            ),
            [
                "cluster address 10.96.0.1:80/TCP",
                "load balancer 198.18.0.1:80/TCP",
                "load balancer 198.18.0.2:80/TCP",
            ],
            [],
        ),
        (
            "an address named twice is the load balancer's, because of its source ranges",
            service(externalIPs=["198.18.0.1"], ingress=("198.18.0.1",)),
            ["cluster address 10.96.0.1:80/TCP", "load balancer 198.18.0.1:80/TCP"],
            [],
        ),
        (
            "a service of one family has nothing in the other, node ports included",
            service(type="NodePort", clusterIP="fd00:96::1", ports=TWO_PORTS[:1]),
            [],
            ["cluster address [fd00:96::1]:80/TCP", "node port [2001:db8::1]:30080/TCP"],
        ),
        ("headless", service(clusterIP="None", externalIPs=["203.0.113.1"]), [], []),
        ("headless, by its list of addresses", service(clusterIP="", clusterIPs=["None"]), [], []),
        ("an external name", service(type="ExternalName", externalName="example.com"), [], []),
        ("not allocated yet", service(clusterIP="", externalIPs=["203.0.113.1"]), [], []),
        ("without ports", service(ports=[]), [], []),
        (
            "an IPv4 address in an IPv6 one is the IPv4 one",
            service(clusterIP="::ffff:10.96.0.1"),
            ["cluster address 10.96.0.1:80/TCP"],
            [],
        ),
        (
            "zeros in front are no matter",
            service(clusterIP="010.096.000.001"),
            ["cluster address 10.96.0.1:80/TCP"],
            [],
        ),
    ],
)
def test_frontends_of(case: str, of: Service, v4: list[str], v6: list[str]) -> None:
    assert (found(of, V4), found(of, V6)) == (v4, v6), case
    assert not told(of)


@pytest.mark.parametrize(
    ("of", "remains", "why"),
    [
        (
            service(externalIPs=["203.0.113.300", "203.0.113.1"]),
            ["cluster address 10.96.0.1:80/TCP", "external IP 203.0.113.1:80/TCP"],
            ["spec.externalIPs[0]: 203.0.113.300 is no IP address, so nobody can connect to it"],
        ),
        (
            service(clusterIP="10.96.0", externalIPs=["203.0.113.1"]),
            ["external IP 203.0.113.1:80/TCP"],
            ["spec.clusterIPs: 10.96.0 is no IP address, so nobody can connect to it"],
        ),
        (
            service(clusterIP="10.96.0", ipFamilies=["IPv6"], externalIPs=["203.0.113.1"]),
            [],
            ["spec.clusterIPs: 10.96.0 is no IP address, so nobody can connect to it"],
        ),
        (
            service(ingress=("fe80::1%eth0", "169.254.1.1")),
            ["cluster address 10.96.0.1:80/TCP"],
            [
                "status.loadBalancer.ingress[0].ip: fe80::1%eth0 is no IP address, so nobody can "
                "connect to it",
                "status.loadBalancer.ingress[1].ip: 169.254.1.1 is a loopback, link-local, "
                "multicast or unspecified address, which no service can have; it is left out",
            ],
        ),
        (
            service(ports=[{"name": "a", "port": 0}, {"name": "b", "port": 81}]),
            ["cluster address 10.96.0.1:81/TCP"],
            ["spec.ports[0].port: 0 is no port (1 to 65535), so nobody can connect to it"],
        ),
        (
            service(type="NodePort", ports=[{"port": 80, "nodePort": 65536}]),
            ["cluster address 10.96.0.1:80/TCP"],
            ["spec.ports[0].nodePort: 65536 is no port (1 to 65535), so nobody can connect to it"],
        ),
        (
            service(ports=[{"name": "a", "port": 80, "protocol": "DCCP"}, {"port": 81}]),
            ["cluster address 10.96.0.1:81/TCP"],
            ["spec.ports[0].protocol: DCCP is none of TCP, UDP and SCTP; the port is left out"],
        ),
        (
            service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 80}]),
            ["cluster address 10.96.0.1:80/TCP"],
            ["two ports of the service are 10.96.0.1:80/TCP: it is port a, not port b"],
        ),
        (
            service(labels={"service.kubernetes.io/service-proxy-name": "mine"}),
            [],
            ["the service is labelled for the proxy mine: this one does nothing"],
        ),
        (
            service(labels={"service.kubernetes.io/headless": ""}),
            [],
            ["the service carries the label service.kubernetes.io/headless: proxies do nothing"],
        ),
    ],
)
def test_what_is_wrong_is_left_out_with_a_reason_and_the_rest_remains(
    of: Service, remains: list[str], why: list[str]
) -> None:
    assert (found(of), told(of)) == (remains, why)


# --- Addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "127.0.0.1", "127.9.9.9", "169.254.1.1", "224.0.0.1", "239.1.1.1"),
        *("::", "::1", "fe80::1", "febf::1", "ff02::1"),
    ],
)
def test_no_service_can_have(address: str) -> None:
    assert is_special(parsed(address) or b"")


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "240.0.0.1", "169.253.1.1", "128.0.0.1", "0.0.0.1", "::2", "1::", "fec0::1"],
)
def test_a_service_can_have(address: str) -> None:
    assert not is_special(parsed(address) or b"")


NO_ADDRESSES = [
    "",
    ".",
    ":",
    "::%1",
    "10.0.0",
    "10.0.0.0.1",
    "10.0.0.256",
    "10.0.0.-1",
    "10.0.0.+1",
]
NO_ADDRESSES += ["10.0.0. 1", "10.0.0.1 ", "1_0.0.0.1", "10.0.0.٣", "0x10.0.0.1", "1:2:3:4:5:6:7"]
NO_ADDRESSES += [
    ":::",
    "1:::2",
    "1::2::3",
    "1:2:3:4:5:6:7:8:9",
    "12345::",
    "fd00: 1::",
    ":1::",
    "g::",
]
NO_ADDRESSES += ["1:2:3:4:5:6:7:8::", "::1.2.3", "fd000: d00:1:2:3:4:5:6", "example.com"]


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_is_no_address(text: str) -> None:
    assert parsed(text) is None


@given(st.ip_addresses(v=6), st.booleans())
def test_every_way_to_write_an_ipv6_address_is_read(address: IPv6Address, long: bool) -> None:
    text = address.exploded if long else str(address)
    mapped = address.ipv4_mapped
    assert parsed(text) == parsed(text.upper()) == (mapped or address).packed


@given(st.ip_addresses(v=4), st.integers(0, 3))
def test_every_way_to_write_an_ipv4_address_is_read(address: IPv4Address, zeros: int) -> None:
    padded = ".".join("0" * zeros + part for part in str(address).split("."))
    assert parsed(padded) == parsed(f"::ffff:{address}") == address.packed


@given(st.text(alphabet="0123abF:.:%g /", max_size=24))
def test_of_other_texts_those_are_addresses_that_python_takes_for_some(text: str) -> None:
    try:
        expected = IPv6Address(text)
    except AddressValueError:
        assert ":" not in text or parsed(text) is None
    else:
        packed = None if "%" in text else (expected.ipv4_mapped or expected).packed
        assert parsed(text) == packed


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("010.0.0.0/08", "10.0.0.0/8"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("10.0.0.1/32", "10.0.0.1/32"),
        ("fd00::1/64", "fd00::/64"),
        ("::/0", "::/0"),
    ],
)
def test_networks_are_read_as_they_are_written(text: str, network: str) -> None:
    assert str(parsed_network(text)) == network


NO_NETWORKS = ["", "/", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8"]
NO_NETWORKS += ["10.0.0.0/255.0.0.0", "10.0.0.0/8/8", "fd00::/129", "fd00::1%1/64", "10.0.0/8"]
NO_NETWORKS += ["::ffff:10.0.0.0/104", "::ffff:10.0.0.0/8", f"10.0.0.0/{'1' * 5000}"]


@pytest.mark.parametrize("text", NO_NETWORKS)
def test_is_no_network(text: str) -> None:
    assert parsed_network(text) is None
