"""Pods are replaced one by one, and a new node gets its own: what workload controllers do.

Law: pods are told apart by their names, ``web-1``, then ``web-1-r2``, ``web-1-r3``. A new pod is
what the old one was written to be; what a server or a kubelet added is left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from itertools import count as counting
from typing import Final

from nearwise.lab.marks import EVERY_NODE, POWER, READY
from nearwise.lab.remote import Remote
from nearwise.lab.waiting import Told, wait
from nearwise.model import Service
from nearwise.model.errors import InputError
from nearwise.model.selectors import matches
from nearwise.model.wellknown import LAST_APPLIED, ZONE
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded

_REVISION: Final = re.compile(r"(.*?)(?:-r(\d+))?")
_KEPT: Final = ("labels", "annotations", "ownerReferences")
_GONE_WITH_THE_OLD: Final = (READY, LAST_APPLIED)
_OVER: Final = ("Succeeded", "Failed")


def roll(
    api: Remote,
    service: Service,
    max_unavailable: int | None,
    pause: float,
    told: Told,
) -> None:
    """Replace the pods of a service (see ``Lab.rollout``). InputError when it has none."""
    namespace, name = service.metadata.key
    old = [pod for pod in api.list("Pod", namespace) if _is_of(pod, service)]
    if not old:
        raise InputError(f"service {namespace}/{name} has no pods to replace")
    _check_power(api, old)
    taken = {_name(pod) for pod in api.list("Pod", namespace)}
    if max_unavailable is None:
        max_unavailable = 1 if all(map(is_on_every_node, old)) else 0
    step = max(max_unavailable, 1)
    for start in range(0, len(old), step):
        some = old[start : start + step]
        told(f"replacing {', '.join(_name(pod) for pod in some)}")
        if start and pause:
            time.sleep(pause)
        new = [successor(pod, taken) for pod in some]
        taken |= {_name(pod) for pod in new}
        if max_unavailable:
            _delete(api, some)
            _await_end(api, some)
            _create(api, new)
        else:
            _create(api, new)
            _delete(api, some)
    told("waiting for the last ones to end")
    _await_end(api, old)


def for_new_node(pods: Iterable[Decoded], node: str) -> Iterator[Decoded]:
    """Give what a new node gets of each workload of which every node has a pod."""
    seen: set[tuple[str, str]] = set()
    for pod in pods:
        where = at(pod, "spec", "nodeName") or ""
        workload = _REVISION.sub(r"\1", _name(pod)).removesuffix(f"-{where}")
        key = (pod["metadata"]["namespace"], _owner(pod) or workload)
        if is_on_every_node(pod) and key not in seen:
            seen.add(key)
            yield _copy(pod, f"{key[1]}-{node}", node)


def is_on_every_node(pod: Decoded) -> bool:
    """Tell whether a pod is one of those of which every node has one."""
    owners = at(pod, "metadata", "ownerReferences") or ()
    marked = (at(pod, "metadata", "annotations") or {}).get(EVERY_NODE) == "true"
    return marked or any(each.get("kind") == "DaemonSet" for each in owners)


def successor(pod: Decoded, taken: Collection[str] = ()) -> Decoded:
    """Return the pod that comes in the place of another one, with a name that is not taken."""
    found = _REVISION.fullmatch(_name(pod))
    assert found is not None
    revisions = counting(int(found[2] or 1) + 1)
    name = next(name for each in revisions if (name := f"{found[1]}-r{each}") not in taken)
    return _copy(pod, name, pod["spec"]["nodeName"])


def _check_power(api: Remote, pods: Iterable[Decoded]) -> None:
    """Raise InputError when a pod is on a node on which no new one could begin."""
    nodes = {_name(node): node for node in api.list("Node")}
    for pod in pods:
        where = pod["spec"]["nodeName"]
        marks = at(nodes.get(where, {}), "metadata", "annotations") or {}
        if where not in nodes or marks.get(POWER) == "off":
            raise InputError(
                f"pod {_name(pod)} is on node {where}, which is "
                f"{'off' if where in nodes else 'not there'}: no new one can begin on it",
                hint=f"nearwise lab start node {where}" if where in nodes else "delete the pod",
            )


def _copy(pod: Decoded, name: str, node: str) -> Decoded:
    metadata = {each: pod["metadata"][each] for each in _KEPT if each in pod["metadata"]}
    metadata |= {"name": name, "namespace": pod["metadata"]["namespace"]}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {
            key: value for key, value in annotations.items() if key not in _GONE_WITH_THE_OLD
        }
    if labels := metadata.get("labels"):  # the server adds those of the node
        metadata["labels"] = {key: value for key, value in labels.items() if key != ZONE}
    spec = {**pod["spec"], "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _is_of(pod: Decoded, service: Service) -> bool:
    return (
        matches(service.spec.selector, at(pod, "metadata", "labels") or {})
        and bool(at(pod, "spec", "nodeName"))
        and at(pod, "status", "phase") not in _OVER
        and at(pod, "metadata", "deletionTimestamp") is None
    )


def _create(api: Remote, pods: Iterable[Decoded]) -> None:
    """Create pods, and wait until they are ready."""
    names = [(pod["metadata"]["namespace"], _name(api.create(pod))) for pod in pods]

    def not_yet() -> str:
        unready = [name for namespace, name in names if not _ready(api.get("Pod", name, namespace))]
        return f"pod {unready[0]} is not ready" if unready else ""

    wait(not_yet)


def _delete(api: Remote, pods: Iterable[Decoded]) -> None:
    for pod in pods:
        api.delete("Pod", _name(pod), pod["metadata"]["namespace"])


def _await_end(api: Remote, pods: Iterable[Decoded]) -> None:
    uids = {pod["metadata"]["uid"]: _name(pod) for pod in pods}
    longest = max(at(pod, "spec", "terminationGracePeriodSeconds") or 0 for pod in pods)

    def not_yet() -> str:
        left = uids.keys() & {pod["metadata"]["uid"] for pod in api.list("Pod")}
        return f"pod {uids[min(left)]} has not ended" if left else ""

    wait(not_yet, longest + 10)


def _ready(pod: Decoded) -> bool:
    conditions = at(pod, "status", "conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _owner(pod: Decoded) -> str:
    owners = at(pod, "metadata", "ownerReferences") or ()
    return next((each["name"] for each in owners if each.get("kind") == "DaemonSet"), "")


def _name(pod: Decoded) -> str:
    name: str = pod["metadata"]["name"]
    return name
