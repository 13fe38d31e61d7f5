"""Control-loop parts: what is found by an index, what a change costs, what a pod in a cache takes.

``python -m benchmarks.machinery`` tells the memory.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import msgspec
from msgspec.structs import replace

from benchmarks.timing import Case
from nearwise.machinery.cache import Cache, Index
from nearwise.machinery.indexes import label_pairs, node_of, selected
from nearwise.machinery.listwatch import ListWatch
from nearwise.machinery.queue import WorkQueue
from nearwise.machinery.selector_index import SelectorIndex
from nearwise.machinery.trim import PodTrimmer
from nearwise.model import ObjectMeta, Pod
from nearwise.model.selectors import matches

SERVICES = 10_000
PODS = 100_000
NODES = 5_000


def cases() -> Iterator[Case]:
    """Yield the comparisons."""
    selectors = {("shop", f"web-{i}"): {"app": f"web-{i}", "tier": "web"} for i in range(SERVICES)}
    index = SelectorIndex()
    for key, selector in selectors.items():
        index.put(key, selector)
    labels = {"app": "web-77", "tier": "web", "pod-template-hash": "7d4b9c6f5"}
    yield Case(
        f"the services of one pod among {SERVICES:,}",
        "asking each selector",
        lambda: [
            key
            for key, selector in selectors.items()
            if key[0] == "shop" and matches(selector, labels)
        ],
        lambda: index.matching("shop", labels),
        repeat=1_000,
    )

    by_label, cache, pods = _cached(20_000)
    yield Case(
        "the 50 pods of one service among 20,000",
        "asking each pod",
        lambda: [
            pod
            for pod in cache
            if pod.metadata.namespace == "team-7" and matches({"app": "web-7"}, pod.metadata.labels)
        ],
        lambda: selected(cache, by_label, "team-7", {"app": "web-7"}),
        repeat=100,
    )
    yield Case(
        "1,000 changes of pods in a cache with two indexes",
        "a plain dict",
        _Changes(pods, dict[tuple[str, str], Pod]().__setitem__),
        _Changes(pods, lambda _, pod: cache.put(pod)),
    )
    yield Case(
        "1,000 watch events of a pod: decoded, trimmed, cached",
        "decoded alone",
        _Events(lambda _: None),
        _Events(_watching(cache)),
    )
    yield Case(
        "1,000 keys through the work queue",
        "a plain dict as a queue",
        _through_a_dict,
        _through_the_queue,
    )


class _Changes:
    """A thousand pods are put under their names once more, each on another node."""

    def __init__(self, pods: list[Pod], put: Callable[[tuple[str, str], Pod], object]) -> None:
        moved = [replace(pod, spec=replace(pod.spec, node_name="node-x")) for pod in pods]
        self._pods = cycle([*moved, *pods])
        self._put = put

    def __call__(self) -> None:
        for pod in islice(self._pods, 1_000):
            self._put(pod.metadata.key, pod)


class _Events:
    """A thousand MODIFIED events, each at a version of its own."""

    def __init__(self, take: Callable[[Pod], object]) -> None:
        self._take = take
        self._decode = msgspec.json.Decoder(Pod).decode
        self._version = PODS
        self._begin, self._end = _json(1).split(b'"resourceVersion":"1"', 1)

    def __call__(self) -> None:
        for _ in range(1_000):
            self._version += 1
            version = b'"resourceVersion":"%d"' % self._version
            self._take(self._decode(self._begin + version + self._end))


def _watching(cache: Cache[Pod]) -> Callable[[Pod], object]:
    machine = ListWatch(cache, lot=lambda: 0.0, trim=PodTrimmer())
    machine.next(0)
    for pod in cache:
        machine.event("ADDED", pod)
    end = ObjectMeta(resource_version="1", annotations={"k8s.io/initial-events-end": "true"})
    machine.event("BOOKMARK", Pod(metadata=end))
    return lambda pod: machine.event("MODIFIED", pod)


def _through_the_queue() -> None:
    queue = WorkQueue[int]()
    for key in range(1_000):
        queue.add(key, 0)
    for _ in range(1_000):
        key = queue.next(1)  # type: ignore[assignment]
        queue.forget(key)
        queue.done(key, 2)


def _through_a_dict() -> None:
    queue = dict[int, None]()
    for key in range(1_000):
        queue[key] = None
    while queue:
        del queue[next(iter(queue))]


def _cached(count: int) -> tuple[Index[Pod], Cache[Pod], list[Pod]]:
    trim, decode = PodTrimmer(), msgspec.json.Decoder(Pod).decode
    by_label = Index[Pod](label_pairs)
    cache = Cache(Index(node_of), by_label)
    pods = [trim(decode(_json(i))) for i in range(count)]
    for pod in pods:
        cache.put(pod)
    return by_label, cache, pods


def _json(i: int, own_labels: bool = False) -> bytes:
    """Make a pod of a workload with 50 replicas, as the API server sends it.

    Each pod of a StatefulSet has labels of its own, which the pods of a Deployment have not.
    """
    workload = i // 50
    name, team = f"web-{workload}", f"team-{workload % 40}"
    address = f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-7d4b9c6f5-{i:05x}",
                "generateName": f"{name}-7d4b9c6f5-",
                "namespace": team,
                "uid": f"{i:08x}-1111-2222-3333-444455556666",
                "resourceVersion": str(i),
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {
                    "app": name,
                    "app.kubernetes.io/instance": name,
                    "pod-template-hash": "7d4b9c6f5",
                    "team": team,
                    **({"statefulset.kubernetes.io/pod-name": f"{name}-{i}"} if own_labels else {}),
                    **({"apps.kubernetes.io/pod-index": str(i % 50)} if own_labels else {}),
                },
                "annotations": {"checksum/config": "f" * 64, "prometheus.io/scrape": "true"},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name}
                ],
            },
            "spec": {
                "nodeName": f"node-{i % NODES}",
                "containers": [
                    {
                        "name": "app",
                        "image": "registry.example/app:1",
                        "ports": [
                            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
                            {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
                        ],
                    },
                    {"name": "log", "image": "registry.example/log:1"},
                ],
                "tolerations": [
                    {"key": f"node.kubernetes.io/{what}", "operator": "Exists"}
                    for what in ("not-ready", "unreachable")
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": address,
                "podIPs": [{"ip": address}],
                "conditions": [
                    {
                        "type": kind,
                        "status": "True",
                        "lastTransitionTime": f"2026-01-01T00:{i // 60 % 60:02}:{i % 60:02}Z",
                    }
                    for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
            },
        }
    )


def memory(own_labels: bool) -> str:
    """Tell how many bytes a pod takes, as decoded and in the cache with two indexes."""
    gc.collect()
    tracemalloc.start()
    decode = msgspec.json.Decoder(Pod).decode
    few = [decode(_json(i, own_labels)) for i in range(PODS // 10)]
    whole = tracemalloc.get_traced_memory()[0] / len(few)
    del few
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    trim = PodTrimmer()
    cache = Cache(Index(node_of), Index[Pod](label_pairs))
    for i in range(PODS):
        cache.put(trim(decode(_json(i, own_labels))))
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return f"{whole:,.0f} B decoded, {taken / PODS:,.0f} B cached, {taken / 1e6:,.0f} MB in all"


if __name__ == "__main__":
    print(f"{PODS:,} pods of Deployments: {memory(own_labels=False)}")
    print(f"{PODS:,} pods of StatefulSets: {memory(own_labels=True)}")
