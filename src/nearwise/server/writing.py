"""What becomes of an object that is created, replaced or patched: pure functions.

Law: a write is a function of the stored object, of what was sent, and of the moment: time, uid
and chance are handed in, and so is what else is stored. It returns the object to store, or raises
what the client is answered with (``Refusal``, or ``PatchError`` which carries a Status too). The
stages are those of kube-apiserver, in its order: read and complete, track who owns which field,
keep what this address cannot change, add what only the server says, validate.

Objects are whole (with kind and version) and in the version of the resource, until they are
returned, in the version in which they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from nearwise.machinery.changes import Key
from nearwise.machinery.reading import Reading
from nearwise.model.codec import from_dict, to_dict
from nearwise.model.meta import ObjectMeta
from nearwise.model.validation import Allocator, Verdict, validate, validate_update
from nearwise.model.validation.bodies import BadBody
from nearwise.model.validation.fields import Errors
from nearwise.model.validation.metadata import validate_metadata, validate_metadata_update
from nearwise.model.validation.transitions import carried_metadata
from nearwise.server.kinds import completed, kind_of, to_stored
from nearwise.server.kinds.plain import at
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.stored import Decoded, load
from nearwise.server.openapi import unknown_fields
from nearwise.server.options import Patch, PatchType, Strictness
from nearwise.server.patch import (
    Object,
    Write,
    apply,
    blank,
    json_patch,
    merge_patch,
    strategic_patch,
    track_update,
)
from nearwise.server.patch.blanks import reset_fields
from nearwise.server.resources import NODES, Address, Resource
from nearwise.server.statuses import (
    Refusal,
    bad_request,
    internal_error,
    invalid,
    invalid_patch,
    refused_fields,
    version_on_create,
)

_LONGEST_BASE: Final = 58  # characters of generateName that are used, so that a label may have it


class Moment(NamedTuple):
    """What a write needs to know besides the object: when, what is stored, and what is free."""

    now: str
    """RFC 3339, UTC, full seconds."""
    uid: Callable[[], str]
    """Makes one for a new object."""
    suffix: Callable[[], str]
    """Makes the end of a generated name."""
    stored: Reading
    numbers: Allocator


# --- What was sent ------------------------------------------------------------------------


def understood(
    sent: Sent, resource: Resource, strictness: Strictness
) -> tuple[Decoded, tuple[str, ...]]:
    """Return what a client sent as the whole object that it means, and what to warn it of.

    Raises Refusal (400).
    """
    try:
        obj = completed(sent.content, resource)
    except BadBody as error:
        raise bad_request(str(error)) from None
    found = _complaints(sent, resource, strictness)
    if found and strictness is Strictness.STRICT:
        kind = resource.kind
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return obj, (*found, *kind_of(resource).warnings(obj))


def patched(
    live: Decoded, resource: Resource, patch: Patch, write: Write, strictness: Strictness
) -> tuple[Decoded, tuple[str, ...]]:
    """Return the whole object that a patch makes of a stored one, and what to warn of.

    ``live`` is the blank object for one that an apply creates. Who owns what is tracked.
    Raises Refusal or PatchError.
    """
    if patch.type is PatchType.APPLY:
        obj = _applied(live, resource, patch, write)
        return obj, kind_of(resource).warnings(obj)
    made = PATCHES[patch.type](live, patch.content)
    try:
        obj = completed(made, resource)
    except BadBody as error:
        raise _not_a_kind(made, str(error)) from None
    found = _complaints(Sent(made), resource, strictness)
    if found and strictness is Strictness.STRICT:
        raise _not_a_kind(made, f"strict decoding error: {', '.join(found)}")
    return track_update(live, obj, write), (*found, *kind_of(resource).warnings(obj))


PATCHES: Final = {
    PatchType.JSON: json_patch,
    PatchType.MERGE: merge_patch,
    PatchType.STRATEGIC: strategic_patch,
}
"""How patches that are not applies change an object. They raise PatchError."""


def _applied(live: Decoded, resource: Resource, patch: Patch, write: Write) -> Decoded:
    config = patch.content
    obj = apply(live, config, write, force=patch.force)
    try:
        made = completed(obj, resource)
    except BadBody as error:
        raise _not_a_kind(obj, str(error)) from None
    if isinstance(config, dict):
        for complaint in unknown_fields(resource.api_version, resource.kind, config):
            raise _undeclared(config, complaint)
    return made


def _undeclared(config: Object, complaint: str) -> Refusal:
    """Refuse an apply that states a field which the kind does not have."""
    path = complaint.partition('"')[2].rstrip('"')
    name = f"{at(config, 'metadata', 'namespace') or ''}/{at(config, 'metadata', 'name') or ''}"
    group, _, version = str(config.get("apiVersion")).rpartition("/")
    kind = f"{group}/{version}, Kind={config.get('kind')}"
    return bad_request(
        f"failed to create typed patch object ({name}; {kind}): .{path}: field not declared in "
        "schema"
    )


def _complaints(sent: Sent, resource: Resource, strictness: Strictness) -> tuple[str, ...]:
    if strictness is Strictness.IGNORE:
        return ()
    unknown = unknown_fields(resource.api_version, resource.kind, sent.content)
    return (*sent.complaints, *unknown)


def _not_a_kind(obj: Object, why: str) -> Refusal:
    return invalid_patch(msgspec.json.encode(obj).decode(), why)


# --- Where it goes ------------------------------------------------------------------------


def check_name(obj: Decoded, address: Address) -> None:
    """Check that a replacement is for the object at this address. Raises Refusal (400)."""
    name, namespace = address.name, address.namespace
    given = at(obj, "metadata", "name") or ""
    if not given:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be "
            "provided"
        )
    if given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )
    there = at(obj, "metadata", "namespace") or ""
    if namespace and there and there != namespace:
        raise bad_request(
            f"the namespace of the object ({there}) does not match the namespace on the URL "
            f"({namespace})"
        )


def placed(obj: Decoded, namespace: str) -> Decoded:
    """Return a new object in the namespace of its address. Raises Refusal (400)."""
    given = at(obj, "metadata", "namespace") or ""
    if given and namespace and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
    if namespace:
        metadata["namespace"] = namespace
    return {**obj, "metadata": metadata}


# --- What is stored -----------------------------------------------------------------------


def begun(wanted: Decoded, resource: Resource, moment: Moment) -> Decoded:
    """Return the new object to store. Raises Refusal."""
    kind = kind_of(resource)
    obj = to_stored(wanted, resource)
    metadata = {name: v for name, v in obj["metadata"].items() if name not in _SERVERS}
    if obj["metadata"].get("resourceVersion"):
        raise version_on_create()
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"][:_LONGEST_BASE] + moment.suffix()
    metadata["uid"] = moment.uid()
    metadata["creationTimestamp"] = moment.now
    if kind.counted:
        metadata["generation"] = 1

    def node_of(name: str) -> Decoded | None:
        node = moment.stored.latest(Key(NODES.storage, "", name))
        return load(node.value, NODES) if node else None

    obj = kind.begun({**obj, "metadata": metadata}, node_of)
    if kind.model:
        namespace = metadata.get("namespace", "")
        verdict = validate(obj, resource.kind, namespace, moment.numbers)
        return _stored(verdict, resource, metadata.get("name", ""))
    errors = _place_errors(
        validate_metadata(from_dict(obj["metadata"], ObjectMeta), kind.name), resource
    )
    _refuse(resource, obj, [*errors, *kind.errors(obj, None)])
    return obj


def replaced(wanted: Decoded, old: Decoded, address: Address, moment: Moment) -> Decoded:
    """Return the object to store in the place of an old one. Raises Refusal.

    The old object is in the version in which it is stored.
    """
    resource, subresource = address.resource, address.subresource
    kind = kind_of(resource)
    obj = to_stored(wanted, resource)
    fixed = [
        tuple(step.removeprefix("f:") for step in path)
        for path in reset_fields(resource.storage_version, resource.kind, subresource)
    ]
    for path in (*fixed, *(() if subresource else kind.kept)):
        obj = _taken(obj, old, path)
    if kind.model and not subresource:
        verdict = validate_update(obj, old, resource.kind, moment.numbers)
        return _at_version(_stored(verdict, resource, obj["metadata"]["name"]), old)
    before = from_dict(old["metadata"], ObjectMeta)
    after = carried_metadata(from_dict(obj["metadata"], ObjectMeta), before)
    errors = validate_metadata_update(after, before)
    metadata = to_dict(after)
    if any(at(obj, *path) != at(old, *path) for path in kind.counted):
        metadata["generation"] = before.generation + 1
    if "managedFields" in obj["metadata"]:
        metadata["managedFields"] = obj["metadata"]["managedFields"]
    obj = {**obj, "metadata": metadata}
    _refuse(resource, obj, errors if subresource else [*errors, *kind.errors(obj, old)])
    return _at_version(obj, old)


def is_finished(obj: Decoded, old: Decoded) -> bool:
    """Tell whether this write takes away the last that kept an object being deleted."""
    metadata = old["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("deletionGracePeriodSeconds")
        and not obj["metadata"].get("finalizers")
        and not (obj["kind"] == "Namespace" and at(obj, "spec", "finalizers"))
    )


_SERVERS: Final = frozenset(
    [
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "resourceVersion",
        "selfLink",
    ]
)
"""Metadata that no client gives a new object."""


def blank_for(resource: Resource, namespace: str) -> Decoded:
    """Return the object of which a creation is a change."""
    obj = blank(resource.api_version, resource.kind)
    return {**obj, "metadata": {"namespace": namespace} if namespace else {}}


def _taken(obj: Decoded, old: Decoded, path: tuple[str, ...]) -> Decoded:
    """Return the object with what is at a path as the old one has it."""
    name, rest = path[0], path[1:]
    if rest:
        inner = _taken(obj.get(name) or {}, old.get(name) or {}, rest)
        return {**obj, name: inner}
    if name in old:
        return {**obj, name: old[name]}
    return {field: value for field, value in obj.items() if field != name}


def _at_version(obj: Decoded, old: Decoded) -> Decoded:
    """Return the object at the version of the old one: only the store gives a new one."""
    metadata = {**obj["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
    return {**obj, "metadata": metadata}


def _stored(verdict: Verdict, resource: Resource, name: str) -> Decoded:
    """Return what validation made of an object. Raises Refusal."""
    if verdict.stored is not None:
        return verdict.stored
    if verdict.status == 400:
        raise bad_request(verdict.message)
    if verdict.status == 500:
        raise internal_error(verdict.message.removeprefix("Internal error occurred: "))
    text = verdict.message.partition(" is invalid: ")[2]
    raise refused_fields(resource, name, text, verdict.causes)


def _place_errors(errors: Errors, resource: Resource) -> Errors:
    """Leave out what is said of the namespace of an object that has none."""
    if resource.namespaced:
        return errors
    return [error for error in errors if error.field != "metadata.namespace"]


def _refuse(resource: Resource, obj: Decoded, errors: Errors) -> None:
    if errors:
        raise invalid(resource, obj["metadata"].get("name", ""), errors)
