"""Pods that are deleted are terminating for their time of grace, and then gone."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from nearwise.lab.dumps import load
from nearwise.lab.kubelets import Kubelets
from small_cluster import SmallCluster, run, settled

WEB = "Pod shop/web-0"
SPEC = {"nodeName": "n1", "containers": [{"name": "main", "image": "image"}]}


async def running(cluster: SmallCluster, *names: str, **metadata: object) -> None:
    await cluster.create("Node n1")
    for name in names or (WEB,):
        await cluster.create(name, spec=SPEC, metadata=metadata)


def test_a_pod_is_terminating_until_its_time_is_over() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await running(cluster)
        await settled()
        await cluster.delete(WEB)
        await asyncio.sleep(29)
        assert "deletionTimestamp" in cluster.get(WEB)["metadata"]
        await asyncio.sleep(2)
        assert not cluster.has(WEB)

    run(test)


def test_a_pod_that_is_given_less_time_goes_earlier() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await running(cluster)
        await cluster.delete(WEB)
        await asyncio.sleep(1)
        await cluster.delete(WEB, grace_period_seconds=5)
        await asyncio.sleep(5)
        assert not cluster.has(WEB)

    run(test)


def test_a_clock_that_is_set_back_gives_no_pod_more_time() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await running(cluster)
        await cluster.delete(WEB)
        now = cluster.api.world.now
        cluster.api.world = cluster.api.world._replace(now=lambda: now() - timedelta(hours=1))
        await asyncio.sleep(31)
        assert not cluster.has(WEB)

    run(test)


def test_a_pod_with_a_finalizer_waits_for_whoever_set_it() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await running(cluster, finalizers=["example.com/mine"])
        await cluster.delete(WEB, grace_period_seconds=1)
        await settled()
        assert cluster.get(WEB)["metadata"]["deletionGracePeriodSeconds"] == 0

        await cluster.patch(WEB, finalizers=None)
        await settled()
        assert not cluster.has(WEB)

    run(test)


def test_another_pod_of_that_name_is_left_alone() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await running(cluster)
        await cluster.delete(WEB)
        await cluster.delete(WEB, grace_period_seconds=0)
        await cluster.create(WEB, spec=SPEC)
        await settled()
        assert cluster.has(WEB)

    run(test)


def test_a_pod_that_was_terminating_before_the_start_goes_too() -> None:
    async def test(cluster: SmallCluster) -> None:
        await running(cluster, WEB, "Pod shop/web-1")
        await cluster.delete(WEB)
        await settled()
        cluster.start(Kubelets)
        await settled()
        assert cluster.names("Pod") == ["web-1"]

    run(test)


def test_a_pod_that_comes_terminating_stays_until_somebody_deletes_it() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Kubelets)
        await settled()
        metadata = {
            "name": "web-0",
            "namespace": "shop",
            "uid": "1",
            "deletionTimestamp": "2025-12-31T00:00:30Z",
            "deletionGracePeriodSeconds": 30,
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC}
        await load([pod], cluster.store, cluster.api)
        await settled()
        await cluster.patch(WEB, labels={"looked": "at"})
        await settled()
        assert cluster.has(WEB)

        await cluster.delete(WEB, grace_period_seconds=1)
        await settled()
        assert not cluster.has(WEB)

    run(test)
