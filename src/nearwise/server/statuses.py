"""Every answer of the API server that is not an object, in kube-apiserver's words.

Law: a refusal is made by a function here and raised as ``Refusal``; nobody else writes a Status.
Clients match on code, reason and often on the message, so all three are those of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from nearwise.machinery.changes import Key
from nearwise.model.meta import ListMeta, Status, StatusCause, StatusDetails
from nearwise.model.validation import fields
from nearwise.model.validation.fields import FieldError, text_of
from nearwise.server.resources import Resource


class Refusal(Exception):  # noqa: N818 - an answer to the client, not a failure of ours
    """A request that is answered with a Status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def encode(status: Status) -> bytes:
    """Write a Status as JSON, with the fields that Kubernetes always prints."""
    return msgspec.json.encode(to_object(status))


def to_object(status: Status) -> dict[str, object]:
    """Return a Status as the plain object that clients get."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **msgspec.to_builtins(status)}


def success(resource: Resource, name: str, uid: str) -> Status:
    """Say that an object was deleted, for resources that do not answer with it."""
    details = StatusDetails(name=name, group=resource.group, kind=resource.plural, uid=uid)
    return Status(status="Success", details=details)


SUCCESS: Final = Status(status="Success", code=201)
"""What is answered to a request that made something that is not an object."""


# --- About one object ---------------------------------------------------------------------


def not_found(resource: Resource, name: str) -> Refusal:
    """404: there is no such object."""
    message = f'{resource.full_name} "{name}" not found'
    return _refusal(404, "NotFound", message, _about(resource, name))


def already_exists(resource: Resource, name: str, *, being_deleted: bool = False) -> Refusal:
    """409: there is such an object already."""
    prefix = "object is being deleted: " if being_deleted else ""
    message = f'{prefix}{resource.full_name} "{name}" already exists'
    return _refusal(409, "AlreadyExists", message, _about(resource, name))


def no_free_name(resource: Resource, name: str) -> Refusal:
    """409: all names that were generated exist already; the last of them is told."""
    message = (
        f'{resource.full_name} "{name}" already exists, the server was not able to generate a '
        "unique name for the object"
    )
    details = msgspec.structs.replace(_about(resource, name), retry_after_seconds=1)
    return _refusal(409, "AlreadyExists", message, details)


def modified(resource: Resource, name: str) -> Refusal:
    """409: somebody else wrote the object since the version that the client has."""
    why = (
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    )
    return _conflict(resource.full_name, _about(resource, name), why)


def other_uid(resource: Resource, key: Key, given: str, actual: str) -> Refusal:
    """409: a replacement is meant for an object that had this name before."""
    place = "/".join(filter(None, ["/registry", resource.storage, key.namespace, key.name]))
    why = (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object "
        f"meta: {actual}"
    )
    return _conflict(resource.full_name, _about(resource, key.name), why)


def unmet(resource: Resource, name: str, why: str) -> Refusal:
    """409: a precondition of a deletion does not hold."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = StatusDetails(name=name, group=resource.group, kind=resource.kind)
    return _conflict(kind, details, why)


def invalid(resource: Resource, name: str, errors: Sequence[FieldError]) -> Refusal:
    """422: fields of the object are wrong."""
    return refused_fields(resource, name, text_of(errors), tuple(error.cause for error in errors))


def refused_fields(
    resource: Resource, name: str, text: str, causes: tuple[StatusCause, ...]
) -> Refusal:
    """422: fields of the object are wrong; said by somebody who put the causes into words."""
    return _invalid(resource.kind, resource.group, name, text, causes)


def version_required(resource: Resource, name: str) -> Refusal:
    """422: this resource is not replaced without saying which version."""
    cause = StatusCause(
        "FieldValueInvalid",
        "Invalid value: 0: must be specified for an update",
        "metadata.resourceVersion",
    )
    text = f"{cause.field}: {cause.message}"
    return _invalid(resource.plural, resource.group, name, text, (cause,))


def forbidden(
    resource: Resource, name: str, why: str, causes: tuple[StatusCause, ...] = ()
) -> Refusal:
    """403: it may not be done."""
    message = f'{resource.full_name} "{name}" is forbidden: {why}'
    details = msgspec.structs.replace(_about(resource, name), causes=causes)
    return _refusal(403, "Forbidden", message, details)


def namespace_terminating(resource: Resource, name: str, namespace: str) -> Refusal:
    """403: nothing new comes into a namespace that is being deleted."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = StatusCause(
        "NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace"
    )
    return forbidden(resource, name, why, (cause,))


# --- About what was sent ------------------------------------------------------------------


def bad_request(message: str) -> Refusal:
    """400: the request is not of the form it has to have."""
    return _refusal(400, "BadRequest", message)


def invalid_options(kind: str, errors: Sequence[FieldError]) -> Refusal:
    """422: parameters of the request are wrong."""
    causes = tuple(error.cause for error in errors)
    return _invalid(kind, "meta.k8s.io", "", text_of(errors), causes)


def invalid_patch(patched: str, why: str) -> Refusal:
    """422: what a patch makes of the object is none of its kind."""
    error = fields.invalid("patch", patched, why)
    return _invalid("", "", "", error.text, (error.cause,))


def too_large(limit: int) -> Refusal:
    """413: the body is longer than is taken."""
    message = f"Request entity too large: limit is {limit}"
    return _refusal(413, "RequestEntityTooLarge", message)


def object_too_large(size: int, limit: int) -> Refusal:
    """413: the object, as it would be stored, is larger than is stored."""
    message = f"Request entity too large: the object has {size} bytes, the limit is {limit}"
    return _refusal(413, "RequestEntityTooLarge", message)


def unsupported_body(accepted: Sequence[str]) -> Refusal:
    """415: the body is in a format that is not read."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
    )
    return _refusal(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> Refusal:
    """406: the client takes no format that is written."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return _refusal(406, "NotAcceptable", message)


# --- About versions and the past ----------------------------------------------------------


def version_too_large(revision: int, current: int) -> Refusal:
    """504: nothing was written yet at the version that the client wants to see."""
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    message = f"Timeout: Too large resource version: {revision}, current: {current}"
    details = StatusDetails(causes=(cause,), retry_after_seconds=1)
    return _refusal(504, "Timeout", message, details)


def watch_too_old(revision: int, oldest: int) -> Refusal:
    """410: what was written since this version is no longer kept."""
    return _refusal(410, "Expired", f"too old resource version: {revision} ({oldest})")


def list_too_old() -> Refusal:
    """410: the objects as they were at this version are no longer kept."""
    return _refusal(410, "Expired", "The resourceVersion for the provided list is too old.")


def continue_too_old(token: str) -> Refusal:
    """410: the rest of a list is no longer kept as it was; the token leads to it as it is now."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list."
    )
    status = _refusal(410, "Expired", message).status
    return Refusal(msgspec.structs.replace(status, metadata=ListMeta(continue_=token)))


# --- About the server ---------------------------------------------------------------------


def no_such_resource() -> Refusal:
    """404: nothing is served at this path."""
    message = "the server could not find the requested resource"
    return _refusal(404, "NotFound", message, StatusDetails())


def method_not_allowed() -> Refusal:
    """405: the path is served, but not with this method."""
    message = "the server does not allow this method on the requested resource"
    return _refusal(405, "MethodNotAllowed", message, StatusDetails())


def unsupported_patch() -> Refusal:
    """415: no patch has this content type."""
    message = "415: Unsupported Media Type"
    return _refusal(415, "UnsupportedMediaType", message, StatusDetails())


def unauthorized() -> Refusal:
    """401: the token is missing or wrong."""
    return _refusal(401, "Unauthorized", "Unauthorized")


def too_many_requests() -> Refusal:
    """429: as many watches as are served at a time are open."""
    message = "Too many requests, please try again later."
    details = StatusDetails(retry_after_seconds=1)
    return _refusal(429, "TooManyRequests", message, details)


def uri_too_long(limit: int) -> Refusal:
    """414: the URL is longer than is taken."""
    return _refusal(414, "", f"the URL is longer than {limit} bytes")


def headers_too_large(limit: int) -> Refusal:
    """431: the headers are longer than is taken."""
    return _refusal(431, "", f"the headers are larger than {limit} bytes")


def internal_error(why: str) -> Refusal:
    """500: the server failed, not the client."""
    details = StatusDetails(causes=(StatusCause(message=why),))
    return _refusal(500, "InternalError", f"Internal error occurred: {why}", details)


def version_on_create() -> Refusal:
    """500 without a reason: how Kubernetes refuses a new object that has a version already."""
    return _refusal(500, "", "resourceVersion should not be set on objects to be created")


def unavailable(why: str) -> Refusal:
    """503: nothing can be stored."""
    return _refusal(503, "ServiceUnavailable", why)


# --- How they are made --------------------------------------------------------------------

FAILURE: Final = "Failure"


def _refusal(code: int, reason: str, message: str, details: StatusDetails | None = None) -> Refusal:
    return Refusal(
        Status(status=FAILURE, code=code, reason=reason, message=message, details=details)
    )


def _conflict(what: str, details: StatusDetails, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {what} "{details.name}": {why}'
    return _refusal(409, "Conflict", message, details)


def _invalid(
    kind: str, group: str, name: str, text: str, causes: tuple[StatusCause, ...]
) -> Refusal:
    what = f"{kind}.{group}" if group else kind
    details = StatusDetails(name=name, group=group, kind=kind, causes=causes)
    return _refusal(422, "Invalid", f'{what} "{name}" is invalid: {text}', details)


def _about(resource: Resource, name: str) -> StatusDetails:
    return StatusDetails(name=name, group=resource.group, kind=resource.plural)
