"""The end of a namespace: it is emptied, says what it waits for, and goes."""

from __future__ import annotations

import asyncio

import pytest

from nearwise.lab.kubelets import Kubelets
from nearwise.server.garbage import Collector
from nearwise.server.namespaces import Emptier
from nearwise.server.statuses import Refusal
from small_cluster import SmallCluster, run, settled

SHOP = "Namespace shop"


async def filled(cluster: SmallCluster) -> None:
    """Put something of several kinds into the namespace, and into another one."""
    for namespace in ("shop", "other"):
        if namespace == "other":
            await cluster.create("Namespace other")
        await cluster.create(f"ConfigMap {namespace}/a")
        await cluster.create(f"Service {namespace}/web")
        await cluster.create(f"EndpointSlice {namespace}/web-1", addressType="IPv4")
        await cluster.create(f"Pod {namespace}/web-0")
        await cluster.create(f"Event {namespace}/web.1", involvedObject={"namespace": namespace})


def conditions(cluster: SmallCluster) -> dict[str, tuple[str, str, str]]:
    return {
        one["type"]: (one["status"], one["reason"], one["message"])
        for one in cluster.get(SHOP)["status"]["conditions"]
    }


def test_a_deleted_namespace_goes_with_all_that_is_in_it() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier, Collector)
        await filled(cluster)
        await cluster.delete(SHOP)
        assert cluster.get(SHOP)["status"]["phase"] == "Terminating"
        await settled()
        assert not cluster.has(SHOP)
        for kind in ("ConfigMap", "Service", "EndpointSlice", "Pod", "Event"):
            assert cluster.names(kind) == []
            assert len(cluster.names(kind, "other")) == 1

    run(test)


def test_a_namespace_without_content_goes_at_once() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        await cluster.delete(SHOP)
        await settled()
        assert not cluster.has(SHOP)

        await cluster.create(SHOP)
        await settled()
        assert cluster.get(SHOP)["status"] == {"phase": "Active"}

    run(test)


def test_a_deletion_that_was_under_way_before_the_start_is_finished() -> None:
    async def test(cluster: SmallCluster) -> None:
        await filled(cluster)
        await cluster.delete(SHOP)
        await settled()
        assert cluster.has(SHOP, "ConfigMap shop/a")
        cluster.start(Emptier)
        await settled()
        assert not cluster.has(SHOP)
        assert cluster.has("Namespace other")

    run(test)


def test_what_owners_keep_does_not_keep_the_namespace() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier, Collector)
        await cluster.create("ConfigMap shop/a")
        await cluster.create("ConfigMap shop/b", "!ConfigMap shop/a")
        await cluster.delete(SHOP)
        await settled()
        assert not cluster.has(SHOP)

    run(test)


def test_meanwhile_it_says_what_is_left_and_what_that_waits_for() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        kept = {"finalizers": ["example.com/mine"]}
        await cluster.create("ConfigMap shop/a", metadata=kept)
        await cluster.create("ConfigMap shop/b", metadata=kept)
        await cluster.create("EndpointSlice shop/c", addressType="IPv4", metadata=kept)
        await cluster.delete(SHOP)
        await settled()
        assert conditions(cluster) == {
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances, "
                "endpointslices.discovery.k8s.io has 1 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: example.com/mine in 3 "
                "resource instances",
            ),
        }
        since = cluster.get(SHOP)["status"]["conditions"][0]["lastTransitionTime"]

        await cluster.patch("ConfigMap shop/a", finalizers=None)
        await settled()
        assert "configmaps. has 1 resource" in conditions(cluster)["NamespaceContentRemaining"][2]
        assert cluster.get(SHOP)["status"]["conditions"][0]["lastTransitionTime"] == since

        await cluster.patch("ConfigMap shop/b", finalizers=None)
        await cluster.patch("EndpointSlice shop/c", finalizers=None)
        await settled()
        assert not cluster.has(SHOP)

    run(test)


def test_while_it_waits_it_writes_nothing() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        await cluster.create("ConfigMap shop/a", metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(SHOP)
        await settled()
        revision = cluster.store.read.revision
        await settled()
        assert cluster.store.read.revision == revision

    run(test)


def test_nothing_new_gets_in() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        await cluster.create("ConfigMap shop/a", metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(SHOP)
        with pytest.raises(Refusal, match="because it is being terminated"):
            await cluster.create("ConfigMap shop/b")

    run(test)


def test_pods_have_their_time_of_grace() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier, Kubelets)
        await cluster.create("Node n1")
        spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "image"}]}
        await cluster.create("Pod shop/web-0", spec=spec)
        await cluster.delete(SHOP)
        await settled()
        assert not cluster.has(SHOP)

    run(test)


def test_a_finalizer_of_the_namespace_itself_keeps_it_empty() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        await cluster.create("ConfigMap shop/a")
        await cluster.patch(SHOP, finalizers=["example.com/mine"])
        await cluster.delete(SHOP)
        await settled()
        assert cluster.get(SHOP)["spec"].get("finalizers", []) == []
        assert cluster.names("ConfigMap") == []

        await cluster.patch(SHOP, finalizers=None)
        assert not cluster.has(SHOP)

    run(test)


def test_a_namespace_with_thousands_of_objects_is_emptied_bit_by_bit() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier)
        for number in range(1000):
            kept = {"finalizers": ["example.com/mine"]} if number == 7 else {}
            await cluster.create(f"ConfigMap shop/c{number}", metadata=kept)
        await cluster.delete(SHOP)
        while len(cluster.names("ConfigMap")) == 1000:
            await asyncio.sleep(0)
        assert len(cluster.names("ConfigMap")) > 500
        await settled()
        assert cluster.names("ConfigMap") == ["c7"]

        await cluster.patch("ConfigMap shop/c7", finalizers=None)
        await settled()
        assert not cluster.has(SHOP)

    run(test)


def test_many_namespaces_at_once_do_not_disturb_each_other() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Emptier, Collector)
        for number in range(20):
            await cluster.create(f"Namespace n{number}")
            for name in range(10):
                await cluster.create(f"ConfigMap n{number}/{name}")
        for number in range(0, 20, 2):
            await cluster.delete(f"Namespace n{number}")
        await settled()
        assert [cluster.has(f"Namespace n{number}") for number in range(20)] == [False, True] * 10
        assert len(cluster.names("ConfigMap", "")) == 100

    run(test)
