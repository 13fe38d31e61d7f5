"""Metrics of the process around the controllers: queues, requests, the lease.

Names and labels are those of client-go, under which kube-controller-manager 1.36 has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Final, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from nearwise.controllers.election import Candidate
from nearwise.controllers.metrics import Family, cumulative
from nearwise.loops.cluster import Cluster
from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import Workers
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.queue_metrics import BOUNDS
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource

T = TypeVar("T")

_NO_ANSWER: Final = "<error>"


class QueueCollector(Collector):
    """The queues of all workers, as client-go's ``workqueue_*``."""

    def __init__(self, workers: Iterable[Workers[ObjectKey]], surroundings: Surroundings) -> None:
        self._workers = tuple(workers)
        self._now = surroundings.now

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        depth = _gauge("depth", "Keys that wait for a worker")
        adds = CounterMetricFamily("workqueue_adds", "Keys added", labels=["name"])
        retries = CounterMetricFamily("workqueue_retries", "Keys tried again", labels=["name"])
        waited = _histogram("queue_duration_seconds", "How long keys waited")
        worked = _histogram("work_duration_seconds", "How long work on a key took")
        unfinished = _gauge("unfinished_work_seconds", "Work under way, added up")
        longest = _gauge("longest_running_processor_seconds", "The longest work under way")
        for workers in self._workers:
            numbers, name = workers.queue.metrics(self._now()), [workers.name]
            depth.add_metric(name, numbers.depth)
            adds.add_metric(name, numbers.adds)
            retries.add_metric(name, numbers.retries)
            for family, durations in (
                (waited, numbers.queue_duration),
                (worked, numbers.work_duration),
            ):
                family.add_metric(name, cumulative(BOUNDS, durations.counts), durations.total)
            unfinished.add_metric(name, numbers.unfinished_work_seconds)
            longest.add_metric(name, numbers.longest_running_processor_seconds)
        yield from (depth, adds, retries, waited, worked, unfinished, longest)


class LeaseCollector(Collector):
    """Whether we lead, as client-go's ``leader_election_master_status``."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        family = GaugeMetricFamily(
            "leader_election_master_status", "1 while this replica leads, else 0", labels=["name"]
        )
        family.add_metric([self._candidate.lease[1]], float(self._candidate.is_leader()))
        yield family


class CountedCluster(Collector):
    """A cluster whose requests are counted, as client-go's ``rest_client_requests_total``.

    Implements ``Cluster``. A watch counts when it brings something, or ends.
    """

    def __init__(self, cluster: Cluster, host: str) -> None:
        """Count the requests to a cluster at this host (and port)."""
        self._cluster = cluster
        self._host = host
        self._requests: Counter[tuple[str, str]] = Counter()

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        family = CounterMetricFamily(
            "rest_client_requests",
            "Requests by status code, method and host",
            labels=["code", "method", "host"],
        )
        for (code, method), number in sorted(self._requests.items()):
            family.add_metric([code, method, self._host], number)
        yield family

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        """List."""
        return await self._counted("GET", self._cluster.page(resource, query))

    async def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        """Watch."""
        code = "200"
        heard = False
        try:
            async with aclosing(self._cluster.watch(resource, query)) as events:  # type: ignore[type-var]
                async for event in events:
                    if not heard:
                        heard = True
                        self._requests[code, "GET"] += 1
                    yield event
        except StatusError as refused:
            code = str(refused.status.code)
            raise
        except LostError:
            code = _NO_ANSWER
            raise
        finally:
            if not heard:
                self._requests[code, "GET"] += 1

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        """Read."""
        return await self._counted("GET", self._cluster.get(resource, namespace, name))

    async def create(self, resource: Resource[K], obj: K) -> K:
        """Create."""
        return await self._counted("POST", self._cluster.create(resource, obj), good="201")

    async def update(self, resource: Resource[K], obj: K) -> K:
        """Replace."""
        return await self._counted("PUT", self._cluster.update(resource, obj))

    async def delete(self, resource: Resource[K], obj: K) -> None:
        """Delete."""
        await self._counted("DELETE", self._cluster.delete(resource, obj))

    async def _counted(self, method: str, request: Awaitable[T], *, good: str = "200") -> T:
        code = _NO_ANSWER
        try:
            answer = await request
            code = good
            return answer
        except StatusError as refused:
            code = str(refused.status.code)
            raise
        finally:
            self._requests[code, method] += 1


def _gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"workqueue_{name}", text, labels=["name"])


def _histogram(name: str, text: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(f"workqueue_{name}", text, labels=["name"])
