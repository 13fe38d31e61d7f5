"""Elements of sets and maps as netlink attributes: the part that is long, so written to be fast.

Law: keys and values are sent and read as they are. All that is around them is the same for every
element of a set (but for comments), so it is packed once, and checked once when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from nearwise.nft.netlink.attributes import (
    ATTRIBUTE,
    NESTED,
    nest,
    number_of,
    pack,
    text_of,
    unpack,
    unpack_list,
)
from nearwise.nft.netlink.expressions import (
    DATA_VALUE,
    DATA_VERDICT,
    DROP,
    GOTO,
    LIST_ELEMENT,
    VERDICT_CHAIN,
    VERDICT_CODE,
    verdict,
)
from nearwise.nft.registers import PROTOCOLS, size
from nearwise.nft.ruleset import ENDPOINT, Data, Drop, Elements, Family, Goto, Set, Value, Verdict
from nearwise.nft.text import comment_text

_KEY, _DATA, _TIMEOUT, _EXPIRATION, _NOTES, _KEY_END = 1, 2, 4, 5, 6, 10
_OURS: Final = frozenset((_KEY, _DATA, _NOTES, _KEY_END))
_TIMES: Final = frozenset((_TIMEOUT, _EXPIRATION))
_MOST: Final = 65_000
"""The most bytes of elements in one message: a list is an attribute, so it ends at 64 KiB."""


def packed(set_: Set, elements: Elements, family: Family) -> Iterator[bytes]:
    """Pack elements, each list as long as one message can have."""
    if not elements:
        return
    if set_.interval:
        written = [_range(key) for key in elements]
    elif set_.data is Data.VERDICT:
        written = _verdicts(elements)
    else:
        written = _plain(set_, elements, family)
    each = _MOST // max(map(len, written))
    for first in range(0, len(written), each):
        yield b"".join(written[first : first + each])


def packed_keys(set_: Set, elements: Elements, family: Family) -> Iterator[bytes]:
    """Pack keys alone, of elements to be taken away."""
    bare = Set(set_.name, set_.key, interval=set_.interval)
    yield from packed(bare, dict.fromkeys(elements), family)


def packed_protocols() -> bytes:
    """Pack the numbers of all protocols that services have, one byte each."""
    return b"".join(
        nest(LIST_ELEMENT, nest(_KEY, pack(DATA_VALUE, bytes((number,)))))
        for number in sorted(PROTOCOLS.values())
    )


def _plain(set_: Set, elements: Elements, family: Family) -> list[bytes]:
    """Pack elements that are all of one size."""
    key_size = size(set_.key, family)
    if set_.data is Data.NOTHING:
        head = _head(8 + key_size) + _field_head(_KEY, key_size)
        return [head + key for key in elements]
    data_size = size(ENDPOINT, family)
    head = _head(16 + key_size + data_size) + _field_head(_KEY, key_size)
    middle = _field_head(_DATA, data_size)
    return [head + key + middle + value for key, value in elements.items()]  # type: ignore[operator]


def _verdicts(elements: Elements) -> list[bytes]:
    """Pack elements of a verdict map: few different verdicts, many different comments."""
    data: dict[Goto | Drop, bytes] = {}
    written = []
    for key, value in elements.items():
        assert isinstance(value, Verdict)
        what, comment = value
        if what not in data:
            data[what] = nest(_DATA, verdict(what))
        body = _field_head(_KEY, len(key)) + key + data[what]
        if comment:
            text = comment_text(comment).encode() + b"\0"
            body += pack(_NOTES, bytes((0, len(text))) + text)
        written.append(_head(len(body)) + body)
    return written


def _range(key: bytes) -> bytes:
    middle = len(key) // 2
    last = _field_head(_KEY_END, middle) + key[middle:]
    return _head(16 + len(key)) + _field_head(_KEY, middle) + key[:middle] + last


def _head(payload: int) -> bytes:
    return ATTRIBUTE.pack(4 + payload, LIST_ELEMENT | NESTED)


def _field_head(kind: int, length: int) -> bytes:
    """Pack what is before a key or an endpoint."""
    return ATTRIBUTE.pack(8 + length, kind | NESTED) + ATTRIBUTE.pack(4 + length, DATA_VALUE)


# --- reading --------------------------------------------------------------------------------


def unpacked(set_: Set, elements: bytes, family: Family) -> Elements:
    """Read a list of elements. Raises ValueError if one is not as ours are."""
    if not set_.interval and set_.data is not Data.VERDICT:
        found = _alike(set_, elements, family)
        if found is not None:
            return found
    return _one_by_one(set_, elements)


def unpacked_protocols(elements: bytes) -> set[int]:
    """Read a list of protocols, one byte each, as ``packed_protocols`` writes it."""
    return {
        number_of(unpack(unpack(element).get(_KEY, b"")).get(DATA_VALUE, b""))
        for _, element in unpack_list(elements)
    }


def _alike(set_: Set, elements: bytes, family: Family) -> Elements | None:
    """Read elements that differ in nothing but key and value; None if they do."""
    key_size, data_size = size(set_.key, family), 0
    size_of_all = 12 + key_size
    middle = b""
    if set_.data is Data.ENDPOINT:
        data_size = size(ENDPOINT, family)
        size_of_all += 8 + data_size
        middle = ATTRIBUTE.pack(8 + data_size, _DATA) + ATTRIBUTE.pack(4 + data_size, DATA_VALUE)
    times = (b"", b"")
    if set_.dynamic:
        size_of_all += 24
        times = ATTRIBUTE.pack(12, _TIMEOUT), ATTRIBUTE.pack(12, _EXPIRATION)
    head = ATTRIBUTE.pack(size_of_all, LIST_ELEMENT) + ATTRIBUTE.pack(8 + key_size, _KEY)
    head += ATTRIBUTE.pack(4 + key_size, DATA_VALUE)
    wait = "4s8x4s8x" if set_.dynamic else "0s0s"
    layout = Struct(f"=12s{key_size}s{len(middle)}s{data_size}s{wait}")
    if len(elements) % layout.size:
        return None
    around = (head, middle, *times)
    found: Elements = {}
    for first, key, second, value, third, fourth in layout.iter_unpack(elements):
        if (first, second, third, fourth) != around:
            return None
        found[key] = value
    return found if data_size else dict.fromkeys(found)


def _one_by_one(set_: Set, elements: bytes) -> Elements:
    """Read elements attribute by attribute."""
    known: dict[bytes, Goto | Drop] = {}
    found: Elements = {}
    times = _TIMES if set_.dynamic else frozenset[int]()
    for _, element in unpack_list(elements):
        parts = unpack(element)
        if not parts.keys() <= _OURS | times:
            raise ValueError(f"not ours: an element with attributes {sorted(parts)}")
        key = unpack(parts.get(_KEY, b"")).get(DATA_VALUE, b"")
        if set_.interval:
            end = unpack(parts.get(_KEY_END, b"")).get(DATA_VALUE, key)
            key += end
        found[key] = _value(set_, parts, known)
    return found


def _value(set_: Set, parts: dict[int, bytes], known: dict[bytes, Goto | Drop]) -> Value:
    data = parts.get(_DATA, b"")
    if set_.data is Data.NOTHING:
        return None
    if set_.data is Data.ENDPOINT:
        return unpack(data).get(DATA_VALUE, b"")
    if data not in known:
        known[data] = _verdict(data)
    notes = parts.get(_NOTES, b"")
    return Verdict(known[data], text_of(notes[2 : 2 + notes[1]]) if len(notes) > 2 else "")


def _verdict(data: bytes) -> Goto | Drop:
    parts = unpack(unpack(data).get(DATA_VERDICT, b""))
    code = number_of(parts.get(VERDICT_CODE, b"\xff"))
    if code == GOTO:
        return Goto(text_of(parts.get(VERDICT_CHAIN, b"")))
    if code == DROP:
        return Drop()
    raise ValueError(f"not ours: verdict {code}")
