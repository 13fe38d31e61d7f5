"""What a decision wants written: a plan of slices, and the events and reasons that go with it.

Law: a plan is a value. It names every write in full, names of new slices included, so that it can
be printed, compared, carried out, and carried out again after a lost answer, always with the same
result. Nothing here decides what is to be written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from hashlib import blake2b
from itertools import count
from typing import Final

import msgspec

from nearwise.model import EndpointSlice, Reason

_SAFE_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_NAME: Final = 63


class Event(msgspec.Struct, frozen=True):
    """An event to be recorded on the Service or the Endpoints: ``Normal`` or ``Warning``."""

    type: str
    reason: str
    message: str


class Plan(msgspec.Struct, frozen=True):
    """The writes that one decision asks for, and why.

    ``errors`` are things that could not be done now and must be tried again, in Kubernetes'
    wording; the writes beside them are right nevertheless.
    """

    creates: tuple[EndpointSlice, ...] = ()
    updates: tuple[EndpointSlice, ...] = ()
    deletes: tuple[EndpointSlice, ...] = ()
    events: tuple[Event, ...] = ()
    reasons: tuple[Reason, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def writes(self) -> int:
        """How many requests to the API server the plan needs."""
        return len(self.creates) + len(self.updates) + len(self.deletes)


def apply(slices: Iterable[EndpointSlice], plan: Plan) -> tuple[EndpointSlice, ...]:
    """Return the slices of one namespace as they are after the plan, in order of their names."""
    after = {slice_.metadata.name: slice_ for slice_ in slices}
    for gone in plan.deletes:
        after.pop(gone.metadata.name, None)
    for written in (*plan.updates, *plan.creates):
        after[written.metadata.name] = written
    return tuple(after[name] for name in sorted(after))


def name_for(prefix: str, identity: str, *taken: Container[str]) -> str:
    """Return a free name ``<prefix>-xxxxx`` for a new slice, the same one for the same question.

    ``identity`` tells new slices of one service apart (family, ports, number). The five
    characters are out of the alphabet that Kubernetes uses for generated names. Kubernetes draws
    them; ours follow from the identity, so that a create whose answer was lost meets its own
    slice when it is tried again.
    """
    stem = prefix[: _LONGEST_NAME - _SUFFIX_LENGTH - 1]
    for attempt in count():
        name = f"{stem}-{_suffix(f'{prefix}/{identity}/{attempt}')}"
        if not any(name in names for names in taken):
            return name
    raise AssertionError("count() has no end")


def _suffix(text: str) -> str:
    number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_SAFE_LETTERS))
        letters.append(_SAFE_LETTERS[letter])
    return "".join(letters)
