"""The whole agent: how soon a change is in the kernel, and how much memory it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.live.case import Case, Measured, spread
from benchmarks.live.running import proxy, up
from benchmarks.nodes.host import hosts
from benchmarks.nodes.services import HERE, NAMESPACE, NODE, Shape
from nearwise.loops.surroundings import real_surroundings
from nearwise.model import EndpointConditions, EndpointSlice, ObjectMeta
from nearwise.model.codec import decode, encode, to_dict
from nearwise.model.meta import ListMeta
from nearwise.model.resources import ENDPOINT_SLICES, NODES, SERVICES, Resource
from nearwise.nft.diff import Transaction
from nearwise.nft.layout import SERVICES as FRONTENDS
from nearwise.nft.ruleset import Family
from nearwise.proxy.addresses import machine_addresses
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.node import Options
from nearwise.proxy.process import Machine, Process

_CHANGES: Final = 300
_WARMING: Final = 20  # changes that are not counted
_PAUSE: Final = 0.01  # seconds after a change
_FEW: Final = Shape(10, 10)
_END: Final = {"k8s.io/initial-events-end": "true"}


def cases(*many: Shape) -> Iterator[Case]:
    """Yield the measurements; memory with the first that is not the smallest."""
    for shape in (_FEW, *many):
        yield Case(f"watch event to kernel, {shape}", partial(_changes, shape))
    yield Case(f"nearwise proxy, {many[0]}", partial(_memory, many[0]))


# --- how soon -----------------------------------------------------------------------------


class _Feed:
    """An API server that tells what is there, and then lines of a watch of slices."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def page(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> tuple[tuple[Any, ...], ListMeta]:
        """Refuse: who follows asks for a stream that begins with what is there."""
        raise NotImplementedError

    async def watch(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, Any]]:
        """Tell everything there is, that this was all, and what changes."""
        for number in range(self._shape.services):
            if resource is SERVICES:
                yield "ADDED", self._shape.service(number)
            elif resource is ENDPOINT_SLICES:
                for each in self._shape.slices(number):
                    yield "ADDED", each
        if resource is NODES:
            yield "ADDED", NODE
        lines = self.lines if resource is ENDPOINT_SLICES else asyncio.Queue()  # nothing comes
        meta = ObjectMeta(annotations=_END, resource_version="1")
        yield "BOOKMARK", resource.type(metadata=meta)
        while True:
            yield "MODIFIED", decode(await lines.get(), EndpointSlice)


class _Timed(NetlinkKernel):
    """A kernel that says when it has taken something."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: asyncio.Queue[float] = asyncio.Queue()

    def apply(self, change: Transaction) -> None:
        """Take a change."""
        super().apply(change)
        self.taken.put_nowait(time.perf_counter())


def _changes(shape: Shape) -> Measured:
    with hosts(1) as (host,):
        host.ip("route add unreachable default")
        with host.entered():
            seconds, first = asyncio.run(_told(shape))
    return Measured(spread(seconds), f"all of it at first: {first:.2f} s")


async def _told(shape: Shape) -> tuple[list[float], float]:
    """Return the seconds that changes took, and what came before them."""
    feed, kernel, stop = _Feed(shape), _Timed(), asyncio.Event()
    machine = Machine(kernel, KernelFlows(), machine_addresses)
    process = Process(feed, machine, Options(node=HERE.node), real_surroundings())
    began = time.perf_counter()
    found = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(process.run(stop))
        first = await kernel.taken.get() - began
        await asyncio.sleep(0.5)
        for line in _lines(shape):
            while not kernel.taken.empty():
                kernel.taken.get_nowait()
            told = time.perf_counter()
            feed.lines.put_nowait(line)
            found.append(await kernel.taken.get() - told)
            await asyncio.sleep(_PAUSE)
        stop.set()
    return found[_WARMING:], first


def _lines(shape: Shape) -> Iterator[bytes]:
    """Have one endpoint after another lose its readiness, and get it back."""
    unready, versions = EndpointConditions(False, False, False), count(2)
    for change in range((_WARMING + _CHANGES) // 2):
        first = shape.slices(change * 7 % shape.services)[0]
        endpoint = replace(first.endpoints[0], conditions=unready)
        for each in (replace(first, endpoints=(endpoint, *first.endpoints[1:])), first):
            version = str(next(versions))
            yield encode(replace(each, metadata=replace(each.metadata, resource_version=version)))


# --- how much memory ----------------------------------------------------------------------


def _memory(shape: Shape) -> Measured:
    objects: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    ]
    objects.append(to_dict(NODE))
    for number in range(shape.services):
        objects += map(to_dict, (shape.service(number), *shape.slices(number)))
    with hosts(1) as (host,), host.entered():
        kernel = NetlinkKernel()
        with up("--memory", "--no-controllers", objects=objects) as server:
            began = time.perf_counter()
            with proxy(server.kubeconfig, HERE.node) as running:
                while not _is_loaded(kernel, shape):
                    time.sleep(0.2)
                seconds = time.perf_counter() - began
                time.sleep(2)
                memory, most = running.resident(), running.most_resident()
    return Measured(
        f"{memory / 1e6:.0f} MB, {most / 1e6:.0f} MB at most",
        f"from its start to the rules in the kernel: {seconds:.1f} s",
    )


def _is_loaded(kernel: NetlinkKernel, shape: Shape) -> bool:
    found = kernel.read(Family.IPV4)
    return found is not None and len(found.elements.get(FRONTENDS, ())) >= shape.services
