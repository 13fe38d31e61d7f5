"""What a proxy asks the API server for: its own node, and what is not for somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from nearwise.client.cluster import LiveCluster
from nearwise.client.kubeconfig import find_access
from nearwise.loops.surroundings import real_surroundings
from nearwise.model import Status
from nearwise.model.errors import StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import Resource
from nearwise.proxy.caches import Caches
from nearwise.testing import kube_api
from simulation.model_cluster import surroundings
from virtual_time import run

SELECTOR = "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name"


class Asked:
    """A server that has nothing, cannot stream lists, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.queries: dict[str, list[Mapping[str, str]]] = {}

    async def page(self, resource: Resource[Any], query: Mapping[str, str]) -> tuple[Any, ListMeta]:
        self.queries.setdefault(resource.plural, []).append(query)
        return (), ListMeta("7")

    async def watch(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, Any]]:
        self.queries.setdefault(resource.plural, []).append(query)
        if "sendInitialEvents" in query:
            raise StatusError(Status(code=422, reason="Invalid"))
        await asyncio.Event().wait()
        yield "", None


@pytest.mark.parametrize("node", ["n1", None])
def test_every_request_selects(node: str | None) -> None:
    async def story() -> dict[str, list[Mapping[str, str]]]:
        cluster = Asked()
        caches = Caches(cluster, surroundings(), node)
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                await caches.run()
        return cluster.queries

    queries = run(story())
    assert queries.keys() == {"services", "endpointslices", *(["nodes"] if node else [])}
    for plural, sent in queries.items():
        assert len(sent) == 3  # a streaming list, a list, a watch
        for query in sent:
            if plural == "nodes":
                assert query["fieldSelector"] == "metadata.name=n1"
            else:
                assert query["labelSelector"] == SELECTOR


def service(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"ports": [{"port": 80}]},
    }


def test_a_server_gives_what_is_asked_for_and_no_more() -> None:
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": n}} for n in ("n1", "n2")]
    services = [
        service("web", app="web"),
        service("theirs", **{"service.kubernetes.io/service-proxy-name": "other"}),
    ]

    async def story(kubeconfig: str) -> tuple[list[Any], list[str]]:
        async with LiveCluster(find_access(kubeconfig, None)) as cluster:
            caches = Caches(cluster, real_surroundings(), "n1")
            assert caches.node is not None
            task = asyncio.create_task(caches.run())
            await asyncio.wait_for(caches.synced(), 30)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            found = [each.metadata.name for each in caches.node.cache]
        await asyncio.sleep(0.25)  # aiohttp lets TLS connections go a little later
        return list(caches.names()), found

    with kube_api(objects=[*nodes, *services], controllers=False) as api:
        names, found = asyncio.run(story(str(api.kubeconfig)))
    assert names == [("default", "web")]
    assert found == ["n1"]
