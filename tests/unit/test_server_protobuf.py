"""Bodies in Kubernetes' protobuf: what kubectl's typed commands send, and what nobody should."""

from __future__ import annotations

import base64
import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.openapi.definitions import definitions
from nearwise.server.protobuf import WireError, read
from nearwise.server.protobuf.numbers import numbers
from nearwise.server.protobuf.wire import fields
from served import DEFAULT, SLICES, Server, play

PROTOBUF = "application/vnd.kubernetes.protobuf"

# What kubectl 1.37 sent for: create ns tmp; create configmap cm --from-literal=a=b
# --from-file=bin=FILE; create deployment x --image=nginx --replicas=0 --port 80; create service
# nodeport z --tcp=80:web.
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "namespace": (
        "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhsKEwoDdG1wEgAaACIAKgAyADgAQgASABoCCgAaACIA",
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "tmp"},
            "spec": {},
            "status": {},
        },
    ),
    "config map": (
        "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEisKFQoCY20SABoDdG1wIgAqADIAOABCABIGCgFhEgFiGgoKA2JpbhIDAAH/"
        "GgAiAA==",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cm", "namespace": "tmp"},
            "data": {"a": "b"},
            "binaryData": {"bin": "AAH/"},
        },
    ),
    "deployment": (
        "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErMBCh4KAXgSABoDdG1wIgAqADIAOABCAFoICgNhcHASAXgSggEI"
        "ABIKCggKA2FwcBIBeBpqChoKABIAGgAiACoAMgA4AEIAWggKA2FwcBIBeBJMEi4KBW5naW54EgVuZ2lueCoAMgoK"
        "ABAAGFAiACoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwI"
        "ABAAGAAgACgAOAAaACIA",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "x", "namespace": "tmp", "labels": {"app": "x"}},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "x"}},
                "strategy": {},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {
                        "containers": [
                            {
                                "image": "nginx",
                                "name": "nginx",
                                "ports": [{"containerPort": 80}],
                                "resources": {},
                            }
                        ]
                    },
                },
            },
            "status": {},
        },
    ),
    "service": (
        "azhzAAoNCgJ2MRIHU2VydmljZRJmCh4KAXoSABoDdG1wIgAqADIAOABCAFoICgNhcHASAXoSQAocCgY4MC13ZWIS"
        "A1RDUBhQIgkIARAAGgN3ZWIoABIICgNhcHASAXoaACIITm9kZVBvcnQ6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "z", "namespace": "tmp", "labels": {"app": "z"}},
            "spec": {
                "ports": [{"name": "80-web", "protocol": "TCP", "port": 80, "targetPort": "web"}],
                "selector": {"app": "z"},
                "type": "NodePort",
            },
            "status": {"loadBalancer": {}},
        },
    ),
}


@pytest.mark.parametrize("what", SENT)
def test_what_kubectl_sent(what: str) -> None:
    body, content = SENT[what]

    assert read(base64.b64decode(body)) == content


# --- Messages made here -------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """Write numbers and texts, or messages, as the fields of a message."""
    found = b""
    for number, value in parts:
        if isinstance(value, int):
            found += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            found += varint(number << 3 | 2) + varint(len(data)) + data
    return found


def sent(kind: str, content: bytes, api_version: str = "v1") -> bytes:
    return b"k8s\0" + message((1, message((1, api_version), (2, kind))), (2, content))


NAMED = message((1, "web"))


def test_an_endpoint_slice() -> None:
    conditions = message((1, 0), (2, 1))
    endpoint = message((1, "10.1.1.1"), (1, "10.1.1.2"), (2, conditions), (6, "n1"), (7, ""))
    content = message((1, NAMED), (2, endpoint), (3, message((1, ""), (3, 80))), (4, "IPv4"))

    found = read(sent("EndpointSlice", content, "discovery.k8s.io/v1"))

    assert found["endpoints"] == [
        {
            "addresses": ["10.1.1.1", "10.1.1.2"],
            "conditions": {"ready": False, "serving": True},
            "nodeName": "n1",
            "zone": "",
        }
    ]
    assert found["ports"] == [{"name": "", "port": 80}]


def test_times_amounts_and_numbers_below_zero() -> None:
    lease = message((1, ""), (3, message((1, 1_767_225_600), (2, 5_000))), (5, -3))
    node = message((3, message((1, message((1, "cpu"), (2, message((1, "250m"))))))))
    born = message((1, "web"), (8, message((1, 1_767_225_600))))

    found = read(sent("Lease", message((1, born), (2, lease)), "coordination.k8s.io/v1"))
    capacity = read(sent("Node", message((1, NAMED), *((n, v) for n, v in fields(node)))))

    assert found["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert found["spec"] == {
        "holderIdentity": "",
        "acquireTime": "2026-01-01T00:00:00.000005Z",
        "leaseTransitions": -3,
    }
    assert capacity["status"]["capacity"] == {"cpu": "250m"}


def test_what_is_inlined_and_what_comes_several_at_a_time() -> None:
    probe = message(
        (1, message((2, message((1, "/ready"), (2, message((1, 0), (2, 80))))))), (4, 5)
    )
    container = message((1, "c"), (2, "x"), (11, probe))
    volume = message((1, "v"), (2, message((2, message()))))
    security = message((4, b"\x01\x96\x01"))
    spec = message((1, volume), (2, container), (14, security))

    found = read(sent("Pod", message((1, NAMED), (2, spec))))["spec"]

    assert found["containers"][0]["readinessProbe"] == {
        "httpGet": {"path": "/ready", "port": 80},
        "periodSeconds": 5,
    }
    assert found["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert found["securityContext"]["supplementalGroups"] == [1, 150]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "does not appear to be a protobuf message"),
        (b'{"kind": "Pod"}', "does not appear to be a protobuf message"),
        (b"k8s\0", 'no kind "" is registered for version ""'),
        (sent("Widget", b""), 'no kind "Widget" is registered for version "v1"'),
        (sent("Pod", NAMED)[:-1], "unexpected end of the message"),
        (sent("Pod", message((1, 5))), "a number stands where bytes should"),
        (sent("Pod", message((2, message((4, "x"))))), "bytes stand where a number should"),
        (sent("Pod", message((1, message((1, b"\xff"))))), "a text is not UTF-8"),
        (sent("Pod", b"\x0b"), "wire type 3 is not known"),
        (sent("Pod", b"\xff" * 11), "a number is too long"),
        (
            sent("Pod", message((1, message((8, message((1, 2**62))))))),
            "a time is out of range",
        ),
        (
            sent("Pod", message((1, message((17, message((7, message((1, "{"))))))))),
            "broken JSON",
        ),
    ],
)
def test_bodies_that_are_none(body: bytes, why: str) -> None:
    with pytest.raises(WireError, match=why):
        read(body)


def test_every_number_is_of_a_field_that_the_kind_has() -> None:
    known = definitions()
    for name, places in numbers().items():
        for place in places.values():
            if place.inlined:
                assert place.name in numbers()
            elif name in known:
                assert place.name in known[name].fields, (name, place.name)


RIGHT = [base64.b64decode(body) for body, _ in SENT.values()]


@given(st.data())
def test_a_body_that_is_almost_right_is_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(data.draw(st.sampled_from(RIGHT)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(4, len(body) - 1))
        body[place] = data.draw(st.integers(0, 255))
    with suppress(WireError):
        read(bytes(body))


# --- Through the server -------------------------------------------------------------------


def test_objects_are_created_replaced_and_deleted() -> None:
    async def scenario(server: Server) -> None:
        async def ask(method: str, target: str, body: bytes) -> Any:
            return await server.ask(method, target, body, media=PROTOBUF)

        spec = message((1, message((1, "http"), (3, 80))))
        service = sent("Service", message((1, NAMED), (2, spec)))
        created = await ask("POST", f"{DEFAULT}/services", service)
        assert created.status == 201
        assert created.json["spec"]["ports"] == [
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}
        ]
        again = await ask("PUT", f"{DEFAULT}/services/web", service)
        assert again.json == created.json

        wrong_kind = await ask("POST", SLICES, service)
        assert wrong_kind.status == 400
        broken = await ask("POST", f"{DEFAULT}/services", b"k8s")
        assert broken.status == 400
        assert broken.json["message"].endswith(
            "provided data does not appear to be a protobuf message (6b3873)"
        )

        uid = message((1, "of-another"))
        options = sent("DeleteOptions", message((1, 3), (2, uid), (4, "Foreground")))
        refused = await ask("DELETE", f"{DEFAULT}/services/web", options)
        assert (refused.status, refused.json["reason"]) == (409, "Conflict")

    play(scenario)


def test_fixed_sizes_are_read_over() -> None:
    extra = struct.pack("<Bd", 100 << 3 & 0x7F | 1, 1.5)

    assert list(fields(extra)) == [(4, struct.pack("<d", 1.5))]
    assert list(fields(b"\x0d\x01\x02\x03\x04")) == [(1, b"\x01\x02\x03\x04")]
