"""YAML text to plain trees (dict, list, str, int, float, bool, None), for Kubernetes objects.

Law: this file knows YAML and nothing of Kubernetes. It takes the parser's events one by one, so
nothing recurses, depth and aliases are bounded while reading, and no tree of nodes stands in
memory beside the result.

Differences from PyYAML's safe loader: timestamps and base-60 numbers stay text, as Kubernetes
reads them; keys are text, but an unquoted ``on`` or ``y`` is ``true`` as a key too; an alias is the
same value, not a copy, and what aliases add up to is bounded; any other tag than the plain types
is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.reader import ReaderError

from nearwise.model.errors import InputError

Path = tuple[str | int, ...]

# A real object is hardly ten levels deep, a CustomResourceDefinition some sixty.
_MAX_DEPTH: Final = 200
# How many values aliases may stand for in one document, all told.
_MAX_ALIASED: Final = 1_000_000

# libyaml's loader is some twenty times faster than the one in Python.
_LOADER: Final[type[Any]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(data: bytes, source: str) -> Iterator[tuple[int, object]]:
    """Read the documents of a stream, each with the line (from 1) where it begins.

    Raises InputError for broken YAML, too deep nesting and aliases that stand for too much.
    """
    tree = _Tree()
    take = tree.handlers()
    line, number = 0, 1
    try:
        for event in _events(data, source):
            kind = type(event)
            if kind in take:
                take[kind](event)
            elif kind is DocumentStartEvent:
                tree, line = _Tree(), _line(event)
                take = tree.handlers()
            elif kind is DocumentEndEvent:
                yield line, tree.root[0]
                number += 1
    except _Refused as refused:
        raise InputError(str(refused), source=source, document=number, line=_line(event)) from None
    except InputError as error:
        error.document = number
        raise


def line_of(data: bytes, document: int, path: Path) -> int:
    """Return the line (from 1) of a value in a document (from 1): 0 when it is not found.

    When only the beginning of the path is there, it is the line of that.
    """
    line = 0
    try:
        for place, begins in _places(data, document):
            if place == path[: len(place)]:
                line = begins
    except InputError:
        return line
    return line


def _events(data: bytes, source: str) -> Iterator[Event]:
    try:
        loader: Any = _LOADER(data)
        while event := loader.get_event():
            yield event
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(filter(None, [error.context, error.problem]))
        line = mark.line + 1 if mark else 0
        raise InputError(f"broken YAML: {said}", source=source, line=line) from None
    except ReaderError as error:
        line = data.count(b"\n", 0, error.position) + 1
        said = f"{error.reason} at byte {error.position}"
        raise InputError(f"unreadable text: {said}", source=source, line=line) from None


class _Refused(Exception):  # noqa: N818 - private, and turned into an InputError at once
    """What cannot be taken into a tree."""


class _Tree:
    """One document as it grows."""

    def __init__(self) -> None:
        self.root: list[Any] = []
        self._here: Any = self.root
        self._in_mapping = False
        self._key: str | None = None
        self._parents: list[tuple[Any, str | None, str | None, int]] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0  # in the document so far, aliases with all they stand for
        self._aliased = 0

    def handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._start_mapping,
            MappingEndEvent: self._end,
            SequenceStartEvent: self._start_list,
            SequenceEndEvent: self._end,
            AliasEvent: self._alias,
        }

    def _scalar(self, event: ScalarEvent) -> None:
        value: Any
        if self._in_mapping and self._key is None:
            self._key = value = _key(event)
        else:
            value = _plain(event.value) if _is_plain(event) else event.value
            self._add(value)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)

    def _start_mapping(self, event: MappingStartEvent) -> None:
        self._enter({}, event.anchor)

    def _start_list(self, event: SequenceStartEvent) -> None:
        self._enter([], event.anchor)

    def _enter(self, container: Any, anchor: str | None) -> None:
        if len(self._parents) >= _MAX_DEPTH:
            raise _Refused(f"nested more than {_MAX_DEPTH} levels deep")
        if self._in_mapping and self._key is None:
            raise _Refused("a key must be text, not a list or a mapping")
        self._parents.append((self._here, self._key, anchor, self._values))
        self._here, self._key = container, None
        self._in_mapping = type(container) is dict

    def _end(self, _: Event) -> None:
        done = self._here
        if self._in_mapping and "<<" in done:
            _merge(done)
        self._here, self._key, anchor, before = self._parents.pop()
        self._in_mapping = type(self._here) is dict
        self._add(done)
        if anchor:
            self._anchors[anchor] = (done, self._values - before)

    def _alias(self, event: AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise _Refused(f"alias *{event.anchor} comes before what it stands for is complete")
        value, size = self._anchors[event.anchor]
        self._aliased += size
        if self._aliased > _MAX_ALIASED:
            raise _Refused(f"aliases stand for more than {_MAX_ALIASED} values")
        if self._in_mapping and self._key is None:
            if not isinstance(value, str):
                raise _Refused("a key must be text, not a list or a mapping")
            self._key = value
            return
        self._values += size - 1
        self._add(value)

    def _add(self, value: Any) -> None:
        self._values += 1
        if self._key is None:
            self._here.append(value)
        else:
            self._here[self._key] = value
            self._key = None


def _merge(mapping: dict[str, Any]) -> None:
    """Take in what ``<<`` names (YAML merge key): own keys win, then the earlier mapping."""
    merged = mapping.pop("<<")
    own = dict(mapping)
    mapping.clear()
    for other in reversed(merged if isinstance(merged, list) else [merged]):
        if not isinstance(other, dict):
            raise _Refused("what << names must be a mapping")
        mapping.update(other)
    mapping.update(own)


_PLAIN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int"))


def _is_plain(event: ScalarEvent) -> bool:
    """Tell whether a scalar may be something else than text."""
    return event.implicit[0] if event.tag is None else event.tag in _PLAIN_TAGS


def _key(event: ScalarEvent) -> str:
    """Return a key; of the words for true and false only one each (recorded: ``y`` is ``true``)."""
    word = _WORDS.get(event.value) if _is_plain(event) else None
    return event.value if word is None else str(word).lower()


_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES"], True),
    **dict.fromkeys(["false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["n", "N", "no", "No", "NO"], False),
}
_INTEGER: Final = re.compile(
    r"[-+]?(?:(?P<two>0b[01_]+)|(?P<sixteen>0x[0-9a-fA-F_]+)|(?P<eight>0[0-7_]+)|0|[1-9][0-9_]*)"
)
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
)
_NUMBER_STARTS: Final = frozenset("-+.0123456789")


def _plain(text: str) -> str | int | float | bool | None:
    """Say what an unquoted scalar is (YAML 1.1, less timestamps and base 60)."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if found := _INTEGER.fullmatch(text):
        digits = text.replace("_", "")
        if len(digits) > 40:
            return float(digits) if found.lastgroup is None else text
        base = {"two": 2, "sixteen": 16, "eight": 8}.get(found.lastgroup or "", 10)
        return int(digits, base) if digits[-1] not in "+-xb" else text
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _places(data: bytes, document: int) -> Iterator[tuple[Path, int]]:
    """Walk a document: the path of each value, and the line where it or its key begins."""
    where: list[str | int] = []  # for each level the index in a list or the key in a mapping
    awaits_key = False
    for event in _events_of(data, document):
        if isinstance(event, ScalarEvent) and awaits_key:
            where[-1], awaits_key = _key(event), False
            yield tuple(where), _line(event)
            continue
        if isinstance(event, MappingEndEvent | SequenceEndEvent):
            where.pop()
        elif where and isinstance(where[-1], int):
            yield tuple(where), _line(event)
        if isinstance(event, MappingStartEvent):
            where.append("")
            awaits_key = True
        elif isinstance(event, SequenceStartEvent):
            where.append(0)
            awaits_key = False
        elif where:
            last = where[-1]
            awaits_key = isinstance(last, str)
            where[-1] = last if isinstance(last, str) else last + 1


def _events_of(data: bytes, document: int) -> Iterator[Event]:
    """Pick the events between the start and the end of one document."""
    number = 0
    for event in _events(data, ""):
        if isinstance(event, DocumentStartEvent):
            number += 1
        elif number == document:
            if isinstance(event, DocumentEndEvent):
                return
            yield event
