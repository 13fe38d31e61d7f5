"""Who set which fields: ``metadata.managedFields``.

An update is told by its manager, API version and subresource; an apply by its manager and
subresource, whatever the version. Field sets of all versions of a kind are compared as they
are: the kinds here have the same fields in every version of their group.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from nearwise.server.patch.diff import Changes
from nearwise.server.patch.errors import PatchError, bad_request
from nearwise.server.patch.fields import FieldSet, encode_fields, parse_fields
from nearwise.server.patch.values import Json, Object, check_depth, same, shown

APPLY: Final = "Apply"
UPDATE: Final = "Update"

MAX_UPDATERS: Final = 10
"""So many updating managers are told apart; the changes of the oldest are put together."""

ANCIENT: Final = "ancient-changes"
"""The manager under which they are put together."""


class Owner(msgspec.Struct, frozen=True, order=True):
    """Who sets fields, and in what way."""

    manager: str
    operation: str
    api_version: str = ""  # of updates only
    subresource: str = ""

    def __str__(self) -> str:
        """Return it as conflicts name it: ``"kubectl" using v1``."""
        through = f" with subresource {shown(self.subresource)}" if self.subresource else ""
        using = f" using {self.api_version}" if self.operation == UPDATE else ""
        return f"{shown(self.manager)}{through}{using}"


class Holding(msgspec.Struct, frozen=True):
    """What an owner owns, and when it last took some of it."""

    fields: FieldSet
    api_version: str
    time: str  # RFC 3339, UTC, full seconds; empty when unknown


Ownership: TypeAlias = dict[Owner, Holding]
"""All owners of an object's fields. None of them owns nothing."""


# --- On the object ------------------------------------------------------------------------


def managed_fields(obj: Object) -> Json:
    """Return the ``managedFields`` of an object as they stand, None when it has none."""
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def with_managed_fields(obj: Object, entries: Json) -> Object:
    """Return the object with these ``managedFields``; without any when they are empty."""
    metadata = obj.get("metadata")
    rest = dict(metadata) if isinstance(metadata, dict) else {}
    rest.pop("managedFields", None)
    return {**obj, "metadata": {**rest, "managedFields": entries} if entries else rest}


def parse_ownership(entries: Json) -> Ownership:
    """Read ``managedFields``. Raises PatchError (400) when they are broken."""
    check_depth(entries)
    try:
        read = msgspec.convert(entries or [], list[_Entry])
    except msgspec.ValidationError as error:
        raise bad_request(f"managedFields: {error}") from None
    return {each.owner: each.holding for each in read}


def encode_ownership(owners: Ownership) -> list[Json]:
    """Write ``managedFields``: applies first, then by time, manager, version and subresource."""

    def order(each: tuple[Owner, Holding]) -> tuple[str, ...]:
        owner, holding = each
        when = holding.time, owner.manager, holding.api_version, owner.subresource
        return (owner.operation, *when)

    return [_entry(owner, holding) for owner, holding in sorted(owners.items(), key=order)]


def settled(old: Object, new: Object) -> Object:
    """Return the old object when the new one differs from it in nothing but owners' times.

    A write that changes nothing must leave the stored object alone, resource version included.
    """
    if not same(with_managed_fields(old, None), with_managed_fields(new, None)):
        return new
    try:
        before, after = parse_ownership(managed_fields(old)), parse_ownership(managed_fields(new))
    except PatchError:
        return new
    return old if _timeless(before) == _timeless(after) else new


# --- What a change does to it -------------------------------------------------------------


def bereft(owners: Ownership, changes: Changes) -> Ownership:
    """Take from all owners what somebody else changed or removed."""
    lost = changes.made | changes.removed
    left = {
        owner: msgspec.structs.replace(holding, fields=holding.fields - lost)
        for owner, holding in owners.items()
    }
    return {owner: holding for owner, holding in left.items() if holding.fields}


def capped(owners: Ownership) -> Ownership:
    """Put the oldest updates of a version together until few enough managers of updates are left.

    The first of a version takes the name, each further one is added to it.
    """
    updaters = sorted((h.time, owner) for owner, h in owners.items() if owner.operation == UPDATE)
    surplus = len(updaters) - MAX_UPDATERS
    left = dict(owners)
    oldest: dict[str, Owner] = {}
    for time, owner in updaters:
        if surplus <= 0:
            break
        version = owner.api_version
        ancient = Owner(ANCIENT, UPDATE, version)
        first = oldest.setdefault(version, owner)
        if owner in (first, ancient):
            continue
        if ancient not in left:
            left[ancient] = left.pop(first)
        together = left[ancient].fields | left.pop(owner).fields
        left[ancient] = Holding(together, version, time)
        surplus -= 1
    return left


# --- The wire -----------------------------------------------------------------------------


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    """One of ``managedFields``, as Kubernetes insists on it."""

    operation: Literal["Apply", "Update"]
    api_version: Annotated[str, msgspec.Meta(min_length=1)]
    fields_type: Literal["FieldsV1"]
    manager: str = ""
    subresource: str = ""
    time: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    fields: Any = msgspec.field(default=None, name="fieldsV1")

    @property
    def owner(self) -> Owner:
        version = self.api_version if self.operation == UPDATE else ""
        return Owner(self.manager, self.operation, version, self.subresource)

    @property
    def holding(self) -> Holding:
        time = self.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if self.time else ""
        return Holding(parse_fields(self.fields or {}), self.api_version, time)


def _entry(owner: Owner, holding: Holding) -> Json:
    entry: Object = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": holding.api_version,
        "time": holding.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": encode_fields(holding.fields),
        "subresource": owner.subresource,
    }
    return {name: value for name, value in entry.items() if value != ""}


def _timeless(owners: Ownership) -> dict[Owner, tuple[FieldSet, str]]:
    return {owner: (holding.fields, holding.api_version) for owner, holding in owners.items()}
