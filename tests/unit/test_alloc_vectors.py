"""Every recorded answer of Kubernetes' topology cache, to the last bit."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from nearwise.slices.recorded_alloc import answer

VECTORS = Path(__file__).parent.parent / "vectors" / "alloc.jsonl.gz"


def recorded() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


LINES = recorded()


def test_the_record_is_whole() -> None:
    assert len(LINES) == 800


@pytest.mark.parametrize("number", range(len(LINES)))
def test_ratios_allocations_and_refusals_are_those_recorded(number: int) -> None:
    line = LINES[number]

    assert answer(line["input"]) == line["expect"]
