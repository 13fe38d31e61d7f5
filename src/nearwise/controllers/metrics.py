"""Metrics of the two controllers, under the names that kube-controller-manager 1.36 gives them.

Law: here is counted and printed; what is counted is said by those who do it. Numbers are kept as
plain values, and become samples when somebody asks.

Where Kubernetes calls a counter without ``_total`` (``..._changes``, ``..._syncs``), the exposition
formats know no such counter: it is printed as untyped, as Go's library does for OpenMetrics.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    UnknownMetricFamily,
)
from prometheus_client.registry import Collector

from nearwise.controllers.writing import Difference
from nearwise.loops.distribution import Distribution
from nearwise.machinery.cache import ObjectKey

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily | UnknownMetricFamily

_ENDPOINTS: Final = tuple(2.0**power for power in range(1, 16))
_SECONDS: Final = tuple(0.001 * 2**power for power in range(15))
_SLICES: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # Go's default


class Held(NamedTuple):
    """What a service (or an Endpoints) has: endpoints, slices, and slices if they were filled."""

    endpoints: int = 0
    slices: int = 0
    ideal: int = 0


class _Changes(Collector):
    """What the metrics of both controllers have in common."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._changes: Counter[str] = Counter()
        self._added = Distribution(_ENDPOINTS)
        self._removed = Distribution(_ENDPOINTS)
        self._held: dict[ObjectKey, Held] = {}
        self._totals = Held()

    def counted(self, verb: str) -> None:
        """Count a write: create, update or delete."""
        self._changes[verb] += 1

    def holds(self, key: ObjectKey, held: Held) -> None:
        """Take note of what a service or an Endpoints has by now."""
        before = self._held.get(key, Held())
        self._held[key] = held
        self._totals = Held(
            self._totals.endpoints - before.endpoints + held.endpoints,
            self._totals.slices - before.slices + held.slices,
            self._totals.ideal - before.ideal + held.ideal,
        )

    def forget(self, key: ObjectKey) -> None:
        """Count a service or an Endpoints no more."""
        self.holds(key, Held())
        del self._held[key]

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        changes = self._untyped("changes", "Number of EndpointSlice changes", "operation")
        yield _labelled(changes, self._changes)
        yield self._histogram(self._added, "endpoints_added_per_sync", "Endpoints added in a sync")
        yield self._histogram(
            self._removed, "endpoints_removed_per_sync", "Endpoints removed in a sync"
        )
        for name, text, number in (
            ("endpoints_desired", "Endpoints that are wanted", self._totals.endpoints),
            ("num_endpoint_slices", "EndpointSlices that there are", self._totals.slices),
            ("desired_endpoint_slices", "EndpointSlices if they were filled", self._totals.ideal),
        ):
            yield GaugeMetricFamily(f"{self._prefix}_{name}", text, number)

    def _untyped(self, name: str, text: str, label: str) -> UnknownMetricFamily:
        return UnknownMetricFamily(f"{self._prefix}_{name}", text, labels=[label])

    def _histogram(self, numbers: Distribution, name: str, text: str) -> HistogramMetricFamily:
        family = HistogramMetricFamily(f"{self._prefix}_{name}", text, labels=[])
        numbers.add_to(family)
        return family


class SliceMetrics(_Changes):
    """What Kubernetes tells of the EndpointSlice controller."""

    def __init__(self) -> None:
        super().__init__("endpoint_slice_controller")
        self._syncs: Counter[str] = Counter()
        self._written: dict[tuple[str, str], Distribution] = defaultdict(
            lambda: Distribution(_SLICES)
        )
        self._distribution: dict[ObjectKey, str] = {}
        self._services: Counter[str] = Counter()

    def synced(self, result: str) -> None:
        """Count a sync: success, error or stale."""
        self._syncs[result] += 1

    def planned(self, difference: Difference) -> None:
        """Take note of what one sync is about to change."""
        self._added.observe(difference.added)
        self._removed.observe(difference.removed)

    def wrote(self, writes: int, topology: str, distribution: str) -> None:
        """Take note of how many slices one sync wrote, and for which kind of service."""
        self._written[topology, distribution].observe(writes)

    def goes_by(self, service: ObjectKey, distribution: str) -> None:
        """Take note of the trafficDistribution that a service goes by; empty if by none."""
        before = self._distribution.pop(service, "")
        if before:
            self._services[before] -= 1
        if distribution:
            self._services[distribution] += 1
            self._distribution[service] = distribution

    def forget(self, key: ObjectKey) -> None:
        """Count a service no more."""
        super().forget(key)
        self.goes_by(key, "")

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        yield from super().collect()
        yield _labelled(self._untyped("syncs", "Number of syncs", "result"), self._syncs)
        written = HistogramMetricFamily(
            f"{self._prefix}_endpointslices_changed_per_sync",
            "EndpointSlices written in a sync",
            labels=["topology", "traffic_distribution"],
        )
        for kind, numbers in sorted(self._written.items()):
            numbers.add_to(written, *kind)
        yield written
        services = GaugeMetricFamily(
            f"{self._prefix}_services_count_by_traffic_distribution",
            "Services that go by a trafficDistribution",
            labels=["traffic_distribution"],
        )
        yield _labelled(services, self._services)


class MirroringMetrics(_Changes):
    """What Kubernetes tells of the mirroring controller."""

    def __init__(self) -> None:
        super().__init__("endpoint_slice_mirroring_controller")
        self._updated = Distribution(_ENDPOINTS)
        self._skipped = Distribution(_ENDPOINTS)
        self._took = Distribution(_SECONDS)

    def planned(self, difference: Difference, skipped: int) -> None:
        """Take note of what one sync is about to change, and how many addresses it leaves out."""
        self._added.observe(difference.added)
        self._updated.observe(difference.updated)
        self._removed.observe(difference.removed)
        self._skipped.observe(skipped)

    def took(self, seconds: float) -> None:
        """Take note of how long one sync took."""
        self._took.observe(seconds)

    def collect(self) -> Iterator[Family]:
        """Give the numbers of this moment."""
        yield from super().collect()
        for numbers, name, text in (
            (self._updated, "endpoints_updated_per_sync", "Endpoints updated in a sync"),
            (self._skipped, "addresses_skipped_per_sync", "Addresses left out in a sync"),
            (self._took, "endpoints_sync_duration", "Seconds that a sync took"),
        ):
            yield self._histogram(numbers, name, text)


def _labelled(
    family: GaugeMetricFamily | UnknownMetricFamily, numbers: Counter[str]
) -> GaugeMetricFamily | UnknownMetricFamily:
    """Add numbers to a family that has one label, by its values."""
    for value, number in sorted(numbers.items()):
        family.add_metric([value], number)
    return family
