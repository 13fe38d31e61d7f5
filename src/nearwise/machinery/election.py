"""Leader election over a Lease, together with candidates that run client-go's.

Law: at no moment are there two leaders, whatever the network does to requests and answers and
whatever the wall clocks say, as long as the candidates' monotonic clocks run at the same rate and
nobody else deletes or edits the lease. That rests on three things, all in this file:

- Who leads does so for ``renew_deadline`` seconds from when the last successful write was *sent*.
- Who wants to lead waits for the holder's lease duration from when it *received* news of the
  holder's last write. That is later than the sending, and the duration is longer.
- Every write names the version it replaces, so that of two writers one fails.

States, and what leads from one to another::

           free, expired, or ours                written
    LOOK ------------------------> WRITE ------------------------> LEADING
     ^ |                           |   ^                              |
     | | held by another           |   | after a retry period         |
     | +---> time passes           |   +------------------------------+
     |            |                |
     +------------+----------------+ conflict (at once) or failed (after a retry period)

After ``stop``: LOOK, then WRITE the release if the lease is ours, then finished. A leader whose
deadline passed without a successful write is one no longer, and tries on like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import msgspec
from msgspec.structs import replace

from nearwise.machinery.wait import Wait
from nearwise.model import Lease, ObjectMeta
from nearwise.model.coordination import LeaseSpec

_JITTER: Final = 1.2  # of the retry period, on top of it, as client-go has it
_MOST_TRIES_TO_RELEASE: Final = 3


class Timing(msgspec.Struct, frozen=True):
    """How long a lease holds, in seconds. The defaults are those of Kubernetes' own controllers.

    A leader renews every ``retry_period`` and stops leading ``renew_deadline`` after its last
    success. The others look as often, plus up to 1.2 times that by lot, and take over when they
    have seen no change for ``lease_duration``.

    Raises ValueError for durations that cannot work together.
    """

    lease_duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.lease_duration <= self.renew_deadline:
            raise ValueError("the lease duration must be longer than the renew deadline")
        if self.renew_deadline <= self.retry_period * _JITTER:
            raise ValueError("the renew deadline must be longer than 1.2 times the retry period")
        if self.retry_period <= 0:
            raise ValueError("the retry period must be longer than nothing")


_TIMING: Final = Timing()


class Look(msgspec.Struct, frozen=True):
    """Get the lease."""


class Write(msgspec.Struct, frozen=True):
    """Create the lease if it has no resource version, else update it."""

    lease: Lease


class Election:
    """One candidate.

    Ask ``next`` what to do, do it, and tell what came of it: ``looked``, ``written`` or
    ``failed``. One request at a time; whether an answer that did not come was an answer does not
    matter.
    """

    def __init__(
        self,
        key: tuple[str, str],
        identity: str,
        *,
        lot: Callable[[], float],
        timing: Timing = _TIMING,
    ) -> None:
        """Take part in the election over the lease of this namespace and name.

        ``identity`` must be this process's alone; ``lot`` draws a number from 0 up to 1.
        """
        self._blank = Lease(
            "coordination.k8s.io/v1", "Lease", ObjectMeta(namespace=key[0], name=key[1])
        )
        self._identity = identity
        self._lot = lot
        self._timing = timing
        self._lease: Lease | None = None  # as last seen
        self._changed_at = -inf  # when we learnt of what it says
        self._may_write = False  # whether it is ours to write over, as far as is known
        self._sent_at = -inf
        self._leads_until = -inf
        self._act_at = -inf
        self._stopping = False
        self._finished = False
        self._failures_to_release = 0

    def is_leader(self, now: float) -> bool:
        """Tell whether this candidate may act as the leader at this moment."""
        return now < self._leads_until

    @property
    def leads_until(self) -> float:
        """The moment at which this candidate leads no longer, if it renews no more."""
        return self._leads_until

    @property
    def holder(self) -> str:
        """Who held the lease when it was last seen; empty if nobody did."""
        return (self._lease.spec.holder_identity if self._lease else None) or ""

    @property
    def finished(self) -> bool:
        """Whether, after ``stop``, there is nothing more to do."""
        return self._finished

    def stop(self) -> None:
        """Lead no more from this moment on, and give the lease back if it is ours.

        What only a leader may do has to have ended before.
        """
        self._stopping = True
        self._leads_until = -inf
        self._act_at = -inf
        self._may_write = False

    # --- what to do -----------------------------------------------------------------------

    def next(self, now: float, wall: str) -> Look | Write | Wait:
        """Say what to do now. ``wall`` is the time to note (RFC 3339, UTC, with microseconds)."""
        if self._finished:
            return Wait(inf)
        if now < self._act_at:
            return Wait(self._act_at - now)
        if not self._may_write:
            return Look()
        self._sent_at = now
        spec = self._release(wall) if self._stopping else self._claim(wall)
        return Write(replace(self._lease or self._blank, spec=spec))

    def _claim(self, wall: str) -> LeaseSpec:
        known = self._lease.spec if self._lease else LeaseSpec()
        ours = self.holder == self._identity
        transitions = known.lease_transitions or 0
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._timing.lease_duration,
            acquire_time=(known.acquire_time if ours else None) or wall,
            renew_time=wall,
            lease_transitions=transitions if ours or not self._lease else transitions + 1,
        )

    def _release(self, wall: str) -> LeaseSpec:
        """Return the lease of nobody, as client-go leaves it (ReleaseOnCancel)."""
        known = self._lease.spec if self._lease else LeaseSpec()
        return LeaseSpec("", 1, wall, wall, known.lease_transitions or 0)

    # --- what came of it ------------------------------------------------------------------

    def looked(self, now: float, lease: Lease | None) -> None:
        """Take in the lease as the server has it; None if there is none."""
        self._see(now, lease)
        ours = self.holder == self._identity
        if not ours:
            self._leads_until = -inf
        if self._stopping:
            self._may_write = ours
            self._finished = not ours
            return
        expires = self._changed_at + self._duration()
        self._may_write = ours or not self.holder or expires <= now
        if not self._may_write:
            self._act_at = min(now + self._pause(now), expires)

    def written(self, now: float, lease: Lease) -> None:
        """Take in the lease as the server answered our write."""
        before = self._lease.metadata.resource_version if self._lease else ""
        self._see(now, lease)
        self._may_write = True
        if not self.holder:
            self._finished = True
        elif not self._stopping:
            self._act_at = now + self._timing.retry_period
            # With a wall clock that stands still the server finds nothing to change. The others
            # do not see then that we are alive, so it was no renewal.
            if lease.metadata.resource_version != before:
                self._leads_until = self._sent_at + self._timing.renew_deadline

    def failed(self, now: float, *, conflict: bool = False) -> None:
        """Take note that a request failed, or that its answer did not come.

        ``conflict`` is for a write refused because somebody else was faster (409).
        """
        self._may_write = False
        self._act_at = now if conflict else now + self._pause(now)
        if self._stopping:
            self._failures_to_release += 1
            self._finished = self._failures_to_release >= _MOST_TRIES_TO_RELEASE

    # --- inside ---------------------------------------------------------------------------

    def _see(self, now: float, lease: Lease | None) -> None:
        if self._lease is None or lease is None or lease.spec != self._lease.spec:
            self._changed_at = now
        self._lease = lease

    def _duration(self) -> int:
        """Return for how long the holder keeps the lease: what it promised, not what we would."""
        promised = self._lease.spec.lease_duration_seconds if self._lease else None
        return promised or self._timing.lease_duration

    def _pause(self, now: float) -> float:
        period = self._timing.retry_period
        return period if self.is_leader(now) else period * (1 + _JITTER * self._lot())
