"""A replica of the controllers that runs on a model cluster, and what its work must come to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from nearwise.controllers.process import Ending, Process, Settings
from nearwise.loops.cluster import Cluster
from nearwise.model import EndpointSlice, Pod, Service
from nearwise.model.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES
from nearwise.model.selectors import matches
from nearwise.slices.mirror import mirror
from nearwise.slices.nodes import Nodes
from nearwise.slices.reconcile import reconcile, why_not_reconciled
from simulation.model_cluster import ModelCluster, surroundings

ALONE = Settings(election=None)


@asynccontextmanager
async def running(
    cluster: Cluster, settings: Settings = ALONE, seed: int = 0
) -> AsyncIterator[Process]:
    """Run a replica meanwhile, and stop it in good order."""
    process, stop = Process(cluster, settings, surroundings(seed)), asyncio.Event()
    task = asyncio.create_task(process.run(stop))
    try:
        yield process
        stop.set()
        assert await task is Ending.STOPPED
    finally:
        task.cancel()


async def settle(seconds: float = 5.0) -> None:
    """Let the controllers do what they have to."""
    await asyncio.sleep(seconds)


def slices_of(cluster: ModelCluster, service: str, namespace: str = "shop") -> list[EndpointSlice]:
    """Return the slices that name a service, as stored."""
    return [
        slice_
        for slice_ in cluster.all(ENDPOINT_SLICES)
        if slice_.metadata.namespace == namespace
        and slice_.metadata.labels.get("kubernetes.io/service-name") == service
    ]


def addresses(slices: Iterable[EndpointSlice], *, ready: bool = True) -> list[str]:
    """Return the ready (or the other) addresses that slices list, in order."""
    return sorted(
        endpoint.addresses[0]
        for slice_ in slices
        for endpoint in slice_.endpoints
        if bool(endpoint.conditions.ready) is ready
    )


def pods_of(cluster: ModelCluster, service: Service) -> list[Pod]:
    """Return the pods that a service selects."""
    return [
        pod
        for pod in cluster.all(PODS)
        if pod.metadata.namespace == service.metadata.namespace
        and matches(service.spec.selector, pod.metadata.labels)
    ]


def assert_as_the_core_says(cluster: ModelCluster) -> None:
    """Check that the core, asked now, would write nothing, and would list the same from nothing."""
    nodes = Nodes(cluster.all(NODES))
    for service in cluster.all(SERVICES):
        namespace, name = service.metadata.key
        stored = slices_of(cluster, name, namespace)
        if why_not_reconciled(service) is None:
            pods = pods_of(cluster, service)
            assert reconcile(service, pods, nodes, stored).writes == 0
            anew = reconcile(service, pods, nodes, ()).creates
            assert _endpoints(stored) == _endpoints(anew)
        else:
            endpoints = cluster.look(ENDPOINTS, namespace, name)
            assert mirror(service, endpoints, stored).writes == 0
            assert _endpoints(stored) == _endpoints(mirror(service, endpoints, ()).creates)


def _endpoints(slices: Iterable[EndpointSlice]) -> Counter[tuple[object, ...]]:
    """Count endpoints with their ports and family; which is lent to which zone may differ."""
    return Counter(
        (slice_.address_type, slice_.ports, each.addresses, each.conditions, each.zone)
        for slice_ in slices
        for each in slice_.endpoints
    )
