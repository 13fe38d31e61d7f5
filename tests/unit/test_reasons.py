"""Reasons in words: facts as a sentence wants them, and one told otherwise than several."""

from __future__ import annotations

from string import Formatter

import pytest

from nearwise.model import reason
from nearwise.model.reasons import CATALOGUE


@pytest.mark.parametrize(
    ("ready", "text"),
    [
        (1, "the only ready endpoint is used"),
        (3, "all 3 ready endpoints are used"),
    ],
)
def test_words_go_with_a_number(ready: int, text: str) -> None:
    assert reason("route-all", ready=ready).text == text


@pytest.mark.parametrize(
    ("endpoints", "text"),
    [
        (["web-1"], "web-1 has hints that nothing asks for any more"),
        (["web-1", "web-2"], "web-1 and web-2 have hints that nothing asks for any more"),
    ],
)
def test_words_go_with_how_many_are_listed(endpoints: list[str], text: str) -> None:
    assert reason("hints-left-over", endpoints=endpoints, value="").text == text


def test_none_is_told_as_several_are() -> None:
    told = reason("route-own-node", chosen=0, ready=1, node="n1").text
    assert told == "0 of 1 ready endpoints run on n1"


@pytest.mark.parametrize("code", CATALOGUE)
def test_where_one_is_told_otherwise_there_are_words_for_one_and_for_several(code: str) -> None:
    for _, _, words, _ in Formatter().parse(CATALOGUE[code].sentence):
        if words:
            one, several = words.split("|")
            assert one != several


def test_a_reason_that_lacks_a_fact_of_its_sentence_is_refused_at_once() -> None:
    with pytest.raises(KeyError, match="ready"):
        reason("route-all", chosen=1)


def test_a_code_that_is_not_in_the_catalogue_is_refused() -> None:
    with pytest.raises(KeyError, match="no-such-code"):
        reason("no-such-code")
