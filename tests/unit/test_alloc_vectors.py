"""Every recorded answer of Kubernetes' topology cache, to the last bit."""

import pytest

from nearwise.vectors.alloc import answer
from summaries import recorded

LINES = recorded("alloc")


def test_the_record_is_whole() -> None:
    assert len(LINES) == 800


@pytest.mark.parametrize("number", range(len(LINES)))
def test_ratios_allocations_and_refusals_are_those_recorded(number: int) -> None:
    line = LINES[number]

    assert answer(line["input"]) == line["expect"]
