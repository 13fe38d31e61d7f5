"""What a proxy keeps of a cluster as it changes: services, slices, and its own node.

Headless services, and those that name another proxy, are not even asked for: the API server leaves
them out, by the label selector that kube-proxy uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from nearwise.loops.cluster import Reading
from nearwise.loops.informer import Informer
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import Index, ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice, Node, Service
from nearwise.model.resources import ENDPOINT_SLICES, NODES, SERVICES
from nearwise.model.wellknown import HEADLESS
from nearwise.nft.frontends import OTHER_PROXY
from nearwise.proxy.trimming import Trimmer

OURS: Final = {"labelSelector": f"!{HEADLESS},!{OTHER_PROXY}"}
"""Which services and slices a proxy of the cluster is for, as parameters of a request."""


class Caches:
    """The caches of a proxy. Implements ``Known``."""

    def __init__(self, cluster: Reading, surroundings: Surroundings, node: str | None) -> None:
        """Follow a cluster, and the node of this name if there is one."""
        trimmer = Trimmer()
        self._by_service: Index[EndpointSlice] = Index(service_of)
        self.services: Informer[Service] = Informer(
            cluster, SERVICES, surroundings, trim=trimmer.service, only=OURS
        )
        self.slices: Informer[EndpointSlice] = Informer(
            cluster,
            ENDPOINT_SLICES,
            surroundings,
            self._by_service,
            trim=trimmer.slice,
            only=OURS,
        )
        self.node: Informer[Node] | None = None
        if node is not None:
            only = {"fieldSelector": f"metadata.name={node}"}
            self.node = Informer(cluster, NODES, surroundings, trim=trimmer.node, only=only)

    def names(self) -> list[ObjectKey]:
        """Return which services there are."""
        return [service.metadata.key for service in self.services.cache]

    def service(self, key: ObjectKey) -> Service | None:
        """Return a service, or None if there is none of that name."""
        return self.services.cache.get(key)

    def slices_of(self, service: ObjectKey) -> list[EndpointSlice]:
        """Return the slices that name a service."""
        return self.slices.cache.select(self._by_service, service)

    def informers(self) -> Iterator[Informer[Any]]:
        """Give all of them."""
        yield self.services
        yield self.slices
        if self.node is not None:
            yield self.node

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.informers():
                tasks.create_task(informer.run())

    async def synced(self) -> None:
        """Wait until all have once been complete."""
        for informer in self.informers():
            await informer.synced()
