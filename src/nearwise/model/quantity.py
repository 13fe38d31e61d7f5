"""Amounts such as ``250m`` or ``2Ki`` (apimachinery ``resource.Quantity``)."""

from __future__ import annotations

import re
from typing import Final

# The grammar of the API reference; a number has at least one digit.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)",
    re.ASCII,
)
# fmt: off
_POWERS_OF_TEN: Final = {
    "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}
# fmt: on
_POWERS_OF_TWO: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_INT64_MAX: Final = 2**63 - 1
_MAX_LENGTH: Final = 64
# With at most 64 digits, a larger exponent is beyond int64 and a smaller one below a billionth.
_MAX_EXPONENT: Final = 100


def milli(value: str | int | float) -> int:
    """Return a quantity in thousandths, rounded up: ``"250m"`` is 250, ``"1u"`` is 1.

    This is Go's ``Quantity.MilliValue``: parsing keeps billionths and rounds finer amounts away
    from zero. Then thousandths round away from zero too, except that a negative amount which did
    not fit Go's short form (over 18 digits, finer than billionths, or a binary fraction) rounds
    up. Where Go's int64 would overflow, the result is the nearest int64.

    Raises ValueError for what is not a quantity.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _as_int64(value * 1000)
    text = repr(value) if isinstance(value, float) else value
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a quantity: write it like 4, 0.25, 250m, 2Ki or 1e3")
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"{text[:20]!r}... is not a quantity: over {_MAX_LENGTH} characters long")
    found = _QUANTITY.fullmatch(text)
    if not found or not re.search(r"^[+-]?\.?[0-9]", text):
        raise ValueError(f"{text!r} is not a quantity: write it like 4, 0.25, 250m, 2Ki or 1e3")
    whole, fraction = found["whole"], found["fraction"] or ""
    binary = _POWERS_OF_TWO.get(found["suffix"] or "")
    ten = _POWERS_OF_TEN.get(found["suffix"] or "", 0)
    if found["exponent"]:
        ten = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(found["exponent"])))
    ten -= len(fraction)

    billionths = _scaled_up(int(whole + fraction or "0") << (binary or 0), ten + 9)
    if binary is not None:
        billionths = min(billionths, _INT64_MAX * 10**9)
    if found["sign"] != "-":
        return _as_int64(_scaled_up(billionths, -6))
    short = binary is None and len(whole + fraction) <= 18 and ten >= -9
    return _as_int64(-_scaled_up(billionths, -6) if short else -(billionths // 10**6))


def _scaled_up(amount: int, ten: int) -> int:
    """Return ``amount * 10**ten``, rounded up."""
    power: int = 10 ** abs(ten)
    return amount * power if ten >= 0 else -(-amount // power)


def _as_int64(amount: int) -> int:
    return max(-_INT64_MAX - 1, min(_INT64_MAX, amount))
