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
_BYTE_ORDER_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# What may stand between JSON documents: white space, and YAML's separator.
_GAP: Final = re.compile(rb"(?:\s+|---(?=\s))*")
# YAML may begin with a brace too, but hardly like this.
_JSON: Final = re.compile(rb'\{\s*["}]|\[\s*["{\[\]]')
# What msgspec says of JSON that goes on after the first value; the number counts from 1.
_GOES_ON: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_AT_BYTE: Final = re.compile(r" \(byte (\d+)\)")


class Document(msgspec.Struct, frozen=True):
    """One document: a JSON text (``msgspec.Raw``) or a tree read from YAML.

    ``number`` and ``line`` count from 1 in the whole source. A tree is the document ``place`` of
    the YAML stream ``text``, which has so many ``lines`` before it.
    """

    number: int
    line: int
    content: object
    text: bytes = b""
    place: int = 1
    lines: int = 0

    def line_of(self, path: Path) -> int:
        """Return the line (from 1) in the source of a value in the document."""
        if not isinstance(self.content, msgspec.Raw):
            return self.lines + yamltree.line_of(self.text, self.place, path)
        before, text, rest = _narrowed(bytes(self.content), path)
        return self.line + before + max(0, yamltree.line_of(text, 1, rest) - 1)


def read(data: bytes, source: str, max_bytes: int = MAX_BYTES) -> Iterator[Document]:
    """Find the documents of a source, in order.

    Raises InputError, perhaps only after some documents: the data is cut off, not text, broken
    JSON or YAML, nested too deeply, or more than ``max_bytes`` once it is unpacked.
    """
    data = _text(_unpacked(data, source, max_bytes), source)
    number, at, line = 0, *_skip_gap(data, 0, 1)
    while _JSON.match(data, at):
        number += 1
        content, end = _json_at(data, at, source, number, line)
        yield Document(number, line, content)
        if end == len(data):
            return
        at, line = _skip_gap(data, end, line + data.count(b"\n", at, end))
    if at < len(data):
        yield from _yaml_from(data[at:], source, number, line - 1)


def _yaml_from(data: bytes, source: str, number: int, lines: int) -> Iterator[Document]:
    """Read YAML that begins after some documents and lines of its source."""
    try:
        for place, (line, content) in enumerate(yamltree.documents(data, source), 1):
            yield Document(number + place, lines + line, content, data, place, lines)
    except InputError as error:
        error.document += number if error.document else 0
        error.line += lines if error.line else 0
        raise


def _unpacked(data: bytes, source: str, max_bytes: int) -> bytes:
    """Undo gzip, of one or several members (RFC 1952)."""
    parts: list[bytes] = []
    size = 0
    rest = data
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            part = member.decompress(rest, max_bytes - size + 1)
        except zlib.error as error:
            raise InputError(f"broken gzip data: {error}", source=source) from None
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            break
        if not member.eof:
            raise InputError("the gzip data ends too early", source=source)
        rest = member.unused_data.lstrip(b"\0")
    if parts and rest and size <= max_bytes:
        raise InputError("the gzip data is followed by something else", source=source)
    if (size if parts else len(data)) > max_bytes:
        raise InputError(f"holds more than {max_bytes} bytes", source=source)
    return b"".join(parts) if parts else data


def _text(data: bytes, source: str) -> bytes:
    """Return the data as UTF-8 without a byte order mark."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            data = data.removeprefix(mark)
            if encoding != "utf-8":
                data = data.decode(encoding, errors="replace").encode()
            break
    if b"\0" in data[:8192]:
        tar = data[257:262] == b"ustar"
        hint = "this is a tar archive: unpack it and give the folder" if tar else ""
        raise InputError("is not text", source=source, hint=hint)
    return data


def _skip_gap(data: bytes, at: int, line: int) -> tuple[int, int]:
    """Go to the next JSON document, if one comes: the position and the line of it."""
    found = _GAP.match(data, at)
    end = found.end() if found else at
    if end < len(data) and not _JSON.match(data, end):
        return at, line
    return end, line + data.count(b"\n", at, end)


def _json_at(data: bytes, at: int, source: str, number: int, line: int) -> tuple[msgspec.Raw, int]:
    """Find the JSON document that begins here, and where it ends."""
    view = memoryview(data)[at:]
    try:
        return msgspec.json.decode(view, type=msgspec.Raw), len(data)
    except msgspec.DecodeError as error:
        if found := _GOES_ON.search(str(error)):
            end = int(found[1]) - 1
            return msgspec.Raw(view[:end]), at + end
        what = _AT_BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
        place = _AT_BYTE.search(str(error))
        end = at + int(place[1]) if place else len(data)
        if "truncated" in what:
            what = "it ends too early"
        raise InputError(
            f"broken JSON: {what}",
            source=source,
            document=number,
            line=line + data.count(b"\n", at, end),
        ) from None
    except RecursionError:
        raise InputError("nested too deep", source=source, document=number, line=line) from None


class _Items(msgspec.Struct):
    items: list[msgspec.Raw]


def _narrowed(text: bytes, path: Path) -> tuple[int, bytes, Path]:
    """Go down into items as far as the path does: lines before, the item's text, path in it."""
    before = 0
    while path:
        if isinstance(path[0], int):
            raw, path = msgspec.json.decode(text, type=list[msgspec.Raw])[path[0]], path[1:]
        elif path[0] == "items" and len(path) > 1 and isinstance(path[1], int):
            raw, path = msgspec.json.decode(text, type=_Items).items[path[1]], path[2:]
        else:
            break
        before += text.count(b"\n", 0, text.find(bytes(raw)))
        text = bytes(raw)
    return before, text, path
