"""Objects as they are stored: JSON that can be served without being parsed.

Law: the stored bytes of an object are the JSON of the whole object without its kind and version,
and begin with its resource version. So a list joins them, a single object gets its kind put in
front, and a new version is cut in, and none of them costs more than copying bytes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nearwise.machinery.changes import Encode
from nearwise.server.patch import Object
from nearwise.server.resources import Resource

_START: Final = b'{"metadata":{"resourceVersion":"'
_TYPE: Final = frozenset(["apiVersion", "kind", "metadata"])

Decoded = dict[str, Any]
"""An object of the API as plain values, when who reads it knows what to expect."""


def encoder(obj: Object) -> Encode:
    """Return what makes the stored bytes of an object once its version is known."""
    tail = b'",' + _without_version(obj)[len(b'{"metadata":{') :]
    return lambda revision: b"%b%d%b" % (_START, revision, tail)


def unversioned(obj: Object) -> bytes:
    """Return the bytes of an object that is not stored (a dry run): it has no version."""
    return _without_version(obj)


def at_revision(value: bytes, revision: int) -> bytes:
    """Return stored bytes with another version in them."""
    end = value.index(b'"', len(_START))
    return b"%b%d%b" % (_START, revision, value[end:])


def decode(value: bytes) -> Decoded:
    """Return an object as plain values, without kind and version."""
    plain: Decoded = msgspec.json.decode(value)
    return plain


def load(value: bytes, resource: Resource) -> Decoded:
    """Return a whole object as plain values, in the version in which it is stored."""
    return {"kind": resource.kind, "apiVersion": resource.storage_version, **decode(value)}


def whole(value: bytes, api_version: str, kind: str) -> bytes:
    """Return the JSON of a whole object."""
    return b'{"kind":"%b","apiVersion":"%b",%b' % (kind.encode(), api_version.encode(), value[1:])


def _without_version(obj: Object) -> bytes:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    metadata = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    content = {name: value for name, value in obj.items() if name not in _TYPE}
    return msgspec.json.encode({"metadata": metadata, **content})
