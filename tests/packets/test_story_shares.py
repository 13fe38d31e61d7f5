"""The bound by which the stories judge shares: it would see what they are about."""

from __future__ import annotations

from lab_stories import CONNECTIONS, evenly, strange


def test_what_chance_does_is_not_strange() -> None:
    assert strange({"a": 200, "b": 200}, evenly("ab")) == ""
    assert strange({"a": 240, "b": 160}, evenly("ab")) == ""  # 4 standard deviations
    assert strange({"a": CONNECTIONS}, {"a": 1.0, "b": 0.0}) == ""


def test_who_should_not_answer_or_never_answers_is_strange() -> None:
    assert "c should not be there" in strange({"a": 200, "b": 199, "c": 1}, evenly("ab"))
    assert "b should not be there" in strange({"a": 399, "b": 1}, {"a": 1.0, "b": 0.0})
    assert "f has 0" in strange(dict.fromkeys("abcde", CONNECTIONS // 5), evenly("abcdef"))


def test_halves_are_not_thirds_and_a_pod_with_twice_its_share_is_seen() -> None:
    assert "a has 200 of 400" in strange({"a": 200, "b": 100, "c": 100}, evenly("abc"))
    assert "a has 200 of 400" in strange({"a": 200, "b": 67, "c": 67, "d": 66}, evenly("abcd"))
