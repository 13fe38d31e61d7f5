"""The closed catalogue of reasons: why a decision came out as it did.

Law: nothing in Nearwise explains itself in free text. A decision returns ``Reason`` values, and
the sentence and the level of each stand in ``model/catalogue``, once. Codes are permanent: the text
of one may get better, a code that is no longer used stays in ``RETIRED`` and is never given again.
CLI, JSON, events, history and the documentation all speak from this catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from types import NoneType
from typing import Final, NamedTuple

import msgspec

from nearwise.model.catalogue import SECTIONS

Fact = str | int | float | bool | None | Sequence[str] | Mapping[str, int | float | str]


class Level(StrEnum):
    """How much a reason should worry the reader."""

    INFO = "info"  # how it is, and meant to be
    WARNING = "warning"  # works, but not as somebody will expect
    ERROR = "error"  # traffic or an object is lost


class Entry(msgspec.Struct, frozen=True):
    """What a code means: its level, and a sentence with the facts as ``{name}``.

    Words that go with a number, or with how many are listed, are ``{name:of one|of several}``.
    """

    level: Level
    sentence: str


class Reason(msgspec.Struct, frozen=True):
    """One reason: a permanent code and its named facts."""

    code: str
    facts: Mapping[str, Fact] = {}

    @property
    def level(self) -> Level:
        """How much it should worry the reader."""
        return CATALOGUE[self.code].level

    @property
    def text(self) -> str:
        """The sentence, with the facts in it."""
        return CATALOGUE[self.code].sentence.format_map(
            {name: _Spoken(value) for name, value in self.facts.items()}
        )

    def __hash__(self) -> int:
        """Let equal reasons meet in sets; of the facts only those that hash tell them apart."""
        plain = (each for each in self.facts.items() if isinstance(each[1], str | int | float))
        return hash((self.code, frozenset(plain)))

    def to_json(self) -> dict[str, object]:
        """Return the JSON form: ``code``, ``level``, ``text`` and ``facts``."""
        return {
            "code": self.code,
            "level": str(self.level),
            "text": self.text,
            "facts": dict(self.facts),
        }


def reason(code: str, **facts: Fact) -> Reason:
    """Make a reason of the catalogue.

    Raises KeyError for a code that is not in it, and for a fact that its sentence needs but does
    not get.
    """
    made = Reason(code, facts)
    CATALOGUE[code].sentence.format_map(dict.fromkeys(facts, _Spoken("")))
    return made


class _Spoken(NamedTuple):
    """A fact in a sentence: itself, or the words that go with one or with several."""

    fact: Fact

    def __format__(self, words: str) -> str:
        one, _, several = words.partition("|")
        return (one if _is_one(self.fact) else several) if words else _say(self.fact)


def _is_one(fact: Fact) -> bool:
    return fact == 1 if isinstance(fact, (int, float, str, NoneType)) else len(fact) == 1


def _say(value: Fact) -> str:
    """Write a fact as a sentence wants it: ``a, b and c``; ``a 3, b 2``; ``0.65``."""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return ", ".join(_first(value, lambda name: f"{name} {_say(value[name])}")) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        words = _first(value, str)
        return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]])) or "none"
    return str(value)


def _first(items: Collection[str], say: Callable[[str], str]) -> list[str]:
    """Keep a long list readable: the first seven and how many more there are."""
    if len(items) <= 8:
        return [say(each) for each in items]
    return [*(say(each) for each in islice(items, 7)), f"{len(items) - 7} more"]


CATALOGUE: Final[dict[str, Entry]] = {
    code: Entry(Level(level), sentence)
    for section in SECTIONS.values()
    for code, level, sentence in section
}

RETIRED: Final[frozenset[str]] = frozenset()
