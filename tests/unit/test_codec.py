"""Objects out of JSON, YAML and any mix of both, and what is said of broken ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from nearwise.model import EndpointSlice, Event, Pod, Service, codec, yamltree
from nearwise.model.codec import InputError, Objects, read
from nearwise.model.objects import FIELDS

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SHOP = (EXAMPLES / "shop.yaml").read_bytes()

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  ports:
  - port: 80
"""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop"},
    "status": {"podIP": "10.0.0.1"},
}


def names(objects: Objects) -> dict[str, list[str]]:
    """Return what was found: names by kind."""
    found = {name: [one.metadata.name for one in getattr(objects, name)] for name in FIELDS}
    return {name: given for name, given in found.items() if given}


def as_json(*objects: object) -> bytes:
    return "\n".join(json.dumps(one) for one in objects).encode()


def complaint(data: bytes | str) -> str:
    with pytest.raises(InputError) as refused:
        read(data.encode() if isinstance(data, str) else data, "dump")
    return str(refused.value)


# --- Forms in which objects come ----------------------------------------------------------


def a_list(*items: object, kind: str = "List", api_version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "items": list(items)}


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("one JSON object", as_json(POD)),
        ("JSON lines", as_json(POD, POD)),
        ("JSON objects without anything between", json.dumps(POD).encode() * 2),
        ("indented JSON objects in a row", (json.dumps(POD, indent=2) * 2).encode()),
        ("a JSON array", as_json([POD])),
        ("a List", as_json(a_list(POD))),
        ("a PodList", as_json(a_list(POD, kind="PodList"))),
        (
            "a PodList whose items do not say what they are",
            as_json(a_list({"metadata": POD["metadata"]}, kind="PodList")),
        ),
        ("lists in lists", as_json(a_list(a_list(a_list(POD)), a_list(POD, kind="PodList")))),
        ("a list of an API call without kind", as_json({"items": [POD]})),
        ("YAML", yaml.safe_dump(POD).encode()),
        ("YAML in flow style", b"{apiVersion: v1, kind: Pod, metadata: {name: web-1}}"),
        ("YAML documents", yaml.safe_dump_all([POD, None, POD]).encode()),
        ("a YAML list without kind", yaml.safe_dump([POD]).encode()),
        ("JSON and then YAML", as_json(POD) + b"\n---\n" + yaml.safe_dump(POD).encode()),
        ("YAML and then JSON", yaml.safe_dump(POD).encode() + b"---\n" + as_json(POD)),
        ("gzip", gzip.compress(as_json(POD))),
        ("gzip in two parts", gzip.compress(as_json(POD)[:40]) + gzip.compress(as_json(POD)[40:])),
        ("a UTF-8 byte order mark", b"\xef\xbb\xbf" + as_json(POD)),
        ("UTF-16 from PowerShell", SERVICE.replace("Service", "Pod").encode("utf-16")),
        ("Windows line ends", yaml.safe_dump(POD).replace("\n", "\r\n").encode()),
    ],
)
def test_every_form_of_the_same_pod_is_read(form: str, data: bytes) -> None:
    objects = read(data)

    (pod,) = objects.pods
    assert (pod.kind, pod.api_version) == ("Pod", "v1")
    assert names(objects).keys() == {"pods"}
    assert objects.notices == ()


@pytest.mark.parametrize("nothing", [b"", b" \n\t", b"# only a comment\n", b"---\n---\n", b"null"])
def test_nothing_in_it_is_no_error(nothing: bytes) -> None:
    assert read(nothing).empty


def test_every_example_is_read_alike_from_yaml_and_from_json() -> None:
    for file in sorted(EXAMPLES.glob("*.yaml")):
        data = file.read_bytes()
        tree = yaml.load(data, Loader=yaml.CSafeLoader)

        objects = read(data)

        assert objects == read(json.dumps(tree).encode())
        assert objects == read("\n---\n".join(json.dumps(one) for one in tree["items"]).encode())
        assert sum(map(len, names(objects).values())) == len(tree["items"])
        assert (objects.others, objects.notices) == ({}, ())


def test_the_shop_has_what_kubectl_listed() -> None:
    assert {kind: len(found) for kind, found in names(read(SHOP)).items()} == {
        "services": 13,
        "pods": 42,
        "nodes": 7,
        "namespaces": 7,
        "endpoints": 1,
        "slices": 12,
        "events": 8,
    }


# --- Which objects are kept ---------------------------------------------------------------


def test_other_kinds_are_counted_and_not_kept() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}}
    knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "spec": {"ports": 5}}

    objects = read(as_json(secret, a_list(secret, secret, kind="SecretList"), knative, POD))

    assert objects.others == {"Secret": 3, "Service": 1}
    assert names(objects) == {"pods": ["web-1"]}


def test_a_version_that_nobody_knows_is_told() -> None:
    old = {"apiVersion": "discovery.k8s.io/v1alpha1", "kind": "EndpointSlice"}

    objects = read(as_json(old, old), "dump")

    assert [notice.text for notice in objects.notices] == [
        "dump: 2 EndpointSlice objects are left out: version discovery.k8s.io/v1alpha1 is not "
        "known here"
    ]
    assert objects.others == {"EndpointSlice": 2}


@pytest.mark.parametrize("junk", [b"hello", b"[1, 2]", b'{"a": 1}', b"kind: Pod", b"- x\n- y\n"])
def test_what_is_no_object_is_left_out_and_told(junk: bytes) -> None:
    objects = read(junk, "notes")

    assert objects.empty
    assert {notice.code for notice in objects.notices} == {"object-without-kind"}


def test_an_object_without_a_name_is_left_out_and_told() -> None:
    (notice,) = read(b"{apiVersion: v1, kind: Pod, metadata: {generateName: web-}}", "x").notices
    assert notice.text == "x: 1 Pod object without a name is left out"


def test_an_object_without_a_namespace_is_in_default_and_nodes_are_nowhere() -> None:
    objects = read(
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}'
        b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}'
    )

    assert objects.pods[0].metadata.key == ("default", "p")
    assert objects.nodes[0].metadata.key == ("", "n")


def test_null_means_absent_but_a_label_without_value_is_there() -> None:
    data = """\
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: null, labels: {role: , app: web}, annotations: null}
spec: {containers: null, hostNetwork: null}
"""
    (pod,) = read(data.encode()).pods

    assert pod.metadata.labels == {"role": "", "app": "web"}
    assert (pod.metadata.annotations, pod.spec.containers) == ({}, ())


def test_a_slice_without_endpoints_as_the_api_server_writes_it() -> None:
    (empty,) = read(
        b'{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"x"},'
        b'"addressType":"IPv4","endpoints":null,"ports":null}'
    ).slices
    assert (empty.endpoints, empty.ports) == ((), ())


def test_events_of_both_versions_are_one_kind() -> None:
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e1", "namespace": "shop"},
        "regarding": {"kind": "Service", "name": "web"},
        "reason": "TopologyAwareHintsDisabled",
        "note": "Insufficient number of endpoints",
        "type": "Warning",
        "deprecatedCount": 3,
        "deprecatedLastTimestamp": "2026-11-30T05:44:46Z",
        "deprecatedSource": {"component": "endpoint-slice-controller"},
        "reportingController": "endpoint-slice-controller",
    }
    (event,) = read(as_json(new)).events

    assert (event.api_version, event.kind) == ("v1", "Event")
    assert event.involved_object.name == "web"
    assert event.message == "Insufficient number of endpoints"
    assert (event.count, event.last_timestamp) == (3, "2026-11-30T05:44:46Z")
    assert event.source.component == event.reporting_component == "endpoint-slice-controller"


def test_a_beta_slice_has_its_zone_and_node_among_the_labels() -> None:
    beta = {
        "apiVersion": "discovery.k8s.io/v1beta1",
        "kind": "EndpointSlice",
        "metadata": {"name": "x", "namespace": "shop"},
        "addressType": "IPv4",
        "endpoints": [
            {
                "addresses": ["10.0.0.1"],
                "topology": {
                    "kubernetes.io/hostname": "node-1",
                    "topology.kubernetes.io/zone": "zone-a",
                },
            }
        ],
    }
    (slice_,) = read(as_json(beta)).slices

    assert slice_.api_version == "discovery.k8s.io/v1"
    assert (slice_.endpoints[0].node_name, slice_.endpoints[0].zone) == ("node-1", "zone-a")


# --- What is said of broken input ---------------------------------------------------------


def test_a_wrong_type_names_file_document_line_object_and_field() -> None:
    data = "# a comment\n---\n" + SERVICE + "---\n" + SERVICE.replace("80", '"80"')

    assert complaint(data) == (
        "dump, document 2, line 19: Service shop/web: spec.ports[0].port: expected a whole "
        "number, got text"
    )


def test_a_label_that_yaml_takes_for_a_number_is_named_and_there_is_a_hint() -> None:
    data = SERVICE.replace("  name: web", "  name: web\n  labels:\n    app: web\n    shard: 7")

    assert complaint(data) == (
        "dump, document 1, line 7: Service shop/web: metadata.labels[shard]: expected text, got "
        "a whole number (put it in quotes)"
    )


def test_an_item_of_a_json_list_has_its_line_too() -> None:
    broken = {**POD, "status": {"podIP": 7}}
    data = json.dumps(a_list(POD, POD, broken), indent=1).encode()
    line = data[: data.index(b'"podIP": 7')].count(b"\n") + 1

    assert complaint(as_json(POD) + b"\n" + data) == (
        f"dump, document 2, line {line + 1}: Pod shop/web-1: status.podIP: expected text, got a "
        "whole number (put it in quotes)"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"a": 1,', "dump, document 1, line 1: broken JSON: it ends too early"),
        (
            '{"apiVersion": "v1",\n "kind": "Pod"\n "x": 1}',
            "dump, document 1, line 3: broken JSON: expected ',' or '}'",
        ),
        (
            "a: 1\n---\nb: [1, 2\nc: 3\n",
            "dump, document 2, line 4: broken YAML: while parsing a flow sequence, did not find "
            "expected ',' or ']'",
        ),
        ("a: 1\n\tb: 2\n", "dump, document 1, line 2: broken YAML"),
        ("a: *b\n", "dump, document 1, line 1: alias *b comes before what it stands for"),
        ("a: &a [*a]\n", "dump, document 1, line 1: alias *a comes before what it stands for"),
        ("a: &x [1]\n*x : 2\n", "dump, document 1, line 2: a key must be text, not a list"),
        (
            '{"apiVersion": "v1", "kind": "Pod",\n"metadata": {"name": ["a"]}}',
            "dump, document 1, line 2: Pod: metadata.name: expected text, got a list",
        ),
        (
            '{"apiVersion": "v1", "kind": "Pod",\n"metadata": {"name": 3}, "x": "\\q"}',
            "dump, document 1, line 2: broken JSON: invalid escaped character",
        ),
        ("? [a]\n: b\n", "dump, document 1, line 1: a key must be text, not a list or a mapping"),
        ("<<: 1\na: 2\n", "dump, document 1, line 3: what << names must be a mapping"),
        ("kind: [Pod]", "dump, document 1, line 1: kind: expected text or null, got a list"),
        (b"a: caf\xe9\n", "dump, document 1, line 1: unreadable text"),
        (b"\x7fELF\0\0", "dump: is not text"),
        (
            b"\0" * 257 + b"ustar",
            "dump: is not text (this is a tar archive: unpack it and give the folder)",
        ),
        (gzip.compress(SHOP)[:500], "dump: the gzip data ends too early"),
        (b"\x1f\x8b junk", "dump: broken gzip data"),
        (gzip.compress(SHOP) + b"x", "dump: the gzip data is followed by something else"),
    ],
)
def test_broken_data_says_where_and_what(data: bytes | str, said: str) -> None:
    assert complaint(data).startswith(said)


@pytest.mark.parametrize(
    "deep",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "- " * 100_000,
        '{"apiVersion":"v1","kind":"Pod","x":' + "[" * 100_000,
        '{"kind":"List","items":[' * 50_000,
    ],
)
def test_deep_nesting_is_refused_and_never_overflows(deep: str) -> None:
    assert "nested" in complaint(deep) or "exceeded" in complaint(deep)


def test_nested_lists_are_gone_through_as_deep_as_json_may_nest() -> None:
    nested = json.loads("[" * 300 + json.dumps(POD) + "]" * 300)
    assert names(read(as_json(nested))) == {"pods": ["web-1"]}


def test_aliases_cannot_blow_up() -> None:
    laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{after}: &{after} [{','.join([f'*{before}'] * 10)}]\n"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "aliases stand for more than 1000000 values" in complaint(laughs)


def test_gzip_cannot_blow_up() -> None:
    with pytest.raises(InputError, match="holds more than 1000 bytes"):
        read(gzip.compress(b" " * 100_000), max_bytes=1000)
    with pytest.raises(InputError, match="holds more than 10 bytes"):
        read(SERVICE.encode(), max_bytes=10)


# --- One object ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["services", "slices", "pods", "nodes", "events"])
def test_encode_and_decode_are_inverse(kind: str) -> None:
    for one in getattr(read(SHOP), kind):
        assert codec.decode(codec.encode(one), type(one)) == one
        assert codec.from_dict(codec.to_dict(one), type(one)) == one


def test_decode_passes_over_nulls_and_unknown_fields() -> None:
    data = b'{"metadata":{"name":"web","labels":null},"spec":{"new":{"a":[1]}},"more":null}'
    assert codec.decode(data, Service).metadata.name == "web"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"spec":{"ports":[{"port":"x"}]}}', "spec.ports[0].port: expected a whole number, got"),
        (b'{"spec":{"ports":{}}}', "spec.ports: expected a list, got a mapping"),
        (b"[]", "expected a mapping, got a list"),
        (b'{"spec":{"ports":[{"port":99999999999}]}}', "spec.ports[0].port: expected 'int' <="),
        (b'{"spec":', "broken JSON: Input data was truncated"),
    ],
)
def test_decode_says_which_field_is_wrong(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as refused:
        codec.decode(data, Service)
    assert str(refused.value).startswith(said)


def test_from_dict_refuses_endless_nesting() -> None:
    nested: dict[str, object] = {"spec": None}
    nested["metadata"] = nested["x"] = nested
    with pytest.raises(InputError, match="nested too deep"):
        codec.from_dict(nested, Pod)


# --- Readers -----------------------------------------------------------------------------


def test_without_the_c_parser_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(SHOP[: SHOP.index(b"- apiVersion", 9000)])
    monkeypatch.setattr(yamltree, "_LOADER", yaml.SafeLoader)

    assert read(SHOP[: SHOP.index(b"- apiVersion", 9000)]) == fast
    assert complaint("a: 1\n---\nb: [1, 2\nc: 3\n").startswith(
        "dump, document 2, line 4: broken YAML"
    )
    assert complaint(b"a: caf\xe9\n").startswith("dump, document 1, line 1: unreadable text")


def test_kinds_are_what_the_fields_say() -> None:
    assert set(FIELDS) == set(names(read(SHOP))) | {"leases"}
    assert isinstance(read(SHOP).slices[0], EndpointSlice)
    assert isinstance(read(SHOP).events[0], Event)
