"""What metadata is refused for, and what of it is the server's business."""

from __future__ import annotations

from typing import Any

import pytest

from api_objects import LABEL, LABEL_VALUE, NAME_PART, QUALIFIED, causes, invalid, service
from nearwise.model.validation import validate


def refused(**metadata: Any) -> list[str]:
    return causes(validate(service(metadata)))


@pytest.mark.parametrize(
    ("metadata", "field", "value", "details"),
    [
        ({"name": "a.b"}, "name", '"a.b"', ["must not contain dots"]),
        ({"name": "Web"}, "name", '"Web"', [LABEL]),
        ({"name": "", "generateName": "Web-"}, "generateName", '"Web-"', [LABEL]),
        ({"namespace": "A"}, "namespace", '"A"', [LABEL]),
        ({"generation": -1}, "generation", "-1", ["must be greater than or equal to 0"]),
        ({"labels": {"a/b/c": "x"}}, "labels", '"a/b/c"', [QUALIFIED]),
        ({"annotations": {"A b": "any text"}}, "annotations", '"A b"', [NAME_PART]),
        ({"finalizers": ["a b"]}, "finalizers", '"a b"', [NAME_PART]),
        (
            {"labels": {"a": 'quote" \\ \n\x01é'}},
            "labels",
            r'"quote\" \\ \n\x01é"',
            [LABEL_VALUE],
        ),
    ],
)
def test_metadata_is_refused_for_every_rule_it_breaks(
    metadata: dict[str, Any], field: str, value: str, details: list[str]
) -> None:
    assert refused(**metadata) == invalid(f"metadata.{field}", value, *details)


def test_annotations_may_hold_a_quarter_of_a_megabyte() -> None:
    assert refused(annotations={"a": "x" * 262143}) == []
    assert refused(annotations={"a": "x" * 262144}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_an_owner_is_named_in_full() -> None:
    path = "metadata.ownerReferences"
    assert refused(ownerReferences=[{"apiVersion": "apps/"}]) == [
        *invalid(f"{path}.apiVersion", '"apps/"', "version must not be empty"),
        *invalid(f"{path}.kind", '""', "must not be empty"),
        *invalid(f"{path}.name", '""', "must not be empty"),
        *invalid(f"{path}.uid", '""', "must not be empty"),
    ]


def test_an_event_owns_nothing() -> None:
    owner = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
    assert refused(ownerReferences=[owner]) == invalid(
        "metadata.ownerReferences",
        '{"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}',
        "/v1, Kind=Event is disallowed from being an owner",
    )


def test_one_owner_is_in_control() -> None:
    owner = {"apiVersion": "v1", "kind": "A", "uid": "u", "controller": True}
    shown = '{{"apiVersion":"v1","kind":"A","name":"{}","uid":"u","controller":true}}'
    assert refused(ownerReferences=[{**owner, "name": "a"}, {**owner, "name": "b"}]) == invalid(
        "metadata.ownerReferences",
        f"[{shown.format('a')},{shown.format('b')}]",
        'Only one reference can have Controller set to true. Found "true" in references for a '
        "and b",
    )


def test_an_object_is_not_orphaned_and_deleted_in_the_foreground() -> None:
    assert refused(finalizers=["orphan", "foregroundDeletion"]) == invalid(
        "metadata.finalizers",
        '["orphan","foregroundDeletion"]',
        "finalizer set [orphan foregroundDeletion] cannot contain both orphan and "
        "foregroundDeletion",
    )


def test_a_generated_name_may_end_in_a_dash_and_is_left_to_the_server() -> None:
    stored = validate(service({"name": "", "generateName": "web-"})).stored
    assert stored
    assert stored["metadata"] == {"generateName": "web-", "namespace": "shop"}


def test_who_owns_which_field_is_carried_as_it_is() -> None:
    fields = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    stored = validate(service({"managedFields": fields})).stored
    assert stored
    assert stored["metadata"]["managedFields"] == fields
