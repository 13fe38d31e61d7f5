"""What every Kubernetes object carries (apimachinery ``meta/v1``).

All structs are frozen trees without cycles, so the garbage collector need not track them.
An absent field and the Go zero value are one thing here; where the API tells a missing value
from an empty one (Go pointers), the field is ``... | None``.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""A number for which the API has 32 bits: ports and seconds."""


class Object(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all API structs: immutable, camelCase on the wire, defaults left out."""


class OwnerReference(Object, frozen=True):
    """Who owns an object, for garbage collection."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Object, frozen=True):
    """Name, identity and bookkeeping of an object. Timestamps stay RFC 3339 text."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: what tells objects of one kind apart."""
        return (self.namespace, self.name)


class ObjectReference(Object, frozen=True):
    """A pointer to another object (core/v1 ``ObjectReference``)."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class ListMeta(Object, frozen=True):
    """Bookkeeping of a list answer."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class StatusCause(Object, frozen=True):
    """One reason why a request was refused, with the field it is about."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Object, frozen=True):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Object, frozen=True):
    """The API server's answer when it is not an object."""

    kind: str = "Status"
    api_version: str = "v1"
    metadata: ListMeta = ListMeta()
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0
