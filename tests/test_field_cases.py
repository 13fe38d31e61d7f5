"""The page of field cases and the tests that bear their numbers say the same."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "field-cases.md").read_text()
ROWS = dict(re.findall(r"^\| (F\d\d) \| (.+) \|$", PAGE, flags=re.MULTILINE))


@cache
def names_in(path: Path) -> set[str]:
    """Return the names of the tests of a file."""
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("case", ROWS)
def test_a_case_names_tests_that_there_are_or_says_why_it_is_left_out(case: str) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", ROWS[case])
    assert named or "| left out: " in ROWS[case]
    assert [name for file, name in named if name not in names_in(TESTS / file)] == []


def test_every_number_that_a_test_bears_is_on_the_page() -> None:
    numbers = {
        number.upper()
        for path in TESTS.rglob("test_*.py")
        for name in names_in(path)
        for number in re.findall(r"_(f\d\d)(?![a-z\d])", name)
    }
    assert len(numbers) > 50
    assert numbers - ROWS.keys() == set()
