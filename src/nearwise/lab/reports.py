"""What the kubelets of a lab write about nodes and pods: strategic merge patches of their status.

Law: pure. None means that what is stored says so already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from nearwise.model import Node, Pod

_CPU: Final = "4"  # of a node that does not say
_PROCESS: Final = "process://"
_WHOLE: Final = {"$patch": "replace"}
"""In a list: merged item by item it would keep addresses from before."""


def of_node(
    node: Node, ready: str, reason: str, addresses: Sequence[str], now: str
) -> dict[str, Any] | None:
    """Return how a node is: ready "True", "False" or "Unknown", and at which addresses."""
    known = [each.address for each in node.status.addresses if each.type == "InternalIP"]
    told = next((each.status for each in node.status.conditions if each.type == "Ready"), "")
    if told == ready and (not addresses or known == list(addresses)):
        return None
    status: dict[str, Any] = {"conditions": [_condition("Ready", ready, now, reason)]}
    if addresses:
        listed = [{"type": "InternalIP", "address": each} for each in addresses]
        listed.append({"type": "Hostname", "address": node.metadata.name})
        allocatable = {"cpu": _CPU, **node.status.capacity, **node.status.allocatable}
        status["addresses"] = [_WHOLE, *listed]
        status["allocatable"] = allocatable
        status["capacity"] = {**allocatable, **node.status.capacity}
    return status


class Life(NamedTuple):
    """What a kubelet knows of a pod."""

    addresses: tuple[str, ...]
    host_address: str
    process: int
    """0 when it has none."""
    restarts: int
    why_not_ready: str
    """A reason of one word; empty when it is ready."""


def of_pod(
    pod: Pod,
    life: Life,
    now: str,
) -> dict[str, Any]:
    """Return how a pod is."""
    addresses, host_address, process, restarts, why_not_ready = life
    ready = str(not why_not_ready)
    status: dict[str, Any] = {
        "phase": "Running" if addresses else "Pending",
        "conditions": [
            _condition("Initialized", "True", now),
            _condition("Ready", ready, now, why_not_ready),
            _condition("ContainersReady", ready, now, why_not_ready),
            _condition("PodScheduled", "True", now),
        ],
        "containerStatuses": [
            {
                "name": container.name,
                "image": "nearwise",
                "imageID": "",
                "ready": not why_not_ready,
                "started": bool(process),
                "restartCount": restarts,
                "containerID": f"{_PROCESS}{process}" if process else "",
                "state": {"running": {"startedAt": now}}
                if process
                else {"waiting": {"reason": why_not_ready}},
            }
            for container in pod.spec.containers
        ],
    }
    if addresses:
        status["podIP"] = addresses[0]
        status["podIPs"] = [_WHOLE, *({"ip": each} for each in addresses)]
        status["startTime"] = pod.metadata.creation_timestamp
    if host_address:
        status["hostIP"] = host_address
    return status


def process_of(container_status: Mapping[str, Any]) -> int:
    """Return the process of a pod, as the status of one of its containers tells it; 0 for none."""
    return int(str(container_status.get("containerID") or "").removeprefix(_PROCESS) or 0)


def _condition(type_: str, status: str, now: str, reason: str = "") -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "lastTransitionTime": now}
