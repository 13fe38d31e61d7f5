"""Addresses, families and node ports: what a Service gets, on single and dual-stack clusters."""

from __future__ import annotations

from typing import Any

import pytest

from api_objects import causes, invalid, service
from nearwise.model.validation import Ranges, validate

DUAL = ("10.96.0.0/16", "fd00::/112")


def stored(networks: tuple[str, ...] = ("10.96.0.0/16",), **spec: Any) -> dict[str, Any]:
    verdict = validate(service(**spec), allocator=Ranges(networks))
    assert verdict.stored, verdict.message
    found: dict[str, Any] = verdict.stored["spec"]
    return found


def refused(networks: tuple[str, ...] = ("10.96.0.0/16",), **spec: Any) -> list[str]:
    return causes(validate(service(**spec), allocator=Ranges(networks)))


@pytest.mark.parametrize(
    ("given", "families", "ips"),
    [
        ({}, ["IPv4"], ["10.96.1.1"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, ["IPv4", "IPv6"], ["10.96.1.1", "fd00::101"]),
        ({"ipFamilyPolicy": "RequireDualStack"}, ["IPv4", "IPv6"], ["10.96.1.1", "fd00::101"]),
        ({"ipFamilies": ["IPv6"]}, ["IPv6"], ["fd00::101"]),
        (
            {"ipFamilies": ["IPv6"], "ipFamilyPolicy": "PreferDualStack"},
            ["IPv6", "IPv4"],
            ["fd00::101", "10.96.1.1"],
        ),
        ({"clusterIP": "fd00::5"}, ["IPv6"], ["fd00::5"]),
        (
            {
                "clusterIP": "10.96.0.5",
                "clusterIPs": ["10.96.0.5", "fd00::5"],
                "ipFamilyPolicy": "RequireDualStack",
            },
            ["IPv4", "IPv6"],
            ["10.96.0.5", "fd00::5"],
        ),
        ({"clusterIP": "None"}, ["IPv4"], ["None"]),
    ],
)
def test_a_dual_stack_cluster_gives_what_is_asked_for(
    given: dict[str, Any], families: list[str], ips: list[str]
) -> None:
    spec = stored(DUAL, **given)
    assert (spec["ipFamilies"], spec["clusterIPs"]) == (families, ips)
    assert spec["clusterIP"] == ips[0]


def test_a_headless_service_without_selector_is_of_both_families_anywhere() -> None:
    spec = stored(clusterIP="None", selector={})
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_a_single_stack_cluster_has_no_other_family() -> None:
    assert refused(ipFamilies=["IPv6"]) == invalid(
        "spec.ipFamilies[0]", '"IPv6"', "not configured on this cluster"
    )
    assert refused(clusterIP="fd00::1") == invalid(
        "spec.clusterIPs[0]", '["fd00::1"]', "IPv6 is not configured on this cluster"
    )


@pytest.mark.parametrize(
    ("given", "field", "value", "detail"),
    [
        (
            {"clusterIPs": ["10.96.0.5"]},
            "clusterIPs",
            '["10.96.0.5"]',
            "must be empty when `clusterIP` is not specified",
        ),
        (
            {"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.6"]},
            "clusterIPs",
            '["10.96.0.6"]',
            "first value must match `clusterIP`",
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None", "fd00::1"]},
            "clusterIPs",
            '["None","fd00::1"]',
            "'None' must be the first and only value",
        ),
        (
            {"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5", "10.96.0.6"]},
            "clusterIPs",
            '["10.96.0.5","10.96.0.6"]',
            "may specify no more than one IP for each IP family",
        ),
        (
            {"clusterIP": "10.96.0.5", "ipFamilies": ["IPv6"]},
            "clusterIPs[0]",
            '"10.96.0.5"',
            "expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
        (
            {"ipFamilies": ["IPv4", "IPv6"]},
            "ipFamilyPolicy",
            '"SingleStack"',
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified",
        ),
        ({"clusterIP": "010.96.0.5"}, "clusterIPs[0]", '"010.96.0.5"', "must not have leading 0s"),
    ],
)
def test_the_four_fields_must_agree(
    given: dict[str, Any], field: str, value: str, detail: str
) -> None:
    assert refused(DUAL, **given) == invalid(f"spec.{field}", value, detail)


def test_families_and_policies_are_known_words() -> None:
    assert refused(ipFamilies=["IPv4", "IPv4", "IPv5"], ipFamilyPolicy="Any") == [
        'spec.ipFamilies[1]: Duplicate value: "IPv4"',
        'spec.ipFamilies[2]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.ipFamilyPolicy: Unsupported value: "Any": supported values: "PreferDualStack", '
        '"RequireDualStack", "SingleStack"',
    ]


def test_at_most_two_addresses() -> None:
    given = ["10.96.0.5", "fd00::5", "10.96.0.6"]
    assert refused(DUAL, clusterIP=given[0], clusterIPs=given) == invalid(
        "spec.clusterIPs",
        '["10.96.0.5","fd00::5","10.96.0.6"]',
        "may only hold up to 2 values",
    )


def test_an_address_is_given_once() -> None:
    ranges = Ranges()
    assert validate(service(clusterIP="10.96.0.5"), allocator=ranges).status == 201
    again = validate(service(clusterIP="10.96.0.5"), allocator=ranges)
    assert causes(again) == invalid(
        "spec.clusterIPs",
        '["10.96.0.5"]',
        "failed to allocate IP 10.96.0.5: provided IP is already allocated",
    )


def test_the_same_requests_get_the_same_addresses_and_never_one_twice() -> None:
    def run() -> list[str]:
        ranges = Ranges()
        verdicts = [validate(service(type="NodePort"), allocator=ranges) for _ in range(5)]
        specs = [verdict.stored["spec"] for verdict in verdicts if verdict.stored]
        return [f"{spec['clusterIP']} {spec['ports'][0]['nodePort']}" for spec in specs]

    assert run() == run()
    assert run()[:2] == ["10.96.1.1 30086", "10.96.1.2 30087"]
    assert len(set(run())) == 5


def test_a_used_up_range_is_the_servers_fault() -> None:
    ranges = Ranges(("10.96.0.0/30",), node_ports=(30000, 30000))
    addresses = [validate(service(), allocator=ranges) for _ in range(4)]
    assert addresses[-1].status == 500
    assert addresses[-1].message == (
        "Internal error occurred: failed to allocate a serviceIP: range is full"
    )


def test_used_up_node_ports_are_the_servers_fault_too() -> None:
    ranges = Ranges(node_ports=(30000, 30000))
    for _ in range(2):
        verdict = validate(service(type="NodePort"), allocator=ranges)
    assert verdict.message == (
        "Internal error occurred: failed to allocate a nodePort: range is full"
    )


def test_one_node_port_serves_all_protocols_of_a_port() -> None:
    spec = stored(
        type="LoadBalancer",
        ports=[
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "nodePort": 30053},
            {"name": "web", "port": 80},
        ],
    )
    assert [port["nodePort"] for port in spec["ports"]] == [30053, 30053, 30086]


def test_a_load_balancer_can_do_without_node_ports_and_keep_one() -> None:
    spec = stored(
        type="LoadBalancer",
        allocateLoadBalancerNodePorts=False,
        ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30081}],
    )
    assert [port.get("nodePort") for port in spec["ports"]] == [None, 30081]
    assert spec["allocateLoadBalancerNodePorts"] is False


def test_a_local_load_balancer_gets_a_port_for_health_checks() -> None:
    spec = stored(type="LoadBalancer", externalTrafficPolicy="Local")
    assert spec["healthCheckNodePort"] == 30087

    taken = validate(
        service(type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=80)
    )
    assert taken.status == 500
    assert "failed to allocate requested HealthCheck NodePort 80" in taken.message
