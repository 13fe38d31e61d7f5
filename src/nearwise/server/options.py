"""Parameters of requests: what they may be, and what they mean."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model.meta import Object
from nearwise.model.validation.fields import (
    Errors,
    forbidden,
    invalid,
    not_supported,
    too_long,
)
from nearwise.server.objects.selection import EVERYTHING, Selection
from nearwise.server.patch import Json

MAX_MANAGER: Final = 128
"""Bytes that the name of a field manager may have."""


class Strictness(StrEnum):
    """What becomes of fields that a kind does not have, or that are given twice."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class WriteOptions(msgspec.Struct, frozen=True):
    """How an object is to be written."""

    manager: str = "nearwise"
    """Who is recorded to own what the write sets."""
    dry_run: bool = False
    strictness: Strictness = Strictness.WARN


class PatchType(StrEnum):
    """The content types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Patch(msgspec.Struct, frozen=True):
    """A change of an object."""

    type: PatchType
    content: Json
    force: bool = False
    """An apply takes fields from their owners."""


class Preconditions(Object, frozen=True):
    """What must be so for an object to be deleted."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Object, frozen=True):
    """How an object is to be deleted (``meta/v1``)."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be deleted."""
        return bool(self.dry_run)


class ListOptions(msgspec.Struct, frozen=True):
    """Which objects a list or a watch is about, and from when."""

    selection: Selection = EVERYTHING
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_: str = ""
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    timeout: float = 0.0
    """Seconds after which a watch ends; 0 for the server's choice."""


# --- What they may be ---------------------------------------------------------------------

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"
_POLICIES: Final = ("Background", "Foreground", "Orphan")


def write_errors(manager: str, dry_run: tuple[str, ...], strictness: str) -> Errors:
    """Check the parameters of a write."""
    errors = _dry_run_errors(dry_run)
    if len(manager.encode()) > MAX_MANAGER:
        errors.append(too_long("fieldManager", MAX_MANAGER))
    unprintable = next((place for place, c in enumerate(manager) if not c.isprintable()), None)
    if unprintable is not None:
        detail = f"invalid character {manager[unprintable]!r} (at position {unprintable})"
        errors.append(invalid("fieldManager", manager, detail))
    if strictness not in ("", *Strictness):
        errors.append(not_supported("fieldValidation", strictness, ("", *sorted(Strictness))))
    return errors


def force_errors(patch: PatchType) -> Errors:
    """Check that only an apply is forced."""
    if patch is PatchType.APPLY:
        return []
    return [forbidden("force", "may not be specified for non-apply patch")]


def delete_errors(options: DeleteOptions) -> Errors:
    """Check the parameters of a deletion."""
    errors: Errors = []
    policy = options.propagation_policy
    if options.orphan_dependents is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    return [*errors, *_dry_run_errors(options.dry_run)]


def list_errors(options: ListOptions) -> Errors:
    """Check the parameters of a list."""
    path = "resourceVersionMatch"
    errors: Errors = []
    if options.match:
        if not options.resource_version:
            detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            errors.append(forbidden(path, detail))
        if options.continue_:
            errors.append(forbidden(path, _NOT_WITH_CONTINUE))
        if options.match not in (EXACT, NOT_OLDER_THAN):
            errors.append(not_supported(path, options.match, (EXACT, NOT_OLDER_THAN, "")))
        if options.match == EXACT and options.resource_version == "0":
            detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.append(forbidden(path, detail))
    if options.send_initial_events is not None:
        detail = "sendInitialEvents is forbidden for list"
        errors.append(forbidden("sendInitialEvents", detail))
    return errors


def watch_errors(options: ListOptions) -> Errors:
    """Check the parameters of a watch."""
    path = "resourceVersionMatch"
    errors: Errors = []
    if options.send_initial_events is not None and options.match != NOT_OLDER_THAN:
        detail = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        errors.append(forbidden(path, detail))
    if options.match:
        if options.send_initial_events is None:
            detail = (
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            errors.append(forbidden(path, detail))
        if options.match != NOT_OLDER_THAN:
            errors.append(not_supported(path, options.match, (NOT_OLDER_THAN,)))
        if options.continue_:
            errors.append(forbidden(path, _NOT_WITH_CONTINUE))
    return errors


_NOT_WITH_CONTINUE: Final = "resourceVersionMatch is forbidden when continue is provided"


def _dry_run_errors(dry_run: tuple[str, ...]) -> Errors:
    return [
        not_supported("dryRun", one, ("All",)) for one in dict.fromkeys(dry_run) if one != "All"
    ]
