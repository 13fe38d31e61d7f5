"""What commands print: lines, tables, documents, progress.

Law: whatever comes out of a cluster passes through here on its way to the terminal, so that a
name or a message with control characters in it cannot move the cursor or change colours. Colour
is for terminals only, and never with ``NO_COLOR`` or ``TERM=dumb``. A document for machines is
one object with ``apiVersion`` and ``kind``.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

import click

if TYPE_CHECKING:
    from msgspec import Struct

API_VERSION: Final = "nearwise/v1"
_GAP: Final = "   "  # between columns, as kubectl has it


class Format(StrEnum):
    """The choices of ``-o``."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Whether it is for machines."""
        return self in {Format.JSON, Format.YAML}


class Colour(StrEnum):
    """Colours and weights, as the terminal names them (ECMA-48)."""

    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    BOLD = "1"
    DIM = "2"


class Painted(NamedTuple):
    """Text that is coloured on a terminal."""

    text: str
    colour: Colour


Text = str | Painted


def output_option(*formats: Format) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``-o`` with these choices, the first being the default; the command gets ``output``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([str(each) for each in formats]),
        default=str(formats[0]),
        show_default=True,
        callback=lambda _context, _option, value: Format(value),
        help="How to print the answer.",
    )


def print_line(*parts: Text, indent: int = 0) -> None:
    """Print one line made of these parts on standard output."""
    _write(sys.stdout, " " * indent + "".join(_paint(part, sys.stdout) for part in parts))


def print_note(*parts: Text) -> None:
    """Tell the user something beside the answer: one line on standard error."""
    _write(sys.stderr, "".join(_paint(part, sys.stderr) for part in parts))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Text]], *, indent: int = 0) -> None:
    """Print rows under headers with the columns aligned; no headers, no header line."""
    lines: list[Sequence[Text]] = [headers, *rows] if headers else list(rows)
    widths = [
        max(_width(_plain(cell)) for cell in column) for column in zip_longest(*lines, fillvalue="")
    ]
    for line in lines:
        cells = [
            _paint(cell, sys.stdout) + " " * (width - _width(_plain(cell)))
            for cell, width in zip(line, widths, strict=False)
        ]
        _write(sys.stdout, (" " * indent + _GAP.join(cells)).rstrip())


def print_document(output: Format, kind: str, payload: Mapping[str, Any] | Struct) -> None:
    """Print ``payload`` for machines: ``{"apiVersion": "nearwise/v1", "kind": kind, ...}``.

    Structs, tuples and reasons may lie anywhere in it; a reason comes out with its code, level,
    text and facts.
    """
    document = _document(kind, payload)
    sys.stdout.write(to_yaml(document) if output is Format.YAML else to_json(document))


def print_json_line(kind: str, payload: Struct, **more: str) -> None:
    """Print such a document as JSON on a line of its own, with more fields before the others."""
    document = _document(kind, {**more, **_builtins(payload)})
    sys.stdout.write(to_json(document, indent=-1))


def to_json(document: object, *, indent: int = 2) -> str:
    """Write builtin values as JSON; with a negative ``indent`` on one line, without spaces."""
    import json

    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=indent).decode()
    lines = (_escaped(line, lambda each: json.dumps(each)[1:-1]) for line in text.split("\n"))
    return "\n".join(lines) + "\n"


def to_yaml(document: object) -> str:
    """Write builtin values as YAML that readers of YAML 1.1 and of 1.2 understand alike."""
    import re

    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Quotes also ``1e3`` and ``n``, to kubectl's reader a number and false."""

        def ignore_aliases(self, _data: object) -> bool:
            """Write a value that stands in two places twice."""
            return True

    Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("[yYnN]$"), list("yYnN"))
    Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+$|0o[0-7]+$"), None
    )
    text: str = yaml.dump(
        document, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=10_000
    )
    return text


def has_unicode() -> bool:
    """Tell whether standard output can show more than ASCII."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def harmless(text: str) -> str:
    """Return the text with everything that a terminal would act on written out as escapes."""
    return _escaped(text, lambda each: each.encode("unicode_escape").decode())


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else escape(each) for each in text)


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done on standard error, if it takes over a second, on a terminal only.

    Gives a function that changes the text.
    """
    from threading import Timer

    current, shown = text, False

    def show() -> None:
        nonlocal shown
        shown = True
        sys.stderr.write(f"\r\x1b[K{harmless(current)}")
        sys.stderr.flush()

    def change(text: str) -> None:
        nonlocal current
        current = text
        if shown:
            show()

    if not sys.stderr.isatty():
        yield change
        return
    timer = Timer(1.0, show)
    timer.daemon = True
    timer.start()
    try:
        yield change
    finally:
        timer.cancel()
        timer.join()
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _plain(part: Text) -> str:
    """Return the part's text, fit for a terminal."""
    return harmless(part.text if isinstance(part, Painted) else part)


def _paint(part: Text, stream: TextIO) -> str:
    """Return the part as the stream shows it."""
    text = _plain(part)
    if isinstance(part, Painted) and text and _has_colour(stream):
        return f"\x1b[{part.colour}m{text}\x1b[0m"
    return text


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width(text: str) -> int:
    """Return how many columns of a terminal the text takes (Unicode annex 11)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def _write(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")


def _document(kind: str, payload: Mapping[str, Any] | Struct) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, **_builtins(payload)}


def _builtins(value: Any) -> Any:
    """Turn what commands hand over into builtin values."""
    import msgspec

    from nearwise.model.meta import Object
    from nearwise.model.reasons import Reason

    if isinstance(value, Reason):
        return _builtins(value.to_json())
    if isinstance(value, Object):
        return msgspec.to_builtins(value)
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {name: _builtins(getattr(value, field)) for name, field in names}
    if isinstance(value, Mapping):
        return {key: _builtins(each) for key, each in value.items()}
    if isinstance(value, str):
        return str(value)  # a StrEnum is its text
    if isinstance(value, Sequence):
        return [_builtins(each) for each in value]
    return value
