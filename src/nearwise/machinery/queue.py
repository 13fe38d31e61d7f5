"""A queue of keys that are to be worked on: each once, one worker a key, again after a failure.

Law: the queue holds keys, never what happened to them, so a hundred events about one service are
one piece of work. A key that is added while it is worked on is worked on again afterwards.

::

               add                    next                    done
    (nothing) ------> ready ----------------> being worked on ------> (nothing)
        |               ^                        |   add
        | add_after     | its time has come      v
        +----------> waiting                  worked on, to be done again --done--> ready

A key waits or is ready, never both: of several times the earliest counts, and now is the earliest
of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Final, Generic, TypeVar

from nearwise.machinery.queue_metrics import Durations, QueueMetrics
from nearwise.machinery.wait import Wait

K = TypeVar("K", bound=Hashable)

_MOST_DOUBLINGS: Final = 60  # beyond every longest delay; a float would overflow at 1024


class TokenBucket:
    """How often something may happen over all: ``rate`` times a second, ``burst`` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = -inf

    def reserve(self, now: float) -> float:
        """Take a token, be it one that is still to come; return the seconds until it is there."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate) - 1
        self._at = now
        return max(0.0, -self._tokens / self._rate)


class WorkQueue(Generic[K]):
    """Keys to be worked on, in the order in which they were added."""

    def __init__(
        self,
        *,
        first_delay: float = 1.0,
        longest_delay: float = 1000.0,
        retries: TokenBucket | None = None,
    ) -> None:
        """Make an empty queue.

        A key that failed waits ``first_delay`` seconds, then twice that, up to ``longest_delay``.
        ``retries`` bounds how often keys are tried again over all.
        """
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._retries = retries
        self._ready: deque[K] = deque()
        self._dirty: dict[K, float] = {}  # to be worked on, and since when
        self._processing: dict[K, float] = {}  # being worked on, and since when
        self._due: dict[K, float] = {}  # waiting, and until when
        self._heap: list[tuple[float, int, K]] = []  # of the due; those that changed stay in it
        self._order = count()
        self._failures: dict[K, int] = {}
        self._shut_down = False
        self._adds = 0
        self._retried = 0
        self._queue_duration = Durations()
        self._work_duration = Durations()

    # --- what is to be done ---------------------------------------------------------------

    def add(self, key: K, now: float) -> None:
        """Have a key worked on, as soon as nobody is working on it."""
        if self._shut_down or key in self._dirty:
            return
        self._due.pop(key, None)
        self._adds += 1
        self._dirty[key] = now
        if key not in self._processing:
            self._ready.append(key)

    def add_after(self, key: K, delay: float, now: float) -> None:
        """Have a key worked on after some seconds, unless it will be earlier anyway."""
        if delay <= 0:
            self.add(key, now)
            return
        at = now + delay
        if self._shut_down or key in self._dirty or self._due.get(key, inf) <= at:
            return
        self._due[key] = at
        heappush(self._heap, (at, next(self._order), key))
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
            heapify(self._heap)

    def retry(self, key: K, now: float, at_least: float = 0.0) -> float:
        """Have a key worked on again because it failed; return after how many seconds.

        ``at_least`` is what whoever refused it asked for.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._retried += 1
        delay = self._first_delay * 2.0 ** min(failures, _MOST_DOUBLINGS)
        delay = max(min(delay, self._longest_delay), at_least)
        if self._retries is not None:
            delay = max(delay, self._retries.reserve(now))
        self.add_after(key, delay, now)
        return delay

    def forget(self, key: K) -> None:
        """Take note that a key succeeded: its next failure is a first one again."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often in a row a key has failed."""
        return self._failures.get(key, 0)

    # --- workers --------------------------------------------------------------------------

    def next(self, now: float) -> K | Wait:
        """Hand out the next key, which must be told ``done``; or say how long there is none."""
        self._ripen(now)
        if not self._ready:
            return Wait(max(0.0, self._heap[0][0] - now) if self._heap else inf)
        key = self._ready.popleft()
        self._queue_duration.observe(now - self._dirty.pop(key))
        self._processing[key] = now
        return key

    def done(self, key: K, now: float) -> None:
        """Take note that a key is worked on no longer. Raises KeyError if it was not."""
        self._work_duration.observe(now - self._processing.pop(key))
        if key in self._dirty:
            self._ready.append(key)

    def shut_down(self) -> None:
        """Take in no more keys and drop those that wait; what is ready is still handed out."""
        self._shut_down = True
        self._due.clear()
        self._heap.clear()

    @property
    def drained(self) -> bool:
        """Whether the queue was shut down and all that was in it is done."""
        return self._shut_down and not self._dirty and not self._processing

    def metrics(self, now: float) -> QueueMetrics:
        """Return the numbers of this moment."""
        running = [now - since for since in self._processing.values()]
        return QueueMetrics(
            depth=len(self._dirty),
            adds=self._adds,
            retries=self._retried,
            queue_duration=self._queue_duration.histogram(),
            work_duration=self._work_duration.histogram(),
            unfinished_work_seconds=sum(running),
            longest_running_processor_seconds=max(running, default=0.0),
        )

    # --- inside ---------------------------------------------------------------------------

    def _ripen(self, now: float) -> None:
        """Make ready what has waited long enough; leave the heap with a living entry on top."""
        while self._heap:
            at, _, key = self._heap[0]
            alive = self._due.get(key) == at
            if alive and at > now:
                return
            heappop(self._heap)
            if alive:
                self.add(key, at)


def controller_queue() -> WorkQueue[K]:
    """Return a queue with the delays after failures of Kubernetes' EndpointSlice controllers.

    A key waits 1 s, 2 s, 4 s, to 1000 s. Over all keys a hundred are tried again at once and then
    ten a second, so that a server that refuses everything is not asked by all of them.
    """
    return WorkQueue(retries=TokenBucket(rate=10, burst=100))
