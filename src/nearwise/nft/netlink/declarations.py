"""Sets and maps as the kernel declares them, with the notes that nft leaves there.

Law: the kernel knows only sizes; what the fields of a key are, nft notes beside it
(``NFTA_SET_USERDATA``: what each is the ``typeof``), to print it again. We leave the same notes
and read them; a set without is not ours. A note is type, length and value, the first two a byte
each; numbers are in the byte order of this machine. Types are those of nft (``datatype.h``).
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final

from nearwise.nft.netlink.attributes import nest, number_of, pack, pack_number, pack_text, unpack
from nearwise.nft.netlink.expressions import ANONYMOUS, LIST_ELEMENT
from nearwise.nft.registers import is_address, is_port, size, width
from nearwise.nft.ruleset import ENDPOINT, Data, Draw, Family, Field, Key, Set


class Declared(IntEnum):
    """Attributes of a set."""

    NAME, FLAGS, KEY_TYPE, KEY_SIZE, DATA_TYPE, DATA_SIZE = 2, 3, 4, 5, 6, 7
    DESCRIPTION, IDENTITY, NOTES = 9, 10, 13
    POLICY, TIMEOUT, CLEANING, OBJECT, STATEMENT, STATEMENTS = 8, 11, 12, 15, 17, 18
    COUNT = 20


_NEVER: Final = frozenset(
    (
        Declared.POLICY,
        Declared.TIMEOUT,
        Declared.CLEANING,
        Declared.OBJECT,
        Declared.STATEMENT,
        Declared.STATEMENTS,
    )
)
_ALWAYS: Final = (
    Declared.FLAGS,
    Declared.KEY_TYPE,
    Declared.KEY_SIZE,
    Declared.DATA_TYPE,
    Declared.DATA_SIZE,
)

# Flags of a set (``NFT_SET_ANONYMOUS`` and so on).
_ANONYMOUS, _CONSTANT, _INTERVAL, _MAP = 0x1, 0x2, 0x4, 0x8
_TIMEOUT, _EVALUATED, _CONCATENATED = 0x10, 0x20, 0x80
_VERDICTS: Final = 0xFFFFFF00  # NFT_DATA_VERDICT
_SIZE, _FIELDS, _FIELD_SIZE = 1, 2, 1  # of the description

_INTEGER_TYPE, _PROTOCOL_TYPE, _PORT_TYPE = 4, 12, 13  # TYPE_INTEGER and so on
_ADDRESS_TYPE: Final = {Family.IPV4: 7, Family.IPV6: 8}

# Notes of a set; in the typeof of an expression its kind, and data by its kind.
_KEY_ORDER, _DATA_ORDER, _KEY_TYPEOF, _DATA_TYPEOF, _DATA_RANGE = 0, 1, 3, 4, 6
_KIND, _OF = 0, 1
_VERDICT, _PAYLOAD, _META, _CONCAT, _NUMGEN = 1, 7, 9, 13, 23
_HOST_ORDER, _NETWORK_ORDER, _NO_ORDER = 1, 2, 0
_HEADERS: Final = {Family.IPV4: 12, Family.IPV6: 13}
_TRANSPORT: Final = 11
_HEADER_FIELDS: Final = {
    (Family.IPV4, Field.SOURCE): 11,
    (Family.IPV4, Field.DESTINATION): 12,
    (Family.IPV6, Field.SOURCE): 8,
    (Family.IPV6, Field.DESTINATION): 9,
}
_DESTINATION_PORT: Final = 2
_L4PROTO: Final = 16
_NUMBER: Final = Struct("=I")


def declaration(set_: Set, family: Family, identity: int) -> bytes:
    """Write what a set is; ``identity`` is any number that no other has in the same batch."""
    parts = [pack_text(Declared.NAME, set_.name), pack_number(Declared.IDENTITY, identity)]
    parts += [pack_number(kind, number) for kind, number in _numbers(set_, family).items()]
    if description := _description(set_, family):
        parts.append(nest(Declared.DESCRIPTION, description))
    parts.append(pack(Declared.NOTES, _notes(set_, family)))
    return b"".join(parts)


def transports(identity: int) -> bytes:
    """Declare the set of protocols that belongs to one rule."""
    notes = _note_number(_KEY_ORDER, _HOST_ORDER)
    notes += _note(_KEY_TYPEOF, _typeof(Field.PROTOCOL, Family.IPV4))
    return b"".join(
        (
            pack_text(Declared.NAME, ANONYMOUS),
            pack_number(Declared.IDENTITY, identity),
            pack_number(Declared.FLAGS, _ANONYMOUS | _CONSTANT),
            pack_number(Declared.KEY_TYPE, _PROTOCOL_TYPE),
            pack_number(Declared.KEY_SIZE, 1),
            nest(Declared.DESCRIPTION, pack_number(_SIZE, 3)),
            pack(Declared.NOTES, notes),
        )
    )


def is_anonymous(attributes: dict[int, bytes]) -> bool:
    """Say whether a set belongs to one rule."""
    return bool(number_of(attributes.get(Declared.FLAGS, b"")) & _ANONYMOUS)


def declared(attributes: dict[int, bytes], name: str, family: Family) -> Set:
    """Read what a set is; one that is not ours has no key."""
    flags = number_of(attributes.get(Declared.FLAGS, b""))
    notes = _notes_of(attributes.get(Declared.NOTES, b""))
    description = unpack(attributes.get(Declared.DESCRIPTION, b""))
    data_type = number_of(attributes.get(Declared.DATA_TYPE, b""))
    try:
        key = _key_of(notes.get(_KEY_TYPEOF, b""), family)
    except ValueError:
        return Set(name, ())
    data = Data.NOTHING
    if flags & _MAP:
        data = Data.VERDICT if data_type == _VERDICTS else Data.ENDPOINT
    set_ = Set(
        name,
        key,
        data,
        interval=bool(flags & _INTERVAL),
        dynamic=bool(flags & _EVALUATED),
        size=number_of(description.get(_SIZE, b"")),
    )
    wanted = _numbers(set_, family)
    is_ours = (
        not _NEVER & attributes.keys()
        and notes == _notes_of(_notes(set_, family))
        and all(
            number_of(attributes.get(each, b"")) == wanted.get(each, 0)
            for each in _ALWAYS
            if each != Declared.DATA_SIZE or data is not Data.VERDICT
        )
    )
    return set_ if is_ours else Set(name, ())


def _numbers(set_: Set, family: Family) -> dict[int, int]:
    """Return the attributes that are numbers."""
    flags = 0
    if set_.interval:
        flags |= _INTERVAL | (_CONCATENATED if len(set_.key) > 1 else 0)
    if set_.dynamic:
        flags |= _TIMEOUT | _EVALUATED
    if set_.data is not Data.NOTHING:
        flags |= _MAP
    numbers = {
        Declared.FLAGS: flags,
        Declared.KEY_TYPE: _type(set_.key, family),
        Declared.KEY_SIZE: size(set_.key, family),
    }
    if set_.data is Data.VERDICT:
        numbers |= {Declared.DATA_TYPE: _VERDICTS, Declared.DATA_SIZE: 0}
    if set_.data is Data.ENDPOINT:
        numbers[Declared.DATA_TYPE] = _type(ENDPOINT, family)
        numbers[Declared.DATA_SIZE] = size(ENDPOINT, family)
    return {int(kind): number for kind, number in numbers.items()}


def _description(set_: Set, family: Family) -> bytes:
    """Return how many elements there can be, and for ranges how large each field is."""
    parts = pack_number(_SIZE, set_.size) if set_.size else b""
    if set_.interval:
        parts += nest(
            _FIELDS,
            *(
                nest(LIST_ELEMENT, pack_number(_FIELD_SIZE, _bare_width(field, family)))
                for field in set_.key
            ),
        )
    return parts


def _bare_width(field: Field | Draw, family: Family) -> int:
    """Return how many bytes a field has without the filling."""
    if field is Field.PROTOCOL:
        return 1
    return 2 if is_port(field) else width(field, family)


def _type(key: Key, family: Family) -> int:
    """Return the type of a key as nft numbers it: six bits for each field."""
    number = 0
    for field in key:
        number = number << 6 | _field_type(field, family)
    return number


def _field_type(field: Field | Draw, family: Family) -> int:
    if is_address(field):
        return _ADDRESS_TYPE[family]
    if is_port(field):
        return _PORT_TYPE
    return _INTEGER_TYPE if isinstance(field, Draw) else _PROTOCOL_TYPE


# --- notes ----------------------------------------------------------------------------------


def _notes(set_: Set, family: Family) -> bytes:
    single = len(set_.key) == 1
    notes = _note_number(_KEY_ORDER, _NETWORK_ORDER if single else _NO_ORDER)
    if set_.data is not Data.NOTHING:
        notes += _note_number(_DATA_ORDER, _NO_ORDER)
    notes += _note(_KEY_TYPEOF, _typeof_key(set_.key, family))
    if set_.data is Data.VERDICT:
        notes += _note(_DATA_TYPEOF, _kind(_VERDICT, b""))
    if set_.data is Data.ENDPOINT:
        notes += _note(_DATA_TYPEOF, _typeof_key(ENDPOINT, family))
    if set_.data is not Data.NOTHING:
        notes += _note_number(_DATA_RANGE, 0)
    return notes


def _note(kind: int, value: bytes) -> bytes:
    return bytes((kind, len(value))) + value


def _note_number(kind: int, number: int) -> bytes:
    return _note(kind, _NUMBER.pack(number))


def _kind(kind: int, of: bytes) -> bytes:
    return _note_number(_KIND, kind) + _note(_OF, of)


def _typeof_key(key: Key, family: Family) -> bytes:
    if len(key) == 1:
        return _typeof(key[0], family)
    fields = (_note(place, _typeof(field, family)) for place, field in enumerate(key))
    return _kind(_CONCAT, b"".join(fields))


def _typeof(field: Field | Draw, family: Family) -> bytes:
    """Write what a field is the type of. Raises ValueError for what is in no key of a set."""
    if isinstance(field, Draw):
        numbers = enumerate((1, field.modulus, 0))  # at random, so many, from 0
        return _kind(_NUMGEN, b"".join(_note_number(kind, number) for kind, number in numbers))
    if field is Field.PROTOCOL:
        return _kind(_META, _note_number(0, _L4PROTO))
    header, part = _HEADERS[family], _HEADER_FIELDS.get((family, field))
    if field is Field.PORT:
        header, part = _TRANSPORT, _DESTINATION_PORT
    if part is None:
        raise ValueError(f"no set has {field}")
    return _kind(_PAYLOAD, _note_number(0, header) + _note_number(1, part))


def _notes_of(packed: bytes) -> dict[int, bytes]:
    found = {}
    place = 0
    while place + 2 <= len(packed):
        end = place + 2 + packed[place + 1]
        found[packed[place]] = packed[place + 2 : end]
        place = end
    return found


def _key_of(packed: bytes, family: Family) -> Key:
    """Read what a key is the ``typeof``. Raises ValueError for what is not ours."""
    notes = _notes_of(packed)
    if notes.get(_KIND) == _NUMBER.pack(_CONCAT):
        return tuple(_field_of(each, family) for each in _notes_of(notes.get(_OF, b"")).values())
    return (_field_of(packed, family),)


def _field_of(packed: bytes, family: Family) -> Field | Draw:
    for field in (Field.SOURCE, Field.DESTINATION, Field.PROTOCOL, Field.PORT):
        if packed == _typeof(field, family):
            return field
    modulus = _notes_of(_notes_of(packed).get(_OF, b"")).get(1, b"")
    if len(modulus) == _NUMBER.size:
        drawn = Draw(_NUMBER.unpack(modulus)[0])
        if packed == _typeof(drawn, family):
            return drawn
    raise ValueError("not ours")
