"""Every recorded answer of Kubernetes' mirroring controller, step by step."""

import pytest

from nearwise.vectors.mirror import answer
from summaries import differences, recorded, summarise

LINES = recorded("mirror")

# Kubernetes can drop the wrong slice when it reuses one for another set of ports, and makes it
# anew a step later. Ours is right at once: where the record has that later create, we have none,
# and the slices, four in both, are the same.
FAULTS = {147: {4: {"created": (1, 0)}}}


def test_the_record_is_whole() -> None:
    assert len(LINES) == 250


@pytest.mark.parametrize("number", range(len(LINES)))
def test_every_stable_field_of_every_step_is_as_recorded(number: int) -> None:
    line = LINES[number]

    found = {
        step: differences(expected, summarise(answered))
        for step, (expected, answered) in enumerate(
            zip(line["expect"], answer(line["input"]), strict=True)
        )
    }

    assert {step: fields for step, fields in found.items() if fields} == FAULTS.get(number, {})
