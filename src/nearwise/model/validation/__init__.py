"""What the API server makes of an EndpointSlice or a Service: refuses it, or stores it so.

Law: validation is a function of the object, of the object it replaces and of the ranges of the
cluster. It answers as kube-apiserver 1.36 does: same status, same causes in the same order, same
defaults. What is of the moment (uid, timestamps, resourceVersion, generated names) the server
gives; validation neither makes it up nor asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from nearwise.model.codec import to_dict
from nearwise.model.core import Service, ServiceStatus
from nearwise.model.defaults import with_service_defaults, with_slice_defaults
from nearwise.model.discovery import EndpointSlice
from nearwise.model.meta import StatusCause
from nearwise.model.validation.allocation import Unavailable, allocated
from nearwise.model.validation.bodies import BadBody, object_of
from nearwise.model.validation.endpoint_slices import (
    validate_endpoint_slice,
    validate_endpoint_slice_update,
)
from nearwise.model.validation.fields import Errors, text_of
from nearwise.model.validation.ranges import CLUSTER_NETWORKS, Allocator, Ranges, Refused
from nearwise.model.validation.services import validate_service, validate_service_update
from nearwise.model.validation.transitions import (
    carried_service,
    carried_slice,
    without_leftovers,
)

__all__ = [
    "CLUSTER_NETWORKS",
    "Allocator",
    "Ranges",
    "Refused",
    "Verdict",
    "validate",
    "validate_update",
]


class Verdict(msgspec.Struct, frozen=True):
    """The answer to a request: the HTTP status, and why not, or what is stored.

    ``reason``, ``message`` and ``causes`` are those of the Status object.
    """

    status: int
    reason: str = ""
    message: str = ""
    causes: tuple[StatusCause, ...] = ()
    stored: dict[str, Any] | None = None


def validate(
    raw: Mapping[str, Any],
    kind: str = "",
    namespace: str = "shop",
    allocator: Allocator | None = None,
) -> Verdict:
    """Say what comes of creating an object in a namespace.

    ``kind`` is what the request asks for, EndpointSlice or Service; by default what the body says
    it is. Addresses and node ports come from the allocator, by default from ``Ranges`` with
    nothing taken. The defaults are those of the cluster of the recorded answers.
    """
    asked = _KINDS[kind or _kind_of(raw)]
    try:
        new = asked.read(raw)
        if not new.metadata.namespace:
            new = replace(new, metadata=replace(new.metadata, namespace=namespace))
        new, errors = asked.created(new, allocator or Ranges())
    except (BadBody, Unavailable) as refused:
        return _refused(refused)
    return _verdict(asked, raw, new, errors, status=201)


def validate_update(
    raw: Mapping[str, Any],
    old: Mapping[str, Any],
    kind: str = "",
    allocator: Allocator | None = None,
) -> Verdict:
    """Say what comes of replacing a stored object by another.

    Takes what ``validate`` takes. The old object is trusted: it was stored once.
    """
    asked = _KINDS[kind or _kind_of(raw)]
    try:
        new, errors = asked.updated(asked.read(raw), asked.read(old), allocator or Ranges())
    except (BadBody, Unavailable) as refused:
        return _refused(refused)
    return _verdict(asked, raw, new, errors, status=200)


# --- The two kinds ------------------------------------------------------------------------


def _created_slice(given: EndpointSlice, _: Allocator) -> tuple[EndpointSlice, Errors]:
    metadata = replace(given.metadata, generation=1)
    new = with_slice_defaults(replace(given, metadata=metadata))
    return new, validate_endpoint_slice(new)


def _updated_slice(
    given: EndpointSlice, old: EndpointSlice, _: Allocator
) -> tuple[EndpointSlice, Errors]:
    new = carried_slice(with_slice_defaults(given), old)
    return new, validate_endpoint_slice_update(new, old)


def _created_service(given: Service, allocator: Allocator) -> tuple[Service, Errors]:
    new = with_service_defaults(replace(given, status=ServiceStatus()))
    new, errors = allocated(new, None, allocator)
    return new, errors or validate_service(new)


def _updated_service(given: Service, old: Service, allocator: Allocator) -> tuple[Service, Errors]:
    new = carried_service(with_service_defaults(given), old)
    new, errors = allocated(new, old, allocator)
    if errors:
        return new, errors
    new = without_leftovers(new, old)
    return new, validate_service_update(new, old)


class _Kind(msgspec.Struct, frozen=True):
    api_version: str
    group: str
    type: type[Any]
    created: Callable[[Any, Allocator], tuple[Any, Errors]]
    updated: Callable[[Any, Any, Allocator], tuple[Any, Errors]]

    def read(self, raw: Mapping[str, Any]) -> Any:
        return object_of(raw, self.api_version, self.type)


_KINDS: Final = {
    "EndpointSlice": _Kind(
        api_version="discovery.k8s.io/v1",
        group="discovery.k8s.io",
        type=EndpointSlice,
        created=_created_slice,
        updated=_updated_slice,
    ),
    "Service": _Kind(
        api_version="v1",
        group="",
        type=Service,
        created=_created_service,
        updated=_updated_service,
    ),
}


def _kind_of(raw: Mapping[str, Any]) -> str:
    """Guess what a body is meant to be, by its kind, else by its version."""
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in _KINDS:
        return kind
    return "Service" if raw.get("apiVersion") == "v1" else "EndpointSlice"


# --- Answers ------------------------------------------------------------------------------


def _refused(why: BadBody | Unavailable) -> Verdict:
    if isinstance(why, BadBody):
        return Verdict(400, "BadRequest", str(why))
    return Verdict(500, "InternalError", f"Internal error occurred: {why}")


def _verdict(
    asked: _Kind, raw: Mapping[str, Any], new: Any, errors: Errors, status: int
) -> Verdict:
    if not errors:
        return Verdict(status, stored=_stored(new, raw))
    kind = ".".join(filter(None, [asked.type.__name__, asked.group]))
    message = f'{kind} "{new.metadata.name}" is invalid: {text_of(errors)}'
    return Verdict(422, "Invalid", message, tuple(error.cause for error in errors))


def _stored(obj: Service | EndpointSlice, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Write an object as the API server does: Go keeps some fields that are empty."""
    plain = to_dict(obj)
    metadata = raw.get("metadata") or {}
    if "managedFields" in metadata:  # the record of who owns which field is the server's
        plain["metadata"]["managedFields"] = metadata["managedFields"]
    if isinstance(obj, Service):
        plain.setdefault("status", {}).setdefault("loadBalancer", {})
        return plain
    for endpoint in plain.get("endpoints", ()):
        endpoint.setdefault("conditions", {})
    return {**plain, "endpoints": plain.get("endpoints"), "ports": plain.get("ports")}
