"""JSON merge patch (RFC 7386): the patch looks like the object; null takes a field out."""

from __future__ import annotations

from nearwise.server.patch.values import Json, Object, patch_object


def merge_patch(document: Object, patch: Json) -> Object:
    """Return the document as the patch changes it. Raises PatchError (400) for a broken patch."""
    return _merged(document, patch_object(patch))


def _merged(target: Json, patch: Object) -> Object:
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            merged[name] = _merged(merged.get(name), value)
        else:
            merged[name] = value
    return merged
