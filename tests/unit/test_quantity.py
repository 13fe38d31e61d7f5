"""resource.Quantity in thousandths, as Go's MilliValue gives them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model.quantity import milli

SPELLINGS = {
    "0": 0,
    "4": 4000,
    "00.1": 100,
    "0.25": 250,
    ".5": 500,
    "1.": 1000,
    "+1": 1000,
    "250m": 250,
    "3920m": 3920,
    "1k": 1_000_000,
    "1e3": 1_000_000,
    "1E3": 1_000_000,
    "12e+2": 1_200_000,
    "15e-1": 1500,
    "2Ki": 2_048_000,
    "1.5Ki": 1_536_000,
    "1Mi": 1_048_576_000,
    " 4 ": 4000,
    # Rounded up to the next thousandth, however little there is.
    "100u": 1,
    "5n": 1,
    "1e-3": 1,
    "1e-99": 1,
    "0.0001": 1,
    "1001u": 2,
    # Beyond int64 it is the largest int64.
    "9e99": 2**63 - 1,
    "1E": 2**63 - 1,
    "8Ei": 2**63 - 1,
    "-9e99": -(2**63),
    # Away from zero, except where Go had to leave its short form.
    "-1": -1000,
    "-1u": -1,
    "-1.5m": -2,
    "-0.5n": 0,
    "-0.0001Ki": -102,
    "-1.0000000000000000001": -1000,
}


@pytest.mark.parametrize(("text", "wanted"), SPELLINGS.items())
def test_every_spelling_gives_thousandths(text: str, wanted: int) -> None:
    assert milli(text) == wanted


@pytest.mark.parametrize(
    ("number", "wanted"), [(4, 4000), (0.5, 500), (1e-7, 1), (1e18, 2**63 - 1)]
)
def test_yaml_numbers_count_like_text(number: float, wanted: int) -> None:
    assert milli(number) == wanted


@pytest.mark.parametrize(
    "junk",
    ["", " ", "+", ".", "k", "1ki", "1 k", "1e", "1e1.5", "1.2.3", "4 cores", "1x", "٣", "0x10"],
)
def test_what_is_no_quantity_is_refused_by_name(junk: str) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity: write it like 4, 0\.25, 250m"):
        milli(junk)


@pytest.mark.parametrize("junk", [None, True, [1], float("nan"), float("inf")])
def test_other_types_are_refused_too(junk: object) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        milli(junk)  # type: ignore[arg-type]


def test_huge_input_is_refused_and_not_computed() -> None:
    with pytest.raises(ValueError, match="over 64 characters long"):
        milli("9" * 1_000_000)


@given(st.integers(0, 10**12), st.sampled_from(["n", "u", "m", "", "k", "M"]))
def test_rounding_up_is_exact(number: int, suffix: str) -> None:
    power = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6}[suffix]
    exact = Fraction(number) * Fraction(10) ** (power + 3)
    assert milli(f"{number}{suffix}") == min(-(-exact.numerator // exact.denominator), 2**63 - 1)


@given(st.text(max_size=80))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    said, thousandths = "is not a quantity", 0
    try:
        thousandths = milli(text)
    except ValueError as error:
        said = str(error)
    assert "is not a quantity" in said
    assert -(2**63) <= thousandths < 2**63
