"""From a pod's readiness flip to the slice's write in the hands of a watcher.

Beside it: the flip itself in the hands of a watcher of pods, in which no controller has a part.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import msgspec

from benchmarks.live import objects
from benchmarks.live.load import Client, client, spread
from benchmarks.live.running import Running, up
from nearwise.model import EndpointSlice

SIZES = ((100, 1), (2_000, 1), (10_000, 1), (10_000, 100), (10_000, 1_000))
FLIPS = 150
WARMING = 20  # flips that are not counted
PODS = f"/api/v1/namespaces/{objects.NAMESPACE}/pods"
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"


class _Flip(NamedTuple):
    """Seconds since the flip was sent, until it was answered and seen."""

    answered: float
    pod: float
    slice_: float


class _List(msgspec.Struct):
    items: list[EndpointSlice]


class _Line(msgspec.Struct):
    object: EndpointSlice


_LINE = msgspec.json.Decoder(_Line)


def measure() -> Iterator[tuple[str, str, str]]:
    """Yield a name, what was measured, and what stands beside it."""
    for pods, services in SIZES:
        with up("--memory", objects=objects.cluster(services, pods)) as running:
            flips = asyncio.run(_flips(running, pods, services))
        yield (
            f"flip to slice seen, {pods:,} pods in {services:,} services",
            f"{spread([flip.slice_ for flip in flips])}; after the answer "
            f"{spread([flip.slice_ - flip.answered for flip in flips])}",
            f"flip to pod seen: {spread([flip.pod for flip in flips])}",
        )


async def _flips(running: Running, pods: int, services: int) -> list[_Flip]:
    lot = random.Random(1)
    async with client(running.access) as api:
        await complete(api, pods)
        pod_lines, slice_lines = api.watch(PODS), api.watch(SLICES)
        await asyncio.gather(pod_lines.begin(), slice_lines.begin())
        ready = [True] * pods
        found = []
        for _ in range(WARMING + FLIPS):
            i = lot.randrange(pods)
            ready[i] = not ready[i]
            pod = objects.pod(i, f"web-{i % services}")["metadata"]["name"]
            patch = {"status": {"conditions": objects.status(i, ready=ready[i])["conditions"]}}
            sent = time.perf_counter()
            answer = asyncio.create_task(_answered(api, f"{PODS}/{pod}/status", patch))
            seen = await asyncio.gather(
                answer,
                _seen(pod_lines, lambda line, pod=pod: pod.encode() in line),
                _seen(slice_lines, lambda line, pod=pod, i=i: _shows(line, pod, ready[i])),
            )
            found.append(_Flip(*(moment - sent for moment in seen)))
            await asyncio.sleep(0.01)
        return found[WARMING:]
