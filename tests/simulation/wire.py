"""The way to an API server: it can be cut, and it can be slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from nearwise.loops.cluster import Cluster
from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource


class Wire:
    """The way to a cluster, which can be cut: then no answer ever comes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.cut = False
        self.slowness = 0.0  # seconds that a write takes longer

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        await self._pass()
        return await self._cluster.page(resource, query)

    def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        return self._cluster.watch(resource, query)

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        await self._pass()
        return await self._cluster.get(resource, namespace, name)

    async def create(self, resource: Resource[K], obj: K) -> K:
        await self._pass()
        await asyncio.sleep(self.slowness)
        return await self._cluster.create(resource, obj)

    async def update(self, resource: Resource[K], obj: K) -> K:
        await self._pass()
        await asyncio.sleep(self.slowness)
        return await self._cluster.update(resource, obj)

    async def delete(self, resource: Resource[K], obj: K) -> None:
        await self._pass()
        await asyncio.sleep(self.slowness)
        await self._cluster.delete(resource, obj)

    async def _pass(self) -> None:
        if self.cut:
            await asyncio.Event().wait()
