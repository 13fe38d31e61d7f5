"""JSON merge patch: the examples of RFC 7386, its laws, recorded answers."""

import copy
from typing import Any

import pytest
from hypothesis import given

from nearwise.server.patch import merge_patch, track_update
from patch_cases import OBJECTS, VALUES, answer, line, refusal, without_version, write

ABSENT: Any = object()


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # RFC 7386, appendix A, each as a member of an object.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, ABSENT),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        # A list is one value: nulls in it stay.
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {"b": None}]}),
        (ABSENT, {"a": None, "b": 1}, {"b": 1}),
    ],
)
def test_the_patch_looks_like_what_it_changes(target: Any, patch: Any, result: Any) -> None:
    document = {} if target is ABSENT else {"it": target}

    assert merge_patch(document, {"it": patch}) == ({} if result is ABSENT else {"it": result})


@given(OBJECTS, OBJECTS)
def test_a_patch_made_twice_is_made_once(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)

    assert merge_patch(once, patch) == once


@given(OBJECTS)
def test_an_empty_patch_changes_nothing(document: Any) -> None:
    assert merge_patch(document, {}) == document


@given(OBJECTS, OBJECTS)
def test_a_patch_made_of_a_difference_makes_up_for_it(old: Any, new: Any) -> None:
    wanted = without_nulls(new)

    assert merge_patch(old, difference(old, wanted)) == wanted


@given(OBJECTS, OBJECTS)
def test_what_is_handed_in_stays_as_it_was(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))

    merge_patch(document, patch)

    assert (document, patch) == before


@given(VALUES.filter(lambda value: not isinstance(value, dict)))
def test_a_patch_that_is_no_object_is_refused(patch: Any) -> None:
    status = refusal(lambda: merge_patch({}, patch))

    assert (status.code, status.reason) == (400, "BadRequest")
    assert status.message.startswith("error decoding patch: json: cannot unmarshal ")


def test_a_patch_nested_without_end_is_refused() -> None:
    patch: Any = {}
    for _ in range(100_000):
        patch = {"a": patch}

    assert refusal(lambda: merge_patch({}, patch)).code == 400


@pytest.mark.parametrize(
    ("number", "live"),
    [
        pytest.param(24, 21, id="one label goes, one comes"),
        pytest.param(25, 24, id="nothing changes"),
        pytest.param(71, 69, id="a finalizer comes"),
        pytest.param(74, 73, id="all finalizers go"),
    ],
)
def test_recorded_patches_have_their_recorded_result(number: int, live: int) -> None:
    old = answer(live)

    new = track_update(old, merge_patch(old, line(number)["body"]), write(number))

    assert without_version(new) == without_version(answer(number))


def difference(old: Any, new: Any) -> Any:
    """Make the merge patch from one object to another."""
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        if isinstance(value, dict):
            below = old.get(name)
            patch[name] = difference(below if isinstance(below, dict) else {}, value)
        else:
            patch[name] = value
    return patch


def without_nulls(value: Any) -> Any:
    """Leave out what a merge patch cannot say: members that are null."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(each) for name, each in value.items() if each is not None}
