"""Metrics of the process around the controllers: queues and the lease.

Names and labels are those of client-go, under which kube-controller-manager 1.36 has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from nearwise.controllers.election import Candidate
from nearwise.controllers.metrics import Family
from nearwise.loops.distribution import cumulative
from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import Workers
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.queue_metrics import BOUNDS


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


def _gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"workqueue_{name}", text, labels=["name"])


def _histogram(name: str, text: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(f"workqueue_{name}", text, labels=["name"])
