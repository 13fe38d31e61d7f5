"""A rollout of a Deployment with 1,000 pods, and what of it is written to slices.

What a Deployment and kubelets do is played: a quarter of the pods at a time is made, gets its
address, gets ready, and then as many old ones end with a second of grace. The controllers run in
a process of their own (``nearwise controller``), for that has a batching period.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from benchmarks.live import objects
from benchmarks.live.case import Case, Measured
from benchmarks.live.load import PODS, SLICES, Client, client
from benchmarks.live.running import controller, up
from nearwise.client.kubeconfig import Access
from nearwise.model import EndpointSlice

_PODS = 1_000
_WAVE = _PODS // 4
_AT_ONCE = 20  # requests
_APP = "web-0"
_QUIET = 2.0  # seconds in which a write that is not needed would come


class _Outcome(NamedTuple):
    pod_writes: int
    slice_writes: int
    driving: float  # seconds until all pods were written
    lagging: float  # and from then until the slices showed it


def cases() -> Iterator[Case]:
    """Yield the measurements."""
    for period in ("0s", "500ms"):
        yield Case(
            f"rollout of {_PODS:,} pods, batching period {period}", partial(_measure, period)
        )


def _measure(period: str) -> Measured:
    batching = ("--endpointslice-updates-batch-period", period)
    with (
        up("--memory", "--no-controllers", objects=objects.cluster(1, _PODS)) as server,
        controller(server.kubeconfig, *batching),
    ):
        outcome = asyncio.run(_rolled(server.access))
    return Measured(
        f"{outcome.slice_writes:,} slice writes; all in the slices {outcome.lagging:.2g} s after "
        "the last pod had gone",
        f"{outcome.pod_writes:,} pod writes in {outcome.driving:.2g} s",
    )


async def _rolled(access: Access) -> _Outcome:
    async with client(access) as api:
        await api.until_listed(_PODS)
        async with api.watch(PODS) as of_pods, api.watch(SLICES) as of_slices:
            began = time.perf_counter()
            limit = asyncio.Semaphore(_AT_ONCE)
            for start in range(0, _PODS, _WAVE):
                wave = range(start, start + _WAVE)
                await asyncio.gather(*(_begin(api, limit, _PODS + i) for i in wave))
                await asyncio.gather(*(_end(api, limit, i) for i in wave))
            for _ in range(_PODS):
                gone = await of_pods.find(_is_deletion)
            while not _all_new(await api.slices()):
                await asyncio.sleep(0.02)
            lagging = max(0.0, time.perf_counter() - gone)
            await asyncio.sleep(_QUIET)
    return _Outcome(of_pods.seen, of_slices.seen, gone - began, lagging)


async def _begin(api: Client, limit: asyncio.Semaphore, i: int) -> None:
    """Have a pod made, started and ready."""
    path = f"{PODS}/{objects.pod_name(i, _APP)}/status"
    async with limit:
        await api.send("POST", PODS, objects.pod(i, _APP))
    for ready in (False, True):
        async with limit:
            await api.merge(path, {"status": objects.status(i, ready=ready)})


async def _end(api: Client, limit: asyncio.Semaphore, i: int) -> None:
    """Have a pod end."""
    async with limit:
        path = f"{PODS}/{objects.pod_name(i, _APP)}"
        await api.send("DELETE", path, {"gracePeriodSeconds": 1})


def _is_deletion(line: bytes) -> bool:
    return line.startswith(b'{"type":"DELETED"')


def _all_new(slices: Iterable[EndpointSlice]) -> bool:
    """Tell whether the slices list the new pods, all of them ready, and nothing else."""
    listed = [endpoint for slice_ in slices for endpoint in slice_.endpoints]
    ready = {
        endpoint.target_ref.name
        for endpoint in listed
        if endpoint.target_ref and endpoint.conditions.ready
    }
    new = {objects.pod_name(_PODS + i, _APP) for i in range(_PODS)}
    return len(listed) == _PODS and ready == new
