"""Who owns what after a write that is not an apply: create, replace, patch, status."""

from __future__ import annotations

from typing import Final

import msgspec

from nearwise.server.patch.blanks import reset_fields
from nearwise.server.patch.diff import diff
from nearwise.server.patch.errors import PatchError
from nearwise.server.patch.fields import FieldSet, path_of
from nearwise.server.patch.ownership import (
    UPDATE,
    Holding,
    Owner,
    Ownership,
    bereft,
    capped,
    encode_ownership,
    managed_fields,
    parse_ownership,
    with_managed_fields,
)
from nearwise.server.patch.schema import kind_of, shape_of
from nearwise.server.patch.values import Json, Object, same


class Write(msgspec.Struct, frozen=True):
    """Who writes, when, and through what."""

    manager: str
    time: str
    """RFC 3339, UTC, full seconds: ``2026-01-01T00:00:00Z``."""

    subresource: str = ""


MAX_MANAGER: Final = 128
"""Bytes that the name of a manager may have."""

NOBODYS: Final[FieldSet] = frozenset(
    map(
        path_of,
        (
            "apiVersion",
            "kind",
            "metadata",
            "metadata.clusterName",
            "metadata.creationTimestamp",
            "metadata.generation",
            "metadata.managedFields",
            "metadata.name",
            "metadata.namespace",
            "metadata.resourceVersion",
            "metadata.selfLink",
            "metadata.uid",
        ),
    )
)
"""What no manager is ever recorded to own."""


def manager_name(field_manager: str, user_agent: str) -> str:
    """Return who writes: as the request says, or the client program as it calls itself."""
    if field_manager:
        return field_manager
    program = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return program.encode()[:MAX_MANAGER].decode(errors="ignore")


def track_update(live: Object, new: Object, write: Write) -> Object:
    """Return the new object with its ``managedFields`` as they are after this write.

    ``live`` is the stored object, or the blank one of its kind for a creation; ``new`` is what
    the client wants in its place, defaulted and printed as the server prints it, before anything
    that the server itself adds (allocated addresses, admission). The writer gets what it changed,
    and everybody else loses that. An object whose owners were dropped stays without (a client
    drops them by sending an empty list or one empty entry). Never fails: what cannot be compared
    leaves the owners as they were.
    """
    try:
        owners = _owners(live, new, write.subresource)
        if not owners and not _is_new(live):
            return with_managed_fields(new, None)
        after = taken(owners, live, new, write)
    except PatchError:
        return with_managed_fields(new, managed_fields(live))
    return with_managed_fields(new, encode_ownership(after))


def taken(owners: Ownership, live: Object, new: Object, write: Write) -> Ownership:
    """Return the owners after an update that made ``new`` of ``live``. Raises PatchError (422)."""
    version, kind = kind_of(new)
    changes = diff(live, new, shape_of(version, kind))
    changes = changes.outside(reset_fields(version, kind, write.subresource))
    left = bereft(owners, changes)
    gained = changes.made - NOBODYS
    if gained:
        writer = Owner(write.manager or "unknown", UPDATE, version, write.subresource)
        if writer in left:
            gained |= left[writer].fields
        left[writer] = Holding(gained, version, write.time)
    return capped(left)


def _owners(live: Object, new: Object, subresource: str) -> Ownership:
    """Return the owners to start from: those sent along, when they are any good."""
    stored, sent = managed_fields(live), managed_fields(new)
    if not subresource:
        if _resets(sent):
            return {}
        try:
            claimed = parse_ownership(sent)
        except PatchError:
            claimed = {}
        if claimed:
            return claimed
    try:
        return parse_ownership(stored)
    except PatchError:
        return {}


def _resets(entries: Json) -> bool:
    return isinstance(entries, list) and (not entries or same(entries, [{}]))


def _is_new(live: Object) -> bool:
    metadata = live.get("metadata")
    return not (isinstance(metadata, dict) and metadata.get("uid"))
