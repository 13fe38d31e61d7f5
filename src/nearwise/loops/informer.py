"""Keeps a cache in step with the API server: carries out what the list-watch machine asks for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Generic

from nearwise.loops.cluster import Reading
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import Cache, Delta, Index, K
from nearwise.machinery.listwatch import ListWatch, Phase, Request
from nearwise.machinery.wait import Wait
from nearwise.model import Status
from nearwise.model.errors import LostError, StatusError
from nearwise.model.resources import Resource

Listener = Callable[[Delta[K]], None]
"""Told each change of one kind, in order, after the cache shows it. Returns quickly."""

_log = logging.getLogger(__name__)


class Informer(Generic[K]):
    """The objects of one resource as last seen, and who wants to know of changes."""

    def __init__(
        self,
        cluster: Reading,
        resource: Resource[Any],
        surroundings: Surroundings,
        *indexes: Index[K],
        trim: Callable[[K], K] = lambda obj: obj,
        only: Mapping[str, str] | None = None,
    ) -> None:
        """Begin with nothing seen.

        ``trim`` says what is kept of an object; ``only`` which objects the API server is asked
        for, as the parameters of a request (``labelSelector``, ``fieldSelector``).
        """
        self.cache: Cache[K] = Cache(*indexes)
        self._only = dict(only or {})
        self._cluster = cluster
        self._resource = resource
        self._now = surroundings.now
        self._machine = ListWatch(self.cache, lot=surroundings.lot, trim=trim)
        self._listeners: list[Listener[K]] = []
        self._synced = asyncio.Event()
        self._told = ""  # the trouble that was last logged

    def listen(self, listener: Listener[K]) -> None:
        """Have all changes told from now on."""
        self._listeners.append(listener)

    async def synced(self) -> None:
        """Wait until the cache has once held all objects there were."""
        await self._synced.wait()

    @property
    def name(self) -> str:
        """What is followed, such as ``services``."""
        return self._resource.plural

    @property
    def has_listeners(self) -> bool:
        """Whether anybody wants to know of changes."""
        return bool(self._listeners)

    @property
    def has_synced(self) -> bool:
        """Whether the cache has once held all objects there were."""
        return self._synced.is_set()

    @property
    def seen(self) -> str:
        """The version up to which the cache has seen everything; empty while it lists anew."""
        return self._machine.version

    @property
    def trouble(self) -> str:
        """What is wrong with the connection now; empty if nothing is."""
        return self._machine.trouble.message if self._machine.trouble else ""

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        while True:
            step = self._machine.next(self._now())
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                continue
            try:
                await (self._watch(step) if step.watch else self._list(step))
            except StatusError as refused:
                self._failed(refused.status, refused.retry_after)
            except (LostError, TimeoutError) as lost:
                self._failed(Status(message=str(lost) or "no answer came in time"))

    async def _list(self, request: Request) -> None:
        async with asyncio.timeout(request.patience):
            items, meta = await self._cluster.page(self._resource, self._only | request.query)
        self._tell(self._machine.listed(items, meta))

    async def _watch(self, request: Request) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with (
                asyncio.timeout(request.patience) as patience,
                aclosing(self._cluster.watch(self._resource, self._only | request.query)) as events,  # type: ignore[type-var]
            ):
                async for kind, obj in events:
                    self._tell(self._machine.event(kind, obj))
                    patience.reschedule(loop.time() + self._machine.patience)
                    if self._machine.phase is Phase.LIST:
                        return
        except TimeoutError:
            _log.info("%s: the watch was silent for too long", self.name)
        self._machine.ended(self._now())

    def _failed(self, status: Status, retry_after: float = 0.0) -> None:
        self._machine.failed(self._now(), status, retry_after)
        if self.trouble != self._told:
            self._told = self.trouble
            _log.warning("%s: %s", self.name, self.trouble)

    def _tell(self, deltas: list[Delta[K]]) -> None:
        if self._told:
            self._told = ""
            _log.info("%s: answered again", self.name)
        for delta in deltas:
            for listener in self._listeners:
                listener(delta)
        if self._machine.has_synced:
            self._synced.set()
