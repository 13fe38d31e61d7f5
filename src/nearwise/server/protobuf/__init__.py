"""Objects that clients send in Kubernetes' protobuf, read as if they were JSON.

kubectl's ``create namespace``, ``create deployment`` and the like, and everything in Go that uses
typed clients, write in protobuf and read JSON as well. So it is read here, and never written.

Law: which fields there are and of what types says ``openapi``, which numbers they have
``numbers``. What protobuf cannot tell from nothing, is nothing.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definition_of, definitions
from nearwise.server.openapi.language import OPAQUE, Definition, Field
from nearwise.server.protobuf.numbers import Numbers, numbers
from nearwise.server.protobuf.wire import WireError, fields, numbers_in, signed

__all__ = ["WireError", "read"]

_MAGIC: Final = b"k8s\0"
_SPECIAL: Final = {full_name: name for name, full_name in OPAQUE.items()}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH: Final = 100


def read(data: bytes) -> Decoded:
    """Return the object in a body, with its kind. Raises WireError."""
    if not data.startswith(_MAGIC):
        raise WireError("provided data does not appear to be a protobuf message")
    envelope = _last(data[len(_MAGIC) :])
    type_meta = _last(_bytes(envelope.get(1, b"")))
    api_version, kind = (_text(type_meta.get(number, b"")) for number in (1, 2))
    definition = definition_of(api_version, kind)
    if definition is None or definition.name not in numbers():
        raise WireError(f'no kind "{kind}" is registered for version "{api_version}"')
    content = _message(definition, numbers()[definition.name], _bytes(envelope.get(2, b"")), 0)
    return {"apiVersion": api_version, "kind": kind, **content}


def _message(definition: Definition, places: Numbers, data: bytes, depth: int) -> Decoded:
    """Read a message whose fields are in a definition."""
    if depth > _MAX_DEPTH:
        raise WireError("nested too deep")
    obj: Decoded = {}
    for number, raw in fields(data):
        place = places.get(number)
        if place is None:
            continue
        if place.inlined:
            obj |= _message(definition, numbers()[place.name], _bytes(raw), depth + 1)
            continue
        field = definition.fields.get(place.name)
        if field is None:
            continue
        if field.many == "map":
            entry = _last(_bytes(raw))
            value = _value(field, entry.get(2, b""), depth)
            obj.setdefault(place.name, {})[_text(entry.get(1, b""))] = value
        elif field.many:
            obj.setdefault(place.name, []).extend(_items(field, raw, depth))
        else:
            value = _value(field, raw, depth)
            if place.kept or not _is_nothing(value):
                obj[place.name] = value
    return obj


def _is_nothing(value: Any) -> bool:
    """Tell whether a value is one that Go leaves out: empty objects are not."""
    return value is None or (not value and not isinstance(value, dict))


def _items(field: Field, raw: int | bytes, depth: int) -> list[Any]:
    """Read an item of a list; numbers may come several at a time."""
    if field.type in ("int32", "int64", "bool") and isinstance(raw, bytes):
        return [_value(field, number, depth) for number in numbers_in(raw)]
    return [_value(field, raw, depth)]


def _value(field: Field, raw: int | bytes, depth: int) -> Any:
    definition = definitions().get(field.type)
    if definition is not None:
        places = numbers().get(definition.name, {})
        return _message(definition, places, _bytes(raw), depth + 1)
    match _SPECIAL.get(field.type, field.type):
        case "bool":
            return bool(_number(raw))
        case "int32" | "int64":
            return signed(_number(raw))
        case "byte":
            return base64.b64encode(_bytes(raw)).decode()
        case "Time":
            return _time(_bytes(raw), "seconds")
        case "MicroTime":
            return _time(_bytes(raw), "microseconds")
        case "Quantity":
            return _text(_last(_bytes(raw)).get(1, b""))
        case "IntOrString":
            return _int_or_string(_last(_bytes(raw)))
        case "FieldsV1" | "RawExtension":
            return _json(_bytes(_last(_bytes(raw)).get(1, b"")))
        case _:
            return _text(raw)


def _time(data: bytes, precision: str) -> str | None:
    """Read a moment: seconds and nanoseconds since 1970, or none at all."""
    parts = _last(data)
    if not parts:
        return None
    seconds, nanos = (signed(_number(parts.get(number, 0))) for number in (1, 2))
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise WireError("a time is out of range") from None
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}Z" if precision == "seconds" else f"{text}.{moment.microsecond:06}Z"


def _int_or_string(parts: dict[int, int | bytes]) -> int | str:
    if parts.get(1, 0) == 0:
        return signed(_number(parts.get(2, 0)))
    return _text(parts.get(3, b""))


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data) if data else {}
    except (msgspec.DecodeError, RecursionError) as error:
        raise WireError(f"broken JSON: {error}") from None


# --- What a field must be -----------------------------------------------------------------


def _last(data: bytes) -> dict[int, int | bytes]:
    """Return the fields of a message by number; of a repeated one the last counts."""
    return dict(fields(data))


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise WireError("a number stands where bytes should")
    return raw


def _number(raw: int | bytes) -> int:
    if isinstance(raw, bytes):
        raise WireError("bytes stand where a number should")
    return raw


def _text(raw: int | bytes) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError:
        raise WireError("a text is not UTF-8") from None
