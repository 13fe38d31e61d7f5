"""The kinds as they are written down, and the OpenAPI that is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nearwise.model import core, discovery, meta
from nearwise.model.coordination import Lease
from nearwise.server.openapi import document
from nearwise.server.openapi.definitions import META, definition_of, definitions
from nearwise.server.openapi.documents import INDEX, V2
from nearwise.server.openapi.language import OPAQUE, read
from nearwise.server.resources import RESOURCES, Resource


def content(path: str) -> dict[str, Any]:
    found = document(path)
    assert found is not None
    decoded: dict[str, Any] = json.loads(found.body)
    return decoded


def v3(resource: Resource) -> str:
    return f"{INDEX}/{'apis' if resource.group else 'api'}/{resource.api_version}"


VERSIONS = sorted({v3(each) for each in RESOURCES})


# --- The language -------------------------------------------------------------------------

SAMPLE = """
Shop: Sells things.
  doors [Door] map:side,colour merge - Its doors,
    front and back.
  goods! {int32} atomic - What it has.
  mood string Good|Bad =Good - How it is.
  others [Shop] merge:goods retainKeys - Its neighbours.
  tags [string] set merge - Words.

Door atomic: A door.
  colour string =red - Its colour.
  side! IntOrString - Where it is.
"""


def test_a_table_says_what_fields_hold_and_how_they_merge() -> None:
    shop = read([("x", SAMPLE)])["x.Shop"]

    doors, goods, mood, others, tags = shop.fields.values()
    assert (doors.type, doors.many, doors.list_type) == ("x.Door", "list", "map")
    assert (doors.keys, doors.merge_key) == (("side", "colour"), "side")
    assert doors.description == "Its doors, front and back."
    assert (goods.type, goods.many, goods.map_type) == ("int32", "map", "atomic")
    assert goods.required
    assert (mood.enum, mood.default, mood.required) == (("Good", "Bad"), "Good", False)
    assert (others.list_type, others.merge_key) == ("atomic", "goods")
    assert others.strategies == ("merge", "retainKeys")
    assert (tags.list_type, tags.strategies, tags.merge_key) == ("set", ("merge",), "")


def test_a_definition_can_be_one_value_to_server_side_apply() -> None:
    door = read([("x", SAMPLE)])["x.Door"]
    assert door.atomic
    assert door.fields["side"].type == OPAQUE["IntOrString"]


def test_a_name_is_looked_for_at_home_first() -> None:
    core_v1 = ("io.k8s.api.core.v1", "Door: A door.\nWall: A wall.\n")
    home = ("x", "Door: Another.\nShop: A shop.\n  a Door - One.\n  b Wall - Two.\n")
    shop = read([core_v1, home])["x.Shop"]
    assert [field.type for field in shop.fields.values()] == ["x.Door", "io.k8s.api.core.v1.Wall"]


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("Shop: A shop.\n  door\n", "'door' is not how a field is written down"),
        ("Shop: A shop.\n  door string -\n", "'door string -' is not how a field"),
        ("Shop: A shop.\n  door string shut - A door.\n", "'shut' says nothing of a field"),
        ("Shop: A shop.\n  door Door - A door.\n", "Door is defined neither in x nor in"),
        ("Shop: A shop.\nShop: Another.\n", "x.Shop is defined twice"),
        ("Shop: A shop.\n  all {Shop} - All.\n", "all is a map to objects: make it a list"),
    ],
)
def test_a_table_that_is_not_in_the_language_is_refused(table: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read([("x", table)])


# --- The definitions ----------------------------------------------------------------------


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.full_name)
def test_every_kind_that_is_served_is_defined(resource: Resource) -> None:
    assert definition_of(resource.api_version, resource.kind) is not None
    for sub in resource.subresources:
        version = f"{sub.group}/{sub.version}" if sub.group else resource.api_version
        assert definition_of(version, sub.kind) is not None


def test_every_definition_belongs_to_a_kind() -> None:
    described = {name for path in VERSIONS for name in content(path)["components"]["schemas"]}
    assert definitions().keys() - described == set()


def test_descriptions_are_sentences_and_a_field_says_more_than_its_type() -> None:
    for definition in definitions().values():
        assert definition.description.endswith("."), definition.name
        for name, field in definition.fields.items():
            assert field.description.endswith("."), f"{definition.name} {name}"
            type_ = definitions().get(field.type)
            assert type_ is None or type_.description != field.description, name


def test_fields_that_tell_list_items_apart_are_fields_of_the_items() -> None:
    for definition in definitions().values():
        for name, field in definition.fields.items():
            keys = {*field.keys, field.merge_key} - {""}
            if keys:
                assert keys <= definitions()[field.type].fields.keys(), f"{definition.name} {name}"


MODELS = {
    ("v1", "Service"): core.Service,
    ("v1", "Pod"): core.Pod,
    ("v1", "Node"): core.Node,
    ("v1", "Namespace"): core.Namespace,
    ("v1", "Endpoints"): core.Endpoints,
    ("v1", "Event"): core.Event,
    ("coordination.k8s.io/v1", "Lease"): Lease,
    ("discovery.k8s.io/v1", "EndpointSlice"): discovery.EndpointSlice,
}


@pytest.mark.parametrize(("kind", "model"), MODELS.items(), ids=str)
def test_whatever_the_model_reads_is_defined(kind: tuple[str, str], model: type) -> None:
    definition = definition_of(*kind)
    assert definition is not None
    # The model has one type for the conditions of all kinds.
    shared = {"io.k8s.api.core.v1.NodeCondition observedGeneration"}
    assert set(not_defined(model, definition.name)) - shared == set()


def not_defined(model: type, name: str) -> Iterator[str]:
    """Walk along a struct of the model and its definition."""
    fields = definitions()[name].fields
    for field in msgspec.structs.fields(model):
        if field.encode_name in ("apiVersion", "kind"):
            continue
        if field.encode_name not in fields:
            yield f"{name} {field.encode_name}"
        else:
            for inner in structs_in(field.type):
                yield from not_defined(inner, fields[field.encode_name].type)


def structs_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for inner in getattr(hint, "__args__", ()):
        yield from structs_in(inner)


class Wrong(meta.ObjectMeta, frozen=True):
    colour: str = ""


class Odd(msgspec.Struct, frozen=True):
    metadata: Wrong | None = None


def test_the_walk_along_the_model_reaches_its_depths() -> None:
    assert list(not_defined(Odd, "io.k8s.api.core.v1.Pod")) == [f"{META}.ObjectMeta colour"]


# --- The documents ------------------------------------------------------------------------


def test_the_index_names_the_document_of_each_group_version_and_its_hash() -> None:
    paths = content(INDEX)["paths"]

    assert sorted(f"{INDEX}/{key}" for key in paths) == VERSIONS
    for key, entry in paths.items():
        found = document(f"{INDEX}/{key}")
        assert found is not None
        assert entry == {"serverRelativeURL": f"{INDEX}/{key}?hash={found.hash}"}


def test_documents_are_made_once() -> None:
    assert document(V2) is document(V2)


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v3/", f"{INDEX}/apis/nope/v1", ""])
def test_there_is_no_other_document(path: str) -> None:
    assert document(path) is None


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = tree.values()
    elif not isinstance(tree, list):
        return
    for each in tree:
        yield from nodes_of(each)


@pytest.mark.parametrize("path", [*VERSIONS, V2])
def test_every_reference_leads_to_a_schema_and_every_schema_is_needed(path: str) -> None:
    made = content(path)
    schemas = made["definitions"] if path == V2 else made["components"]["schemas"]
    prefix = "#/definitions/" if path == V2 else "#/components/schemas/"

    meant = {str(node["$ref"]) for node in nodes_of(made) if "$ref" in node}
    unused = schemas.keys() - {each.removeprefix(prefix) for each in meant}

    assert meant <= {prefix + name for name in schemas}
    assert all(name.startswith(("io.k8s.api", META)) for name in unused)
    assert all(
        "x-kubernetes-group-version-kind" in schemas[name] or name in OPAQUE.values()
        for name in unused
    )


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.full_name)
def test_an_address_tells_the_kind_and_what_a_patch_takes(resource: Resource) -> None:
    made = content(v3(resource))
    home = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
    place = f"{home}/namespaces/{{namespace}}" if resource.namespaced else home
    patch = made["paths"][f"{place}/{resource.plural}/{{name}}"]["patch"]

    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    assert patch["x-kubernetes-group-version-kind"] == kind
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {
        each["name"] for each in patch["parameters"]
    }
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert "get" in made["paths"][f"{home}/{resource.plural}"]
    schemas = made["components"]["schemas"].values()
    assert [s for s in schemas if kind in s.get("x-kubernetes-group-version-kind", [])]


def test_what_is_not_served_is_not_described() -> None:
    paths = content(f"{INDEX}/api/v1")["paths"]
    assert "delete" not in paths["/api/v1/namespaces"]  # they cannot be deleted all at once
    assert [*paths["/api/v1/namespaces/{name}/finalize"]] == ["put", "parameters"]
    assert "post" in paths["/api/v1/namespaces/{namespace}/pods/{name}/binding"]
    scale = content(f"{INDEX}/apis/apps/v1")["paths"][
        "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"
    ]["get"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Scale"


@pytest.mark.parametrize("path", [*VERSIONS, V2])
def test_operations_have_names_of_their_own(path: str) -> None:
    names = [str(n["operationId"]) for n in nodes_of(content(path)) if "operationId" in n]
    assert len(names) == len(set(names)) > 5


def test_the_two_dialects_say_the_same_of_a_field_in_their_own_ways() -> None:
    name = "io.k8s.api.core.v1.ServiceSpec"
    newer = content(f"{INDEX}/api/v1")["components"]["schemas"][name]["properties"]
    older = content(V2)["definitions"][name]["properties"]

    assert newer["ports"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.ServicePort"},
        "description": "Ports the service is reached at.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "port",
    }
    assert newer["type"]["enum"] == ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
    affinity = "io.k8s.api.core.v1.SessionAffinityConfig"
    assert newer["sessionAffinityConfig"]["allOf"] == [{"$ref": f"#/components/schemas/{affinity}"}]
    assert older["sessionAffinityConfig"]["$ref"] == f"#/definitions/{affinity}"
    plain = newer.keys() - {"ports", "sessionAffinityConfig"}
    assert {key: older[key] for key in plain} == {key: newer[key] for key in plain}


def test_what_is_a_number_or_a_text_is_a_text_in_the_older_dialect() -> None:
    newer, older = content(f"{INDEX}/api/v1")["components"]["schemas"], content(V2)["definitions"]
    for name in (OPAQUE["IntOrString"], OPAQUE["Quantity"]):
        assert (older[name]["type"], "oneOf" in older[name]) == ("string", False)
        assert ("type" in newer[name], len(newer[name]["oneOf"])) == (False, 2)


def test_bodies_of_all_versions_belong_to_each_and_a_status_to_the_first() -> None:
    schemas = content(f"{INDEX}/apis/apps/v1")["components"]["schemas"]

    def known_as(kind: str) -> list[str]:
        known = schemas[f"{META}.{kind}"]["x-kubernetes-group-version-kind"]
        return [f"{each['group']}/{each['version']}" for each in known]

    assert known_as("DeleteOptions") == known_as("WatchEvent") == ["apps/v1"]
    assert known_as("Status") == ["/v1"]


PODS = "/api/v1/namespaces/{namespace}/pods"


@pytest.mark.parametrize(
    ("path", "method", "name", "action", "sent", "answered"),
    [
        ("/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "list", "", "PodList"),
        (PODS, "get", "listCoreV1NamespacedPod", "list", "", "PodList"),
        (PODS, "post", "createCoreV1NamespacedPod", "post", "Pod", "Pod"),
        (
            *(PODS, "delete", "deleteCollectionCoreV1NamespacedPod", "deletecollection"),
            *("DeleteOptions?", "Status"),
        ),
        (f"{PODS}/{{name}}", "get", "readCoreV1NamespacedPod", "get", "", "Pod"),
        (f"{PODS}/{{name}}", "put", "replaceCoreV1NamespacedPod", "put", "Pod", "Pod"),
        (f"{PODS}/{{name}}", "patch", "patchCoreV1NamespacedPod", "patch", "Patch", "Pod"),
        (
            *(f"{PODS}/{{name}}", "delete", "deleteCoreV1NamespacedPod", "delete"),
            *("DeleteOptions?", "Pod"),
        ),
        (
            *("/api/v1/nodes/{name}", "delete", "deleteCoreV1Node", "delete"),
            *("DeleteOptions?", "Status"),
        ),
        (
            *("/api/v1/nodes/{name}/status", "put", "replaceCoreV1NodeStatus", "put"),
            *("Node", "Node"),
        ),
    ],
)
def test_an_operation_says_what_is_sent_and_what_is_answered(
    path: str, method: str, name: str, action: str, sent: str, answered: str
) -> None:
    newer = content(f"{INDEX}/api/v1")["paths"][path][method]
    older = content(V2)["paths"][path][method]

    assert newer["operationId"] == older["operationId"] == name
    assert newer["x-kubernetes-action"] == older["x-kubernetes-action"] == action
    body = newer.get("requestBody", {"content": {}, "required": True})
    media = next(iter(body["content"].values()), {"schema": {"$ref": ""}})
    assert last(media["schema"]) + ("" if body["required"] else "?") == sent
    (answer,) = {last(each["schema"]) for each in newer["responses"]["200"]["content"].values()}
    assert answer == last(older["responses"]["200"]["schema"]) == answered
    bodies = [each for each in older["parameters"] if each["in"] == "body"]
    assert [last(b["schema"]) + ("" if b["required"] else "?") for b in bodies] == [
        *filter(None, [sent])
    ]


def last(schema: dict[str, str]) -> str:
    return schema["$ref"].rpartition(".")[2]


def test_kinds_say_what_they_are_and_lists_of_what() -> None:
    schemas = content(f"{INDEX}/apis/apps/v1")["components"]["schemas"]
    assert {"apiVersion", "kind", "metadata", "spec", "status"} == schemas[
        "io.k8s.api.apps.v1.Deployment"
    ]["properties"].keys()
    items = schemas["io.k8s.api.apps.v1.DeploymentList"]["properties"]["items"]
    assert items["items"]["$ref"].endswith("io.k8s.api.apps.v1.Deployment")
