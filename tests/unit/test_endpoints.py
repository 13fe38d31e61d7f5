"""One pod to one endpoint."""

from __future__ import annotations

import pytest

from cluster import pod, service
from nearwise.model import EndpointConditions, EndpointPort, Pod, Service
from nearwise.model.core import Container, ContainerPort, ServicePort
from nearwise.slices.endpoints import EndpointRule, Placement, families_of, port_key

ZONES = {"n0": "a", "n1": None}
NAMED = (ServicePort("http", "TCP", None, 80, "web"), ServicePort("dns", "UDP", None, 53, "dns"))


def place(pod: Pod, service: Service) -> Placement:
    return EndpointRule(service, ZONES, None).place(pod)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_out_for_its_address_may_be_somebody_elses(phase: str) -> None:
    where = place(pod("web-1", phase=phase), service(publish=True))

    assert where.ports is None
    assert [why.text for why in where.reasons] == [
        f"pod web-1 is {phase}: its address may belong to another pod already"
    ]


def test_a_pod_without_an_address_is_out() -> None:
    where = place(pod("web-1", ips=()), service())

    assert where.ports is None
    assert where.reasons[0].code == "pod-without-ip"


@pytest.mark.parametrize(
    ("ready", "terminating", "publish", "expected"),
    [
        (True, False, False, EndpointConditions(True, True, False)),
        (False, False, False, EndpointConditions(False, False, False)),
        (True, True, False, EndpointConditions(False, True, True)),
        (False, True, False, EndpointConditions(False, False, True)),
        (False, True, True, EndpointConditions(True, False, True)),
    ],
)
def test_serving_is_the_pods_readiness_and_ready_is_serving_and_not_terminating(
    ready: bool, terminating: bool, publish: bool, expected: EndpointConditions
) -> None:
    where = place(pod("web-1", ready=ready, terminating=terminating), service(publish=publish))

    assert [e.conditions for e in where.endpoints if e] == [expected]


def test_each_family_gets_the_addresses_of_that_family() -> None:
    where = place(pod("web-1", ips=("10.0.0.1", "fd00::1")), service(families=("IPv6", "IPv4")))

    assert [e.addresses for e in where.endpoints if e] == [("fd00::1",), ("10.0.0.1",)]


def test_a_pod_without_an_address_of_the_family_is_in_but_not_listed() -> None:
    where = place(pod("web-1", ips=("10.0.0.1",)), service(families=("IPv6",)))

    assert where.ports == (EndpointPort("http", "TCP", 8080),)
    assert where.endpoints == (None,)


def test_a_pod_of_a_missing_node_waits() -> None:
    where = place(pod("web-1", on="ghost"), service())

    assert where.endpoints == (None,)
    assert [why.text for why in where.reasons] == [
        "pod web-1 is left out: its node ghost does not exist; tried again later"
    ]


def test_a_pod_of_a_missing_node_is_published_where_that_is_asked_for() -> None:
    where = place(pod("web-1", on="ghost"), service(publish=True))

    assert [(e.node_name, e.zone) for e in where.endpoints if e] == [("ghost", None)]
    assert where.reasons == ()


def test_the_zone_is_the_nodes_and_absent_when_the_node_has_none() -> None:
    with_zone, without = (place(pod("web-1", on=on), service()) for on in ("n0", "n1"))

    assert [e.zone for e in with_zone.endpoints if e] == ["a"]
    assert [e.zone for e in without.endpoints if e] == [None]


@pytest.mark.parametrize(("subdomain", "expected"), [("web", "web-1"), ("other", None), ("", None)])
def test_the_hostname_is_told_only_when_the_subdomain_names_the_service(
    subdomain: str, expected: str | None
) -> None:
    where = place(pod("web-1", hostname="web-1", subdomain=subdomain), service())

    assert [e.hostname for e in where.endpoints if e] == [expected]


def test_a_named_port_is_looked_up_by_name_and_protocol() -> None:
    wrong_protocol = ContainerPort("dns", 1, "TCP")
    right = ContainerPort("dns", 5353, "UDP")
    where = place(
        pod("web-1", ports=(ContainerPort("web", 8080, "TCP"), wrong_protocol, right)),
        service(ports=NAMED),
    )

    assert where.ports == (EndpointPort("http", "TCP", 8080), EndpointPort("dns", "UDP", 5353))


@pytest.mark.parametrize(("policy", "count"), [("Always", 1), ("", 0)])
def test_a_sidecars_port_counts_and_an_init_containers_does_not(policy: str, count: int) -> None:
    side = Container("side", (ContainerPort("web", 7070, "TCP"),), policy)
    where = place(pod("web-1", init=(side,)), service(ports=NAMED[:1]))

    assert where.ports == (EndpointPort("http", "TCP", 7070),) * count


def test_a_port_that_the_pod_does_not_name_is_left_out_and_told() -> None:
    where = place(pod("web-1", ports=(ContainerPort("web", 8080, "TCP"),)), service(ports=NAMED))

    assert where.ports == (EndpointPort("http", "TCP", 8080),)
    assert [why.text for why in where.reasons] == [
        "pod web-1 has no port named dns (UDP): it is listed without that port"
    ]


def test_pods_with_other_numbers_come_out_with_other_ports() -> None:
    rule = EndpointRule(service(ports=NAMED[:1]), ZONES, None)
    numbers = [8080, 8080, 9090, 8080]
    found = [
        rule.place(pod(f"web-{i}", ports=(ContainerPort("web", number, "TCP"),))).ports
        for i, number in enumerate(numbers)
    ]

    assert [ports and ports[0].port for ports in found] == numbers


def test_without_a_target_port_the_services_own_number_counts() -> None:
    where = place(pod("web-1"), service(ports=(ServicePort("http", "", None, 80),)))

    assert where.ports == (EndpointPort("http", "TCP", 80),)


@pytest.mark.parametrize(
    ("families", "cluster_ip", "expected"),
    [
        (("IPv6", "IPv4"), "fd00::1", ("IPv6", "IPv4")),
        ((), "10.96.0.1", ("IPv4",)),
        ((), "fd00::1", ("IPv6",)),
        ((), "None", ("IPv4", "IPv6")),
    ],
)
def test_families_are_the_services_or_follow_its_cluster_ip(
    families: tuple[str, ...], cluster_ip: str, expected: tuple[str, ...]
) -> None:
    assert families_of(service(families=families, cluster_ip=cluster_ip)) == expected


def test_a_set_of_ports_is_the_same_in_any_order_and_with_defaults_spelled_out() -> None:
    one = (EndpointPort("a", "TCP", 1), EndpointPort("", "TCP", 2))
    two = (EndpointPort(None, None, 2), EndpointPort("a", None, 1))

    assert port_key(one) == port_key(two)
