"""Metrics of a proxy: those of kube-proxy 1.36 under their names, and where services go.

Law: here is only printed; what is counted is said by those who do it. The mode of ten thousand
services is worked out when somebody asks, not kept up to date by every sync.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from nearwise.loops.distribution import Distribution
from nearwise.machinery.cache import ObjectKey
from nearwise.model import Service
from nearwise.nft.compile import Routes
from nearwise.proxy.agent import Agent
from nearwise.proxy.counts import Counts
from nearwise.proxy.family_state import FamilyState
from nearwise.routing import Mode
from nearwise.routing.backend import PortKey

_Metric = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_PREFIX: Final = "kubeproxy_"
_RULES: Final = "kubeproxy_sync_proxy_rules_"
_OURS: Final = "nearwise_proxy_"
_PORT: Final = ("namespace", "service", "port", "family")


class _Sample(NamedTuple):
    labels: tuple[str, ...]
    number: float


# --- of each family: name, what it says, where the number is ------------------------------------

_HISTOGRAMS: Final[tuple[tuple[str, str, Callable[[Counts], Distribution]], ...]] = (
    (
        f"{_RULES}duration_seconds",
        "Seconds a sync took",
        lambda counts: counts.syncs,
    ),
    (
        f"{_PREFIX}sync_full_proxy_rules_duration_seconds",
        "Seconds a sync of everything took",
        lambda counts: counts.full_syncs,
    ),
    (
        f"{_PREFIX}sync_partial_proxy_rules_duration_seconds",
        "Seconds a sync of what changed took",
        lambda counts: counts.partial_syncs,
    ),
    (
        f"{_PREFIX}network_programming_duration_seconds",
        "Seconds from a change of an endpoint, as its slice tells it, to the kernel",
        lambda counts: counts.programming,
    ),
    (
        f"{_PREFIX}conntrack_reconciler_sync_duration_seconds",
        "Seconds it took to find and forget stale flows",
        lambda counts: counts.conntrack,
    ),
    (
        f"{_OURS}compile_duration_seconds",
        "Seconds of a sync in which it was worked out what to change",
        lambda counts: counts.compiling,
    ),
    (
        f"{_OURS}kernel_duration_seconds",
        "Seconds of a sync in which the kernel was read and changed",
        lambda counts: counts.kernel,
    ),
)

_GAUGES: Final[tuple[tuple[str, str, Callable[[Counts], float]], ...]] = (
    (
        f"{_RULES}last_timestamp_seconds",
        "When the kernel was last brought to what it should be",
        lambda counts: counts.last_synced,
    ),
    (
        f"{_RULES}last_queued_timestamp_seconds",
        "When something was last to get into the kernel",
        lambda counts: counts.last_queued,
    ),
)

_COUNTERS: Final[tuple[tuple[str, str, Callable[[Counts], float]], ...]] = (
    (
        f"{_RULES}nftables_sync_failures",
        "Syncs that failed",
        lambda counts: counts.failures,
    ),
    (
        f"{_PREFIX}conntrack_reconciler_deleted_entries",
        "Stale flows that the kernel was told to forget",
        lambda counts: counts.forgotten_flows,
    ),
    (
        f"{_OURS}forgotten_pins",
        "Stale choices of session affinity that the kernel was told to forget",
        lambda counts: counts.forgotten_pins,
    ),
    (
        f"{_OURS}drift_repairs",
        "How often somebody had touched our table and it was put right",
        lambda counts: counts.repairs,
    ),
)

# --- all of them ----------------------------------------------------------------------------


class ProxyCollector(Collector):
    """All metrics of a proxy."""

    def __init__(self, agent: Agent, answers: Mapping[tuple[str, int], int]) -> None:
        """Tell of an agent, and how often which health page was ``answers``-ed with which code."""
        self._agent = agent
        self._answers = answers

    def collect(self) -> Iterator[_Metric]:
        """Give the numbers of this moment."""
        families = [*self._agent.programming.families.values()]
        yield from _syncs(families)
        yield from self._changes()
        yield from self._health()
        yield from self._tables(families)
        yield from _services(families)
        yield _nobody_here(families)

    def _changes(self) -> Iterator[_Metric]:
        changes = self._agent.changes
        for what, total, pending in (
            ("endpoint", changes.slices, changes.slices_pending),
            ("service", changes.services, changes.services_pending),
        ):
            name = f"{_RULES}{what}_changes"
            yield CounterMetricFamily(name, f"Changes of {what}s that were told", total)
            yield GaugeMetricFamily(
                f"{name}_pending", f"Changes of {what}s that are not in the kernel yet", pending
            )

    def _health(self) -> Iterator[_Metric]:
        for page in ("healthz", "livez"):
            counter = CounterMetricFamily(
                f"{_PREFIX}proxy_{page}", f"Answers of /{page} by status code", labels=["code"]
            )
            for (path, code), count in sorted(self._answers.items()):
                if path == f"/{page}":
                    counter.add_metric([str(code)], count)
            yield counter

    def _tables(self, families: Iterable[FamilyState]) -> Iterator[_Metric]:
        """Tell what is in the tables, and of what is not served."""
        client = self._agent.client
        yield _gauge(
            f"{_OURS}node_info",
            "1 for the node and zone that near is near to",
            ("node", "zone"),
            [_Sample((client.node, client.zone or ""), 1)],
        )
        yield _gauge(
            f"{_OURS}elements",
            "Elements of each set and map",
            ("family", "set"),
            (
                _Sample((each.family.api, name), len(elements))
                for each in families
                if each.table.ruleset is not None
                for name, elements in sorted(each.table.ruleset.elements.items())
            ),
        )
        left_out = Counter(
            (each.family.api, why.code)
            for each in families
            for reasons in each.table.left_out.values()
            for why in reasons
        )
        yield _gauge(
            f"{_OURS}left_out",
            "What is not served, by reason",
            ("family", "reason"),
            (_Sample(labels, count) for labels, count in sorted(left_out.items())),
        )


def _syncs(families: Iterable[FamilyState]) -> Iterator[_Metric]:
    """Tell of syncs, as kube-proxy does."""
    for name, text, numbers in _HISTOGRAMS:
        histogram = HistogramMetricFamily(name, text, labels=["ip_family"])
        for each in families:
            numbers(each.counts).add_to(histogram, each.family.api)
        yield histogram
    for name, text, number in _GAUGES:
        samples = (_Sample((each.family.api,), number(each.counts)) for each in families)
        yield _gauge(name, text, ("ip_family",), samples)
    for name, text, number in _COUNTERS:
        counter = CounterMetricFamily(name, text, labels=["ip_family"])
        for each in families:
            counter.add_metric([each.family.api], number(each.counts))
        yield counter


def _services(families: Iterable[FamilyState]) -> Iterator[_Metric]:
    """Tell of each service port where it goes, and how often it could not stay near."""
    modes = GaugeMetricFamily(
        f"{_OURS}service_mode",
        "1 for how the endpoints of a service port are chosen on this node",
        labels=[*_PORT, "mode"],
    )
    used = GaugeMetricFamily(
        f"{_OURS}service_endpoints",
        "Endpoints of a service port that are used on this node",
        labels=_PORT,
    )
    fallbacks = CounterMetricFamily(
        f"{_OURS}service_fallbacks",
        "How often connections of a service port began to go elsewhere than asked for, and why",
        labels=[*_PORT, "reason"],
    )
    for each in families:
        family = each.family.api
        for key, routes in sorted(each.routes.routes.items()):
            names = _names(routes.service)
            for port, selection in routes.selections.items():
                labels = (*key, names[port], family)
                mode = selection.mode if selection.cluster_used else selection.local_mode
                modes.add_metric([*labels, mode], 1)
                used.add_metric(labels, len(selection.all))
            _add_fallbacks(fallbacks, each, key, names)
    yield from (modes, used, fallbacks)


def _nobody_here(families: Iterable[FamilyState]) -> _Metric:
    """Count the services under a policy Local that miss somebody on this node."""
    nobody_here = Counter(
        (each.family.api, policy)
        for each in families
        for routes in each.routes.routes.values()
        for policy in _without_local(routes)
    )
    return _gauge(
        f"{_RULES}no_local_endpoints_total",
        "Services under a policy Local that have nobody on this node",
        ("ip_family", "traffic_policy"),
        (
            _Sample((each.family.api, policy), nobody_here[each.family.api, policy])
            for each in families
            for policy in ("external", "internal")
        ),
    )


def _add_fallbacks(
    counter: CounterMetricFamily, each: FamilyState, key: ObjectKey, names: Mapping[PortKey, str]
) -> None:
    for fallback, count in sorted(each.routes.fallbacks.counts.get(key, {}).items()):
        if fallback.port in names:
            labels = (*key, names[fallback.port], each.family.api, fallback.code)
            counter.add_metric(labels, count)


def _without_local(routes: Routes) -> Iterator[str]:
    """Give the policies Local of a service for which nobody is on this node.

    Nobody is missed where nobody is anywhere (recorded behaviour of Kubernetes 1.36).
    """
    if not any(
        selection.local_used and selection.local_mode is Mode.NONE and selection.has_any
        for selection in routes.selections.values()
    ):
        return
    spec = routes.service.spec
    if spec.external_traffic_policy == "Local":
        yield "external"
    if spec.internal_traffic_policy == "Local":
        yield "internal"


def _names(service: Service) -> dict[PortKey, str]:
    """Return what the ports of a service are called; by its number where it has no name."""
    return {
        (port.name, port.protocol or "TCP"): port.name or str(port.port)
        for port in service.spec.ports
    }


def _gauge(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[_Sample]
) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, text, labels=labels)
    for sample in samples:
        gauge.add_metric(sample.labels, sample.number)
    return gauge
