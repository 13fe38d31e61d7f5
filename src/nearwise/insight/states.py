"""The state of an endpoint in a word or three, as those who read slices take it."""

from __future__ import annotations

from enum import StrEnum

from nearwise.model import Endpoint


class State(StrEnum):
    """What an endpoint is good for."""

    READY = "ready"
    NOT_READY = "not ready"
    TERMINATING = "terminating"  # but still serving
    STOPPED = "terminating, not serving"

    @property
    def is_terminating(self) -> bool:
        """Whether it is about to go, whether it still serves or not."""
        return self in {State.TERMINATING, State.STOPPED}


def state_of(endpoint: Endpoint) -> State:
    """Return the state of an endpoint; what is absent means true (API field docs)."""
    conditions = endpoint.conditions
    if conditions.terminating:
        return State.STOPPED if conditions.serving is False else State.TERMINATING
    return State.READY if endpoint.ready else State.NOT_READY
