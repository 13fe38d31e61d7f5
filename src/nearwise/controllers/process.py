"""The process around the controllers: who works when, and how it ends.

Law: nothing is decided here about slices or leases. Caches follow the API server from the first
moment. Workers work while all caches have been complete once and, with leader election, while this
replica leads; every write is checked for that again. It ends in one of two ways::

    stopped    take in nothing more, finish what is under way, write the events, give the lease
               back; each within a bound, for whoever asked will not wait for ever
    lost       drop everything at once: another replica may lead by now

A process that has lost the lease does not try again. It ends, and its supervisor starts it anew,
as with kube-controller-manager.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Coroutine
from enum import StrEnum
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector

from nearwise.controllers import endpointslices, mirroring
from nearwise.controllers.caches import Caches
from nearwise.controllers.election import Candidate, LeadingCluster
from nearwise.controllers.endpointslices import EndpointSliceController
from nearwise.controllers.metrics import MirroringMetrics, SliceMetrics
from nearwise.controllers.mirroring import MirroringController
from nearwise.controllers.process_metrics import LeaseCollector, QueueCollector
from nearwise.controllers.recorder import Recorder
from nearwise.loops.cluster import Cluster
from nearwise.loops.counted import CountedCluster
from nearwise.loops.informer import Informer
from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import Workers
from nearwise.machinery.batching import Batching
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.election import Timing
from nearwise.slices.mirror import MAX_PER_SUBSET
from nearwise.slices.reconcile import Rules

_FINISHING: Final = 10.0  # seconds for what is under way; pods get 30 to end in all
_TELLING: Final = 5.0  # for the events that wait
_GIVING_BACK: Final = 5.0  # for the lease

_log = logging.getLogger(__name__)


class Ending(StrEnum):
    """How a run ended."""

    STOPPED = "stopped"  # in good order
    LOST = "lost"  # another replica may lead by now


class SlicesSettings(msgspec.Struct, frozen=True):
    """How the EndpointSlice controller works. All defaults are Kubernetes'."""

    workers: int = 5
    rules: Rules = Rules()
    batching: Batching = Batching()


class MirroringSettings(msgspec.Struct, frozen=True):
    """How the mirroring controller works."""

    workers: int = 5
    max_per_subset: int = MAX_PER_SUBSET
    batching: Batching = Batching()


class ElectionSettings(msgspec.Struct, frozen=True):
    """Over which lease (namespace and name) replicas elect their leader, and how fast."""

    lease: ObjectKey = ("kube-system", "nearwise-controller")
    timing: Timing = Timing()


class Settings(msgspec.Struct, frozen=True):
    """What an operator may choose; a part that is None does not run."""

    slices: SlicesSettings | None = SlicesSettings()
    mirroring: MirroringSettings | None = MirroringSettings()
    election: ElectionSettings | None = ElectionSettings()


class Process:
    """The controllers of one replica, and everything around them."""

    def __init__(
        self, cluster: Cluster, settings: Settings, surroundings: Surroundings, host: str = ""
    ) -> None:
        """Prepare to run on a cluster; ``host`` says in the metrics where it is."""
        self.registry = CollectorRegistry()
        counted = CountedCluster(cluster, host)
        self._caches = Caches(counted, surroundings)
        self._surroundings = surroundings
        self._candidate: Candidate | None = None
        self._writable: Cluster = counted
        if settings.election is not None:
            self._candidate = Candidate(
                counted,
                settings.election.lease,
                _identity(surroundings),
                surroundings,
                settings.election.timing,
            )
            self._writable = LeadingCluster(counted, self._candidate.is_leader)
            self.registry.register(LeaseCollector(self._candidate))
        self._recorders: list[Recorder] = []
        self._work: list[tuple[Workers[ObjectKey], int]] = []
        if settings.slices is not None:
            self._add_slices(settings.slices)
        if settings.mirroring is not None:
            self._add_mirroring(settings.mirroring)
        self._stopping = False
        self.registry.register(QueueCollector((each for each, _ in self._work), surroundings))
        self.registry.register(counted)
        ProcessCollector(registry=self.registry)

    def checks(self) -> dict[str, str]:
        """Return what must be well for this replica to be ready, and what is wrong with it."""
        caches = {each.name: _trouble(each) for each in self._caches.informers()}
        return {**caches, "shutdown": "it is stopping" if self._stopping else ""}

    async def run(self, stop: asyncio.Event) -> Ending:
        """Run until stopped, or until the lease is lost."""
        try:
            async with asyncio.TaskGroup() as tasks:
                follow = [tasks.create_task(self._caches.run())]
                follow += [tasks.create_task(each.run()) for each in self._recorders]
                election = tasks.create_task(self._take_part())
                ending = await self._work_until(stop, tasks)
                self._stopping = True
                if ending is Ending.STOPPED:
                    telling = asyncio.gather(*(each.flush() for each in self._recorders))
                    await _within(_TELLING, telling, "events are dropped")
                election.cancel()
                if self._candidate is not None:
                    giving = self._candidate.give_back()
                    await _within(_GIVING_BACK, giving, "the lease is not given back")
                for task in follow:
                    task.cancel()
        except BaseExceptionGroup as group:
            raise _first(group) from group
        _log.info("ended: %s", ending)
        return ending

    async def _work_until(self, stop: asyncio.Event, tasks: asyncio.TaskGroup) -> Ending:
        """Work as soon as we may, and as long as we may."""
        await _any(stop.wait(), self._may_work())
        if stop.is_set():
            return Ending.STOPPED
        for workers, number in self._work:
            _log.info("%s: %d workers begin", workers.name, number)
        work = [tasks.create_task(workers.run(number)) for workers, number in self._work]
        await _any(stop.wait(), self._lost())
        if stop.is_set():
            _log.info("stopping: what is under way is finished")
            for workers, _ in self._work:
                workers.stop()
            await _any(asyncio.wait(work, timeout=_FINISHING), self._lost())
        else:
            _log.error("the lease is lost: all work is dropped")
        for task in work:
            task.cancel()
        await asyncio.wait(work)
        return Ending.STOPPED if stop.is_set() else Ending.LOST

    async def _may_work(self) -> None:
        await self._caches.synced()
        _log.info("all caches are complete")
        if self._candidate is not None:
            await self._candidate.gained()

    async def _take_part(self) -> None:
        if self._candidate is not None:
            await self._candidate.run()

    async def _lost(self) -> None:
        if self._candidate is None:
            await asyncio.Event().wait()
        else:
            await self._candidate.lost()

    # --- the parts ------------------------------------------------------------------------

    def _add_slices(self, settings: SlicesSettings) -> None:
        metrics, recorder = SliceMetrics(), self._add_recorder(endpointslices.NAME)
        controller = EndpointSliceController(
            self._writable,
            self._caches,
            recorder,
            self._surroundings,
            metrics,
            rules=settings.rules,
            batching=settings.batching,
        )
        self._work.append((controller.workers, settings.workers))
        self.registry.register(metrics)

    def _add_mirroring(self, settings: MirroringSettings) -> None:
        metrics, recorder = MirroringMetrics(), self._add_recorder(mirroring.NAME)
        controller = MirroringController(
            self._writable,
            self._caches,
            recorder,
            self._surroundings,
            metrics,
            max_per_subset=settings.max_per_subset,
            batching=settings.batching,
        )
        self._work.append((controller.workers, settings.workers))
        self.registry.register(metrics)

    def _add_recorder(self, component: str) -> Recorder:
        recorder = Recorder(self._writable, component, self._surroundings)
        self._recorders.append(recorder)
        return recorder


def _identity(surroundings: Surroundings) -> str:
    """Return a name that is this process's alone, in which people find the machine or the pod."""
    return f"{socket.gethostname()}_{int(surroundings.lot() * 2**52):013x}"


def _trouble(informer: Informer[Any]) -> str:
    if informer.trouble or informer.has_synced:
        return informer.trouble
    return "not complete yet"


async def _any(*awaited: Coroutine[Any, Any, object]) -> None:
    """Wait until one of these is done, and drop the others."""
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _within(seconds: float, awaited: Awaitable[object], otherwise: str) -> None:
    try:
        async with asyncio.timeout(seconds):
            await awaited
    except TimeoutError:
        _log.warning("it takes too long: %s", otherwise)


def _first(error: BaseException) -> BaseException:
    """Return the error itself out of groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
