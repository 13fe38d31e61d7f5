"""How long a change may wait for others, and which of the changes that waited is told.

A change of a pod may be held back for a while, so that a rollout costs few writes (k/k#88745); the
queue merges what comes meanwhile. What is then written carries the time of the earliest of the
changes (``endpoints.kubernetes.io/last-change-trigger-time``), so that the delay can be measured.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nearwise.machinery.cache import ObjectKey
from nearwise.model import Pod, Service

_SLICE_DELAY: Final = 1.0


class Batching(msgspec.Struct, frozen=True):
    """How many seconds after a change its service is looked at; a changed service at once."""

    period: float = 0.0

    @property
    def after_pod(self) -> float:
        """After a pod came, went or changed."""
        return self.period

    @property
    def after_slice(self) -> float:
        """After somebody else touched a slice.

        At least a second, so that two who disagree do not write as fast as they can.
        """
        return max(self.period, _SLICE_DELAY)


class TriggerTimes:
    """The earliest change since each service was last looked at.

    A new service is told by its own creation, whatever its pods say; after that a pod counts when
    its readiness changed. There is no time to be had of any other change, so it has none. Times
    are text as the API server writes it (RFC 3339, UTC, whole seconds), which sorts by itself.

    Kubernetes compares all pods with those of its last look, and so tells the last of two changes
    of one pod in between, where this tells the first.
    """

    def __init__(self) -> None:
        self._earliest: dict[ObjectKey, str | None] = {}
        self._new: set[ObjectKey] = set()

    def service_seen(self, service: Service) -> None:
        """Take note that a service is there. To be told before its pods."""
        key = service.metadata.key
        if key not in self._earliest:
            self._earliest[key] = service.metadata.creation_timestamp
            self._new.add(key)

    def forget(self, service: ObjectKey) -> None:
        """Take note that a service is gone."""
        self._earliest.pop(service, None)
        self._new.discard(service)

    def pod_changed(self, service: ObjectKey, old: Pod | None, new: Pod | None) -> None:
        """Take note of a pod that a known service selects.

        ``old`` is None if it did not before, ``new`` if it does no longer.
        """
        if new is None or service in self._new or service not in self._earliest:
            return
        before, after = _ready_since(old) if old else "", _ready_since(new)
        if after > before:
            self._earlier(service, after)

    def take(self, service: ObjectKey) -> str | None:
        """Return the earliest change and begin anew, because the service is now looked at."""
        if service not in self._earliest:
            return None
        self._new.discard(service)
        earliest, self._earliest[service] = self._earliest[service], None
        return earliest

    def give_back(self, service: ObjectKey, time: str | None) -> None:
        """Put back what was taken, because nothing came of it: it will be tried again."""
        if time is not None and service in self._earliest:
            self._earlier(service, time)

    def _earlier(self, service: ObjectKey, time: str) -> None:
        earliest = self._earliest[service]
        self._earliest[service] = time if earliest is None else min(earliest, time)


def _ready_since(pod: Pod) -> str:
    """Return when the pod last turned ready or not ready; empty if it never told."""
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return condition.last_transition_time or ""
    return ""
