"""Whether this proxy works, and whether its node is there to stay: what load balancers ask.

Law: pages and codes are kube-proxy's, by which cloud controllers set up their health checks.
``/healthz`` says whether to send connections to this node, ``/livez`` only whether the proxy works
(KEP-3836). A proxy works while nothing has waited for too long to get into the kernel; one that
begins works, for the kernel still does what it was told before.
"""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import Any, Final

import msgspec

from nearwise.loops.serving import Answer, refusal
from nearwise.loops.surroundings import Surroundings

_JSON: Final = "application/json"


class Health:
    """What is known of the health of a proxy and its node."""

    def __init__(self, surroundings: Surroundings, patience: float) -> None:
        """Begin well; a change may wait for ``patience`` seconds."""
        self.is_staying = True
        self._surroundings = surroundings
        self._patience = patience
        self._waiting_since: float | None = None
        self._last_updated = surroundings.wall()

    def queued(self) -> None:
        """Take note that something is to get into the kernel."""
        if self._waiting_since is None:
            self._waiting_since = self._surroundings.now()

    def updated(self) -> None:
        """Take note that all of it is in the kernel."""
        self._waiting_since = None
        self._last_updated = self._surroundings.wall()

    @property
    def is_working(self) -> bool:
        """Whether nothing has waited for too long."""
        since = self._waiting_since
        return since is None or self._surroundings.now() - since < self._patience

    def times(self) -> dict[str, str]:
        """Return when the kernel was last as it should be, and what time it is.

        While all is well that is now (recorded behaviour of Kubernetes 1.36).
        """
        now = self._surroundings.wall()
        return {
            "lastUpdated": now if self.is_working else self._last_updated,
            "currentTime": now,
        }


class HealthPages:
    """``/healthz`` and ``/livez``."""

    def __init__(self, health: Health) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        """How often each page was answered with which code."""
        self._health = health

    def get(self, path: str, _accept: str = "", _query: str = "") -> Answer:
        """Return a page."""
        health = self._health
        match path:
            case "/healthz":
                eligible = {"nodeEligible": health.is_staying}
                return self._answer(path, health.is_working and health.is_staying, eligible)
            case "/livez":
                return self._answer(path, health.is_working, {})
            case _:
                return refusal(HTTPStatus.NOT_FOUND, "there are /healthz and /livez")

    def _answer(self, path: str, well: bool, more: dict[str, Any]) -> Answer:
        status = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
        self.answers[path, status.value] += 1
        return Answer(status, msgspec.json.encode({**self._health.times(), **more}), _JSON)
