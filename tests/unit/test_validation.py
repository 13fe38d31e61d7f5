"""What is refused, and how: rules of EndpointSlices, Services and metadata beyond the recordings.

Each case is an object that is fine but for one thing. A cause is written as ``field: message``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.model.validation import Verdict, validate


def service(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", **(metadata or {})},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}, **spec},
    }


def slice_of(*endpoints: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-abc12"},
        "addressType": "IPv4",
        "endpoints": list(endpoints),
        **fields,
    }


def causes(verdict: Verdict) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in verdict.causes]


def first_words(verdict: Verdict) -> list[str]:
    """Causes without the examples and patterns that follow the rule."""
    return [cause.partition(" (e.g.")[0] for cause in causes(verdict)]


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
WORD = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
NOT_EXTERNAL_NAME = "Forbidden: may not be set for ExternalName services"


# --- Services -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"type": "Cluster"},
            ['spec.type: Unsupported value: "Cluster": supported values: "ClusterIP", '
             '"ExternalName", "LoadBalancer", "NodePort"'],
        ),
        (
            {"ports": [{"port": 80}, {"port": 81}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
            ['spec.ports[1].name: Duplicate value: "a"'],
        ),
        ({"ports": [{"port": 80, "name": "HTTP"}]}, [f'spec.ports[0].name: Invalid value: "HTTP": {LABEL}']),
        (
            {"ports": [{"port": 0, "targetPort": 65536}]},
            ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
             "spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive"],
        ),
        (
            {"ports": [{"port": 80, "protocol": "tcp"}]},
            ['spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"ports": [{"port": 80, "targetPort": "-a--b-very-long-name"}]},
            [f'spec.ports[0].targetPort: Invalid value: "-a--b-very-long-name": {said}' for said in [
                "must be no more than 15 characters",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen"]],
        ),
        (
            {"ports": [{"port": 80, "targetPort": "8_0"}]},
            [f'spec.ports[0].targetPort: Invalid value: "8_0": {said}' for said in [
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)"]],
        ),
        (
            {"ports": [{"port": 80, "appProtocol": "a b"}]},
            [f'spec.ports[0].appProtocol: Invalid value: "a b": name part {WORD}'],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30080}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"selector": {"a b": "c d"}},
            [f'spec.selector: Invalid value: "a b": name part {WORD}',
             f'spec.selector: Invalid value: "c d": a valid label must be an empty string or {WORD[5:]}'],
        ),
        (
            {"sessionAffinity": "client"},
            ['spec.sessionAffinity: Unsupported value: "client": supported values: "ClientIP", "None"'],
        ),
        (
            {"sessionAffinity": "ClientIP",
             "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            ["spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be "
             "greater than 0 and less than 86400"],
        ),
        (
            {"sessionAffinity": "ClientIP",
             "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            ["spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be "
             "greater than 0 and less than 86400"],
        ),
        (
            {"externalIPs": ["1.2.3", "01.2.3.4", "::ffff:1.2.3.4", "169.254.0.1", "::", "9.9.9.9"]},
            ['spec.externalIPs[0]: Invalid value: "1.2.3": must be a valid IP address',
             'spec.externalIPs[1]: Invalid value: "01.2.3.4": must not have leading 0s',
             'spec.externalIPs[2]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 '
             'address',
             'spec.externalIPs[3]: Invalid value: "169.254.0.1": may not be in the link-local range '
             '(169.254.0.0/16, fe80::/10)',
             'spec.externalIPs[4]: Invalid value: "::": may not be unspecified (::)'],
        ),
        (
            {"type": "LoadBalancer",
             "loadBalancerSourceRanges": ["10.0.0.0/8 ", "10.0.0.1/8", "10.0.0.0/08", "10.0.0.0",
                                          "::ffff:1.2.3.4/128", "fd00::/129", "10.0.0.0/-1"]},
            ['spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.1/8": must not have bits set '
             'beyond the prefix length',
             'spec.LoadBalancerSourceRanges[2]: Invalid value: "10.0.0.0/08": must not have leading 0s '
             'in IP or prefix length',
             'spec.LoadBalancerSourceRanges[3]: Invalid value: "10.0.0.0": must be a valid CIDR value,',
             'spec.LoadBalancerSourceRanges[4]: Invalid value: "::ffff:1.2.3.4/128": must not have an '
             'IPv4-mapped IPv6 address',
             'spec.LoadBalancerSourceRanges[5]: Invalid value: "fd00::/129": must be a valid CIDR value,',
             'spec.LoadBalancerSourceRanges[6]: Invalid value: "10.0.0.0/-1": must be a valid CIDR '
             'value,'],
        ),
        (
            {"loadBalancerSourceRanges": ["10.0.0.0/8"], "loadBalancerClass": "example.com/x",
             "allocateLoadBalancerNodePorts": False, "healthCheckNodePort": 31000},
            [f"spec.LoadBalancerSourceRanges: Forbidden: {ONLY_LOAD_BALANCER}",
             f"spec.allocateLoadBalancerNodePorts: Forbidden: {ONLY_LOAD_BALANCER}",
             f"spec.loadBalancerClass: Forbidden: {ONLY_LOAD_BALANCER}",
             "spec.healthCheckNodePort: Invalid value: 31000: may only be set when `type` is "
             "'LoadBalancer' and `externalTrafficPolicy` is 'Local'"],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerClass": "a b"},
            [f'spec.loadBalancerClass: Invalid value: "a b": name part {WORD}'],
        ),
        (
            {"type": "NodePort", "clusterIP": "None"},
            ['spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort '
             'services'],
        ),
        (
            {"type": "ExternalName", "externalName": "a_b.", "clusterIP": "10.96.0.9",
             "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
            [f"spec.clusterIPs: {NOT_EXTERNAL_NAME}",
             f"spec.ipFamilies: {NOT_EXTERNAL_NAME}",
             f"spec.ipFamilyPolicy: {NOT_EXTERNAL_NAME}",
             'spec.externalName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of '
             "lower case alphanumeric characters, '-' or '.', and must start and end with an "
             "alphanumeric character"],
        ),
        (
            {"externalIPs": ["9.9.9.9"], "externalTrafficPolicy": "Node"},
            ['spec.externalTrafficPolicy: Unsupported value: "Node": supported values: "Cluster", '
             '"Local"'],
        ),
    ],
)  # fmt: skip
def test_a_service_is_refused_for_every_rule_it_breaks(
    spec: dict[str, Any], wanted: list[str]
) -> None:
    verdict = validate(service(**spec))

    assert (verdict.status, verdict.reason) == (422, "Invalid")
    assert first_words(verdict) == wanted


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


@pytest.mark.parametrize(
    "annotations",
    [
        {"service.kubernetes.io/topology-mode": "Auto"},
        {
            "service.kubernetes.io/topology-mode": "Auto",
            "service.kubernetes.io/topology-aware-hints": "Auto",
        },
    ],
)
def test_one_topology_annotation_or_two_that_agree_are_fine(annotations: dict[str, str]) -> None:
    assert validate(service({"annotations": annotations})).status == 201


def test_two_topology_annotations_must_not_differ() -> None:
    annotations = {
        "service.kubernetes.io/topology-mode": "Auto",
        "service.kubernetes.io/topology-aware-hints": "auto",
    }
    assert causes(validate(service({"annotations": annotations}))) == [
        'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must '
        "match annotations[service.kubernetes.io/topology-aware-hints] when both are specified"
    ]


def test_source_ranges_in_the_old_annotation_follow_the_same_rules() -> None:
    key = "service.beta.kubernetes.io/load-balancer-source-ranges"
    annotated = {"annotations": {key: "10.0.0.0/8, 10.0.0.1/8"}}
    path = f"metadata.annotations[{key}]"

    assert causes(validate(service(annotated))) == [
        f"{path}: Forbidden: {ONLY_LOAD_BALANCER}",
        f'{path}: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
    ]
    assert validate(service({"annotations": {key: " "}}, type="LoadBalancer")).status == 201


# --- EndpointSlices -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        (
            {"addressType": "IPv6", "endpoints": [{"addresses": ["fe80::1", "::1", "::"]}]},
            ['endpoints[0].addresses[0]: Invalid value: "fe80::1": may not be in the link-local range '
             '(169.254.0.0/16, fe80::/10)',
             'endpoints[0].addresses[1]: Invalid value: "::1": may not be in the loopback range '
             '(127.0.0.0/8, ::1/128)',
             'endpoints[0].addresses[2]: Invalid value: "::": may not be unspecified (::)'],
        ),
        (
            {"endpoints": [{"addresses": ["ff02::1"]}]},
            ['endpoints[0].addresses: Invalid value: "ff02::1": must be an IPv4 address',
             'endpoints[0].addresses[0]: Invalid value: "ff02::1": may not be in the link-local '
             'multicast range (224.0.0.0/24, ff02::/10)'],
        ),
        (
            {"addressType": "IPv6", "endpoints": [{"addresses": ["::ffff:1.2.3.4"]}]},
            ['endpoints[0].addresses[0]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped '
             'IPv6 address'],
        ),
        (
            {"addressType": "FQDN", "endpoints": [{"addresses": ["", "a..b"]}]},
            ["endpoints[0].addresses[0]: Required value",
             'endpoints[0].addresses[1]: Invalid value: "a..b": a lowercase RFC 1123 subdomain must '
             "consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
             "an alphanumeric character"],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {
                "forZones": [{"name": "a b"}], "forNodes": [{"name": "N"}]}}]},
            ['endpoints[0].hints.forZones[0].name: Invalid value: "a b": a valid label must be an '
             f"empty string or {WORD[5:]}",
             'endpoints[0].hints.forNodes[0].name: Invalid value: "N": a lowercase RFC 1123 subdomain '
             "must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
             "with an alphanumeric character"],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {
                "forZones": [{"name": f"zone-{place}"} for place in range(9)]}}]},
            ["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"],
        ),
        (
            {"ports": [{"port": 80}] * 20001},
            ["ports: Too many: 20001: must have at most 20000 items"],
        ),
    ],
)  # fmt: skip
def test_a_slice_is_refused_for_every_rule_it_breaks(
    fields: dict[str, Any], wanted: list[str]
) -> None:
    verdict = validate(slice_of(**fields))

    assert (verdict.status, verdict.reason) == (422, "Invalid")
    assert first_words(verdict) == wanted


def test_a_dot_at_the_end_of_a_host_name_is_fine() -> None:
    assert validate(slice_of({"addresses": ["example.com."]}, addressType="FQDN")).status == 201


# --- Metadata -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ({"name": "a.b"}, ['metadata.name: Invalid value: "a.b": must not contain dots']),
        ({"name": "Web"}, [f'metadata.name: Invalid value: "Web": {LABEL}']),
        ({"name": "", "generateName": "Web-"}, [f'metadata.generateName: Invalid value: "Web-": {LABEL}']),
        ({"namespace": "A"}, [f'metadata.namespace: Invalid value: "A": {LABEL}']),
        (
            {"labels": {"a/b/c": "x"}},
            [f'metadata.labels: Invalid value: "a/b/c": a qualified name {WORD}'],
        ),
        (
            {"annotations": {"A b": "any text"}},
            [f'metadata.annotations: Invalid value: "A b": name part {WORD}'],
        ),
        (
            {"annotations": {"a": "x" * 262144}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"ownerReferences": [{"apiVersion": "apps/", "controller": True}]},
            ['metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
             'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
             'metadata.ownerReferences.name: Invalid value: "": must not be empty',
             'metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]},
            ['metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e",'
             '"uid":"u"}: /v1, Kind=Event is disallowed from being an owner'],
        ),
        (
            {"ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": name, "uid": "u", "controller": True}
                for name in "ab"]},
            ['metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"A","name":"a",'
             '"uid":"u","controller":true},{"apiVersion":"v1","kind":"A","name":"b","uid":"u",'
             '"controller":true}]: Only one reference can have Controller set to true. Found "true" in '
             "references for a and b"],
        ),
        (
            {"finalizers": ["orphan", "foregroundDeletion", "a b"]},
            [f'metadata.finalizers: Invalid value: "a b": name part {WORD}',
             'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion","a b"]: finalizer set '
             "[orphan foregroundDeletion a b] cannot contain both orphan and foregroundDeletion"],
        ),
        (
            {"labels": {"a": "quote\" \\ \n\x01é"}},
            [r'metadata.labels: Invalid value: "quote\" \\ \n\x01é": a valid label must be an empty '
             f"string or {WORD[5:]}"],
        ),
    ],
)  # fmt: skip
def test_metadata_is_refused_for_every_rule_it_breaks(
    metadata: dict[str, Any], wanted: list[str]
) -> None:
    assert first_words(validate(service(metadata))) == wanted


def test_a_generated_name_may_end_in_a_dash_and_is_left_to_the_server() -> None:
    verdict = validate(service({"name": "", "generateName": "web-"}))

    assert verdict.stored
    assert verdict.stored["metadata"] == {"generateName": "web-", "namespace": "shop"}


def test_a_negative_generation_is_not_the_clients() -> None:
    verdict = validate(service({"generation": -1}))
    assert causes(verdict) == [
        "metadata.generation: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_who_owns_which_field_is_carried_as_it_is() -> None:
    fields = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    stored = validate(service({"managedFields": fields})).stored
    assert stored
    assert stored["metadata"]["managedFields"] == fields


# --- Bodies that are no such object -------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (service(ports=[{"port": "80"}]), "string into Go struct field ServicePort.spec.ports.port of "
         "type int32"),
        (service(ports=[{"port": 1.5}]), "number 1.5 into Go struct field ServicePort.spec.ports.port "
         "of type int32"),
        (service(ports=[{"port": 2**31}]), "number 2147483648 into Go struct field "
         "ServicePort.spec.ports.port of type int32"),
        (service(ports={}), "object into Go struct field ServiceSpec.spec.ports of type "
         "[]v1.ServicePort"),
        (service(ports=[{"targetPort": True}]), "bool into Go value of type int32"),
        (service(selector=[]), "array into Go struct field ServiceSpec.spec.selector of type "
         "map[string]string"),
        (service(selector={"a": 1}), "number into Go struct field ServiceSpec.spec.selector of type "
         "string"),
        (service(clusterIPs=[1]), "number into Go struct field ServiceSpec.spec.clusterIPs of type "
         "string"),
        (service(publishNotReadyAddresses="yes"), "string into Go struct field "
         "ServiceSpec.spec.publishNotReadyAddresses of type bool"),
        (service(sessionAffinityConfig=3), "number into Go struct field "
         "ServiceSpec.spec.sessionAffinityConfig of type v1.SessionAffinityConfig"),
        (service({"generation": "1"}), "string into Go struct field ObjectMeta.metadata.generation of "
         "type int64"),
        ({**service(), "metadata": "x"}, "string into Go struct field Service.metadata of type "
         "v1.ObjectMeta"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_named_as_go_names_it(body: dict[str, Any], said: str) -> None:
    verdict = validate(body)

    assert (verdict.status, verdict.reason, verdict.causes) == (400, "BadRequest", ())
    assert verdict.message == (
        f'Service in version "v1" cannot be handled as a Service: json: cannot unmarshal {said}'
    )


def test_kind_and_version_may_be_left_out_but_not_be_wrong() -> None:
    body = {key: value for key, value in service().items() if key not in ("apiVersion", "kind")}

    assert validate(body, kind="Service").status == 201
    assert validate({**body, "apiVersion": "v2"}, kind="Service").message == (
        "the API version in the data (v2) does not match the expected API version (v1)"
    )
    assert validate({**body, "kind": "Widget"}, kind="Service").message == (
        'Widget in version "v1" cannot be handled as a Service: no kind "Widget" is registered for '
        'version "v1" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
    )


# --- Anything -----------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["None", "10.96.0.5", "fd00::1", "ClusterIP", "NodePort", "IPv4", "Local"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "port", "protocol", "clientIP", "addresses",
                                       "hints", "forZones", "labels", "a/b/c"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
SPEC_FIELDS = [
    "ports", "selector", "clusterIP", "clusterIPs", "type", "externalIPs", "sessionAffinity",
    "loadBalancerIP", "loadBalancerSourceRanges", "externalName", "externalTrafficPolicy",
    "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig", "ipFamilies",
    "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass",
    "internalTrafficPolicy", "trafficDistribution",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(SPEC_FIELDS), VALUES, max_size=5), VALUES, VALUES)
def test_any_body_gets_an_answer(spec: dict[str, Any], metadata: Any, endpoints: Any) -> None:
    for body in [
        service(**spec),
        {**service(**spec), "metadata": metadata},
        slice_of(endpoints=endpoints, ports=spec.get("ports")),
    ]:
        verdict = validate(body)
        assert (verdict.stored is None) == (verdict.status != 201)
        assert bool(verdict.causes) == (verdict.status == 422)
        json.dumps(verdict.stored)
        if verdict.stored:
            assert validate(verdict.stored).stored == verdict.stored
