"""Metrics with Kubernetes' names and labels, on a registry of our own."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from nearwise.controllers.surroundings import Surroundings
from nearwise.controllers.workers import Workers
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.queue_metrics import BOUNDS
from nearwise.machinery.queue_metrics import Histogram as Durations


class SliceMetrics:
    """What Kubernetes tells of a controller that writes slices.

    ``prefix`` is ``endpoint_slice_controller`` or ``endpoint_slice_mirroring_controller``.
    """

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self._changes = Counter(
            "changes",
            "Number of EndpointSlice changes",
            ["operation"],
            namespace=prefix,
            registry=registry,
        )
        self._syncs = Counter(
            "syncs",
            "Number of syncs by their result",
            ["result"],
            namespace=prefix,
            registry=registry,
        )
        self._changed = Histogram(
            "endpointslices_changed_per_sync",
            "Number of slices written in a sync",
            ["topology", "traffic_distribution"],
            namespace=prefix,
            registry=registry,
        )
        self._desired = _gauge(registry, prefix, "endpoints_desired", "Number of endpoints wanted")
        self._slices = _gauge(registry, prefix, "num_endpoint_slices", "Number of slices")
        self._ideal = _gauge(
            registry, prefix, "desired_endpoint_slices", "Number of slices if they were filled"
        )
        self._counts: dict[ObjectKey, tuple[int, int, int]] = {}

    def counted(self, verb: str) -> None:
        """Count a write."""
        self._changes.labels(verb).inc()

    def synced(self, result: str) -> None:
        """Count a sync: success, error or stale."""
        self._syncs.labels(result).inc()

    def wrote(self, writes: int, topology: str, distribution: str) -> None:
        """Take note of how many slices one sync wrote, and for which kind of service."""
        self._changed.labels(topology, distribution).observe(writes)

    def holds(self, service: ObjectKey, counts: tuple[int, int, int]) -> None:
        """Take note of a service's endpoints, slices, and slices if they were filled."""
        self._move(self._counts.get(service, (0, 0, 0)), counts)
        self._counts[service] = counts

    def forget(self, service: ObjectKey) -> None:
        """Count a service no more."""
        self._move(self._counts.pop(service, (0, 0, 0)), (0, 0, 0))

    def _move(self, before: tuple[int, int, int], after: tuple[int, int, int]) -> None:
        for gauge, old, new in zip(
            (self._desired, self._slices, self._ideal), before, after, strict=True
        ):
            gauge.inc(new - old)


class QueueCollector(Collector):
    """The queues of all workers, as client-go's ``workqueue_*``."""

    def __init__(self, workers: list[Workers], surroundings: Surroundings) -> None:
        self._workers = workers
        self._now = surroundings.now

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """Give the numbers of this moment."""
        depth = _family(GaugeMetricFamily, "depth", "Keys that wait for a worker")
        adds = _family(CounterMetricFamily, "adds", "Keys added")
        retries = _family(CounterMetricFamily, "retries", "Keys tried again")
        waited = _family(HistogramMetricFamily, "queue_duration_seconds", "How long keys waited")
        worked = _family(HistogramMetricFamily, "work_duration_seconds", "How long work took")
        open_ = _family(GaugeMetricFamily, "unfinished_work_seconds", "Work under way, added up")
        longest = _family(
            GaugeMetricFamily, "longest_running_processor_seconds", "The longest work under way"
        )
        for workers in self._workers:
            numbers, name = workers.queue.metrics(self._now()), [workers.name]
            depth.add_metric(name, numbers.depth)
            adds.add_metric(name, numbers.adds)
            retries.add_metric(name, numbers.retries)
            waited.add_metric(name, *_buckets(numbers.queue_duration))
            worked.add_metric(name, *_buckets(numbers.work_duration))
            open_.add_metric(name, numbers.unfinished_work_seconds)
            longest.add_metric(name, numbers.longest_running_processor_seconds)
        yield from (depth, adds, retries, waited, worked, open_, longest)


def _family(kind: type, name: str, text: str):  # type: ignore[no-untyped-def]
    return kind(f"workqueue_{name}", text, labels=["name"])


def _buckets(durations: Durations) -> tuple[list[tuple[str, float]], float]:
    total, buckets = 0, []
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), durations.counts, strict=True):
        total += count
        buckets.append((bound, float(total)))
    return buckets, durations.total


def _gauge(registry: CollectorRegistry, prefix: str, name: str, text: str) -> Gauge:
    return Gauge(name, text, namespace=prefix, registry=registry)
