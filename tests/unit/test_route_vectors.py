"""Every recorded choice of kube-proxy: who is there, who is used under each policy.

Where two running endpoints in different slices claim one address and port, kube-proxy takes the
one whose slice its map happens to name last, and the record has what came out that time. Here the
names of the slices decide. So such a line holds when it is our answer for some order of the names.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from nearwise.vectors.route import answer
from summaries import recorded

LINES = recorded("route")
LEFT_TO_CHANCE = 35  # lines on which chance decided otherwise than the names do


def in_every_order(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Answer with the slices' names handed round, the names as they are first."""
    names = [each["metadata"]["name"] for each in question["slices"]]
    for order in permutations(names):
        renamed = copy.deepcopy(question)
        for each, name in zip(renamed["slices"], order, strict=True):
            each["metadata"]["name"] = name
        yield answer(renamed)


def test_the_record_is_whole() -> None:
    assert len(LINES) == 3000


@pytest.mark.parametrize("number", range(len(LINES)))
def test_every_field_is_as_recorded(number: int) -> None:
    line = LINES[number]

    assert line["expect"] in in_every_order(line["input"])


def test_few_lines_were_left_to_chance() -> None:
    otherwise = [line for line in LINES if answer(line["input"]) != line["expect"]]

    assert len(otherwise) == LEFT_TO_CHANCE
    for line in otherwise:
        answers = list(in_every_order(line["input"]))
        assert any(other != answers[0] for other in answers)


def test_the_order_in_which_slices_come_changes_no_answer() -> None:
    for line in LINES[:300]:
        turned = {**line["input"], "slices": line["input"]["slices"][::-1]}
        assert answer(turned) == answer(line["input"])
