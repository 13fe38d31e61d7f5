"""Selectors of Services, and label selectors as kubectl takes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model.selectors import Operator, Requirement, matches, parse

WEB = {"app": "web", "tier": "front", "shard": "7"}


@pytest.mark.parametrize(
    ("selector", "picked"),
    [
        ({"app": "web"}, True),
        ({"app": "web", "tier": "front"}, True),
        ({"app": "web", "tier": "back"}, False),
        ({"app": "web", "zone": "a"}, False),
        ({"app": ""}, False),
    ],
)
def test_a_service_picks_pods_that_have_all_its_labels(
    selector: dict[str, str], picked: bool
) -> None:
    assert matches(selector, WEB) is picked


def test_a_service_without_selector_picks_no_pod() -> None:
    assert not matches({}, WEB)
    assert not matches({}, {})


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("", True),
        ("  ", True),
        ("app", True),
        ("!app", False),
        ("! zone", True),
        ("zone", False),
        ("app=web", True),
        ("app == web , tier != back", True),
        ("zone!=a", True),
        ("app in (api,web)", True),
        ("app in ( web )", True),
        ("app notin (api,web)", False),
        ("zone notin (a)", True),
        ("zone in ()", False),
        ("zone=", False),
        ("app=web,shard>6", True),
        ("shard<7", False),
        ("app>6", False),
        ("app in (in,notin),in", False),
    ],
)
def test_kubectl_selectors(text: str, picked: bool) -> None:
    assert parse(text).matches(WEB) is picked


def test_nothing_between_commas_is_the_empty_value() -> None:
    assert parse("a in (,x)").requirements == (Requirement("a", Operator.IN, ("", "x")),)
    assert parse("a=,b").matches({"a": "", "b": "c"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("app=web,", "found the end, expected a label key"),
        (",app", "found ',', expected a label key"),
        ("a=b=c", "found '=', expected ','"),
        ("app web", "found 'web', expected one of =, ==, !=, in, notin, <, >"),
        ("app in web", r"found 'web', expected '\('"),
        ("app in (web", r"found the end, expected ',' or '\)'"),
        ("app in (web tier)", r"found 'tier', expected ',' or '\)'"),
        ("!app=web", "found '=', expected ','"),
        ("a/b/c", "a qualified name must consist of"),
        ("app=w$b", "a valid label must be"),
        ("app=web\n", "a valid label must be"),
        ("shard>many", "'many' after shard> is not an integer"),
        ("a" * 70_000, "over 65536 characters long"),
    ],
)
def test_a_broken_selector_says_what_came_and_what_was_expected(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse(text)


@given(st.text(alphabet="ab,=!()<> in\t", max_size=30))
def test_any_text_is_a_selector_or_a_value_error(text: str) -> None:
    said = "label selector"
    try:
        parse(text).matches(WEB)
    except ValueError as error:
        said = str(error)
    assert said.startswith("label selector")
