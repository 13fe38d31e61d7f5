"""What is stored, what may be asked to change, and what is then told to those who watch.

Values only: nothing here decides (``revisions.py`` does). A value is the JSON of an object as
bytes and is shared by all who hold it, never copied and never parsed here. Because that JSON
carries its own ``resourceVersion``, a change does not bring bytes but a function that makes them
from the revision it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

Encode = Callable[[int], bytes]
"""Makes the stored bytes of an object from the revision at which they are stored."""


class Key(msgspec.Struct, frozen=True, gc=False):
    """Where an object is: resource with its group (``discovery.k8s.io/endpointslices``) and name.

    The namespace is empty for resources that have none.
    """

    resource: str
    namespace: str
    name: str

    @property
    def place(self) -> tuple[str, str]:
        """What objects of one resource are ordered by.

        The namespace ends in a slash as in an etcd key, so that ``shop-eu/`` is before ``shop/``.
        """
        return (f"{self.namespace}/", self.name)

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource} {place}"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An object as it is stored: its bytes and the revision that wrote them."""

    key: Key
    value: bytes
    revision: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One write: the object as it is since then, and as it was before.

    ``previous`` is None for a new object. A deletion's ``entry`` is the last state of the object,
    at the revision of the deletion. A watch needs both to tell an object that left its selection.
    """

    entry: Entry
    previous: Entry | None = None
    deleted: bool = False

    @property
    def type(self) -> Literal["ADDED", "MODIFIED", "DELETED"]:
        """The word of a Kubernetes watch for it."""
        if self.deleted:
            return "DELETED"
        return "MODIFIED" if self.previous else "ADDED"

    @property
    def key(self) -> Key:
        """Which object."""
        return self.entry.key

    @property
    def revision(self) -> int:
        """When: every write has a revision of its own."""
        return self.entry.revision


class Create(msgspec.Struct, frozen=True):
    """Store an object that must not exist yet."""

    key: Key
    encode: Encode


class Update(msgspec.Struct, frozen=True):
    """Replace an object, if ``expected`` is given only one last written at that revision."""

    key: Key
    encode: Encode
    expected: int | None = None


class Delete(msgspec.Struct, frozen=True):
    """Remove an object, ``expected`` as for an update; ``encode`` makes its last state."""

    key: Key
    encode: Encode
    expected: int | None = None


Change = Create | Update | Delete


class RefusedError(Exception):
    """A change that does not fit what is stored. Nothing was written."""

    def __init__(self, key: Key, what: str) -> None:
        self.key = key
        super().__init__(f"{key} {what}")


class AlreadyExistsError(RefusedError):
    """To be created, but it is there."""

    def __init__(self, key: Key) -> None:
        super().__init__(key, "already exists")


class NotFoundError(RefusedError):
    """To be changed or deleted, but it is not there."""

    def __init__(self, key: Key) -> None:
        super().__init__(key, "does not exist")


class ConflictError(RefusedError):
    """Somebody else wrote the object since the revision that was expected."""

    def __init__(self, key: Key, expected: int, actual: int) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(key, f"is at revision {actual}, not {expected}")


class RevisionError(Exception):
    """A revision that cannot be read."""


class CompactedError(RevisionError):
    """What was at that revision is no longer kept; the oldest readable one is ``oldest``."""

    def __init__(self, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} is compacted, the oldest kept is {oldest}")


class FutureRevisionError(RevisionError):
    """Nothing was written at that revision yet; ``current`` is the newest one."""

    def __init__(self, revision: int, current: int) -> None:
        self.revision = revision
        self.current = current
        super().__init__(f"revision {revision} is in the future, the newest is {current}")
