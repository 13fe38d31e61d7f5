"""Server-side apply: what is merged, what is owned, what goes, what is a conflict."""

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import Status
from nearwise.model.wellknown import LAST_APPLIED
from nearwise.server.patch import PatchError, apply, blank, merge_patch, settled, track_update
from nearwise.server.patch.contents import field_set
from nearwise.server.patch.diff import diff
from nearwise.server.patch.last_applied import MAX_ANNOTATIONS
from nearwise.server.patch.ownership import APPLY, Owner, managed_fields, parse_ownership
from nearwise.server.patch.schema import shape_of
from nearwise.server.patch.updates import NOBODYS
from patch_cases import (
    DEPLOYMENTS,
    VALUES,
    answer,
    at,
    owned,
    refusal,
    without_version,
    write,
)

Json = dict[str, Any]
NONE = blank("apps/v1", "Deployment")
DEPLOYMENT = shape_of("apps/v1", "Deployment")


def deployment(metadata: Any = None, **spec: Any) -> Json:
    """Return a configuration."""
    config: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", **(metadata or {})},
    }
    return {**config, "spec": spec} if spec else config


def containers(*items: Json) -> Json:
    return {"template": {"spec": {"containers": list(items)}}}


def spec(obj: Json) -> Any:
    return obj.get("spec")


def stored(obj: Json) -> Json:
    """Return an object as the server has it after it was created."""
    return merge_patch(obj, {"metadata": {"uid": "1"}})


def times(obj: Json) -> dict[str, str]:
    return {entry["manager"]: entry["time"][8:10] for entry in obj["metadata"]["managedFields"]}


# --- What Kubernetes answered ---------------------------------------------------------------


def test_the_recorded_creation_owns_what_was_stated_and_nothing_else() -> None:
    config: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "applied"},
        "spec": {"ports": [{"port": 80}]},
    }

    new = apply(blank("v1", "Service"), config, write(30, manager="me"))

    assert managed_fields(new) == managed_fields(answer(30))
    assert spec(new) == {"ports": [{"port": 80}]}


def test_the_recorded_apply_without_a_manager_has_its_recorded_refusal() -> None:
    status = refusal(lambda: apply(answer(30), {}, at(1, "")))

    assert status == msgspec.convert(answer(31), Status)


def test_the_recorded_apply_of_another_manager_has_its_recorded_result() -> None:
    """Recorded as a conflict, but ``y`` is YAML for true: the label is another one."""
    config: Json = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    config = merge_patch(config, {"metadata": {"labels": {"true": "9"}}})

    new = apply(answer(28), config, write(32, manager="other"))

    assert without_version(new) == without_version(answer(32))


# --- What is stated is so -------------------------------------------------------------------


def test_what_is_stated_is_merged_into_what_is_there() -> None:
    live = stored(apply(NONE, deployment(replicas=1, paused=True), at(1, "a")))

    new = apply(live, deployment({"labels": {"x": "1"}}, minReadySeconds=5), at(2, "b"))

    assert spec(new) == {**spec(live), "minReadySeconds": 5}
    assert new["metadata"]["labels"] == {"x": "1"}
    assert new["metadata"]["uid"] == "1"
    assert owned(new, "a") == {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    assert owned(new, "b") == {
        "f:metadata": {"f:labels": {"f:x": {}}},
        "f:spec": {"f:minReadySeconds": {}},
    }


def test_items_of_a_list_belong_to_who_stated_them() -> None:
    live = apply(NONE, deployment(**containers({"name": "app", "image": "1"})), at(1, "a"))

    new = apply(live, deployment(**containers({"name": "sidecar"})), at(2, "b"))

    assert spec(new)["template"]["spec"]["containers"] == [
        {"name": "app", "image": "1"},
        {"name": "sidecar"},
    ]
    assert owned(new, "b") == {
        "f:spec": {
            "f:template": {
                "f:spec": {"f:containers": {'k:{"name":"sidecar"}': {".": {}, "f:name": {}}}}
            }
        }
    }


@pytest.mark.parametrize(
    ("live", "stated", "merged"),
    [
        ("abc", "abc", "abc"),
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "cb", "acb"),
        ("abc", "cda", "bcda"),
        ("x", "y", "xy"),
        ("axb", "ab", "axb"),
        ("axb", "ba", "xba"),
        ("ab", "axyb", "axyb"),
        ("sab", "ba", "sba"),
    ],
)
def test_the_order_stated_holds_and_others_keep_their_place(
    live: str, stated: str, merged: str
) -> None:
    old = {**NONE, **deployment(**containers(*({"name": name} for name in live)))}

    new = apply(old, deployment(**containers(*({"name": name} for name in stated))), at(1))

    items = spec(new)["template"]["spec"]["containers"]
    assert "".join(item["name"] for item in items) == merged


def test_what_is_owned_as_a_whole_is_replaced() -> None:
    live = apply(NONE, deployment(selector={"matchLabels": {"a": "1", "b": "2"}}), at(1))

    new = apply(live, deployment(selector={"matchLabels": {"a": "1"}}), at(2))

    assert spec(new)["selector"] == {"matchLabels": {"a": "1"}}


def test_null_clears_a_value_but_not_an_object_or_a_list_of_items() -> None:
    live = stored(apply(NONE, deployment(replicas=1, **containers({"name": "a"})), at(1, "a")))
    config = deployment(replicas=None, template=None)

    new = apply(live, config, at(2, "b"), force=True)

    assert spec(new)["replicas"] is None
    assert spec(new)["template"] == spec(live)["template"]


def test_items_that_share_a_key_are_replaced_together_or_stay_together() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = stored({**NONE, **deployment(**containers({"name": "app", "env": twice}))})
    silent = containers({"name": "app", "env": [{"name": "B"}]})
    stating = containers({"name": "app", "env": [{"name": "A", "value": "3"}]})

    def env(obj: Json) -> Any:
        return spec(obj)["template"]["spec"]["containers"][0]["env"]

    assert env(apply(live, deployment(**silent), at(1), force=True)) == [*twice, {"name": "B"}]
    assert env(apply(live, deployment(**stating), at(1), force=True)) == [
        {"name": "A", "value": "3"}
    ]


# --- What is stated no more goes ------------------------------------------------------------


def test_a_field_that_is_stated_no_more_is_removed() -> None:
    live = apply(NONE, deployment({"labels": {"x": "1", "y": "1"}}, replicas=1), at(1))

    new = apply(live, deployment({"labels": {"x": "1"}}), at(2))

    assert new["metadata"]["labels"] == {"x": "1"}
    assert "replicas" not in (spec(new) or {})
    assert owned(new, "me") == {"f:metadata": {"f:labels": {"f:x": {}}}}


def test_an_item_that_is_stated_no_more_is_removed_with_all_its_defaults() -> None:
    live = apply(NONE, deployment(**containers({"name": "a"}, {"name": "b"})), at(1))
    defaulted = copy.deepcopy(live)
    for item in defaulted["spec"]["template"]["spec"]["containers"]:
        item["imagePullPolicy"] = "Always"

    new = apply(defaulted, deployment(**containers({"name": "b"})), at(2))

    assert spec(new)["template"]["spec"]["containers"] == [
        {"name": "b", "imagePullPolicy": "Always"}
    ]


def test_what_somebody_else_owns_too_stays() -> None:
    live = apply(
        NONE, deployment(replicas=1, **containers({"name": "a", "image": "1"})), at(1, "a")
    )
    both = apply(live, deployment(replicas=1, **containers({"name": "a"})), at(2, "b"))

    new = apply(both, deployment(), at(3, "a"))

    assert spec(new)["replicas"] == 1
    assert spec(new)["template"]["spec"]["containers"] == [{"name": "a"}]
    assert owned(new, "a") is None
    assert owned(new, "b") == owned(both, "b")


def test_what_an_update_set_beside_it_stays_but_goes_with_its_item() -> None:
    config = deployment(template={"spec": {"hostname": "x", "containers": [{"name": "a"}]}})
    live = stored(apply(NONE, config, at(1)))
    changed = copy.deepcopy(live)
    changed["spec"]["template"]["spec"]["containers"][0]["tty"] = True
    changed["spec"]["template"]["spec"]["subdomain"] = "y"
    live = track_update(live, changed, at(2, "editor"))

    new = apply(live, deployment(), at(3))

    assert spec(new)["template"]["spec"] == {"subdomain": "y"}


def test_an_emptied_object_goes_unless_it_is_stated_empty() -> None:
    live = apply(NONE, deployment({"labels": {"x": "1"}, "annotations": {"y": "1"}}), at(1))

    new = apply(live, deployment({"labels": {}}), at(2))

    assert new["metadata"]["labels"] == {}
    assert "annotations" not in new["metadata"]


def test_name_and_identity_are_never_taken_out() -> None:
    live = stored(apply(NONE, deployment({"labels": {"x": "1"}}), at(1)))

    new = apply(live, deployment(), at(2))

    assert new["metadata"] == {"name": "web", "namespace": "shop", "uid": "1"}


# --- Conflicts ------------------------------------------------------------------------------


def test_a_field_that_another_manager_has_at_another_value_is_a_conflict() -> None:
    live = stored(track_update(NONE, deployment(replicas=1), at(1, "kubectl")))

    status = refusal(lambda: apply(live, deployment(replicas=2), at(2)))

    assert (status.code, status.reason) == (409, "Conflict")
    assert status.message == (
        'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas'
    )
    assert status.details is not None
    [cause] = status.details.causes
    assert (cause.reason, cause.message, cause.field) == (
        "FieldManagerConflict",
        'conflict with "kubectl" using apps/v1',
        ".spec.replicas",
    )


def test_several_conflicts_are_told_by_manager() -> None:
    live = apply(
        NONE, deployment(replicas=1, **containers({"name": "a", "image": "1"})), at(1, "a")
    )
    live = stored(live)
    scaled = merge_patch(live, {"spec": {"replicas": 3}})
    live = track_update(live, scaled, at(2, "hpa", "scale"))
    config = deployment(replicas=2, **containers({"name": "a", "image": "2"}))

    status = refusal(lambda: apply(live, config, at(3, "b")))

    assert status.message == (
        "Apply failed with 2 conflicts: "
        'conflicts with "a":\n'
        '- .spec.template.spec.containers[name="a"].image\n'
        'conflicts with "hpa" with subresource "scale" using apps/v1:\n'
        "- .spec.replicas"
    )


def test_one_value_for_two_managers_is_no_conflict() -> None:
    live = stored(track_update(NONE, deployment(replicas=1), at(1, "kubectl")))

    new = apply(live, deployment(replicas=1), at(2))

    assert owned(new, "me") == owned(new, "kubectl", "Update") == {"f:spec": {"f:replicas": {}}}
    assert times(new) == {"me": "02", "kubectl": "01"}


def test_force_takes_the_field() -> None:
    live = apply(NONE, deployment(replicas=1, paused=True), at(1, "a"))

    new = apply(live, deployment(replicas=2), at(2, "b"), force=True)

    assert spec(new)["replicas"] == 2
    assert owned(new, "a") == {"f:spec": {"f:paused": {}}}
    assert owned(new, "b") == {"f:spec": {"f:replicas": {}}}


def test_a_field_that_an_update_took_is_given_back_without_a_conflict() -> None:
    live = stored(apply(NONE, deployment(replicas=1), at(1, "a")))
    live = track_update(live, merge_patch(live, {"spec": {"replicas": 5}}), at(2, "kubectl"))

    new = apply(live, deployment({"labels": {"x": "1"}}), at(3, "a"))

    assert spec(new)["replicas"] == 5
    assert owned(live, "a") is None


def test_a_manager_is_in_conflict_with_its_own_updates() -> None:
    live = stored(track_update(NONE, deployment(replicas=1), at(1, "me")))

    assert refusal(lambda: apply(live, deployment(replicas=2), at(2, "me"))).code == 409


# --- Subresources, and objects nobody kept track of -----------------------------------------


def test_the_status_is_applied_through_its_subresource_only() -> None:
    config = {**deployment(replicas=1), "status": {"replicas": 7}}

    new = apply(NONE, config, at(1))
    status = apply(stored(new), config, at(2, "me", "status"))

    assert "status" not in owned(new, "me")
    assert new["status"] == {}
    assert status["status"] == {"replicas": 7}
    entries = status["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:replicas": {}}}


def test_an_object_without_owners_gets_one_for_what_was_there_before() -> None:
    live = stored(deployment(replicas=1, paused=True))

    status = refusal(lambda: apply(live, deployment(replicas=2), at(1)))
    new = apply(live, deployment(replicas=2), at(1), force=True)

    assert '"before-first-apply" using apps/v1' in status.message
    assert owned(new, "before-first-apply", "Update") == {"f:spec": {"f:paused": {}}}


# --- kubectl, from client-side apply to server-side apply -----------------------------------


def applied_by_client(**content: Any) -> Json:
    config = deployment(**content)
    annotation: Any = {LAST_APPLIED: json.dumps(config)}
    obj = merge_patch(config, {"metadata": {"annotations": annotation}})
    return stored(track_update(NONE, obj, at(1, "kubectl-client-side-apply")))


def test_kubectl_takes_over_what_it_applied_before() -> None:
    live = applied_by_client(replicas=1, paused=True)

    new = apply(live, deployment(replicas=2), at(2, "kubectl"))

    assert spec(new)["replicas"] == 2
    assert owned(new, "kubectl") == {"f:spec": {"f:replicas": {}}}
    assert json.loads(new["metadata"]["annotations"][LAST_APPLIED]) == deployment(replicas=2)


def test_but_not_what_somebody_changed_since() -> None:
    live = applied_by_client(replicas=1, paused=True)
    live = track_update(live, merge_patch(live, {"spec": {"replicas": 3}}), at(2, "hpa"))

    status = refusal(lambda: apply(live, deployment(replicas=2, paused=False), at(3, "kubectl")))

    assert status.message == (
        'Apply failed with 1 conflict: conflict with "hpa" using apps/v1: .spec.replicas'
    )


def test_no_other_manager_takes_anything_over() -> None:
    live = applied_by_client(replicas=1)

    assert refusal(lambda: apply(live, deployment(replicas=2), at(2, "other"))).code == 409
    assert (
        apply(live, deployment(paused=True), at(2, "other"))["metadata"]["annotations"]
        == (live["metadata"]["annotations"])
    )


@pytest.mark.parametrize(
    "annotation",
    ["", "{", "[]", "1", json.dumps({"apiVersion": "apps/v1beta1"}), "[" * 100_000],
)
def test_a_broken_annotation_allows_nothing(annotation: str) -> None:
    live = applied_by_client(replicas=1)
    live["metadata"]["annotations"][LAST_APPLIED] = annotation

    assert refusal(lambda: apply(live, deployment(replicas=2), at(2, "kubectl"))).code == 409


def test_an_annotation_that_gets_too_large_is_given_up() -> None:
    live = applied_by_client(replicas=1)
    big = {"annotations": {"note": "x" * (MAX_ANNOTATIONS // 2)}}

    new = apply(live, deployment(big), at(2, "kubectl"))

    assert list(new["metadata"]["annotations"]) == ["note"]


# --- Refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ([], 400, "error decoding YAML: expected an object, got []"),
        ({"kind": "Deployment"}, 400, "invalid object type: /, Kind=Deployment"),
        ({"apiVersion": "v1", "kind": "Pod"}, 400, "invalid object type: /v1, Kind=Pod"),
        (
            deployment({"managedFields": []}),
            400,
            "metadata.managedFields must be nil",
        ),
        (
            deployment(**containers({"image": "x"})),
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            ".spec.template.spec.containers: element 0: associative list with keys has an element "
            'that omits key field "name" (and doesn\'t have default value)',
        ),
        (
            deployment(**containers({"name": "a"}, {"name": "a"})),
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
        (
            deployment({"finalizers": [{}]}),
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            ".metadata.finalizers: element 0: associative list without keys has an element that "
            "is not a plain value",
        ),
        (
            deployment(template=3),
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            ".spec.template: expected map, got 3",
        ),
        (
            deployment(template={"spec": {"containers": {"name": "a"}}}),
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers: expected list, got {"name":"a"}',
        ),
        (
            deployment(**containers(1)),  # type: ignore[arg-type]
            422,
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
            ".spec.template.spec.containers: element 0: associative list with keys may not have "
            "non-map elements",
        ),
    ],
)
def test_a_broken_configuration_is_refused(config: Any, code: int, message: str) -> None:
    status = refusal(lambda: apply(stored(deployment(replicas=1)), config, at(1)))

    assert (status.code, status.message) == (code, message)


def test_a_configuration_nested_without_end_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}

    assert refusal(lambda: apply(NONE, deployment(template=deep), at(1))).code == 400


@given(VALUES)
def test_any_configuration_is_applied_or_refused(content: Any) -> None:
    for config in (deployment(template=content), deployment(**containers({"name": content}))):
        try:
            new = apply(NONE, config, at(1))
        except PatchError:
            continue
        assert apply(new, config, at(2)) == new


# --- Laws -----------------------------------------------------------------------------------


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_applying_the_same_again_changes_nothing_not_even_a_time(first: Json, config: Json) -> None:
    live = stored(apply(NONE, first, at(1, "first")))
    once = apply(live, config, at(2), force=True)

    again = apply(once, config, at(3))

    assert again == once
    assert settled(once, again) is once


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_what_is_handed_in_stays_as_it_was(first: Json, config: Json) -> None:
    live = apply(NONE, first, at(1, "first"))
    before = copy.deepcopy((live, config))

    apply(live, config, at(2), force=True)

    assert (live, config) == before


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_a_manager_alone_has_what_it_stated_last(first: Json, second: Json) -> None:
    """What it stated first leaves no trace: the object is as if made by the second alone."""
    one = apply(apply(NONE, first, at(1)), second, at(2))
    fresh = apply(NONE, second, at(2))

    assert diff({}, one, DEPLOYMENT).added >= field_set(second, DEPLOYMENT)
    assert managed_fields(one) == managed_fields(fresh) or first == second
    assert stated(one) == stated(second)


@given(DEPLOYMENTS, DEPLOYMENTS, DEPLOYMENTS)
def test_what_one_manager_gives_up_the_other_keeps(a: Json, b: Json, less: Json) -> None:
    live = apply(NONE, a, at(1, "a"))
    live = apply(live, b, at(2, "b"), force=True)

    new = apply(live, less, at(3, "a"), force=True)

    kept = field_set(b, DEPLOYMENT) - NOBODYS - diff(live, new, DEPLOYMENT).made
    assert kept <= diff({}, new, DEPLOYMENT).added
    assert kept == holdings(new, "b")


@given(DEPLOYMENTS, DEPLOYMENTS)
def test_without_force_either_nothing_is_taken_or_nothing_is_done(a: Json, b: Json) -> None:
    live = apply(NONE, a, at(1, "a"))
    forced = apply(live, b, at(2, "b"), force=True)

    if holdings(forced, "a") == holdings(live, "a"):
        assert apply(live, b, at(2, "b")) == forced
    else:
        assert refusal(lambda: apply(live, b, at(2, "b"))).code == 409
    assert not diff(live, forced, DEPLOYMENT).removed


STEPS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans(), DEPLOYMENTS), min_size=1, max_size=6
)


@given(STEPS)
def test_owners_own_only_what_is_there_and_whoever_sets_a_field_owns_it(steps: Any) -> None:
    live: Json = NONE
    for day, (manager, applies, content) in enumerate(steps, 1):
        if applies:
            new = apply(live, content, at(day, manager), force=True)
            claimed = field_set(content, DEPLOYMENT) - NOBODYS
            assert holdings(new, manager) == claimed
        else:
            put = merge_patch(content, {"metadata": {"uid": "1", "annotations": {"n": str(day)}}})
            new = track_update(live, put, at(day, manager))
        owners = parse_ownership(managed_fields(new))
        there = diff({}, new, DEPLOYMENT).added
        assert all(holding.fields and holding.fields <= there for holding in owners.values())
        changes = diff(live, new, DEPLOYMENT)
        for owner, holding in parse_ownership(managed_fields(live)).items():
            if owner.manager != manager:
                left = holding.fields - changes.made - changes.removed
                assert left == (owners[owner].fields if owner in owners else frozenset())
        live = stored(new)


def holdings(obj: Json, manager: str) -> Any:
    """Return what a manager owns by applies."""
    found = parse_ownership(managed_fields(obj)).get(Owner(manager, APPLY))
    return found.fields if found else frozenset()


def stated(obj: Json) -> Any:
    """Return the plain values of an object, without what a blank one has."""

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {
                place: inner
                for name in value.keys() - {"managedFields"}
                for place, inner in walk(value[name], f"{path}.{name}").items()
            }
        if isinstance(value, list):
            return {
                place: inner
                for number, each in enumerate(value)
                for place, inner in walk(each, f"{path}[{number}]").items()
            }
        return {} if value is None else {path: value}

    return walk(obj, "")
