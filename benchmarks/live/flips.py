"""From a pod's readiness flip to the slice's write in the hands of a watcher.

Beside it: the flip itself in the hands of a watcher of pods, in which no controller has a part.
Flips come one after the other; both times begin when the flip is sent.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from benchmarks.live import objects
from benchmarks.live.case import Case, Measured, spread
from benchmarks.live.load import PODS, SLICES, Client, client
from benchmarks.live.running import Running, up
from nearwise.model import EndpointSlice

_SIZES = ((100, 1), (2_000, 1), (10_000, 1), (10_000, 100), (10_000, 1_000))
_FLIPS = 200
_WARMING = 20  # flips that are not counted
_PAUSE = 0.01  # seconds after a flip


class _Flip(NamedTuple):
    """Seconds from its sending until it was answered, and seen by watchers."""

    answered: float
    pod: float
    slice: float


class _Line(msgspec.Struct):
    object: EndpointSlice


_LINE = msgspec.json.Decoder(_Line)


def cases() -> Iterator[Case]:
    """Yield the measurements."""
    for pods, services in _SIZES:
        name = f"flip to slice seen, {pods:,} pods, {services:,} service{'s'[: services - 1]}"
        yield Case(name, partial(_measure, pods, services))


def _measure(pods: int, services: int) -> Measured:
    with up("--memory", objects=objects.cluster(services, pods)) as running:
        flips = asyncio.run(_flips(running, pods, services))
    after = spread([flip.slice - flip.answered for flip in flips])
    return Measured(
        f"{spread([flip.slice for flip in flips])}; after the answer {after}",
        f"flip to pod seen: {spread([flip.pod for flip in flips])}",
    )


async def _flips(running: Running, pods: int, services: int) -> list[_Flip]:
    lot = random.Random(1)
    ready = [True] * pods
    found = []
    async with client(running.access) as api:
        await api.until_listed(pods)
        async with api.watch(PODS) as of_pods, api.watch(SLICES) as of_slices:
            for _ in range(_WARMING + _FLIPS):
                i = lot.randrange(pods)
                ready[i] = not ready[i]
                pod = objects.pod_name(i, f"web-{i % services}")
                sent = time.perf_counter()
                moments = await asyncio.gather(
                    _flip(api, pod, i, ready[i]),
                    of_pods.find(partial(_names, pod)),
                    of_slices.find(partial(_shows, pod, ready[i])),
                )
                found.append(_Flip(*(moment - sent for moment in moments)))
                await asyncio.sleep(_PAUSE)
    return found[_WARMING:]


async def _flip(api: Client, pod: str, i: int, ready: bool) -> float:
    conditions = objects.status(i, ready=ready)["conditions"]
    await api.merge(f"{PODS}/{pod}/status", {"status": {"conditions": conditions}})
    return time.perf_counter()


def _names(pod: str, line: bytes) -> bool:
    return pod.encode() in line


def _shows(pod: str, ready: bool, line: bytes) -> bool:
    return any(
        endpoint.target_ref is not None
        and endpoint.target_ref.name == pod
        and endpoint.conditions.ready == ready
        for endpoint in _LINE.decode(line).object.endpoints
    )
