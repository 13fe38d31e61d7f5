"""Strategic merge patch: lists by key, directives, order, refusals, laws, recorded answers."""

import contextlib
import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.patch import PatchError, merge_patch, strategic_patch, track_update
from patch_cases import (
    DEPLOYMENTS,
    OBJECTS,
    VALUES,
    answer,
    at,
    line,
    refusal,
    without_version,
    write,
)

Json = dict[str, Any]


def service(*ports: Json, **more: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Service", "spec": {"ports": list(ports)}, **more}


def pod(**spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def finalizers(*names: str) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": list(names)}}


def addresses(*texts: str) -> Json:
    listed = [{"type": "InternalIP", "address": each} for each in texts]
    return {"apiVersion": "v1", "kind": "Node", "status": {"addresses": listed}}


BOTH = addresses("10.0.0.1", "fd00::1")["status"]["addresses"]
HTTP = {"name": "http", "port": 80, "targetPort": "http"}
METRICS = {"name": "metrics", "port": 9100}


# --- What Kubernetes answered ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "live"),
    [
        pytest.param(26, 25, id="a port gets another target"),
        pytest.param(27, 26, id="a port is deleted"),
    ],
)
def test_recorded_patches_have_their_recorded_result(number: int, live: int) -> None:
    old = answer(live)

    new = track_update(old, strategic_patch(old, line(number)["body"]), write(number))

    assert without_version(new) == without_version(answer(number))


def test_the_recorded_pod_status_is_what_was_sent_and_what_was_there() -> None:
    patched = strategic_patch(answer(68), line(69)["body"])

    status: Any = patched["status"]
    assert status.pop("qosClass") == answer(68)["status"]["qosClass"]
    assert status == line(69)["body"]["status"]


# --- Lists ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"ports": [{"port": 9100, "targetPort": 1}]}},
            service(HTTP, {**METRICS, "targetPort": 1}),
            id="an item is merged by its key",
        ),
        pytest.param(
            service(HTTP),
            {"spec": {"ports": [METRICS]}},
            service(METRICS, HTTP),
            id="a new item stands where the patch has it",
        ),
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"ports": [{"port": 80, "name": None}]}},
            service({"port": 80, "targetPort": "http"}, METRICS),
            id="null takes a field out of an item",
        ),
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"ports": None}},
            {"apiVersion": "v1", "kind": "Service", "spec": {}},
            id="null takes the list out",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Service"},
            {"spec": {"ports": [{**HTTP, "nodePort": None}]}},
            service(HTTP),
            id="nulls have no meaning where nothing was",
        ),
        pytest.param(
            pod(containers=[{"name": "c", "env": [{"name": "A", "value": "1"}]}]),
            {"spec": {"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}},
            pod(
                containers=[
                    {"name": "c", "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}
                ]
            ),
            id="lists in lists",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a"}, {"key": "b"}], containers=[]),
            {"spec": {"tolerations": [{"key": "c"}]}},
            pod(tolerations=[{"key": "c"}], containers=[]),
            id="a list without a key is replaced",
        ),
        pytest.param(
            pod(nodeSelector={"a": "1", "b": "2"}),
            {"spec": {"nodeSelector": {"b": "3"}}},
            pod(nodeSelector={"a": "1", "b": "3"}),
            id="an object that an apply owns as a whole is merged all the same",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Thing", "items": [{"name": "a"}]},
            {"items": [{"name": "b"}]},
            {"apiVersion": "example.com/v1", "kind": "Thing", "items": [{"name": "b"}]},
            id="a kind without rules is merged as by a merge patch",
        ),
        pytest.param(
            finalizers("a", "b"),
            {"metadata": {"finalizers": ["c", "a"]}},
            finalizers("c", "a", "b"),
            id="plain values are a set",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Node", "status": {"addresses": "broken"}},
            {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}},
            {
                "apiVersion": "v1",
                "kind": "Node",
                "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
            },
            id="a value of another type is replaced",
        ),
    ],
)
def test_lists_are_merged_by_the_rules_of_the_kind(
    document: Json, patch: Json, result: Json
) -> None:
    assert strategic_patch(document, patch) == result


# --- Directives -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"ports": [{"$patch": "delete", "port": 80}]}},
            service(METRICS),
            id="delete an item",
        ),
        pytest.param(
            service(HTTP),
            {"spec": {"ports": [{"$patch": "delete", "port": 81}]}},
            service(HTTP),
            id="delete an item that is not there",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Service"},
            {"spec": {"ports": [{"$patch": "delete", "port": 81}, HTTP]}},
            service(HTTP),
            id="delete an item of a list that is not there",
        ),
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"ports": [{"port": 1}, {"$patch": "replace"}]}},
            service({"port": 1}),
            id="replace a list",
        ),
        pytest.param(
            addresses("10.0.0.9"),
            {"status": {"addresses": [{"$patch": "replace"}, *BOTH]}},
            addresses("10.0.0.1", "fd00::1"),
            id="replace a list by one with a key twice, as kubelets with two addresses do",
        ),
        pytest.param(
            service(HTTP, spec={"selector": {"a": "1"}, "type": "ClusterIP"}),
            {"spec": {"$patch": "replace", "selector": {"b": "2"}}},
            service(spec={"selector": {"b": "2"}}),
            id="replace an object",
        ),
        pytest.param(
            service(spec={"selector": {"a": "1"}, "type": "ClusterIP"}),
            {"spec": {"selector": {"$patch": "delete"}}},
            service(spec={"selector": {}, "type": "ClusterIP"}),
            id="empty an object",
        ),
        pytest.param(
            finalizers("a", "b", "c"),
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "x"]}},
            finalizers("a", "c"),
            id="take values out of a list",
        ),
        pytest.param(
            pod(),
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}},
            {**pod(), "metadata": {}},
            id="take values out of a list that is not there",
        ),
        pytest.param(
            finalizers("a", "b", "c"),
            {
                "metadata": {
                    "$setElementOrder/finalizers": ["c", "d", "a"],
                    "$deleteFromPrimitiveList/finalizers": ["b"],
                    "finalizers": ["d"],
                }
            },
            finalizers("c", "d", "a"),
            id="order plain values",
        ),
        pytest.param(
            service(HTTP, METRICS),
            {"spec": {"$setElementOrder/ports": [{"port": 9100}, {"port": 80}]}},
            service(METRICS, HTTP),
            id="order items, nothing else",
        ),
        pytest.param(
            pod(
                containers=[{"name": "sidecar"}, {"name": "a"}, {"name": "injected"}, {"name": "b"}]
            ),
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "new"}, {"name": "a"}],
                    "containers": [{"name": "new"}, {"name": "a", "image": "x"}],
                }
            },
            pod(
                containers=[
                    {"name": "sidecar"},
                    {"name": "injected"},
                    {"name": "b"},
                    {"name": "new"},
                    {"name": "a", "image": "x"},
                ]
            ),
            id="order items among others",
        ),
        pytest.param(
            pod(),
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "a"}],
                    "containers": [{"name": "a"}],
                }
            },
            pod(containers=[{"name": "a"}]),
            id="order items of a new list",
        ),
        pytest.param(
            pod(),
            {"spec": {"$setElementOrder/containers": []}},
            pod(),
            id="order the items of no list",
        ),
        pytest.param(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            },
            {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "spec": {"strategy": {"type": "Recreate"}},
            },
            id="keep some fields only",
        ),
        pytest.param(
            pod(volumes=[{"name": "data", "hostPath": {"path": "/data"}}]),
            {
                "spec": {
                    "volumes": [
                        {"name": "data", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}
                    ]
                }
            },
            pod(volumes=[{"name": "data", "emptyDir": {}}]),
            id="keep some fields of an item only",
        ),
    ],
)
def test_directives_say_what_a_merge_cannot(document: Json, patch: Json, result: Json) -> None:
    before = copy.deepcopy((document, patch))

    assert strategic_patch(document, patch) == result
    assert (document, patch) == before


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ([], 400, "error decoding patch: json: cannot unmarshal array into Go value of type"),
        ({"spec": {"$patch": "merge"}}, 422, "unknown patch type: merge in map: {"),
        ({"spec": {"ports": [{"$patch": "x", "port": 1}]}}, 422, "unknown patch type: x in map: {"),
        (
            {"spec": {"ports": [{"name": "http"}]}},
            422,
            'map: {"name":"http"} does not contain declared merge key: port',
        ),
        (
            {"spec": {"ports": [{"$patch": "delete"}]}},
            422,
            'map: {"$patch":"delete"} does not contain declared merge key: port',
        ),
        ({"spec": {"ports": [80]}}, 422, "map: 80 does not contain declared merge key: port"),
        (
            {"metadata": {"finalizers": [["a"]]}},
            422,
            "the server rejected our request due to an error in our request",
        ),
        (
            {"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}},
            400,
            "invalid patch format of primitive list",
        ),
        (
            {"metadata": {"$setElementOrder/finalizers": "a"}},
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            {"spec": {"$setElementOrder/ports": [{"port": 80}], "ports": 1}},
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            {"spec": {"$setElementOrder/externalIPs": ["a"]}},
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            {
                "spec": {
                    "$setElementOrder/ports": [{"port": 1}, {"port": 2}],
                    "ports": [{"port": 2}, {"port": 1}],
                }
            },
            422,
            "The order in patch list:\n",
        ),
        ({"spec": {"$retainKeys": "type"}}, 400, "invalid patch format of retainKeys"),
        (
            {"spec": {"$retainKeys": ["type"], "selector": {}}},
            400,
            "invalid patch format of retainKeys",
        ),
    ],
)
def test_a_broken_patch_is_refused(patch: Any, code: int, message: str) -> None:
    document = {**service(HTTP), "metadata": {"finalizers": ["a"]}}

    status = refusal(lambda: strategic_patch(document, patch))

    assert status.code == code
    assert status.message.startswith(message)
    assert msgspec.json.encode(status)


# --- Laws -----------------------------------------------------------------------------------


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_a_patch_made_twice_is_made_once(document: Json, patch: Json) -> None:
    once = strategic_patch(document, patch)

    assert strategic_patch(once, patch) == once


@given(DEPLOYMENTS)
def test_an_empty_patch_and_the_object_itself_change_nothing(document: Json) -> None:
    assert strategic_patch(document, {}) == document
    assert strategic_patch(document, document) == document


@given(OBJECTS.filter(lambda patch: not any("$" in name for name in patch)), OBJECTS)
def test_without_rules_it_is_a_merge_patch_but_for_nulls(patch: Any, content: Any) -> None:
    document = {"apiVersion": "example.com/v1", "kind": "Thing", **content}
    plain = without_nulls(patch)

    assert strategic_patch(document, plain) == merge_patch(document, plain)


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_everything_that_the_patch_says_is_so_and_nothing_else_goes(old: Json, patch: Json) -> None:
    new = strategic_patch(old, patch)

    assert covers(new, patch)
    assert covers(strategic_patch(new, old), old)
    assert names(new) == names(old) | names(patch)


@given(DEPLOYMENTS, st.data())
def test_what_is_deleted_is_gone_and_the_others_stay(document: Json, data: st.DataObject) -> None:
    template = document.get("spec", {}).get("template", {}).get("spec", {})
    present = names(document)
    gone = data.draw(st.lists(st.sampled_from("abcd"), unique=True))
    directives: Any = [{"$patch": "delete", "name": name} for name in gone]

    new = strategic_patch(document, {"spec": {"template": {"spec": {"containers": directives}}}})

    assert names(new) == present - set(gone)
    kept = [each for each in template.get("containers", []) if each["name"] not in gone]
    assert new["spec"]["template"]["spec"]["containers"] == kept


@given(DEPLOYMENTS, DEPLOYMENTS, st.permutations("abc"))
def test_the_order_asked_for_is_the_order_that_comes(old: Json, patch: Json, order: Any) -> None:
    containers = patch.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
    containers = sorted(containers, key=lambda each: str(order.index(each["name"])))
    asked: Any = {
        "$setElementOrder/containers": [{"name": name} for name in order],
        "containers": containers,
    }

    new: Any = strategic_patch(old, {"spec": {"template": {"spec": asked}}})

    came = [each["name"] for each in new["spec"]["template"]["spec"].get("containers", [])]
    assert came == [name for name in order if name in came]


@given(VALUES)
def test_any_patch_is_made_or_refused(patch: Any) -> None:
    with contextlib.suppress(PatchError):
        strategic_patch(service(HTTP), {"spec": patch})


def test_the_owner_of_what_a_patch_changed_is_its_client() -> None:
    old = track_update({**service(), "metadata": {}}, service(HTTP, METRICS), at(1, "maker"))
    old["metadata"]["uid"] = "1"

    new = track_update(
        old, strategic_patch(old, {"spec": {"ports": [{"port": 81}]}}), at(2, "other")
    )

    entries: Any = new["metadata"]["managedFields"]
    assert [entry["manager"] for entry in entries] == ["maker", "other"]


def without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(each) for name, each in value.items() if each is not None}


def names(deployment: Json) -> set[str]:
    """Return the names of the containers."""
    template = deployment.get("spec", {}).get("template", {})
    return {each["name"] for each in template.get("spec", {}).get("containers", [])}


def covers(whole: Any, part: Any, field: str = "") -> bool:
    """Tell whether a part is in a whole: by field, items by name, other values as they are."""
    if isinstance(part, dict):
        return all(name in whole and covers(whole[name], part[name], name) for name in part)
    if field in ("containers", "env"):
        items = {each["name"]: each for each in whole}
        return all(each["name"] in items and covers(items[each["name"]], each) for each in part)
    if field == "finalizers":
        return set(part) <= set(whole)
    return bool(whole == part)
