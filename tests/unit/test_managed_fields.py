"""Who owns which fields: the wire form, what changed, and who owns it after an update."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.patch import (
    PatchError,
    blank,
    manager_name,
    merge_patch,
    settled,
    track_update,
)
from nearwise.server.patch.contents import field_set
from nearwise.server.patch.diff import diff
from nearwise.server.patch.fields import (
    encode_fields,
    outside,
    parse_fields,
    path_of,
    path_text,
    with_named_parents,
)
from nearwise.server.patch.ownership import MAX_UPDATERS, managed_fields, parse_ownership
from nearwise.server.patch.schema import PLAIN, Shape, shape_of
from nearwise.server.patch.updates import NOBODYS
from patch_cases import (
    CLIENT,
    DEPLOYMENTS,
    LINES,
    NAMES,
    OBJECTS,
    VALUES,
    answer,
    at,
    line,
    owned,
    refusal,
    without_version,
    write,
)

Json = dict[str, Any]
SERVICE = shape_of("v1", "Service")
DEPLOYMENT = shape_of("apps/v1", "Deployment")

# --- The wire form --------------------------------------------------------------------------

RECORDED = [
    entry["fieldsV1"]
    for each in LINES
    if isinstance(each["response"], dict)
    for entry in each["response"].get("metadata", {}).get("managedFields", [])
]

STEPS = st.one_of(
    NAMES.map("f:{}".format),
    st.dictionaries(NAMES, st.integers() | NAMES, min_size=1, max_size=2).map(
        lambda key: "k:" + json.dumps(key, sort_keys=True, separators=(",", ":"))
    ),
    st.one_of(st.integers(), NAMES, st.booleans()).map(lambda value: "v:" + json.dumps(value)),
    st.integers(0, 9).map("i:{}".format),
)
SETS = st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=8)


def test_recorded_sets_are_read_and_written_as_they_are() -> None:
    assert len(RECORDED) > 30
    for tree in RECORDED:
        assert encode_fields(parse_fields(tree)) == tree


@given(SETS)
def test_what_is_written_is_read_back(fields: Any) -> None:
    assert parse_fields(encode_fields(fields)) == fields


@given(SETS)
def test_the_wire_form_survives_the_wire(fields: Any) -> None:
    tree = encode_fields(fields)

    assert json.loads(json.dumps(tree)) == tree
    assert list(tree) == sorted(tree)


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        ({}, []),
        ({"f:spec": {}}, [".spec"]),
        ({"f:spec": {"f:type": {}}}, [".spec.type"]),
        ({"f:spec": {".": {}, "f:type": {}}}, [".spec", ".spec.type"]),
        ({"f:a": {'k:{"b": 1, "a": "x"}': {}}}, ['.a[a="x",b=1]']),
        ({"f:a": {'v:"x"': {}, "v:1": {}, "v:true": {}}}, ['.a[="x"]', ".a[=1]", ".a[=true]"]),
        ({"f:a": {"i:2": {}}}, [".a[2]"]),
        ({"f:a.b/c": {}}, [".a.b/c"]),
        # Steps that only a later Kubernetes knows are passed over.
        ({"f:a": {"z:1": {"f:b": {}}}}, [".a"]),
        ({"x:a": {}, "f:b": {}}, [".b"]),
    ],
)
def test_steps_are_fields_keys_values_and_indices(tree: Json, paths: list[str]) -> None:
    assert sorted(map(path_text, parse_fields(tree))) == sorted(paths)


@pytest.mark.parametrize(
    "tree",
    [
        [],
        None,
        {"f:a": []},
        {"f:a": "x"},
        {"a": {}},
        {"": {}},
        {"spec": {}},
        {"k:[1]": {}},
        {"k:{": {}},
        {"v:": {}},
        {"i:x": {}},
        {"i:1.5": {}},
    ],
)
def test_a_broken_set_is_refused(tree: Any) -> None:
    assert refusal(lambda: parse_fields(tree)).code == 400


def test_parents_are_the_named_fields_above() -> None:
    fields = parse_fields({"f:spec": {"f:ports": {'k:{"port":80}': {"f:name": {}}}}})

    assert sorted(map(path_text, with_named_parents(fields))) == [
        ".spec",
        ".spec.ports",
        ".spec.ports[port=80].name",
    ]


def test_outside_is_neither_a_root_nor_below_one() -> None:
    fields = frozenset(map(path_of, ["spec", "spec.type", "specific", "status.phase"]))

    assert outside(fields, frozenset([path_of("spec")])) == frozenset(
        [path_of("specific"), path_of("status.phase")]
    )


# --- What the kinds say ---------------------------------------------------------------------


def rules(api_version: str, kind: str, path: str) -> Shape:
    """Return the rules of a field; items of lists are entered as ``[]``."""
    shape = shape_of(api_version, kind)
    for name in path.split("."):
        shape = shape.field(name.removesuffix("[]"))
        if name.endswith("[]"):
            assert shape.item is not None
            shape = shape.item
    return shape


POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "keys", "merge_key"),
    [
        ("v1", "Service", "spec.ports", ("port", "protocol"), "port"),
        ("v1", "Service", "status.conditions", ("type",), "type"),
        ("v1", "Service", "spec.clusterIPs", (), ""),
        ("v1", "Service", "metadata.ownerReferences", ("uid",), "uid"),
        ("v1", "Pod", "spec.containers", ("name",), "name"),
        ("v1", "Pod", "spec.containers[].env", ("name",), "name"),
        ("v1", "Pod", "spec.tolerations", (), ""),
        ("v1", "Pod", "spec.volumes", ("name",), "name"),
        ("v1", "Pod", "status.podIPs", ("ip",), "ip"),
        ("v1", "Pod", "status.hostIPs", (), "ip"),
        ("v1", "Pod", "status.containerStatuses", (), ""),
        ("apps/v1", "Deployment", f"{POD}.imagePullSecrets", ("name",), "name"),
        ("apps/v1", "ReplicaSet", f"{POD}.containers[].volumeMounts", ("mountPath",), "mountPath"),
        (
            "apps/v1",
            "DaemonSet",
            f"{POD}.initContainers[].ports",
            ("containerPort", "protocol"),
            "containerPort",
        ),
        (
            "apps/v1",
            "StatefulSet",
            f"{POD}.topologySpreadConstraints",
            ("topologyKey", "whenUnsatisfiable"),
            "topologyKey",
        ),
        ("v1", "Node", "spec.taints", (), ""),
        ("v1", "Node", "status.addresses", ("type",), "type"),
        ("v1", "ServiceAccount", "secrets", ("name",), "name"),
        ("v1", "ServiceAccount", "imagePullSecrets", (), ""),
        ("v1", "Endpoints", "subsets", (), ""),
        ("discovery.k8s.io/v1", "EndpointSlice", "endpoints", (), ""),
        ("discovery.k8s.io/v1", "EndpointSlice", "ports", (), ""),
        ("example.com/v1", "Thing", "metadata.ownerReferences", ("uid",), "uid"),
    ],
)
def test_lists_are_maps_by_these_keys(
    api_version: str, kind: str, path: str, keys: tuple[str, ...], merge_key: str
) -> None:
    shape = rules(api_version, kind, path)

    assert (shape.keys, shape.merge_key) == (keys, merge_key)


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        ("v1", "Service", "spec.selector"),
        ("v1", "Pod", "spec.nodeSelector"),
        ("v1", "Pod", "spec.containers[].env[].valueFrom.secretKeyRef"),
        ("v1", "Pod", "metadata.ownerReferences[]"),
        ("v1", "Event", "involvedObject"),
        ("apps/v1", "Deployment", "spec.selector"),
        ("events.k8s.io/v1", "Event", "regarding"),
    ],
)
def test_some_objects_are_owned_as_a_whole(api_version: str, kind: str, path: str) -> None:
    assert rules(api_version, kind, path).whole


@pytest.mark.parametrize(
    ("kind", "path"), [("Pod", "metadata.finalizers"), ("Node", "spec.podCIDRs")]
)
def test_some_lists_are_sets(kind: str, path: str) -> None:
    assert rules("v1", kind, path).unique


# --- What changed ---------------------------------------------------------------------------


def service(*ports: Json, **spec: Any) -> Json:
    given = {"ports": list(ports), **spec} if ports else spec
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": given}


def texts(fields: Any) -> list[str]:
    return sorted(map(path_text, fields))


HTTP = {"port": 80, "protocol": "TCP"}
DNS = {"port": 53, "protocol": "UDP"}


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param(service(), service(), [], [], [], id="nothing"),
        pytest.param(service(type="A"), service(type="B"), [], [".spec.type"], [], id="a value"),
        pytest.param(service(type="A"), service(), [], [], [".spec.type"], id="a value goes"),
        pytest.param(
            service(),
            service(HTTP),
            [
                ".spec.ports",
                '.spec.ports[port=80,protocol="TCP"]',
                '.spec.ports[port=80,protocol="TCP"].port',
                '.spec.ports[port=80,protocol="TCP"].protocol',
            ],
            [],
            [],
            id="a list comes, with all that is in it",
        ),
        pytest.param(
            service(HTTP, DNS), service({**DNS, "name": "dns"}, HTTP),
            ['.spec.ports[port=53,protocol="UDP"].name'], [], [],
            id="an item gets a field; their order is nobody's",
        ),
        pytest.param(
            service({"port": 80}), service(HTTP),
            ['.spec.ports[port=80,protocol="TCP"].protocol'], [], [],
            id="a key that is left out is its default",
        ),
        pytest.param(
            service(selector={"a": "1"}), service(selector={"b": "1"}),
            [], [".spec.selector"], [], id="a selector is one value",
        ),
        pytest.param(
            service(externalIPs=["1"]), service(externalIPs=["1", "2"]),
            [], [".spec.externalIPs"], [], id="a plain list is one value",
        ),
        pytest.param(
            service(replicas=1), service(replicas=True),
            [], [".spec.replicas"], [], id="true is not 1",
        ),
        pytest.param(
            service(replicas=1), service(replicas=1.0), [], [], [], id="1 is 1.0",
        ),
        pytest.param(
            service(ports=None), service(HTTP, ports=[HTTP]),
            [
                '.spec.ports[port=80,protocol="TCP"]',
                '.spec.ports[port=80,protocol="TCP"].port',
                '.spec.ports[port=80,protocol="TCP"].protocol',
            ], [], [],
            id="null was there already",
        ),
        pytest.param(
            service(a={}), service(a=None), [], [".spec.a"], [], id="null is not empty",
        ),
        pytest.param(
            service(a={"b": 1}), service(a=2), [], [".spec.a"], [".spec.a.b"],
            id="another type",
        ),
        pytest.param(
            service(HTTP), service(HTTP, HTTP),
            ['.spec.ports[port=80,protocol="TCP"]'], [],
            [
                '.spec.ports[port=80,protocol="TCP"]',
                '.spec.ports[port=80,protocol="TCP"].port',
                '.spec.ports[port=80,protocol="TCP"].protocol',
            ],
            id="a repeated key leaves no parts to own",
        ),
        pytest.param(
            service(HTTP, HTTP), service({**HTTP, "name": "a"}, HTTP),
            [], ['.spec.ports[port=80,protocol="TCP"]'], [],
            id="items of a repeated key are one value",
        ),
    ],
)  # fmt: skip
def test_a_change_is_told_by_field(
    old: Json, new: Json, added: list[str], modified: list[str], removed: list[str]
) -> None:
    changes = diff(old, new, SERVICE)
    back = diff(new, old, SERVICE)

    found = [texts(changes.added), texts(changes.modified), texts(changes.removed)]
    assert found == [added, modified, removed]
    assert (texts(back.removed), texts(back.modified)) == (added, modified)


@given(OBJECTS)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    changes = diff(value, copy.deepcopy(value), PLAIN)

    assert not changes.made
    assert not changes.removed


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_a_change_there_is_a_change_back(old: Json, new: Json) -> None:
    there, back = diff(old, new, DEPLOYMENT), diff(new, old, DEPLOYMENT)

    assert (there.added, there.modified, there.removed) == (
        back.removed,
        back.modified,
        back.added,
    )
    assert there.added <= diff({}, new, DEPLOYMENT).added
    assert not there.removed & field_set(new, DEPLOYMENT)


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_what_did_not_change_has_its_value_still(old: Json, new: Json) -> None:
    changes = diff(old, new, DEPLOYMENT)
    before, after = leaves(old), leaves(new)

    same = {path for path in before if before[path] == after.get(path)}
    assert not same & (changes.made | changes.removed)
    assert {path for path in before if path in after} - same <= changes.modified


def leaves(obj: Json) -> dict[Any, Any]:
    """Return the plain values of a Deployment by their path, by hand."""
    found: dict[Any, Any] = {}

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict) and path[-1:] != ("f:selector",) and value:
            if path[-1:] == ("f:nodeSelector",):
                found[path] = value
                return
            for name, inner in value.items():
                walk(inner, (*path, f"f:{name}"))
        elif isinstance(value, list) and path[-1:] in (("f:containers",), ("f:env",)):
            for item in value:
                walk(item, (*path, f'k:{{"name":"{item["name"]}"}}'))
        elif isinstance(value, list) and path[-1:] == ("f:finalizers",):
            found.update({(*path, f'v:"{item}"'): item for item in value})
        else:
            found[path] = value

    walk(obj, ())
    return found


# --- Who owns it ----------------------------------------------------------------------------

ALLOCATED = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}
ADMITTED = {"preemptionPolicy", "priority", "tolerations", "taints"}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(each, id=f"{line(each)['note']} ({line(each)['path'].split('?')[0]})")
        for each in (12, 15, 35, 36, 38, 40, 65, 68, 80, 81, 82)
    ],
)
def test_recorded_creations_have_their_recorded_owner(number: int) -> None:
    stored = answer(number)
    wanted = copy.deepcopy(stored)
    wanted["metadata"].pop("managedFields")
    wanted["spec"] = {
        name: value
        for name, value in wanted.get("spec", {}).items()
        if name not in ALLOCATED | ADMITTED
    }
    # What admission put there after the client's fields had been recorded.
    labels = wanted["metadata"].get("labels", {})
    if wanted["kind"] == "Pod":
        del labels["topology.kubernetes.io/zone"]
    if wanted["kind"] == "Namespace":
        del wanted["spec"]["finalizers"]
    if wanted["kind"] in ("EndpointSlice", "Event", "Endpoints"):
        del wanted["spec"]

    created = track_update(blank(stored["apiVersion"], stored["kind"]), wanted, write(number))

    assert created["metadata"]["managedFields"] == stored["metadata"]["managedFields"]


@pytest.mark.parametrize(
    ("number", "live"), [pytest.param(19, 15, id="put"), pytest.param(21, 19, id="put again")]
)
def test_recorded_replacements_have_their_recorded_owner(number: int, live: int) -> None:
    new = track_update(answer(live), line(number)["body"], write(number))

    assert without_version(new) == without_version(answer(number))


@pytest.mark.parametrize(("number", "live"), [(66, 65), (69, 68)])
def test_recorded_status_writes_are_owned_through_the_subresource(number: int, live: int) -> None:
    wanted = answer(number)
    wanted["metadata"] = answer(live)["metadata"]

    new = track_update(answer(live), wanted, write(number, "status"))

    assert without_version(new) == without_version(answer(number))


def test_a_recorded_write_of_the_status_through_the_main_resource_owns_nothing() -> None:
    old = answer(66)

    new = track_update(old, merge_patch(old, line(67)["body"]), at(3, "other"))

    assert new["metadata"] == old["metadata"] == answer(67)["metadata"]


def live(**spec: Any) -> Json:
    """Return a stored service that was created by ``maker`` on day 1."""
    obj = service(**spec)
    obj["metadata"]["uid"] = "1"
    return track_update(blank("v1", "Service"), obj, at(1, "maker"))


def changed(obj: Json, **spec: Any) -> Json:
    return merge_patch(obj, {"spec": spec})


def times(obj: Json) -> dict[str, str]:
    return {entry["manager"]: entry["time"][8:10] for entry in obj["metadata"]["managedFields"]}


def test_a_changed_field_is_owned_by_who_changed_it_and_lost_by_others() -> None:
    old = live(type="A", externalName="x")

    new = track_update(old, changed(old, type="B"), at(2, "other"))

    assert owned(new, "maker", "Update") == {"f:spec": {"f:externalName": {}}}
    assert owned(new, "other", "Update") == {"f:spec": {"f:type": {}}}
    assert times(new) == {"maker": "01", "other": "02"}


def test_a_removed_field_is_owned_by_nobody() -> None:
    old = live(type="A", externalName="x")

    new = track_update(old, changed(old, type=None), at(2, "other"))

    assert owned(new, "maker", "Update") == {"f:spec": {"f:externalName": {}}}
    assert times(new) == {"maker": "01"}


def test_who_loses_everything_is_listed_no_more() -> None:
    old = live(type="A")

    new = track_update(old, changed(old, type="B"), at(2, "other"))

    assert times(new) == {"other": "02"}


def test_the_time_is_when_the_owner_last_changed_something() -> None:
    old = live(type="A")

    same = track_update(old, changed(old, type="A"), at(2, "maker"))
    other = track_update(old, changed(old, type="B"), at(3, "maker"))

    assert same == old
    assert times(other) == {"maker": "03"}
    assert owned(other, "maker", "Update") == owned(old, "maker", "Update")


def test_one_manager_is_told_by_subresource_and_version() -> None:
    old = live(type="A")

    status = track_update(
        old,
        merge_patch(old, {"status": {"loadBalancer": {"ingress": []}}}),
        at(2, "maker", "status"),
    )

    entries: Any = status["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in entries] == [None, "status"]


def test_a_manager_without_a_name_is_unknown() -> None:
    old = live(type="A")

    assert times(track_update(old, changed(old, type="B"), at(2, ""))) == {"unknown": "02"}


@given(st.lists(DEPLOYMENTS, min_size=1, max_size=4))
def test_every_field_that_is_there_has_one_owner_and_no_other_field_has(contents: Any) -> None:
    obj = blank("apps/v1", "Deployment")
    for day, content in enumerate(contents, 1):
        metadata = {**content["metadata"], "uid": "1", "annotations": {"kept": "1"}}
        put = {**content, "metadata": metadata}  # of a client that knows nothing of owners
        obj = track_update(obj, put, at(day, f"day-{day}"))

    stored = without_managed(obj)
    holdings = parse_ownership(managed_fields(obj)).values()
    held = [path for holding in holdings for path in holding.fields]
    assert len(held) == len(set(held))
    assert set(held) <= diff({}, stored, DEPLOYMENT).added
    stated = {path for path, value in leaves(stored).items() if value not in ({}, [])}
    assert stated - NOBODYS <= set(held)


def without_managed(obj: Json) -> Json:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


# --- Owners that a client sends along -------------------------------------------------------


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_client_can_drop_all_owners_and_they_stay_dropped(sent: Any) -> None:
    old = live(type="A")

    dropped = track_update(old, merge_patch(old, {"metadata": {"managedFields": sent}}), at(2))
    later = track_update(dropped, changed(dropped, type="B"), at(3))

    assert "managedFields" not in dropped["metadata"]
    assert "managedFields" not in later["metadata"]


def test_a_client_that_knows_nothing_of_owners_does_not_drop_them() -> None:
    old = live(type="A")
    put = without_managed(changed(old, type="B"))

    assert times(track_update(old, put, at(2, "other"))) == {"other": "02"}
    assert times(track_update(old, without_managed(old), at(2, "other"))) == {"maker": "01"}


def test_a_client_can_hand_over_fields_by_hand() -> None:
    old = live(type="A")
    entries: Any = copy.deepcopy(old["metadata"]["managedFields"])
    entries[0]["manager"] = "kubectl"

    new = track_update(old, merge_patch(old, {"metadata": {"managedFields": entries}}), at(2, "x"))

    assert times(new) == {"kubectl": "01"}


def test_but_not_through_a_subresource() -> None:
    old = live(type="A")

    new = track_update(
        old, merge_patch(old, {"metadata": {"managedFields": []}}), at(2, "x", "status")
    )

    assert new == old


@pytest.mark.parametrize(
    "broken",
    [
        "x",
        [1],
        [{"manager": "x", "operation": "Replace", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1"}],
        [
            {
                "manager": "x",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "time": "yesterday",
            }
        ],
        [
            {
                "manager": "x",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"spec": {}},
            }
        ],
    ],
)
def test_broken_entries_of_a_client_are_not_taken(broken: Any) -> None:
    old = live(type="A")
    put = merge_patch(old, {"metadata": {"managedFields": broken}})

    assert track_update(old, put, at(2, "x")) == old
    with pytest.raises(PatchError):
        parse_ownership(broken)


@given(VALUES)
def test_any_entries_are_taken_or_not(entries: Any) -> None:
    old = live(type="A")
    put = {**changed(old, type="B"), "metadata": {**old["metadata"], "managedFields": entries}}

    assert track_update(old, put, at(2))["metadata"]["name"] == "web"


def test_an_object_that_cannot_be_compared_keeps_its_owners() -> None:
    old = live(type="A")
    new = changed(old, ports=[{"name": "no port"}], type="B")

    tracked = track_update(old, new, at(2, "other"))

    assert tracked == new
    assert times(tracked) == {"maker": "01"}


# --- Many owners ----------------------------------------------------------------------------


def test_the_oldest_of_too_many_updaters_are_put_together() -> None:
    obj = service()
    obj["metadata"]["uid"] = "1"
    obj = track_update(blank("v1", "Service"), {**obj, "spec": {"f00": 0}}, at(1, "m00"))
    for day in range(1, 15):
        obj = track_update(obj, changed(obj, **{f"f{day:02}": day}), at(day + 1, f"m{day:02}"))

    managers = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert len(managers) == MAX_UPDATERS
    assert managers == ["ancient-changes", *(f"m{day:02}" for day in range(6, 15))]
    assert owned(obj, "ancient-changes", "Update") == {
        "f:spec": {f"f:f{day:02}": {} for day in range(6)}
    }
    assert times(obj)["ancient-changes"] == "06"


def test_ten_updaters_are_told_apart() -> None:
    obj = service()
    obj["metadata"]["uid"] = "1"
    obj = track_update(blank("v1", "Service"), {**obj, "spec": {"f0": 0}}, at(1, "m0"))
    for day in range(1, 10):
        obj = track_update(obj, changed(obj, **{f"f{day}": day}), at(day + 1, f"m{day}"))

    assert len(times(obj)) == MAX_UPDATERS


# --- Small things ---------------------------------------------------------------------------


def test_a_write_that_changes_only_times_changes_nothing() -> None:
    old = live(type="A")
    later = copy.deepcopy(old)
    later["metadata"]["managedFields"][0]["time"] = at(9).time
    other = changed(later, type="B")

    assert settled(old, later) is old
    assert settled(old, other) is other
    moved = copy.deepcopy(old)
    moved["metadata"]["managedFields"][0]["manager"] = "other"
    assert settled(old, moved) is moved
    broken = {**old, "metadata": {**old["metadata"], "managedFields": "x"}}
    assert settled(broken, later) is later


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("me", "kubectl/v1.36.2 (linux/amd64)", "me"),
        ("", "kubectl/v1.36.2 (linux/amd64)", "kubectl"),
        ("", f"{CLIENT}/3.11", CLIENT),
        ("", "curl", "curl"),
        ("", "a\tb\x00c/1", "abc"),
        ("", "é" * 100, "é" * 64),
        ("", "", ""),
    ],
)
def test_a_manager_is_named_by_the_request_or_its_program(
    field_manager: str, user_agent: str, name: str
) -> None:
    assert manager_name(field_manager, user_agent) == name
