"""What a Service is refused for, beyond the recorded answers. Each is fine but for one thing."""

from __future__ import annotations

from typing import Any

import pytest

from api_objects import LABEL, LABEL_VALUE, NAME_PART, SUBDOMAIN, causes, invalid, service
from nearwise.model.validation import validate

ONLY_LOAD_BALANCER = "Forbidden: may only be used when `type` is 'LoadBalancer'"
NOT_EXTERNAL_NAME = "Forbidden: may not be set for ExternalName services"
SECONDS = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
PORT_RANGE = "must be between 1 and 65535, inclusive"


def refused(**spec: Any) -> list[str]:
    verdict = validate(service(**spec))
    assert (verdict.status, verdict.reason) == (422, "Invalid")
    return causes(verdict)


# --- Ports --------------------------------------------------------------------------------


def test_several_ports_need_names_and_different_ones() -> None:
    assert refused(ports=[{"port": 80}, {"port": 81}]) == [
        "spec.ports[0].name: Required value",
        "spec.ports[1].name: Required value",
    ]
    assert refused(ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]) == [
        'spec.ports[1].name: Duplicate value: "a"'
    ]


def test_node_ports_are_not_for_cluster_ips_and_not_twice() -> None:
    assert refused(ports=[{"port": 80, "nodePort": 30080}]) == [
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"
    ]
    assert refused(
        type="NodePort",
        ports=[
            {"name": "a", "port": 80, "nodePort": 30080},
            {"name": "b", "port": 81, "nodePort": 30080},
        ],
    ) == invalid("spec.ports[1].nodePort", "30080", "provided port is already allocated")


@pytest.mark.parametrize(
    ("port", "field", "value", "details"),
    [
        ({"name": "HTTP"}, "name", '"HTTP"', [LABEL]),
        ({"port": 0, "targetPort": 1}, "port", "0", [PORT_RANGE]),
        ({"port": 65536, "targetPort": 1}, "port", "65536", [PORT_RANGE]),
        ({"targetPort": 65536}, "targetPort", "65536", [PORT_RANGE]),
        ({"targetPort": -1}, "targetPort", "-1", [PORT_RANGE]),
        (
            {"targetPort": "-a--b-very-long-name"},
            "targetPort",
            '"-a--b-very-long-name"',
            [
                "must be no more than 15 characters",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        (
            {"targetPort": "8_0"},
            "targetPort",
            '"8_0"',
            [
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ],
        ),
        ({"appProtocol": "a b"}, "appProtocol", '"a b"', [NAME_PART]),
    ],
)
def test_a_port_is_refused_for_every_rule_it_breaks(
    port: dict[str, Any], field: str, value: str, details: list[str]
) -> None:
    wanted = invalid(f"spec.ports[0].{field}", value, *details)
    assert refused(ports=[{"port": 80, **port}]) == wanted


def test_protocols_are_written_in_capitals() -> None:
    assert refused(ports=[{"port": 80, "protocol": "tcp"}]) == [
        'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"'
    ]


# --- Types --------------------------------------------------------------------------------


def test_there_are_four_types() -> None:
    assert refused(type="Cluster") == [
        'spec.type: Unsupported value: "Cluster": supported values: "ClusterIP", '
        '"ExternalName", "LoadBalancer", "NodePort"'
    ]


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_what_is_reached_from_outside_is_not_headless(kind: str) -> None:
    detail = f"may not be set to 'None' for {kind} services"
    assert refused(type=kind, clusterIP="None") == invalid("spec.clusterIPs[0]", '"None"', detail)


def test_an_external_name_is_a_name_and_nothing_else() -> None:
    assert refused(
        type="ExternalName",
        externalName="a_b.",
        clusterIP="10.96.0.9",
        ipFamilies=["IPv4"],
        ipFamilyPolicy="SingleStack",
    ) == [
        f"spec.clusterIPs: {NOT_EXTERNAL_NAME}",
        f"spec.ipFamilies: {NOT_EXTERNAL_NAME}",
        f"spec.ipFamilyPolicy: {NOT_EXTERNAL_NAME}",
        *invalid("spec.externalName", '"a_b"', SUBDOMAIN),
    ]


def test_load_balancer_fields_are_for_load_balancers() -> None:
    detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    assert refused(
        loadBalancerSourceRanges=["10.0.0.0/8"],
        loadBalancerClass="example.com/x",
        allocateLoadBalancerNodePorts=False,
        healthCheckNodePort=31000,
    ) == [
        f"spec.LoadBalancerSourceRanges: {ONLY_LOAD_BALANCER}",
        f"spec.allocateLoadBalancerNodePorts: {ONLY_LOAD_BALANCER}",
        f"spec.loadBalancerClass: {ONLY_LOAD_BALANCER}",
        *invalid("spec.healthCheckNodePort", "31000", detail),
    ]


def test_a_load_balancer_class_is_a_qualified_name() -> None:
    assert refused(type="LoadBalancer", loadBalancerClass="a b") == invalid(
        "spec.loadBalancerClass", '"a b"', NAME_PART
    )


# --- Selector, affinity, policies ---------------------------------------------------------


def test_a_selector_is_made_of_labels() -> None:
    assert refused(selector={"a b": "c d"}) == [
        *invalid("spec.selector", '"a b"', NAME_PART),
        *invalid("spec.selector", '"c d"', LABEL_VALUE),
    ]


@pytest.mark.parametrize("seconds", [0, -1, 86401])
def test_a_client_stays_between_a_second_and_a_day(seconds: int) -> None:
    config = {"clientIP": {"timeoutSeconds": seconds}}
    assert refused(sessionAffinity="ClientIP", sessionAffinityConfig=config) == invalid(
        SECONDS, str(seconds), "must be greater than 0 and less than 86400"
    )


def test_a_whole_day_is_allowed_all_the_same() -> None:
    config = {"clientIP": {"timeoutSeconds": 86400}}
    body = service(sessionAffinity="ClientIP", sessionAffinityConfig=config)
    assert validate(body).status == 201


def test_affinity_is_by_client_or_none() -> None:
    assert refused(sessionAffinity="client") == [
        'spec.sessionAffinity: Unsupported value: "client": supported values: "ClientIP", "None"'
    ]


def test_external_addresses_make_a_policy_possible_but_not_any() -> None:
    assert refused(externalIPs=["9.9.9.9"], externalTrafficPolicy="Node") == [
        'spec.externalTrafficPolicy: Unsupported value: "Node": supported values: "Cluster", '
        '"Local"'
    ]


def test_all_that_is_wrong_comes_in_one_answer_and_in_one_sentence() -> None:
    verdict = validate(service(ports=[], internalTrafficPolicy="x", trafficDistribution="y"))

    assert [cause.field for cause in verdict.causes] == [
        "spec.ports",
        "spec.internalTrafficPolicy",
        "spec.trafficDistribution",
    ]
    assert verdict.message == (
        'Service "web" is invalid: [spec.ports: Required value, spec.internalTrafficPolicy: '
        'Unsupported value: "x": supported values: "Cluster", "Local", spec.trafficDistribution: '
        'Unsupported value: "y": supported values: "PreferClose", "PreferSameZone", '
        '"PreferSameNode"]'
    )


# --- Addresses and ranges -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("1.2.3", "must be a valid IP address,"),
        ("01.2.3.4", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("169.254.0.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("::", "may not be unspecified (::)"),
    ],
)
def test_external_addresses_that_nobody_can_reach(address: str, detail: str) -> None:
    assert refused(externalIPs=["9.9.9.9", address]) == invalid(
        "spec.externalIPs[1]", f'"{address}"', detail
    )


def test_old_address_fields_take_any_spelling_of_an_address() -> None:
    assert validate(service(externalIPs=["FD00:0::1"])).status == 201


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.4/128", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.0", "must be a valid CIDR value,"),
        ("fd00::/129", "must be a valid CIDR value,"),
        ("10.0.0.0/-1", "must be a valid CIDR value,"),
        ("10.0.0.0/99999999999999999999", "must be a valid CIDR value,"),
    ],
)
def test_source_ranges_must_say_what_they_mean(given: str, detail: str) -> None:
    assert refused(type="LoadBalancer", loadBalancerSourceRanges=[" 10.0.0.0/8 ", given]) == (
        invalid("spec.LoadBalancerSourceRanges[1]", f'"{given}"', detail)
    )


def test_source_ranges_in_the_old_annotation_follow_the_same_rules() -> None:
    key = "service.beta.kubernetes.io/load-balancer-source-ranges"
    path = f"metadata.annotations[{key}]"

    assert causes(validate(service({"annotations": {key: "10.0.0.0/8, 10.0.0.1/8"}}))) == [
        f"{path}: {ONLY_LOAD_BALANCER}",
        *invalid(path, '"10.0.0.1/8"', "must not have bits set beyond the prefix length"),
    ]
    assert validate(service({"annotations": {key: " "}}, type="LoadBalancer")).status == 201


# --- Topology annotations -----------------------------------------------------------------

MODE = "service.kubernetes.io/topology-mode"
HINTS = "service.kubernetes.io/topology-aware-hints"


@pytest.mark.parametrize("annotations", [{MODE: "Auto"}, {MODE: "Auto", HINTS: "Auto"}])
def test_one_topology_annotation_or_two_that_agree_are_fine(annotations: dict[str, str]) -> None:
    assert validate(service({"annotations": annotations})).status == 201


def test_two_topology_annotations_must_not_differ() -> None:
    verdict = validate(service({"annotations": {MODE: "Auto", HINTS: "auto"}}))
    assert causes(verdict) == invalid(
        f"metadata.annotations[{MODE}]",
        '"Auto"',
        f"must match annotations[{HINTS}] when both are specified",
    )
