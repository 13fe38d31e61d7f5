"""JSON patch: the examples of RFC 6902, where Kubernetes is more lenient, bounds, round trips."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given

from nearwise.model import Status
from nearwise.server.patch import json_patch, track_update
from nearwise.server.patch.json_patch import MAX_COPIED, MAX_OPERATIONS
from nearwise.server.patch.values import MAX_DEPTH, same
from patch_cases import OBJECTS, VALUES, answer, line, refusal, without_version, write


def op(name: str, path: str, **more: Any) -> Any:
    if "source" in more:
        more["from"] = more.pop("source")
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        # RFC 6902, appendix A.
        ({"foo": "bar"}, [op("add", "/baz", value="qux")], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["b", "z"]}, [op("add", "/foo/1", value="q")], {"foo": ["b", "q", "z"]}),
        ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": ["b", "q", "z"]}, [op("remove", "/foo/1")], {"foo": ["b", "z"]}),
        ({"baz": "q", "foo": 1}, [op("replace", "/baz", value="b")], {"baz": "b", "foo": 1}),
        (
            {"foo": {"bar": 1, "waldo": "fred"}, "qux": {"corge": 2}},
            [op("move", "/qux/thud", source="/foo/waldo")],
            {"foo": {"bar": 1}, "qux": {"corge": 2, "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [op("move", "/foo/3", source="/foo/1")],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [op("test", "/baz", value="qux"), op("test", "/foo/1", value=2)],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        ({"foo": "bar"}, [op("add", "/a", value={"b": {}})], {"foo": "bar", "a": {"b": {}}}),
        ({"foo": 1}, [op("add", "/baz", value=2, xyz=123)], {"foo": 1, "baz": 2}),
        ({"/": 9, "~1": 10}, [op("test", "/~01", value=10)], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [op("add", "/foo/-", value=["a"])], {"foo": ["bar", ["a"]]}),
        # Names that look like something else.
        ({"": 1, "0": 2}, [op("replace", "/", value=3), op("remove", "/0")], {"": 3}),
        ({"a/b": 1, "m~n": 2}, [op("remove", "/a~1b"), op("remove", "/m~0n")], {}),
        # The whole.
        ({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}),
        ({"a": 1}, [op("test", "", value={"a": 1.0})], {"a": 1}),
        # Nothing to do.
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, None, {"a": 1}),
        # Where kube-apiserver is more lenient than the RFC: what is not there reads as null.
        ({}, [op("replace", "/labels", value={"a": "b"})], {"labels": {"a": "b"}}),
        ({}, [op("test", "/labels", value=None)], {}),
        ({}, [op("copy", "/b", source="/a")], {"b": None}),
        ({}, [op("add", "/a")], {"a": None}),
        # And indices may count from the end.
        ({"a": [1, 2, 3]}, [op("remove", "/a/-1")], {"a": [1, 2]}),
        ({"a": [1, 2, 3]}, [op("replace", "/a/-3", value=0)], {"a": [0, 2, 3]}),
        ({"a": [1, 2]}, [op("add", "/a/-1", value=3)], {"a": [1, 2, 3]}),
    ],
)
def test_operations_do_what_they_say(document: Any, operations: Any, result: Any) -> None:
    assert same(json_patch(document, operations), result)


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (op("test", "/a", value=2), "the value is another one"),
        (op("test", "/a", value=True), "the value is another one"),
        (op("test", "/a"), "the value is another one"),
        (op("test", "/list/7", value=None), "the list has no index 7"),
        (op("add", "/x/y", value=1), "there is nothing that it could be in"),
        (op("add", "/a/b", value=1), "there is nothing that it could be in"),
        (op("add", "/list/4", value=1), "the list has no index 4"),
        (op("add", "/list/1e0", value=1), "'1e0' is not an index of a list"),
        (op("add", "/list/x", value=1), "'x' is not an index of a list"),
        (op("replace", "/list/-", value=1), "'-' is not an index of a list"),
        (op("add", "", value={}), "the whole cannot be"),
        (op("remove", ""), "the whole cannot be"),
        (op("replace", "", value=1), "the whole can only become an object or a list"),
        (op("remove", "/x"), "there is no such member"),
        (op("remove", "/list/3"), "the list has no index 3"),
        (op("move", "/b", source="/x"), "there is no such member"),
        (op("move", "/list/0/b", source="/list"), "there is nothing that it could be in"),
        (op("copy", "/b", source="/x/y"), "there is nothing that it could be in"),
        (op("copy", "/b", source=""), "the whole cannot be"),
        (op("copy", "/b"), "there is no 'from'"),
        (op("add", "a", value=1), "'path' does not begin with a slash"),
        ({"op": "add", "value": 1}, "there is no 'path'"),
        (op("append", "/a", value=1), "no such operation"),
        ({"path": "/a"}, "no such operation"),
    ],
)
def test_an_impossible_operation_refuses_all_of_them(operation: Any, why: str) -> None:
    document = {"a": 1, "list": [1, 2, 3]}

    def patch() -> None:
        json_patch(document, [op("add", "/b", value=1), operation])

    status = refusal(patch)

    assert status == msgspec.convert(answer(29), Status)  # Kubernetes tells no client why
    with pytest.raises(Exception, match=why.replace("(", ".")) as refused:
        patch()
    assert str(refused.value).startswith("operation 1 (")
    assert document == {"a": 1, "list": [1, 2, 3]}


def test_a_recorded_patch_has_its_recorded_result() -> None:
    old = answer(27)

    new = track_update(old, json_patch(old, line(28)["body"]), write(28))

    assert without_version(new) == without_version(answer(28))


def test_a_recorded_failing_test_has_its_recorded_refusal() -> None:
    status = refusal(lambda: json_patch(answer(28), line(29)["body"]))

    assert status == msgspec.convert(answer(29), Status)


# --- Bounds ---------------------------------------------------------------------------------


@given(VALUES.filter(lambda value: value is not None and not isinstance(value, list)))
def test_a_patch_that_is_no_list_is_refused(patch: Any) -> None:
    assert refusal(lambda: json_patch({}, patch)).code == 400


@given(VALUES.filter(lambda value: not isinstance(value, dict)))
def test_an_operation_that_is_no_object_is_refused(operation: Any) -> None:
    assert refusal(lambda: json_patch({}, [operation])).code == 400


def test_a_result_that_is_no_object_is_refused() -> None:
    assert refusal(lambda: json_patch({}, [op("replace", "", value=[])])).code == 422


def test_ten_thousand_operations_are_taken_and_not_one_more() -> None:
    operations = [op("add", "/a/-", value=1)] * MAX_OPERATIONS

    assert len(json_patch({"a": []}, operations)["a"]) == MAX_OPERATIONS
    status = refusal(lambda: json_patch({"a": []}, [*operations, operations[0]]))
    assert (status.code, status.reason, status.message) == (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001",
    )


def test_copies_of_copies_do_not_grow_without_end() -> None:
    doubling = [op("copy", "/a/-", source="/a")] * 100

    assert refusal(lambda: json_patch({"a": ["x" * 100]}, doubling)).code == 422


def test_many_small_copies_do_not_add_up_to_more_than_a_request() -> None:
    chunk = "x" * (MAX_COPIED // 100)

    assert len(json_patch({"a": chunk, "b": []}, [op("copy", "/b/-", source="/a")] * 99)) == 2
    assert refusal(lambda: json_patch({"a": chunk, "b": []}, COPY_EACH * 101)).code == 422


COPY_EACH = [op("copy", "/b/-", source="/a")]


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([op("copy", "/a/a", source="/a")] * 300, id="by copies"),
        pytest.param(
            [
                op("move", "/t", source="/a"),
                op("add", "/a", value={}),
                op("move", "/a/b", source="/t"),
            ]
            * 3000,
            id="by moves",
        ),
        pytest.param(
            [op("add", "/a" * depth, value={"a": {}}) for depth in range(1, 1500)],
            id="by additions",
        ),
    ],
)
def test_a_document_is_not_nested_deeper_and_deeper(operations: Any) -> None:
    assert refusal(lambda: json_patch({"a": {}}, operations)).code in (400, 422)


def test_moves_to_and_fro_nest_nothing() -> None:
    there = op("move", "/a/a/a/a", source="/b")
    back = op("move", "/b", source="/a/a/a/a")
    document = {"a": {"a": {"a": {}}}, "b": {"c": 1}}

    assert json_patch(document, [there, back] * MAX_DEPTH) == document


# --- Laws -----------------------------------------------------------------------------------


@given(OBJECTS, OBJECTS)
def test_a_patch_made_of_a_difference_makes_up_for_it(old: Any, new: Any) -> None:
    patch = difference(old, new, "")

    before = copy.deepcopy((old, patch))
    assert same(json_patch(old, patch), new)
    assert (old, patch) == before


@given(OBJECTS, VALUES)
def test_what_was_added_can_be_tested_moved_and_removed(document: Any, value: Any) -> None:
    operations = [
        op("add", "/new", value=value),
        op("test", "/new", value=value),
        op("copy", "/copy", source="/new"),
        op("move", "/moved", source="/new"),
        op("test", "/moved", value=value),
        op("remove", "/moved"),
        op("test", "/copy", value=value),
        op("remove", "/copy"),
    ]

    assert same(json_patch(document, operations), document)


@given(OBJECTS)
def test_the_result_can_be_changed_without_changing_the_patch(value: Any) -> None:
    operations = [
        op("add", "/a", value=value),
        op("add", "/a/b", value=1),
        op("add", "/c", value=value),
    ]
    before = copy.deepcopy(value)

    assert json_patch({}, operations)["c"] == before
    assert value == before


def difference(old: Any, new: Any, path: str) -> list[Any]:
    """Make the patch from one value to another."""
    if same(old, new):
        return []
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [op("replace", path, value=new)]
    places = {name: f"{path}/{name.replace('~', '~0').replace('/', '~1')}" for name in old | new}
    return [
        *(op("remove", places[name]) for name in old.keys() - new.keys()),
        *(op("add", places[name], value=new[name]) for name in new.keys() - old.keys()),
        *(
            each
            for name in old.keys() & new.keys()
            for each in difference(old[name], new[name], places[name])
        ),
    ]
