"""How objects are shown to who asks for them: whole, only their metadata, or as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from nearwise.machinery.changes import Entry
from nearwise.model.wellknown import INITIAL_EVENTS_END
from nearwise.server.kinds import to_served
from nearwise.server.objects.stored import load, whole
from nearwise.server.patch import blank
from nearwise.server.resources import EVENTS_V1, Resource
from nearwise.server.tables import IncludeObject, table

_META: Final = "meta.k8s.io/v1"


class Form(StrEnum):
    """What is shown of an object."""

    OBJECT = "object"
    METADATA = "PartialObjectMetadata"
    TABLE = "Table"


class Listing(msgspec.Struct, frozen=True):
    """Objects as a list answers with them."""

    entries: tuple[Entry, ...]
    revision: int
    continue_: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the list."""
        told: dict[str, Any] = {"resourceVersion": str(self.revision)}
        if self.continue_:
            told["continue"] = self.continue_
        if self.remaining:
            told["remainingItemCount"] = self.remaining
        return told


class View(msgspec.Struct, frozen=True):
    """How the objects of a resource are shown."""

    resource: Resource
    form: Form = Form.OBJECT
    include: IncludeObject = "Metadata"
    """What a row of a table has of its object."""

    def show(self, value: bytes, now: datetime) -> bytes:
        """Return the JSON of one object."""
        if self.form is Form.METADATA:
            return _metadata_only(value)
        if self.form is Form.TABLE:
            return self._table([value], now)
        if self.resource is EVENTS_V1:
            return msgspec.json.encode(to_served(load(value, self.resource), self.resource))
        return whole(value, self.resource.api_version, self.resource.kind)

    def show_list(self, listing: Listing, now: datetime) -> bytes:
        """Return the JSON of a list."""
        if self.form is Form.TABLE:
            return self._table([entry.value for entry in listing.entries], now, listing.metadata)
        version, kind = self.resource.api_version, self.resource.list_kind
        items = [entry.value for entry in listing.entries]
        if self.form is Form.METADATA:
            version, kind = _META, "PartialObjectMetadataList"
            items = [_metadata_only(value) for value in items]
        elif self.resource is EVENTS_V1:
            items = [_renamed(value, self.resource) for value in items]
        head = {"kind": kind, "apiVersion": version, "metadata": listing.metadata}
        return b'%b,"items":[%b]}' % (msgspec.json.encode(head)[:-1], b",".join(items))

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> bytes:
        """Return the JSON of the object that tells a watch how far it has come."""
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if self.form is Form.TABLE:
            return self._table([], datetime.min, metadata)
        if initial_events_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        if self.form is Form.METADATA:
            obj = {"kind": str(self.form), "apiVersion": _META}
        else:
            obj = blank(self.resource.api_version, self.resource.kind)
        return msgspec.json.encode({**obj, "metadata": metadata})

    def _table(
        self, values: Iterable[bytes], now: datetime, metadata: dict[str, Any] | None = None
    ) -> bytes:
        shown = table(
            self.resource.plural,
            self.resource.group,
            (load(value, self.resource) for value in values),
            now=now,
            include_object=self.include,
            list_metadata=metadata,
        )
        return msgspec.json.encode(shown)


class _Metadata(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw


_METADATA: Final = msgspec.json.Decoder(_Metadata)


def _metadata_only(value: bytes) -> bytes:
    head = b'{"kind":"%b","apiVersion":"%b","metadata":%b}'
    metadata = bytes(_METADATA.decode(value).metadata)
    return head % (Form.METADATA.encode(), _META.encode(), metadata)


def _renamed(value: bytes, resource: Resource) -> bytes:
    """Return an item of a list in another version than that in which it is stored."""
    served = to_served(load(value, resource), resource)
    return msgspec.json.encode({k: v for k, v in served.items() if k not in ("kind", "apiVersion")})
