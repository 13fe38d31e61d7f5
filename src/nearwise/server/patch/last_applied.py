"""Client-side apply's annotation, when kubectl comes back with server-side apply.

kubectl's client-side apply left its configuration in an annotation. The server lets the manager
``kubectl`` take over the fields that still have the values in it, and keeps the annotation up to
date, so that a client-side apply afterwards starts from what was applied last.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nearwise.model.wellknown import LAST_APPLIED
from nearwise.server.patch.contents import field_set
from nearwise.server.patch.diff import diff
from nearwise.server.patch.errors import PatchError
from nearwise.server.patch.fields import NO_FIELDS, FieldSet
from nearwise.server.patch.schema import Shape
from nearwise.server.patch.values import Json, Object, check_depth, shown

MAX_ANNOTATIONS: Final = 256 * 1024
"""Bytes that all annotations of an object may have; with more the annotation is given up."""


def allowed_conflicts(live: Object, shape: Shape) -> FieldSet:
    """Return the fields that kubectl set itself and that nobody changed since."""
    try:
        applied: Json = msgspec.json.decode(_annotations(live).get(LAST_APPLIED, ""))
        check_depth(applied)
        if not isinstance(applied, dict) or applied.get("apiVersion") != live.get("apiVersion"):
            return NO_FIELDS
        changes = diff(applied, live, shape)
        return field_set(applied, shape) - changes.made - changes.removed
    except (msgspec.DecodeError, RecursionError, PatchError):
        return NO_FIELDS


def with_last_applied(new: Object, config: Object) -> Object:
    """Return the object with the configuration in its annotation, where it has one."""
    annotations = _annotations(new)
    metadata = new.get("metadata")
    if not annotations.get(LAST_APPLIED) or not isinstance(metadata, dict):
        return new
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    text = shown(_without_annotation(config)) + "\n"
    updated = {**kept, LAST_APPLIED: text}
    size = sum(len(part.encode()) for pair in updated.items() for part in pair)
    chosen: dict[str, Json] = {**(updated if size <= MAX_ANNOTATIONS else kept)}
    return {**new, "metadata": {**metadata, "annotations": chosen}}


def _without_annotation(config: Object) -> Object:
    metadata = config.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("annotations"), dict):
        return config
    kept: dict[str, Json] = {
        name: text for name, text in _annotations(config).items() if name != LAST_APPLIED
    }
    return {**config, "metadata": {**metadata, "annotations": kept}}


def _annotations(obj: Object) -> dict[str, str]:
    metadata = obj.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str)}
