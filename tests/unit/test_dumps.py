"""Objects from files into the store: what is kept, what is made anew, what is left out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.lab.dumps import load, networks_for, objects_in
from nearwise.lab.kubelets import Kubelets
from nearwise.model.errors import InputError
from nearwise.server.allocation import Pool
from nearwise.server.api import Api
from nearwise.server.garbage import Collector
from nearwise.server.namespaces import Emptier
from nearwise.server.objects.stored import Decoded
from nearwise.store import MemoryStore
from small_cluster import SmallCluster, run, settled

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SHOP = list(objects_in((EXAMPLES / "shop.yaml").read_bytes(), ""))
OBJECTS = list({one["kind"]: one for one in SHOP}.values())
"""One of each kind."""


def obj(kind: str, name: str, namespace: str = "shop", **content: Any) -> Decoded:
    """Return an object as it comes out of a cluster; its uid is its name."""
    metadata = {"name": name, "namespace": namespace, "uid": name, **content.pop("metadata", {})}
    if kind in ("Node", "Namespace"):
        del metadata["namespace"]
    version = content.pop("apiVersion", "v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


POD = obj(
    "Pod",
    "web-0",
    metadata={
        "creationTimestamp": "2025-12-01T00:00:00Z",
        "resourceVersion": "4711",
        "deletionTimestamp": "2025-12-31T00:00:30Z",
        "deletionGracePeriodSeconds": 30,
        "generation": 3,
    },
    spec={"nodeName": "n1", "containers": [{"name": "main", "image": "image"}]},
    status={"phase": "Running", "podIP": "10.0.0.1"},
)


# --- Reading files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "List", "apiVersion": "v1", "items": [%s, %s]}',
        '{"kind": "List", "items": [{"kind": "List", "items": [%s]}, %s]}',
        "[%s, %s]",
        "%s\n%s",
        "%s\n---\n%s\n---\n",
    ],
)
def test_objects_are_found_in_whatever_way_they_lie_in_a_file(text: str) -> None:
    one, two = obj("Pod", "a"), obj("Node", "b")
    content = (text % (json.dumps(one), json.dumps(two))).encode()
    assert list(objects_in(content, "dump")) == [one, two]
    assert list(objects_in(gzip.compress(content), "dump")) == [one, two]


def test_items_of_a_typed_list_may_leave_out_what_they_are() -> None:
    text = "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a}\n"
    (found,) = objects_in(text.encode(), "dump")
    assert (found["kind"], found["apiVersion"]) == ("Pod", "v1")


def test_what_is_no_object_is_passed_over() -> None:
    text = "---\n---\njust text\n---\n- 1\n---\nkind: Pod\n---\nitems: [1]\n"
    assert list(objects_in(text.encode(), "dump")) == []


def test_a_broken_file_is_named() -> None:
    with pytest.raises(InputError, match=r"dump\.yaml"):
        list(objects_in(b"kind: [", "dump.yaml"))


# --- What comes out of a cluster ------------------------------------------------------------


def test_an_object_with_a_uid_is_stored_as_it_was() -> None:
    async def test(cluster: SmallCluster) -> None:
        loaded = await load([POD], cluster.store, cluster.api)
        stored = cluster.get("Pod shop/web-0")
        version = stored["metadata"].pop("resourceVersion")
        expected = {name: v for name, v in POD["metadata"].items() if name != "resourceVersion"}
        assert version == str(cluster.store.read.revision)
        assert stored["metadata"] == expected
        assert stored["status"] == POD["status"]
        assert stored["spec"]["nodeName"] == "n1"
        assert loaded.stored == {"Pod": 1}

    run(test)


def test_a_pod_without_containers_gets_some_for_a_snapshot_leaves_them_out() -> None:
    async def test(cluster: SmallCluster) -> None:
        bare = [
            obj("Pod", "a", spec={}),
            obj("Pod", "b", spec={"containers": [{"name": "x", "ports": [{"containerPort": 1}]}]}),
        ]
        await load(bare, cluster.store, cluster.api)
        (one,) = cluster.get("Pod shop/a")["spec"]["containers"]
        (two,) = cluster.get("Pod shop/b")["spec"]["containers"]
        assert (one["name"], one["image"]) == ("unknown", "unknown")
        assert (two["name"], two["image"]) == ("x", "unknown")
        await cluster.patch("Pod shop/a", labels={"can": "be-changed"})

    run(test)


def test_namespaces_that_did_not_come_along_are_made() -> None:
    async def test(cluster: SmallCluster) -> None:
        service = obj("Service", "web", "elsewhere", spec={"ports": [{"port": 80}]})
        await load([service], cluster.store, cluster.api)
        assert cluster.get("Namespace elsewhere")["status"]["phase"] == "Active"

    run(test)


def test_an_object_without_a_namespace_is_in_default() -> None:
    async def test(cluster: SmallCluster) -> None:
        lost = obj("ConfigMap", "a")
        del lost["metadata"]["namespace"]
        await load([lost], cluster.store, cluster.api)
        assert cluster.get("ConfigMap default/a")["metadata"]["namespace"] == "default"

    run(test)


def owned(name: str, kind: str, by: str, version: str = "v1") -> Decoded:
    reference = {"apiVersion": version, "kind": kind, "name": by, "uid": by}
    return obj("ConfigMap", name, metadata={"ownerReferences": [reference]})


def test_owners_that_did_not_come_along_are_forgotten() -> None:
    async def test(cluster: SmallCluster) -> None:
        objects = [
            owned("of-a", "ConfigMap", "a"),
            owned("of-gone", "ReplicaSet", "gone", "apps/v1"),
            owned("of-another-a", "ConfigMap", "a"),
            owned("of-unserved", "Job", "job", "batch/v1"),
            obj("ConfigMap", "a"),
        ]
        objects[2]["metadata"]["ownerReferences"][0]["uid"] = "another"
        await load(objects, cluster.store, cluster.api)
        assert cluster.owners("ConfigMap shop/of-a") == ["a"]
        assert cluster.owners("ConfigMap shop/of-gone") == []
        assert cluster.owners("ConfigMap shop/of-another-a") == []
        assert cluster.owners("ConfigMap shop/of-unserved") == ["job"]

    run(test)


def test_owners_that_are_stored_already_are_kept() -> None:
    async def test(cluster: SmallCluster) -> None:
        await load([obj("ConfigMap", "a")], cluster.store, cluster.api)
        await load([owned("of-a", "ConfigMap", "a")], cluster.store, cluster.api)
        assert cluster.owners("ConfigMap shop/of-a") == ["a"]

    run(test)


def test_what_is_there_already_stays_as_it_is() -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create("ConfigMap shop/a", data={"mine": "yes"})
        loaded = await load(
            [obj("ConfigMap", "a", data={"mine": "no"}), obj("ConfigMap", "b")],
            cluster.store,
            cluster.api,
        )
        assert cluster.get("ConfigMap shop/a")["data"] == {"mine": "yes"}
        assert (loaded.there, loaded.stored) == ({"ConfigMap": 1}, {"ConfigMap": 1})

    run(test)


def test_kinds_that_are_not_served_are_counted() -> None:
    async def test(cluster: SmallCluster) -> None:
        objects = [
            obj("Secret", "a"),
            obj("Secret", "b"),
            obj("EndpointSlice", "c", apiVersion="discovery.k8s.io/v1beta1"),
            obj("ConfigMap", ""),
        ]
        loaded = await load(objects, cluster.store, cluster.api)
        assert loaded.left_out == {"Secret": 2, "EndpointSlice": 1, "ConfigMap": 1}
        assert not loaded.stored

    run(test)


def test_events_of_either_group_are_events() -> None:
    async def test(cluster: SmallCluster) -> None:
        objects = [
            obj("Event", "a.1", involvedObject={"kind": "Pod", "namespace": "shop"}, reason="R"),
            obj(
                "Event",
                "a.2",
                apiVersion="events.k8s.io/v1",
                regarding={"kind": "Pod", "namespace": "shop"},
                reason="R",
                note="text",
            ),
        ]
        await load(objects, cluster.store, cluster.api)
        assert cluster.get("Event shop/a.2")["message"] == "text"
        assert cluster.names("Event") == ["a.1", "a.2"]

    run(test)


# --- What goes into a cluster ---------------------------------------------------------------


def test_an_object_without_a_uid_is_created_and_its_status_set() -> None:
    async def test(cluster: SmallCluster) -> None:
        pod = {**POD, "metadata": {"name": "web-0", "namespace": "shop"}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        node["metadata"] = {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}}
        await load([pod, node], cluster.store, cluster.api)
        stored = cluster.get("Pod shop/web-0")
        assert stored["metadata"]["labels"] == {"topology.kubernetes.io/zone": "a"}
        assert stored["status"]["podIP"] == "10.0.0.1"
        assert len(stored["metadata"]["uid"]) == 36

    run(test)


def test_addresses_are_given_to_new_services_last() -> None:
    async def test(cluster: SmallCluster) -> None:
        spec = {"ports": [{"port": 80}]}
        new = obj("Service", "new", spec=spec)
        del new["metadata"]["uid"]
        taken = [
            obj("Service", f"s{n}", spec={**spec, "clusterIP": ip, "clusterIPs": [ip]})
            for n, ip in enumerate(f"10.96.{high}.{low}" for high in (0, 1) for low in range(1, 9))
        ]
        await load([new, *taken], cluster.store, cluster.api)
        ips = {one["spec"]["clusterIP"] for one in taken}
        assert cluster.get("Service shop/new")["spec"]["clusterIP"] not in ips

    run(test)


def test_what_cannot_be_created_is_named() -> None:
    async def test(cluster: SmallCluster) -> None:
        wrong = obj("Service", "web", spec={"ports": [{"port": 99999}]})
        del wrong["metadata"]["uid"]
        with pytest.raises(InputError, match=r"^Service shop/web: .*spec.ports\[0\].port"):
            await load([wrong], cluster.store, cluster.api)

    run(test)


def test_a_namespace_that_cannot_be_is_named() -> None:
    async def test(cluster: SmallCluster) -> None:
        with pytest.raises(InputError, match=r"^Namespace Not A Name: .*Invalid value"):
            await load([obj("ConfigMap", "a", "Not A Name")], cluster.store, cluster.api)

    run(test)


def test_what_cannot_be_read_is_named() -> None:
    async def test(cluster: SmallCluster) -> None:
        with pytest.raises(InputError, match=r"^Service shop/web: "):
            await load([obj("Service", "web", spec="junk")], cluster.store, cluster.api)

    run(test)


# --- Networks -------------------------------------------------------------------------------


def service(*addresses: str) -> Decoded:
    return obj("Service", "-".join(addresses), spec={"clusterIPs": list(addresses)})


@pytest.mark.parametrize(
    ("addresses", "networks"),
    [
        ([], ("10.96.0.0/16",)),
        ([["None"]], ("10.96.0.0/16",)),
        ([["10.96.0.1"], ["10.96.200.7"]], ("10.96.0.0/16",)),
        ([["172.20.0.1"], ["172.20.99.3"]], ("172.20.0.0/16",)),
        ([["10.43.0.1"], ["10.42.0.1"]], ("10.42.0.0/15",)),
        ([["10.96.0.1"], ["10.100.0.1"]], ("10.96.0.0/13",)),
        ([["fd00:10:96::1", "10.96.0.1"]], ("10.96.0.0/16", "fd00:10:96::/112")),
        ([["2001:db8::1:2:3"]], ("2001:db8::1:2:0/112",)),
    ],
    ids=str,
)
def test_the_networks_are_those_that_the_services_are_in(
    addresses: list[list[str]], networks: tuple[str, ...]
) -> None:
    objects = [service(*each) for each in addresses]
    assert networks_for(objects, MemoryStore().read) == networks


def test_the_networks_are_found_again_in_a_store() -> None:
    async def test(cluster: SmallCluster) -> None:
        spec = {"ports": [{"port": 80}], "clusterIP": "172.20.0.9", "clusterIPs": ["172.20.0.9"]}
        await load([obj("Service", "web", spec=spec)], cluster.store, cluster.api)
        networks = networks_for([], cluster.store.read)
        assert networks == ("172.20.0.0/16",)
        Api(cluster.store, pool=Pool(networks))

    run(test)


# --- Anything -------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99_999) | st.sampled_from(["", "a", "A b", "1Gi"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


def spoilt(draw: Callable[..., Any], value: Any) -> Any:
    """Replace something in a value by anything."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: spoilt(draw, value[name])}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        return [spoilt(draw, value[0]), *value[1:]]
    return draw(JUNK)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_whatever_is_wrong_with_an_object_it_is_refused_or_stored(data: st.DataObject) -> None:
    original = data.draw(st.sampled_from(OBJECTS))
    wrong = spoilt(data.draw, original)

    async def test(cluster: SmallCluster) -> None:
        objects = list(objects_in(json.dumps(wrong).encode(), "dump"))
        with suppress(InputError):
            networks_for(objects, cluster.store.read)
            await load(objects, cluster.store, cluster.api)
            cluster.start(Collector, Emptier, Kubelets)
            await settled()

    run(test)


# --- Examples -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shop.yaml", "flag-server-2-hints-off.yaml"])
def test_a_dump_of_a_cluster_comes_whole(name: str) -> None:
    objects = list(objects_in((EXAMPLES / name).read_bytes(), name))

    async def test(cluster: SmallCluster) -> None:
        loaded = await load(objects, cluster.store, cluster.api)
        await settled()
        assert (loaded.stored + loaded.there).total() == len(objects)
        assert not loaded.left_out
        for slice_ in (one for one in objects if one["kind"] == "EndpointSlice"):
            meta = slice_["metadata"]
            stored = cluster.get(f"EndpointSlice {meta['namespace']}/{meta['name']}")
            assert stored["endpoints"] == slice_["endpoints"]
            assert stored["metadata"]["uid"] == meta["uid"]

    run(test)
