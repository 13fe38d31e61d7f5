"""Pods as kubectl prints them: the one word for how they fare, and the other columns."""

from __future__ import annotations

from typing import Any

import pytest

from nearwise.server.tables import table
from table_rows import NOW, ago, obj, shown


def container(state: str = "running", *, ready: bool = True, **fields: Any) -> dict[str, Any]:
    """Return the state of a container: ``running``, or ``waiting REASON``."""
    name, _, reason = state.partition(" ")
    detail = {"reason": reason} if reason else {}
    return {"name": "c", "ready": ready and name == "running", "state": {name: detail}, **fields}


def ended(code: int = 0, **detail: Any) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, **detail}}
    return {"name": "c", "ready": False, "state": state}


READY = {"type": "Ready", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}


def pod(
    *containers: dict[str, Any],
    phase: str = "Running",
    init: tuple[dict[str, Any], ...] = (),
    sidecars: bool = False,
    conditions: tuple[dict[str, Any], ...] = (),
    **status: Any,
) -> dict[str, Any]:
    policy = {"restartPolicy": "Always"} if sidecars else {}
    return obj(
        spec={
            "containers": [{"name": "c"} for _ in containers] or [{"name": "c"}],
            "initContainers": [{"name": f"i{n}", **policy} for n in range(len(init))],
        },
        status={
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": list(containers),
            "initContainerStatuses": [{**each, "name": f"i{n}"} for n, each in enumerate(init)],
            **status,
        },
    )


def deleted(of: dict[str, Any]) -> dict[str, Any]:
    return {**of, "metadata": {**of["metadata"], "deletionTimestamp": ago(seconds=1)}}


STATUSES = {
    "a pod that nobody has taken up": (pod(phase="Pending"), "0/1", "Pending"),
    "a pod that runs": (pod(container()), "1/1", "Running"),
    "a pod with a reason of its own": (
        pod(phase="Failed", reason="Evicted"),
        "0/1",
        "Evicted",
    ),
    "a gated pod": (
        pod(
            phase="Pending",
            conditions=({"type": "PodScheduled", "reason": "SchedulingGated"},),
        ),
        "0/1",
        "SchedulingGated",
    ),
    "a container that waits": (
        pod(container("waiting ContainerCreating"), phase="Pending"),
        "0/1",
        "ContainerCreating",
    ),
    "the first container that is not well decides": (
        pod(container(), container("waiting CrashLoopBackOff"), ended(1, reason="Error")),
        "1/3",
        "CrashLoopBackOff",
    ),
    "a container that ended with a reason": (
        pod(ended(137, reason="OOMKilled")),
        "0/1",
        "OOMKilled",
    ),
    "a container that a signal ended": (pod(ended(137, signal=9)), "0/1", "Signal:9"),
    "a container that ended with a code": (pod(ended(2)), "0/1", "ExitCode:2"),
    "a pod that has done its work": (
        pod(ended(reason="Completed"), phase="Succeeded"),
        "0/1",
        "Completed",
    ),
    "one container is done and the pod is ready": (
        pod(ended(reason="Completed"), container(), conditions=(READY,)),
        "1/2",
        "Running",
    ),
    "one container is done and the pod is not ready": (
        pod(ended(reason="Completed"), container()),
        "1/2",
        "NotReady",
    ),
    "the first init container runs": (
        pod(init=(container(), container("waiting PodInitializing")), phase="Pending"),
        "0/1",
        "Init:0/2",
    ),
    "the second init container waits for its turn": (
        pod(init=(ended(), container("waiting PodInitializing")), phase="Pending"),
        "0/1",
        "Init:1/2",
    ),
    "an init container crashes": (
        pod(init=(container("waiting CrashLoopBackOff"),), phase="Pending"),
        "0/1",
        "Init:CrashLoopBackOff",
    ),
    "an init container failed": (
        pod(init=(ended(1, reason="Error"),), phase="Pending"),
        "0/1",
        "Init:Error",
    ),
    "an init container ended with a code": (
        pod(init=(ended(3),), phase="Pending"),
        "0/1",
        "Init:ExitCode:3",
    ),
    "an init container ended by a signal": (
        pod(init=(ended(3, signal=15),), phase="Pending"),
        "0/1",
        "Init:Signal:15",
    ),
    "a sidecar that is ready counts as a container": (
        pod(container(), init=(container(started=True),), sidecars=True),
        "2/2",
        "Running",
    ),
    "a sidecar that has not started holds the pod up": (
        pod(init=(container(started=False),), sidecars=True, phase="Pending"),
        "0/2",
        "Init:0/1",
    ),
    "a sidecar that crashes later does not hide the containers": (
        pod(
            container(),
            init=(container("waiting CrashLoopBackOff"),),
            sidecars=True,
            conditions=(INITIALIZED,),
        ),
        "1/2",
        "Init:CrashLoopBackOff",
    ),
    "a pod that is to go": (deleted(pod(container())), "1/1", "Terminating"),
    "a pod that is to go and whose node is lost": (
        deleted(pod(container(), reason="NodeLost")),
        "1/1",
        "Unknown",
    ),
    "a pod that is to go and has done its work": (
        deleted(pod(ended(reason="Completed"), phase="Succeeded")),
        "0/1",
        "Completed",
    ),
}


@pytest.mark.parametrize(("of", "ready", "status"), STATUSES.values(), ids=STATUSES)
def test_a_pod_shows_how_it_fares(of: dict[str, Any], ready: str, status: str) -> None:
    cells = shown("pods", of)
    assert (cells["Ready"], cells["Status"]) == (ready, status)


def crashed(restarts: int, finished: str) -> dict[str, Any]:
    last = {"terminated": {"finishedAt": finished}}
    return {"restartCount": restarts, "lastState": last}


def test_restarts_are_added_up_and_the_last_one_has_its_age() -> None:
    one = container(**crashed(2, ago(minutes=3)))
    other = container(**crashed(1, ago(minutes=2)))
    assert shown("pods", pod(one, other))["Restarts"] == "3 (2m ago)"


def test_restarts_without_a_time_are_only_counted() -> None:
    assert shown("pods", pod(container(restartCount=4)))["Restarts"] == "4"


def test_init_containers_count_while_they_are_under_way_and_sidecars_always() -> None:
    crashing = {**container("waiting CrashLoopBackOff"), **crashed(5, ago(minutes=2))}
    running = container(restartCount=1, started=True)

    under_way = shown("pods", pod(init=(crashing, container(restartCount=9)), phase="Pending"))
    done = shown("pods", pod(running, init=(ended() | crashed(7, ago(minutes=2)),)))
    sidecar = shown("pods", pod(running, init=(running,), sidecars=True))

    assert under_way["Restarts"] == "5 (2m ago)"
    assert done["Restarts"] == "1"
    assert sidecar["Restarts"] == "2"


def test_a_pod_shows_address_node_and_gates() -> None:
    of = pod(
        container(),
        podIPs=[{"ip": "10.0.0.7"}, {"ip": "2001:db8::7"}],
        nominatedNodeName="n2",
        conditions=({"type": "lb", "status": "True"}, {"type": "mesh", "status": "False"}),
    )
    of["spec"] |= {
        "nodeName": "n1",
        "readinessGates": [{"conditionType": name} for name in ("lb", "mesh", "absent")],
    }

    cells = shown("pods", of)

    assert cells["IP"] == "10.0.0.7"
    assert (cells["Node"], cells["Nominated Node"]) == ("n1", "n2")
    assert cells["Readiness Gates"] == "1/3"


def test_a_pod_without_all_that_shows_none() -> None:
    cells = shown("pods", pod())
    assert {cells[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")} == {
        "<none>"
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_row_of_a_pod_that_has_ended_is_marked(phase: str) -> None:
    (made,) = table("pods", "", [pod(phase=phase)], now=NOW)["rows"]
    (condition,) = made["conditions"]
    assert (condition["type"], condition["reason"]) == ("Completed", phase)
