"""Pods as a table. STATUS is the one word for how a pod fares, found by rules of its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables import descriptions
from nearwise.server.tables.ages import parse_time, since
from nearwise.server.tables.columns import AGE, NAME, Column, Layout, age_of, name_of, wide
from nearwise.server.tables.reading import number, or_none, part, parts, text


def _pod(pod: Object, now: datetime) -> list[Json]:
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = _sidecars(spec)
    init = _initialization(spec, status, sidecars)
    word, ready, counted = init.word, init.ready, init.seen
    if not init.under_way or _is_true(status, "Initialized"):
        containers = parts(status, "containerStatuses")
        word, running = _running(status, containers, word)
        ready += running
        counted = [each for each in init.seen if text(each, "name") in sidecars] + containers
    total = len(parts(spec, "containers")) + len(sidecars)
    addresses = parts(status, "podIPs")
    return [
        name_of(pod),
        f"{ready}/{total}",
        _unless_deleted(pod, word),
        _restarts(counted, now),
        age_of(pod, now),
        or_none(text(addresses[0], "ip") if addresses else ""),
        or_none(text(spec, "nodeName")),
        or_none(text(status, "nominatedNodeName")),
        _gates(spec, status),
    ]


# --- STATUS -------------------------------------------------------------------------------


class _Init(NamedTuple):
    """How the init containers of a pod fare."""

    word: str
    """STATUS, as far as init containers decide it."""

    under_way: bool
    ready: int
    """How many sidecars are ready."""

    seen: list[Object]
    """Their states, up to the one that is under way."""


def _sidecars(spec: Object) -> set[str]:
    """Name the init containers that keep running beside the others."""
    init = parts(spec, "initContainers")
    return {text(each, "name") for each in init if text(each, "restartPolicy") == "Always"}


def _initialization(spec: Object, status: Object, sidecars: set[str]) -> _Init:
    """Find the first init container that is neither done nor a sidecar that has started."""
    word = text(status, "reason", "phase")
    if any(
        text(each, "type") == "PodScheduled" and text(each, "reason") == "SchedulingGated"
        for each in parts(status, "conditions")
    ):
        word = "SchedulingGated"
    total = len(parts(spec, "initContainers"))
    statuses = parts(status, "initContainerStatuses")
    ready = 0
    for index, container in enumerate(statuses):
        ended, waiting = _state(container, "terminated"), _state(container, "waiting")
        if ended is not None and number(ended, "exitCode") == 0:
            continue
        if text(container, "name") in sidecars and container.get("started") is True:
            ready += container.get("ready") is True
            continue
        waits_for = text(waiting or {}, "reason")
        if ended is not None:
            word = f"Init:{_ending(ended)}"
        elif waits_for not in ("", "PodInitializing"):
            word = f"Init:{waits_for}"
        else:
            word = f"Init:{index}/{total}"
        return _Init(word, True, ready, statuses[: index + 1])
    return _Init(word, False, ready, statuses)


def _running(status: Object, containers: list[Object], word: str) -> tuple[str, int]:
    """Find STATUS from the containers: the first one that waits or has ended decides."""
    ready = 0
    for container in reversed(containers):
        ended, waiting = _state(container, "terminated"), _state(container, "waiting")
        if waits_for := text(waiting or {}, "reason"):
            word = waits_for
        elif ended is not None:
            word = _ending(ended)
        elif container.get("ready") is True and _state(container, "running") is not None:
            ready += 1
    if word == "Completed" and ready:  # not all of them have ended
        word = "Running" if _is_true(status, "Ready") else "NotReady"
    return word, ready


def _ending(ended: Object) -> str:
    """Say why a container ended."""
    if reason := text(ended, "reason"):
        return reason
    signal = number(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}"


def _unless_deleted(pod: Object, word: str) -> str:
    """Replace STATUS for a pod that is to go."""
    status = part(pod, "status")
    if not text(part(pod, "metadata"), "deletionTimestamp"):
        return word
    if text(status, "reason") == "NodeLost":
        return "Unknown"
    return word if text(status, "phase") in ("Succeeded", "Failed") else "Terminating"


def _state(container: Object, name: str) -> Object | None:
    state = part(container, "state").get(name)
    return state if isinstance(state, dict) else None


def _is_true(status: Object, condition: str) -> bool:
    return any(
        text(each, "type") == condition and text(each, "status") == "True"
        for each in parts(status, "conditions")
    )


# --- The other columns --------------------------------------------------------------------


def _restarts(containers: Iterable[Object], now: datetime) -> str:
    """Count restarts, and say how long ago the last one was: ``3 (2m ago)``."""
    restarts = 0
    ends = []
    for container in containers:
        restarts += number(container, "restartCount")
        finished = text(part(container, "lastState", "terminated"), "finishedAt")
        if (moment := parse_time(finished)) is not None:
            ends.append((moment, finished))
    if not restarts or not ends:
        return str(restarts)
    return f"{restarts} ({since(max(ends)[1], now)} ago)"


def _gates(spec: Object, status: Object) -> str:
    """Say how many of the readiness gates are open."""
    gates = [text(each, "conditionType") for each in parts(spec, "readinessGates")]
    return f"{sum(_is_true(status, gate) for gate in gates)}/{len(gates)}" if gates else "<none>"


_ENDINGS: Final = {
    "Failed": "The pod failed.",
    "Succeeded": "The pod has completed successfully.",
}


def _conditions(pod: Object) -> list[Json]:
    """Mark pods that have run to their end."""
    phase = text(part(pod, "status"), "phase")
    if phase not in _ENDINGS:
        return []
    message = _ENDINGS[phase]
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


PODS: Final = Layout(
    (
        NAME,
        Column("Ready", "The aggregate readiness state of this pod for accepting traffic."),
        Column("Status", "The aggregate status of the containers in this pod."),
        Column("Restarts", descriptions.RESTARTS),
        AGE,
        wide("IP", descriptions.POD_IP),
        wide("Node", descriptions.NODE_NAME),
        wide("Nominated Node", descriptions.NOMINATED_NODE),
        wide("Readiness Gates", descriptions.READINESS_GATES),
    ),
    _pod,
    _conditions,
)
