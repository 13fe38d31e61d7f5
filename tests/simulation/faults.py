"""An API server between which and us everything goes wrong that can, by the draw of a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeVar

from nearwise.loops.cluster import Cluster
from nearwise.model import Status
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource

T = TypeVar("T")


class Faults:
    """What goes wrong, and how often. Shared by all who talk to one server."""

    def __init__(self, seed: int) -> None:
        self.lot = random.Random(seed)
        self.on = True

    def happens(self, chance: float) -> bool:
        """Draw whether a fault happens now."""
        return self.on and self.lot.random() < chance


class FaultyCluster:
    """A cluster with faults on the way. Implements ``Cluster``."""

    def __init__(self, cluster: Cluster, faults: Faults) -> None:
        self._cluster = cluster
        self._faults = faults

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        return await self._asked(lambda: self._cluster.page(resource, query))

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        return await self._asked(lambda: self._cluster.get(resource, namespace, name))

    async def create(self, resource: Resource[K], obj: K) -> K:
        return await self._asked(lambda: self._cluster.create(resource, obj))

    async def update(self, resource: Resource[K], obj: K) -> K:
        return await self._asked(lambda: self._cluster.update(resource, obj))

    async def delete(self, resource: Resource[K], obj: K) -> None:
        return await self._asked(lambda: self._cluster.delete(resource, obj))

    async def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        await self._refuse()
        held_back: list[tuple[str, K]] = []
        async for event in self._cluster.watch(resource, query):
            if self._faults.happens(0.05):
                raise LostError("the connection broke")
            if self._faults.happens(0.01):
                raise StatusError(Status(code=410, reason="Expired", message="too old"))
            if self._faults.happens(0.02):
                return
            if self._faults.happens(0.2):
                await asyncio.sleep(self._faults.lot.expovariate(1.0))
            if self._faults.happens(0.05):
                held_back.append(event)
            yield event
            while held_back and self._faults.happens(0.3):
                yield held_back.pop()  # told again, and late

    async def _asked(self, request: Callable[[], Awaitable[T]]) -> T:
        await self._refuse()
        answer = await request()
        if self._faults.happens(0.05):
            raise LostError("the answer got lost, the write did not")
        return answer

    async def _refuse(self) -> None:
        faults = self._faults
        await asyncio.sleep(0.002 + (faults.lot.expovariate(20) if faults.on else 0.0))
        if faults.happens(0.05):
            raise LostError("the request got lost")
        if faults.happens(0.03):
            raise StatusError(Status(code=500, reason="InternalError", message="no luck"))
        if faults.happens(0.03):
            raise StatusError(Status(code=429, reason="TooManyRequests"), retry_after=1.0)
        if faults.happens(0.02):
            raise StatusError(Status(code=409, reason="Conflict", message="somebody was faster"))
