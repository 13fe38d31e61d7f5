"""Every recorded answer of Kubernetes' EndpointSlice controller, step by step."""

import pytest

from nearwise.vectors.reconcile import answer
from summaries import differences, recorded, summarise

LINES = recorded("reconcile")


def test_the_record_is_whole() -> None:
    assert len(LINES) == 400


@pytest.mark.parametrize("number", range(len(LINES)))
def test_every_stable_field_of_every_step_is_as_recorded(number: int) -> None:
    line = LINES[number]

    answers = [summarise(step) for step in answer(line["input"])]

    assert [differences(*pair) for pair in zip(line["expect"], answers, strict=True)] == [
        {} for _ in answers
    ]
