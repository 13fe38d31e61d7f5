"""Which objects a selector picks: the map of a Service, and the text that kubectl takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model import names

Labels = Mapping[str, str]


def matches(selector: Labels, labels: Labels) -> bool:
    """Tell whether a Service's selector picks an object with these labels.

    An empty selector picks nothing: the endpoints of such a Service are somebody else's work
    (core/v1 ``ServiceSpec.selector``).
    """
    return bool(selector) and selector.items() <= labels.items()


class Operator(StrEnum):
    """How a requirement compares."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    NOT_EXISTS = "!"
    ABOVE = ">"
    BELOW = "<"


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Tell whether the labels meet it. A label that is absent is not any value."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.NOT_EXISTS:
                return value is None
            case Operator.ABOVE | Operator.BELOW:
                if value is None or not _INTEGER.fullmatch(value):
                    return False
                number, limit = int(value), int(self.values[0])
                return number > limit if self.operator is Operator.ABOVE else number < limit


class LabelSelector(msgspec.Struct, frozen=True):
    """Conditions that must all hold. None at all picks everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Tell whether the labels meet every condition."""
        return all(requirement.matches(labels) for requirement in self.requirements)


class UnexpectedError(ValueError):
    """A selector in which something stands where something else should."""

    def __init__(self, selector: str, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(f"label selector {selector!r}: found {found}, expected {expected}")


_TOKEN: Final = re.compile(r"[ \t]*(==|!=|[!=,()<>]|[^ \t!=,()<>]+)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_SYMBOLS: Final = frozenset(["==", "!=", *"!=,()<>"])
_COMPARISONS: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.ABOVE,
    "<": Operator.BELOW,
}
_MAX_LENGTH: Final = 64 * 1024
_END: Final = ""


def parse(text: str) -> LabelSelector:
    """Read a label selector as kubectl takes it: ``a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5``.

    Raises ValueError saying what was found where, and what was expected.
    """
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"the label selector is over {_MAX_LENGTH} characters long")
    tokens = _Tokens(text)
    found: list[Requirement] = []
    if tokens.ahead == _END:
        return LabelSelector()
    while True:
        found.append(_requirement(tokens))
        if tokens.ahead == _END:
            return LabelSelector(tuple(found))
        tokens.take(",")


class _Tokens:
    """The words and symbols of a selector, one ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._rest: Iterator[str] = (found[1] for found in _TOKEN.finditer(text))
        self.ahead = next(self._rest, _END)

    def next(self) -> str:
        """Take whatever comes."""
        taken, self.ahead = self.ahead, next(self._rest, _END)
        return taken

    def take(self, wanted: str) -> None:
        """Take just this symbol. Raises ValueError when something else comes."""
        if self.ahead != wanted:
            raise self.unexpected(f"'{wanted}'")
        self.next()

    def word(self, what: str) -> str:
        """Take a word. Raises ValueError when a symbol or the end comes."""
        if self.ahead in _SYMBOLS or self.ahead == _END:
            raise self.unexpected(what)
        return self.next()

    def unexpected(self, wanted: str) -> UnexpectedError:
        """Say what came in place of what was wanted."""
        return UnexpectedError(self._text, f"'{self.ahead}'" if self.ahead else "the end", wanted)


def _requirement(tokens: _Tokens) -> Requirement:
    denied = tokens.ahead == "!"
    if denied:
        tokens.next()
    key = _checked(tokens.word("a label key"), names.qualified_name)
    if denied:
        return Requirement(key, Operator.NOT_EXISTS)
    if tokens.ahead in (",", _END):
        return Requirement(key, Operator.EXISTS)
    if tokens.ahead in ("in", "notin"):
        operator = Operator(tokens.next())
        return Requirement(key, operator, _values(tokens))
    if tokens.ahead not in _COMPARISONS:
        raise tokens.unexpected("one of =, ==, !=, in, notin, <, >")
    operator = _COMPARISONS[tokens.next()]
    empty = tokens.ahead in (",", _END)
    value = "" if empty else _checked(tokens.word("a label value"), names.label_value)
    if operator in (Operator.ABOVE, Operator.BELOW) and not _INTEGER.fullmatch(value):
        raise ValueError(f"label selector: {value!r} after {key}{operator} is not an integer")
    return Requirement(key, operator, (value,))


def _values(tokens: _Tokens) -> tuple[str, ...]:
    """Read ``(a,b)``. Nothing between commas is the empty value, which a label may have."""
    tokens.take("(")
    found: set[str] = set()
    while True:
        empty = tokens.ahead in (",", ")")
        found.add("" if empty else _checked(tokens.word("a value"), names.label_value))
        if tokens.ahead == ")":
            tokens.next()
            return tuple(sorted(found))
        if tokens.ahead != ",":
            raise tokens.unexpected("',' or ')'")
        tokens.next()


def _checked(word: str, complaints: names.Check) -> str:
    found = complaints(word)
    if found:
        raise ValueError(f"label selector: {word!r}: {found[0]}")
    return word
