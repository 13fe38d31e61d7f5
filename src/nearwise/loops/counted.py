"""Requests to the API server, counted as client-go's ``rest_client_requests_total``."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import aclosing
from typing import Final, TypeVar

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from nearwise.loops.cluster import Cluster, Reading
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource

T = TypeVar("T")

_NO_ANSWER: Final = "<error>"


class CountedReading(Collector):
    """A cluster of which reading is counted. Implements ``Reading``.

    A watch counts when it brings something, or ends.
    """

    def __init__(self, cluster: Reading, host: str) -> None:
        """Count the requests to a cluster at this host (and port)."""
        self._reading = cluster
        self._host = host
        self._requests: Counter[tuple[str, str]] = Counter()

    def collect(self) -> Iterator[CounterMetricFamily]:
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
        return await self._counted("GET", self._reading.page(resource, query))

    async def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        """Watch."""
        code = "200"
        heard = False
        try:
            async with aclosing(self._reading.watch(resource, query)) as events:  # type: ignore[type-var]
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


class CountedCluster(CountedReading):
    """A cluster of which all is counted. Implements ``Cluster``."""

    def __init__(self, cluster: Cluster, host: str) -> None:
        super().__init__(cluster, host)
        self._cluster = cluster

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
