"""The caches that the controllers share, and the indexes by which they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable

from nearwise.loops.cluster import Cluster
from nearwise.loops.informer import Informer
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import Cache, Delta, Index, ObjectKey
from nearwise.machinery.indexes import label_pairs, node_of, selected, service_of
from nearwise.machinery.selector_index import SelectorIndex
from nearwise.machinery.trim import PodTrimmer
from nearwise.model import Endpoints, EndpointSlice, Node, Pod, Service
from nearwise.model.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES


class Caches:
    """Services, pods, nodes, Endpoints and slices of the cluster."""

    def __init__(self, cluster: Cluster, surroundings: Surroundings) -> None:
        self._by_node: Index[Pod] = Index(node_of)
        self._by_label: Index[Pod] = Index(label_pairs)
        self._by_service: Index[EndpointSlice] = Index(service_of)
        self._selectors = SelectorIndex()
        self.services: Informer[Service] = Informer(cluster, SERVICES, surroundings)
        self.pods: Informer[Pod] = Informer(
            cluster, PODS, surroundings, self._by_node, self._by_label, trim=PodTrimmer()
        )
        self.nodes: Informer[Node] = Informer(cluster, NODES, surroundings)
        self.endpoints: Informer[Endpoints] = Informer(cluster, ENDPOINTS, surroundings)
        self.slices: Informer[EndpointSlice] = Informer(
            cluster, ENDPOINT_SLICES, surroundings, self._by_service
        )
        self.services.listen(self._file_selector)

    def pods_of(self, service: Service) -> list[Pod]:
        """Return the pods that a service selects."""
        namespace, selector = service.metadata.namespace, service.spec.selector
        return selected(self.pods.cache, self._by_label, namespace, selector)

    def pods_on(self, node: str) -> list[Pod]:
        """Return the pods on a node."""
        return self.pods.cache.select(self._by_node, node)

    def slices_of(self, service: ObjectKey) -> list[EndpointSlice]:
        """Return the slices that name a service, whoever manages them."""
        return self.slices.cache.select(self._by_service, service)

    def slice_names(self, namespace: str) -> Container[str]:
        """Return the names that slices of a namespace have, whosever they are, as of any moment."""
        return _Names(self.slices.cache, namespace)

    def selecting(self, pod: Pod | None) -> set[ObjectKey]:
        """Return the services that select a pod."""
        if pod is None:
            return set()
        return set(self._selectors.matching(pod.metadata.namespace, pod.metadata.labels))

    def informers(self) -> Iterable[Informer[Service | Pod | Node | Endpoints | EndpointSlice]]:
        """Those that somebody listens to: nothing else is followed."""
        every = (self.nodes, self.services, self.pods, self.endpoints, self.slices)
        return [each for each in every if each.has_listeners]  # type: ignore[misc]

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.informers():
                tasks.create_task(informer.run())

    async def synced(self) -> None:
        """Wait until all have once been complete."""
        for informer in self.informers():
            await informer.synced()

    def _file_selector(self, delta: Delta[Service]) -> None:
        if delta.new is not None:
            self._selectors.put(delta.new.metadata.key, delta.new.spec.selector)
        elif delta.old is not None:
            self._selectors.drop(delta.old.metadata.key)


class _Names:
    """The names of what a cache has in a namespace."""

    def __init__(self, cache: Cache[EndpointSlice], namespace: str) -> None:
        self._cache = cache
        self._namespace = namespace

    def __contains__(self, name: object) -> bool:
        return (self._namespace, name) in self._cache
