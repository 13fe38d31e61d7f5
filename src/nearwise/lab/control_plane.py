"""The control plane: API server, garbage collector, controllers, in one event loop.

Law: here the parts are put together, and ended in order; what each of them does is in a file of
its own. The server answers before the controllers are imported: it is what people wait for.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nearwise.lab.dumps import Loaded, load, networks_for
from nearwise.lab.kubelets import Kubelets
from nearwise.lab.local_cluster import LocalCluster
from nearwise.model.errors import InputError
from nearwise.server.allocation import Pool
from nearwise.server.api import Api
from nearwise.server.app import App
from nearwise.server.garbage import Collector
from nearwise.server.namespaces import Emptier
from nearwise.server.objects.stored import Decoded
from nearwise.server.serve import serving
from nearwise.server.statuses import Refusal
from nearwise.store import Store

if TYPE_CHECKING:
    from nearwise.controllers.process import Process, Settings

_log = logging.getLogger(__name__)


class Door(NamedTuple):
    """Where clients come in, and with what."""

    sockets: list[socket.socket]
    context: ssl.SSLContext
    token: str


class Chore(Protocol):
    """A part that works by itself on what is stored."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...


@asynccontextmanager
async def control_plane(
    store: Store,
    door: Door,
    *,
    objects: Sequence[Decoded] = (),
    networks: tuple[str, ...] = (),
    controllers: Callable[[], Settings] | None = None,
    beside: Sequence[Callable[[Store, Api], Chore]] = (),
) -> AsyncIterator[Loaded]:
    """Serve a store until the block ends; gives what became of the objects to store first.

    ``networks`` are those of cluster addresses, by default those that the services are in.
    ``controllers`` returns how these are to work; without it none do. ``beside`` makes what else
    is to work; it hears of the objects that are stored first too. The store stays open. Raises
    InputError for objects that cannot be stored, and when nothing can be.
    """
    api = Api(store, pool=Pool(networks or networks_for(objects, store.read)))
    parts: list[Callable[[Store, Api], Chore]] = [Kubelets, Collector, Emptier, *beside]
    chores = [each(store, api) for each in parts]
    loaded = await load(objects, store, api)
    del objects  # they are stored; as plain values they take several times as much
    try:
        await api.start()
    except Refusal as refused:
        raise InputError(f"cannot begin: {refused}") from None
    work: list[_Work] = [each.run for each in chores]
    if controllers is not None:
        work.append(partial(_control, api, controllers))
    async with serving(App(api, token=door.token), door.sockets, door.context, api.close):
        tasks = [asyncio.create_task(_told(each)) for each in work]
        try:
            yield loaded
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


_Work = Callable[[], Coroutine[Any, Any, None]]


async def _told(work: _Work) -> None:
    """Do some work; when it breaks off, that is told at once, and the rest goes on."""
    try:
        await work()
    except Exception:
        _log.exception("a part of the control plane has ended by a mistake")


async def _control(api: Api, settings: Callable[[], Settings]) -> None:
    """Run the controllers until cancelled."""
    process = await asyncio.to_thread(_process, api, settings)
    await process.run(asyncio.Event())


def _process(api: Api, settings: Callable[[], Settings]) -> Process:
    from nearwise.controllers.process import Process
    from nearwise.loops.surroundings import real_surroundings

    return Process(LocalCluster(api), settings(), real_surroundings())
