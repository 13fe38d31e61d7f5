"""YAML as Kubernetes reads it: scalars, aliases, merge keys, and where values stand."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model.yamltree import Path, documents, line_of


def tree(text: str) -> object:
    ((_, content),) = documents(text.encode(), "x")
    return content


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("web", "web"),
        ("80", 80),
        ("-80", -80),
        ("+80", 80),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b101", 5),
        ("017", 15),
        ("0.25", 0.25),
        (".5", 0.5),
        ("1.5e+3", 1500.0),
        ("-.inf", -math.inf),
        ("9" * 5000, math.inf),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
        ("on", True),
        ("Yes", True),
        ("off", False),
        ("no", False),
        ("y", True),
        ("N", False),
        ("~", None),
        ("null", None),
        ("--- ", None),
        # Text, whatever YAML 1.1 or a quick look may say.
        ("1e3", "1e3"),
        ("250m", "250m"),
        ("12:30:45", "12:30:45"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T05:44:46Z", "2026-11-30T05:44:46Z"),
        ("10.1.2.3", "10.1.2.3"),
        ("08", "08"),
        ("-", [None]),
        ("'80'", "80"),
        ('"on"', "on"),
        ("!!str 80", "80"),
        ("! 80", "80"),
        ('!!int "80"', 80),
        ("!unknown 80", "80"),
    ],
)
def test_scalars(text: str, value: object) -> None:
    assert tree(text) == value


def test_keys_are_text_and_the_last_of_two_wins() -> None:
    assert tree("80: a\ntrue: b\n80: c\n") == {"80": "c", "true": "b"}


def test_unquoted_words_for_true_and_false_are_so_as_keys_too() -> None:
    assert tree("y: a\nOff: b\n'on': c\n~: d\n") == {
        "true": "a",
        "false": "b",
        "on": "c",
        "~": "d",
    }


def test_an_alias_is_the_value_that_it_names() -> None:
    assert tree("a: &x {b: 1}\nc: [*x, *x]") == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}
    assert tree("&k name: web\nlabels: {*k : front}") == {
        "name": "web",
        "labels": {"name": "front"},
    }


def test_merge_keys_fill_in_what_is_not_there() -> None:
    text = "a: &a {x: 1, w: 1}\nb: &b {x: 2, z: 2}\nc:\n  x: 3\n  <<: [*a, *b]\n"
    assert tree(text) == {
        "a": {"x": 1, "w": 1},
        "b": {"x": 2, "z": 2},
        "c": {"x": 3, "w": 1, "z": 2},
    }


def test_each_document_has_the_line_where_it_begins() -> None:
    assert list(documents(b"# hi\na: 1\n---\n\nb: 2\n---\n", "x")) == [
        (2, {"a": 1}),
        (3, {"b": 2}),
        (6, None),
    ]


TEXT = b"""\
kind: List
items:
- metadata:
    name: a
- metadata: {name: b,
    labels: {c: d}}
  spec:
    ports:
    - port: 80
    - port: 81
---
kind: Pod
"""


@pytest.mark.parametrize(
    ("document", "path", "line"),
    [
        (1, ("kind",), 1),
        (1, ("items",), 2),
        (1, ("items", 0), 3),
        (1, ("items", 0, "metadata", "name"), 4),
        (1, ("items", 1), 5),
        (1, ("items", 1, "metadata", "labels", "c"), 6),
        (1, ("items", 1, "spec", "ports", 1, "port"), 10),
        (1, ("items", 1, "spec", "selector"), 7),
        (2, ("kind",), 12),
        (2, ("spec",), 0),
        (3, ("kind",), 0),
    ],
)
def test_the_line_of_a_value_or_of_what_is_left_of_its_path(
    document: int, path: Path, line: int
) -> None:
    assert line_of(TEXT, document, path) == line


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text("ab:-#&*!{}[] \n'\"", max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner),
    max_leaves=20,
)


@given(TREES, st.booleans())
def test_what_yaml_writes_is_read_back(value: object, flow: bool) -> None:
    assert tree(yaml.safe_dump(value, default_flow_style=flow)) == value
