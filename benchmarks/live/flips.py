"""From a pod's readiness flip to the slice's write in the hands of a watcher.

Beside it: the flip itself in the hands of a watcher of pods, which no controller has a part in.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from benchmarks.live import objects
from benchmarks.live.load import Client, client, spread
from benchmarks.live.running import Running, up

SIZES = ((100, 1), (2_000, 1), (10_000, 1), (10_000, 100), (10_000, 1_000))
FLIPS = 200
_PODS = f"/api/v1/namespaces/{objects.NAMESPACE}/pods"
_SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
_PATIENCE = 30.0


class Flip(NamedTuple):
    """Seconds since the flip was sent."""

    acknowledged: float
    pod_seen: float
    slice_seen: float


def measure() -> Iterator[tuple[str, str, str]]:
    """Yield what was measured, with what stands beside it."""
    for pods, services in SIZES:
        with up("--memory", objects=objects.cluster(services, pods)) as running:
            flips = asyncio.run(_flips(running, pods, services))
        after = [flip.slice_seen - flip.acknowledged for flip in flips]
        yield (
            f"flip to slice seen, {pods:,} pods, {services:,} services",
            f"{spread([flip.slice_seen for flip in flips])} "
            f"(after the answer: {spread(after)})",
            f"to pod seen: {spread([flip.pod_seen for flip in flips])}",
        )


async def _flips(running: Running, pods: int, services: int) -> list[Flip]:
    lot = random.Random(1)
    async with client(running.access) as api:
        await _settled(api, services)
        pod_lines, slice_lines = _Watching(api, _PODS), _Watching(api, _SLICES)
        async with pod_lines, slice_lines:
            found = []
            for number in range(FLIPS + 20):
                i = lot.randrange(pods)
                found.append(await _flip(api, pod_lines, slice_lines, i, services, ready=False))
                await _flip(api, pod_lines, slice_lines, i, services, ready=True)
            return found[20:]
