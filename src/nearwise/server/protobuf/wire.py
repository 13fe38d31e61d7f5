"""Protobuf on the wire: numbered fields, each a whole number or bytes (proto2 encoding)."""

from __future__ import annotations

from collections.abc import Iterator


class WireError(ValueError):
    """Bytes that are no protobuf message."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message, each with its number. Raises WireError."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        size, at = _size(data, at, kind)
        if at + size > end:
            raise WireError("unexpected end of the message")
        yield number, data[at : at + size]
        at += size


def numbers_in(data: bytes) -> list[int]:
    """Return numbers that stand one after the other. Raises WireError."""
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def signed(value: int) -> int:
    """Return a number that may be negative: it has 64 bits."""
    return value - 2**64 if value >= 2**63 else value


def _size(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Return how many bytes a value has, and where it begins."""
    match kind:
        case 1:
            return 8, at
        case 2:
            return _varint(data, at)
        case 5:
            return 4, at
        case _:
            raise WireError(f"wire type {kind} is not known")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise WireError("unexpected end of the message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7
        if shift > 63:
            raise WireError("a number is too long")
