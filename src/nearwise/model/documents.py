"""Bytes of any origin to the documents in them: gzip, UTF-16, JSON, YAML, and mixtures.

Law: this file knows formats and nothing of kinds. JSON stays undecoded (``msgspec.Raw``), so that
whoever knows the type decodes it once; YAML is a tree of plain values.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from nearwise.model import yamltree
from nearwise.model.errors import InputError
from nearwise.model.yamltree import Path

MAX_BYTES: Final = 1 << 30
"""How much one source may hold, unpacked, unless told otherwise: 1 GiB."""

_GZIP: Final = b"\x1f\x8b"
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# What may stand between JSON documents: white space, and YAML's separator.
_BETWEEN: Final = re.compile(rb"(?:[ \t\r\n]+|---(?=\s))*")
# YAML may begin with a brace too, but hardly like this.
_JSON: Final = re.compile(rb"""\{\s*["}]|\[\s*["{\[\]]""")
_TRAILING: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_AT_BYTE: Final = re.compile(r" ?\(byte (\d+)\)")


class Document(msgspec.Struct, frozen=True):
    """One document: a JSON text (``msgspec.Raw``) or a tree read from YAML."""

    number: int
    line: int
    content: object
    data: bytes = b""
    number_in_data: int = 1

    def line_of(self, path: Path) -> int:
        """Return the line (from 1) in the source of a value in the document."""
        if not isinstance(self.content, msgspec.Raw):
            return yamltree.line_of(self.data, self.number_in_data, path)
        before, text, rest = _narrowed(bytes(self.content), path)
        inside = max(1, yamltree.line_of(text, 1, rest))
        return self.line + before + inside - 1


def read(data: bytes, source: str, max_bytes: int = MAX_BYTES) -> Iterator[Document]:
    """Find the documents of a source, in order, numbered from 1.

    Raises InputError, sometimes only after some documents: the data is cut off, not text, broken
    JSON or YAML, nested too deeply, or more than ``max_bytes`` once it is unpacked.
    """
    data = _text(_unpacked(data, source, max_bytes), source)
    number = 0
    at, line = _after_gap(data, 0, 1)
    while _JSON.match(data, at):
        number += 1
        end = _end_of_json(data, at, source, number, line)
        yield Document(number, line, msgspec.Raw(data[at:end]))
        at, line = _after_gap(data, end, line + data.count(b"\n", at, end))
    rest = data[at:] if number else data
    if not rest:
        return
    skipped = (number, line - 1) if number else (0, 0)
    try:
        for place, (begins, content) in enumerate(yamltree.documents(rest, source), 1):
            yield Document(skipped[0] + place, skipped[1] + begins, content, rest, place)
    except InputError as error:
        error.document += skipped[0] if error.document else 0
        error.line += skipped[1] if error.line else 0
        raise
