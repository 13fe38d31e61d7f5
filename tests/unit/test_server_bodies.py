"""Request bodies: JSON and YAML, fields that are repeated, depth, and bodies that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.objects.bodies import JSON, YAML, Sent, read_object, read_patch
from nearwise.server.patch import PatchError
from nearwise.server.statuses import Refusal

PREFIX = (
    "the object provided is unrecognized (must be of type Service): couldn't get version/kind; "
)


@pytest.mark.parametrize(
    ("data", "media", "content"),
    [
        (b'{"a": 1}', JSON, {"a": 1}),
        (b'{"a": 1}', "", {"a": 1}),
        (b'{"a": 1}', YAML, {"a": 1}),
        (b"a: 1\nb: [x, z]\n", YAML, {"a": 1, "b": ["x", "z"]}),
        (b"{a: 1}", YAML, {"a": 1}),  # looks like JSON, but is not
        (b"a: 1\n---\nb: 2\n", YAML, {"a": 1}),
        (b'labels: {y: "9"}', YAML, {"labels": {"true": "9"}}),  # recorded
    ],
)
def test_bodies(data: bytes, media: str, content: dict[str, Any]) -> None:
    assert read_object(data, media, "Service") == Sent(content)


@pytest.mark.parametrize(
    ("data", "media", "message"),
    [
        (b"", JSON, f"{PREFIX}json parse error: unexpected end of JSON input (<empty>)"),
        (
            b'{"metadata":',
            JSON,
            f'{PREFIX}json parse error: unexpected end of JSON input ({{"metadata":)',
        ),
        (
            b"[1]",
            JSON,
            f"{PREFIX}json parse error: json: cannot unmarshal array into Go value of type an "
            "object with a kind (5b315d)",
        ),
        (b"null", JSON, "cannot unmarshal null"),
        (b'{"a": ' + b"1" * 40 + b"x}", JSON, '({"a": 111111111111111111111111 ...)'),
        (
            b"a: [",
            YAML,
            "the object provided is unrecognized (must be of type Service): error converting YAML "
            "to JSON: yaml: line 2: ",
        ),
        (b"- a\n", YAML, "cannot unmarshal array"),
        (b"\xff\xfe\xfd", JSON, "invalid character"),
        (b'{"a": "\xff"}', JSON, "invalid character"),
    ],
)
def test_bodies_that_are_not_objects(data: bytes, media: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_object(data, media, "Service")

    assert refused.value.status.code == 400
    assert message in refused.value.status.message


@pytest.mark.parametrize("media", [JSON, YAML])
@pytest.mark.parametrize("depth", [300, 100_000])
def test_bodies_that_are_nested_too_deep(depth: int, media: str) -> None:
    data = b'{"a":' + b"[" * depth + b"]" * depth + b"}"

    with pytest.raises((Refusal, PatchError)) as refused:
        read_object(data, media, "Service")

    assert refused.value.status.code == 400


def test_brackets_in_texts_are_not_depth() -> None:
    text = "[" * 300

    assert read_object(json.dumps({"a": text}).encode(), JSON, "Service").content == {"a": text}


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (b'{"a": 1, "a": 2}', ["a"]),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', ["a.b"]),
        (b'{"a": [{"b": 1}, {"b": 1, "b": 2}]}', ["a[1].b"]),
        (b'{"a": 1, "a": {"b": 1, "b": 2}, "a": 3}', ["a", "a.b"]),
        (b'{"a": "say \\"a\\"", "b": "\\u0022"}', []),
    ],
)
def test_fields_that_are_given_twice(data: bytes, paths: list[str]) -> None:
    sent = read_object(data, JSON, "Service")

    assert sent.complaints == tuple(f'duplicate field "{path}"' for path in paths)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON_VALUES), st.booleans())
def test_what_is_read_is_what_was_written(content: dict[str, Any], plain: bool) -> None:
    data = json.dumps(content, ensure_ascii=plain).encode(errors="surrogatepass")

    try:
        sent = read_object(data, JSON, "Service")
    except Refusal:
        assert any("\ud800" <= c <= "\udfff" for c in json.dumps(content, ensure_ascii=False))
    else:
        assert sent == Sent(content)


@pytest.mark.parametrize(
    ("data", "yaml", "message"),
    [
        (b"{", False, "error decoding patch: unexpected end of JSON input"),
        (b"a: [", True, "error decoding YAML: "),
        (b'{"a":' * 100_000, False, "error decoding patch: exceeded max depth"),
    ],
)
def test_patches_that_cannot_be_read(data: bytes, yaml: bool, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_patch(data, yaml=yaml)

    assert refused.value.status.message.startswith(message)
