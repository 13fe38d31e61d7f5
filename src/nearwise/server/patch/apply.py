"""Server-side apply: a manager states all that it wants, and owns what it states.

Law: what the configuration states is merged in. What its manager stated last time and does not
any more is removed, unless somebody else owns it. What others own at another value is a conflict,
or is taken from them by force.
"""

from __future__ import annotations

from typing import Final

from nearwise.model.meta import StatusCause
from nearwise.server.patch.blanks import blank, reset_fields
from nearwise.server.patch.contents import field_set, misshapen, part_shape, parts, without
from nearwise.server.patch.diff import diff
from nearwise.server.patch.errors import (
    PatchError,
    apply_conflict,
    bad_request,
    invalid,
    invalid_options,
)
from nearwise.server.patch.fields import (
    FieldSet,
    Path,
    outside,
    path_text,
    with_all_parents,
    with_named_parents,
)
from nearwise.server.patch.last_applied import allowed_conflicts, with_last_applied
from nearwise.server.patch.overlay import overlay
from nearwise.server.patch.ownership import (
    APPLY,
    Holding,
    Owner,
    Ownership,
    bereft,
    encode_ownership,
    managed_fields,
    parse_ownership,
    with_managed_fields,
)
from nearwise.server.patch.schema import Shape, kind_of, shape_of
from nearwise.server.patch.updates import NOBODYS, Write, taken
from nearwise.server.patch.values import Json, Object, check_depth, same, shown

_KUBECTL: Final = "kubectl"
"""The manager that may take over what it set by client-side apply before."""


def apply(live: Object, config: Json, write: Write, *, force: bool = False) -> Object:
    """Return the object as it is after a manager applied a configuration.

    ``live`` is the stored object, or the blank one of its kind when there is none. The result
    has yet to be defaulted and validated. Applying the same again changes nothing. Raises
    PatchError: 400 for a broken configuration, 409 for conflicts, 422 for the rest.
    """
    version, kind = kind_of(live)
    shape = shape_of(version, kind)
    stated = _checked(config, live, write, shape)
    stated = without(stated, reset_fields(version, kind, write.subresource), shape)

    owners = parse_ownership(managed_fields(live)) or _before_first_apply(live, write)
    applier = Owner(write.manager, APPLY, subresource=write.subresource)
    last = owners.pop(applier, None)
    claimed = field_set(stated, shape)
    base = live
    if last is not None:
        owned = claimed.union(*(holding.fields for holding in owners.values()))
        base = _pruned(live, last.fields, owned, shape)
    new = overlay(base, stated, shape)

    changes = diff(live, new, shape)
    conflicts = {owner: holding.fields & changes.made for owner, holding in owners.items()}
    if write.manager == _KUBECTL and any(conflicts.values()):
        allowed = allowed_conflicts(live, shape)
        conflicts = {owner: fields - allowed for owner, fields in conflicts.items()}
    if any(conflicts.values()) and not force:
        raise _conflict(conflicts)

    after = bereft(owners, changes)
    mine = claimed - NOBODYS
    if mine:
        idle = last is not None and last.fields == mine and same(live, new)
        after[applier] = last if idle and last is not None else Holding(mine, version, write.time)
    if write.manager == _KUBECTL:
        new = with_last_applied(new, stated)
    return with_managed_fields(new, encode_ownership(after))


def _checked(config: Json, live: Object, write: Write, shape: Shape) -> Object:
    """Return the configuration when it is one for this object."""
    if not write.manager:
        message = "Required value: is required for apply patch"
        raise invalid_options(StatusCause("FieldValueRequired", message, "fieldManager"))
    check_depth(config)
    if not isinstance(config, dict):
        raise bad_request(f"error decoding YAML: expected an object, got {shown(config)}")
    if kind_of(config) != kind_of(live):
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    if managed_fields(config) is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        _check_shape(config, shape, ())
    except PatchError as error:
        which = f"{_name(config)}; {_kind_text(config)}"
        raise invalid(f"failed to create typed patch object ({which}): {error}") from None
    return config


def _check_shape(value: Json, shape: Shape, path: Path) -> None:
    """Raise PatchError where a configuration cannot be merged."""
    if value is None:
        return
    if shape.fields and not isinstance(value, dict):
        raise misshapen(path, f"expected map, got {shown(value)}")
    if shape.is_map and not isinstance(value, list):
        raise misshapen(path, f"expected list, got {shown(value)}")
    for step, values in parts(value, shape, path).items():
        if len(values) > 1:
            raise misshapen(path, f"duplicate entries for key {path_text((step,))}")
        _check_shape(values[0], part_shape(shape, step), (*path, step))


def _before_first_apply(live: Object, write: Write) -> Ownership:
    """Make an owner for what an object has of which nobody kept track."""
    untracked = Write("before-first-apply", write.time, write.subresource)
    return taken({}, blank(*kind_of(live)), live, untracked)


def _pruned(live: Object, last: FieldSet, owned: FieldSet, shape: Shape) -> Object:
    """Take out what the manager stated last time, and nobody owns now.

    An object goes with all that is in it, defaults too, when its manager owned a field in it and
    nobody does now. A list item goes with all that is in it when nobody states the item any more,
    even when others own fields of it.
    """
    stated = field_set(live, shape)
    present = with_named_parents(stated)
    given_up = with_named_parents(last) - NOBODYS
    unowned = present - outside(present, given_up) - with_named_parents(owned)
    unwanted = given_up & (present - outside(present, unowned))
    left = outside(present & (stated | owned), unwanted)
    return without(live, present - with_all_parents(left), shape)


def _conflict(conflicts: dict[Owner, FieldSet]) -> PatchError:
    found = [(owner, path) for owner in sorted(conflicts) for path in sorted(conflicts[owner])]
    causes = tuple(
        StatusCause("FieldManagerConflict", f"conflict with {owner}", path_text(path))
        for owner, path in found
    )
    if len(found) == 1:
        text = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = [
            "\n".join([f"conflicts with {owner}:", *(f"- {path_text(p)}" for p in sorted(paths))])
            for owner, paths in sorted(conflicts.items())
            if paths
        ]
        text = f"{len(found)} conflicts: " + "\n".join(lines)
    return apply_conflict(f"Apply failed with {text}", causes)


def _name(config: Object) -> str:
    metadata = config.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return f"{names.get('namespace', '')}/{names.get('name', '')}"


def _kind_text(obj: Object) -> str:
    """Return group, version and kind as Kubernetes prints them: ``/v1, Kind=Service``."""
    api_version, kind = kind_of(obj)
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"
