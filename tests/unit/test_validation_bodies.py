"""Bodies that are no such object; and whatever else somebody may send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api_objects import service, slice_of
from nearwise.model.validation import validate


@pytest.mark.parametrize(
    ("spec", "found", "place", "wanted"),
    [
        ({"ports": [{"port": "80"}]}, "string", "ServicePort.spec.ports.port", "int32"),
        ({"ports": [{"port": 1.5}]}, "number 1.5", "ServicePort.spec.ports.port", "int32"),
        (
            {"ports": [{"port": 2**31}]},
            "number 2147483648",
            "ServicePort.spec.ports.port",
            "int32",
        ),
        ({"ports": {}}, "object", "ServiceSpec.spec.ports", "[]v1.ServicePort"),
        ({"ports": [3]}, "number", "ServiceSpec.spec.ports", "v1.ServicePort"),
        ({"selector": []}, "array", "ServiceSpec.spec.selector", "map[string]string"),
        ({"selector": {"a": 1}}, "number", "ServiceSpec.spec.selector", "string"),
        ({"clusterIPs": [1]}, "number", "ServiceSpec.spec.clusterIPs", "string"),
        (
            {"publishNotReadyAddresses": "yes"},
            "string",
            "ServiceSpec.spec.publishNotReadyAddresses",
            "bool",
        ),
        (
            {"sessionAffinityConfig": 3},
            "number",
            "ServiceSpec.spec.sessionAffinityConfig",
            "v1.SessionAffinityConfig",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_named_as_go_names_it(
    spec: dict[str, Any], found: str, place: str, wanted: str
) -> None:
    verdict = validate(service(**spec))

    assert (verdict.status, verdict.reason, verdict.causes) == (400, "BadRequest", ())
    assert verdict.message == (
        'Service in version "v1" cannot be handled as a Service: json: cannot unmarshal '
        f"{found} into Go struct field {place} of type {wanted}"
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {**service(), "metadata": "x"},
            "string into Go struct field Service.metadata of type v1.ObjectMeta",
        ),
        (
            service({"generation": "1"}),
            "string into Go struct field ObjectMeta.metadata.generation of type int64",
        ),
        (
            service(ports=[{"port": 80, "targetPort": True}]),
            "bool into Go value of type int32",
        ),
    ],
)
def test_metadata_and_ports_by_name_or_number(body: dict[str, Any], said: str) -> None:
    assert validate(body).message.endswith(f"json: cannot unmarshal {said}")


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


WORDS = ["None", "10.96.0.5", "fd00::1", "ClusterIP", "NodePort", "IPv4", "Local", "a/b/c"]
NAMES = ["name", "port", "protocol", "clientIP", "addresses", "hints", "forZones", "labels"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)
SPEC_FIELDS = [
    "ports",
    "selector",
    "clusterIP",
    "clusterIPs",
    "type",
    "externalIPs",
    "sessionAffinity",
    "sessionAffinityConfig",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "loadBalancerClass",
    "allocateLoadBalancerNodePorts",
    "externalName",
    "externalTrafficPolicy",
    "internalTrafficPolicy",
    "trafficDistribution",
    "ipFamilies",
    "ipFamilyPolicy",
    "healthCheckNodePort",
    "publishNotReadyAddresses",
]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(SPEC_FIELDS), VALUES, max_size=5), VALUES, VALUES)
def test_any_body_gets_an_answer_and_what_is_stored_is_stored_again(
    spec: dict[str, Any], metadata: Any, endpoints: Any
) -> None:
    for body in [
        service(**spec),
        {**service(**spec), "metadata": metadata},
        slice_of(endpoints=endpoints, ports=spec.get("ports")),
    ]:
        verdict = validate(body)
        assert (verdict.stored is None) == (verdict.status != 201)
        assert bool(verdict.causes) == (verdict.status == 422)
        if verdict.stored:
            json.dumps(verdict.stored)
            assert validate(verdict.stored).stored == verdict.stored
