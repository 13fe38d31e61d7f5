"""What a user names in a lab, and what is said of names that are not there."""

from __future__ import annotations

import pytest

from nearwise.lab import names
from nearwise.lab.marks import POWER
from nearwise.lab.names import Client
from nearwise.lab.probe import Target
from nearwise.model import Node, ObjectMeta, Pod, Service
from nearwise.model.core import PodIP, PodSpec, PodStatus, ServicePort, ServiceSpec
from nearwise.model.errors import InputError
from nearwise.model.objects import Objects
from nearwise.model.wellknown import ZONE


def node(name: str, zone: str, **annotations: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels={ZONE: zone}, annotations=annotations))


def pod(namespace: str, name: str, node: str, *addresses: str) -> Pod:
    return Pod(
        metadata=ObjectMeta(namespace=namespace, name=name),
        spec=PodSpec(node_name=node),
        status=PodStatus(pod_ips=tuple(PodIP(each) for each in addresses)),
    )


WEB = Service(
    metadata=ObjectMeta(namespace="default", name="web"),
    spec=ServiceSpec(
        cluster_ips=("10.96.0.5", "fd00::5"),
        ports=(
            ServicePort("http", "TCP", port=80, node_port=30080),
            ServicePort("dns", "UDP", port=53),
        ),
    ),
)
ONLY_6 = Service(metadata=ObjectMeta(name="six"), spec=ServiceSpec(cluster_ips=("fd00::6",)))
OBJECTS = Objects(
    nodes=(
        Node(metadata=ObjectMeta(name="a0", labels={ZONE: "a"}, annotations={POWER: "off"})),
        node("a1", "a"),
        node("b1", "b"),
    ),
    pods=(
        pod("default", "web-1", "a1", "10.241.1.1", "fd89::7"),
        pod("shop", "cart", "b1", "10.242.1.1"),
        pod("shop", "twice", "b1"),
        pod("test", "twice", "b1"),
        pod("default", "a1", "b1"),
    ),
    services=(WEB,),
)


def test_a_place_is_a_node_a_pod_a_zone_or_outside() -> None:
    assert names.client(OBJECTS, "a1") == Client("a1")  # the node before the pod of that name
    assert names.client(OBJECTS, "web-1") == Client("a1", ("10.241.1.1", "fd89::7"))
    assert names.client(OBJECTS, "shop/cart") == Client("b1", ("10.242.1.1",))
    assert names.client(OBJECTS, "cart").node == "b1"
    assert names.client(OBJECTS, "zone=a") == Client("a1")  # a0 has no power
    assert names.client(OBJECTS, "outside").node == ""


def test_a_service_is_named_with_a_port_or_without() -> None:
    assert names.service(OBJECTS, "web")[1].port == 80
    assert names.service(OBJECTS, "default/web:dns")[1].port == 53
    assert names.service(OBJECTS, "web:53")[1].name == "dns"


def test_a_client_connects_from_its_address_of_the_same_family() -> None:
    client = names.client(OBJECTS, "web-1")
    service, port = names.service(OBJECTS, "web")
    assert names.target(service, port, client) == Target("10.96.0.5", 80, "TCP", "10.241.1.1")
    assert names.target(service, port, client, ipv6=True).source == "fd89::7"
    assert names.node_port(service, port, client, "10.89.1.1").port == 30080


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (lambda: names.client(OBJECTS, "a2"), "no node or pod is called a2 (did you mean"),
        (lambda: names.client(OBJECTS, "zone=x"), "no zone is called x (there is a, b)"),
        (lambda: names.pod(OBJECTS, "wep-1"), "did you mean"),
        (lambda: names.pod(OBJECTS, "twice"), "say which: shop/twice, test/twice"),
        (lambda: names.node(OBJECTS, "zz"), "no node is called zz (there is a0, a1, b1)"),
        (lambda: names.zone(OBJECTS, "zz"), "no zone is called zz"),
        (lambda: names.service(OBJECTS, "web:81"), "has no port 81 (it has http 80, dns 53)"),
        (
            lambda: names.node_port(WEB, WEB.spec.ports[1], Client(""), "10.89.1.1"),
            "service web has no node port",
        ),
        (
            lambda: names.target(ONLY_6, WEB.spec.ports[0], Client("")),
            "service six has no cluster address of IPv4 (use --ipv6)",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(look: object, said: str) -> None:
    with pytest.raises(InputError) as refused:
        look()  # type: ignore[operator]
    assert said in str(refused.value)
