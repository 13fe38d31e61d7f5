"""Fields that a kind does not have, told in the words of Kubernetes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.openapi import unknown_fields
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import SCALARS
from nearwise.server.resources import RESOURCES, Resource

TESTS = Path(__file__).parent.parent
EXAMPLES = TESTS.parent / "examples"


def recorded() -> list[dict[str, Any]]:
    with gzip.open(TESTS / "vectors" / "http.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def objects_in(answer: Any) -> Iterator[dict[str, Any]]:
    """Find the objects of an answer, watches and lists taken apart."""
    if isinstance(answer, list):
        for each in answer:
            yield from objects_in(each.get("object"))
    elif isinstance(answer, dict) and "items" in answer:
        kind = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
        yield from ({**kind, **each} for each in answer["items"])
    elif isinstance(answer, dict) and "metadata" in answer:
        yield answer


def test_kubernetes_answers_with_no_field_that_is_not_known() -> None:
    checked = 0
    for answer in recorded():
        for obj in objects_in(answer["response"]):
            assert unknown_fields(obj["apiVersion"], obj["kind"], obj) == []
            checked += definition_of(obj["apiVersion"], obj["kind"]) is not None
    assert checked > 80


def test_a_field_that_is_not_known_is_told_in_kubernetes_words() -> None:
    told = [
        (answer, unknown_fields("v1", "Service", answer["body"]))
        for answer in recorded()
        if answer["note"].startswith("unknown field")
    ]

    (warned, complaints), (refused, same) = told
    assert complaints == same
    assert warned["headers"]["warning"] == f"299 - {json.dumps(', '.join(complaints))}"
    assert refused["response"]["message"].endswith(f"strict decoding error: {same[0]}")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_what_kubectl_printed_of_clusters_has_no_field_that_is_not_known(path: Path) -> None:
    for obj in yaml.load(path.read_text(), yaml.CSafeLoader)["items"]:
        assert unknown_fields(obj["apiVersion"], obj["kind"], obj) == []


def test_complaints_say_where_in_the_order_of_the_object() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "zz": {"inner": 1},
        "metadata": {"labels": {"any": "thing"}, "nmae": "x"},
        "spec": {
            "containers": [
                {"name": "a", "image": "i"},
                {"name": "b", "env": [{"name": "X", "vale": "1"}], "resources": {"limit": {}}},
            ],
            "volumes": [{"name": "v", "emptyDir": {"size": "1Gi"}}],
        },
    }
    assert unknown_fields("v1", "Pod", pod) == [
        'unknown field "zz"',
        'unknown field "metadata.nmae"',
        'unknown field "spec.containers[1].env[0].vale"',
        'unknown field "spec.containers[1].resources.limit"',
        'unknown field "spec.volumes[0].emptyDir.size"',
    ]


def test_names_differ_by_case_and_maps_of_any_keys_have_none_that_is_unknown() -> None:
    service = {"spec": {"Ports": [], "selector": {"whatever": "x"}}}
    assert unknown_fields("v1", "Service", service) == ['unknown field "spec.Ports"']


def test_values_of_the_wrong_type_and_kinds_that_are_not_known_are_left_alone() -> None:
    assert unknown_fields("v1", "Service", {"spec": [1], "metadata": "x"}) == []
    assert unknown_fields("v1", "Service", {"spec": {"ports": {"a": 1}, "selector": []}}) == []
    assert unknown_fields("v1", "Service", {"spec": {"ports": [1, None, "x"]}}) == []
    assert unknown_fields("example.com/v1", "Widget", {"spec": {"any": 1}}) == []


def test_no_more_than_a_hundred_are_told() -> None:
    service = {"spec": {f"x{n}": 1 for n in range(150)}}
    assert len(unknown_fields("v1", "Service", service)) == 100


def example(resource: Resource) -> st.SearchStrategy[Any]:
    """Make objects with any of the fields that a kind has."""
    definition = definition_of(resource.api_version, resource.kind)
    assert definition is not None
    return st.deferred(lambda: some(definition.name, 5))


def some(name: str, depth: int) -> st.SearchStrategy[Any]:
    fields = definitions()[name].fields
    chosen = {key: field for key, field in fields.items() if depth or field.type in SCALARS}
    one = {key: value_of(field.type, field.many, depth) for key, field in sorted(chosen.items())}
    return (
        st.sets(st.sampled_from(sorted(one)), max_size=3).flatmap(
            lambda keys: st.fixed_dictionaries({key: one[key] for key in sorted(keys)})
        )
        if one
        else st.just({})
    )


def value_of(type_: str, many: str, depth: int) -> st.SearchStrategy[Any]:
    if type_ not in definitions() or not depth:
        value: st.SearchStrategy[Any] = st.just("x")
    else:
        value = st.deferred(lambda: some(type_, depth - 1))
    if many == "list":
        return st.lists(value, max_size=2)
    return st.dictionaries(st.just("k"), value, max_size=1) if many == "map" else value


@given(st.sampled_from(RESOURCES).flatmap(lambda each: st.tuples(st.just(each), example(each))))
def test_no_field_that_a_kind_has_is_unknown(case: tuple[Resource, dict[str, Any]]) -> None:
    resource, obj = case
    assert unknown_fields(resource.api_version, resource.kind, obj) == []
