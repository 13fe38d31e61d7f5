"""What Kubernetes takes as a name, and the words with which it refuses one.

Law: one function a kind of name; it returns the complaints (none: the name is fine) in the words
of apimachinery's ``util/validation``, since users and recorded answers know those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

Complaints = list[str]
Check = Callable[[str], Complaints]

EMPTY: Final = "must be non-empty"

_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_WORD: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_WORD})?"

_WORD_TEXT: Final = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)


def _over(limit: int, text: str) -> Complaints:
    """Complain about a text longer than ``limit`` bytes, the unit in which Go counts."""
    too_long = len(text.encode(errors="replace")) > limit
    return [f"must be no more than {limit} characters"] if too_long else []


def _pattern(what: str, pattern: str, *examples: str) -> str:
    """Say that a text does not match, with examples, as the API server writes it."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{what} (e.g. {shown}regex used for validation is '{pattern}')"


def dns_label(text: str) -> Complaints:
    """Return what keeps a text from being a DNS label (RFC 1123)."""
    found = _over(63, text)
    if not re.fullmatch(_DNS_LABEL, text):
        if re.fullmatch(_SUBDOMAIN, text):
            return [*found, "must not contain dots"]
        what = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
            "'-', and must start and end with an alphanumeric character"
        )
        found.append(_pattern(what, _DNS_LABEL, "my-name", "123-abc"))
    return found


def dns_subdomain(text: str) -> Complaints:
    """Return what keeps a text from being a DNS name (RFC 1123 subdomain)."""
    found = _over(253, text)
    if not re.fullmatch(_SUBDOMAIN, text):
        what = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character"
        )
        found.append(_pattern(what, _SUBDOMAIN, "example.com"))
    return found


def qualified_name(text: str) -> Complaints:
    """Return what keeps a text from being a label key: ``name`` or ``example.com/name``."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        what = _pattern(
            f"a qualified name must {_WORD_TEXT}", _WORD, "MyName", "my.name", "123-abc"
        )
        return [f"{what} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    found: Complaints = []
    if slash:
        problems = dns_subdomain(prefix) if prefix else [EMPTY]
        found += [f"prefix part {problem}" for problem in problems]
    if not name:
        found.append(f"name part {EMPTY}")
    found += [f"name part {problem}" for problem in _over(63, name)]
    if not re.fullmatch(_WORD, name):
        what = _pattern(f"name part must {_WORD_TEXT}", _WORD, "MyName", "my.name", "123-abc")
        found.append(what)
    return found


def label_value(text: str) -> Complaints:
    """Return what keeps a text from being the value of a label."""
    found = _over(63, text)
    if not re.fullmatch(_LABEL_VALUE, text):
        what = f"a valid label must be an empty string or {_WORD_TEXT}"
        found.append(_pattern(what, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return found
