"""The rules that hold for the metadata of every object (apimachinery ``api/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nearwise.model import names
from nearwise.model.meta import ObjectMeta, OwnerReference
from nearwise.model.names import Check
from nearwise.model.validation.fields import (
    Errors,
    Value,
    checked,
    forbidden,
    invalid,
    required,
    too_long,
)

_MAX_ANNOTATIONS: Final = 256 * 1024  # bytes, keys and values together
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"


def validate_metadata(meta: ObjectMeta, name: Check) -> Errors:
    """Check the metadata of a namespaced object whose name must pass ``name``."""
    return [
        *_name(meta, name),
        *([] if meta.namespace else [required("metadata.namespace")]),
        *(checked("metadata.namespace", meta.namespace, names.dns_label) if meta.namespace else []),
        *_not_negative("metadata.generation", meta.generation),
        *labels("metadata.labels", meta.labels),
        *_annotations("metadata.annotations", meta.annotations),
        *_owners("metadata.ownerReferences", meta.owner_references),
        *_finalizers("metadata.finalizers", meta.finalizers),
    ]


def validate_metadata_update(new: ObjectMeta, old: ObjectMeta) -> Errors:
    """Check what may not change in metadata."""
    errors: Errors = []
    added = [finalizer for finalizer in new.finalizers if finalizer not in old.finalizers]
    if old.deletion_timestamp and added:
        words = ", ".join(f'"{finalizer}"' for finalizer in sorted(added))
        detail = (
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{words}}}"
        )
        errors.append(forbidden("metadata.finalizers", detail))
    for field, after, before in [
        ("name", new.name, old.name),
        ("namespace", new.namespace, old.namespace),
        ("uid", new.uid, old.uid),
        ("creationTimestamp", new.creation_timestamp, old.creation_timestamp),
        ("deletionTimestamp", new.deletion_timestamp, old.deletion_timestamp),
        (
            "deletionGracePeriodSeconds",
            new.deletion_grace_period_seconds,
            old.deletion_grace_period_seconds,
        ),
    ]:
        errors += immutable(f"metadata.{field}", after, before)
    return [
        *errors,
        *labels("metadata.labels", new.labels),
        *_annotations("metadata.annotations", new.annotations),
        *_owners("metadata.ownerReferences", new.owner_references),
        *_finalizers("metadata.finalizers", new.finalizers),
    ]


def immutable(path: str, new: Value, old: Value) -> Errors:
    """Refuse another value than before."""
    return [] if new == old else [invalid(path, new, "field is immutable")]


def labels(path: str, given: Mapping[str, str]) -> Errors:
    """Check labels, or a selector made of labels."""
    errors: Errors = []
    for key, value in sorted(given.items()):
        errors += checked(path, key, names.qualified_name)
        errors += checked(path, value, names.label_value)
    return errors


def _name(meta: ObjectMeta, name: Check) -> Errors:
    errors: Errors = []
    if meta.generate_name:
        given = meta.generate_name
        # A dash at the end is fine: more comes after it.
        tried = f"{given[:-2]}a" if len(given) > 1 and given.endswith("-") else given
        errors += [invalid("metadata.generateName", given, said) for said in name(tried)]
    if meta.name:
        errors += checked("metadata.name", meta.name, name)
    elif not meta.generate_name:
        errors.append(required("metadata.name", "name or generateName is required"))
    return errors


def _annotations(path: str, given: Mapping[str, str]) -> Errors:
    errors = [
        invalid(path, key, complaint)
        for key in sorted(given)
        for complaint in names.qualified_name(key.lower())
    ]
    size = sum(len(text.encode(errors="replace")) for pair in given.items() for text in pair)
    return [*errors, too_long(path, _MAX_ANNOTATIONS)] if size > _MAX_ANNOTATIONS else errors


def _owners(path: str, owners: tuple[OwnerReference, ...]) -> Errors:
    errors: Errors = []
    for owner in owners:
        if not owner.api_version.rpartition("/")[2]:
            errors.append(
                invalid(f"{path}.apiVersion", owner.api_version, "version must not be empty")
            )
        for field, value in [("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)]:
            if not value:
                errors.append(invalid(f"{path}.{field}", value, "must not be empty"))
        if (owner.api_version, owner.kind) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(invalid(path, _as_json(owner), detail))
    controllers = [owner.name for owner in owners if owner.controller]
    if len(controllers) > 1:
        detail = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}"
        )
        errors.append(invalid(path, [_as_json(owner) for owner in owners], detail))
    return errors


def _as_json(owner: OwnerReference) -> dict[str, object]:
    optional = {
        "controller": owner.controller,
        "blockOwnerDeletion": owner.block_owner_deletion,
    }
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _finalizers(path: str, finalizers: tuple[str, ...]) -> Errors:
    errors = [error for one in finalizers for error in checked(path, one, names.qualified_name)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        both = f"{_ORPHAN} and {_FOREGROUND}"
        detail = f"finalizer set [{' '.join(finalizers)}] cannot contain both {both}"
        errors.append(invalid(path, list(finalizers), detail))
    return errors


def _not_negative(path: str, number: int) -> Errors:
    detail = "must be greater than or equal to 0"
    return [invalid(path, number, detail)] if number < 0 else []
