"""The ports on which load balancers ask whether a service has somebody on this node.

They come and go with services under external policy Local (API field ``healthCheckNodePort``).
A port that somebody else has is told once, and tried again until it is free.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Final

from nearwise.loops.serving import Readable, serving

_AGAIN: Final = 10.0  # seconds after which a port that is taken is tried again

_log = logging.getLogger(__name__)


class HealthPorts:
    """Serves the pages that are wanted, each on its port."""

    def __init__(self) -> None:
        self._wanted: Mapping[int, Readable] = {}
        self._open: dict[int, tuple[Readable, AsyncExitStack]] = {}
        self._taken: dict[int, str] = {}
        self._news = asyncio.Event()

    def want(self, pages: Mapping[int, Readable]) -> None:
        """Have these pages served from now on, and no others."""
        self._wanted = pages
        self._news.set()

    @property
    def ports(self) -> list[int]:
        """The ports that are served now, in order."""
        return sorted(self._open)

    async def run(self) -> None:
        """Open and close ports until cancelled; then all are closed."""
        try:
            while True:
                self._news.clear()
                await self._settle()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_AGAIN if self._taken else None):
                        await self._news.wait()
        finally:
            for port in self.ports:
                await self._close(port)

    async def _settle(self) -> None:
        """Close what is not wanted any more, and open what is."""
        wanted = self._wanted
        for port in self.ports:
            if wanted.get(port) is not self._open[port][0]:
                await self._close(port)
        for port in [port for port in self._taken if port not in wanted]:
            del self._taken[port]
        for port, pages in sorted(wanted.items()):
            if port not in self._open:
                await self._try(port, pages)

    async def _try(self, port: int, pages: Readable) -> None:
        stack = AsyncExitStack()
        try:
            await stack.enter_async_context(serving(pages, None, port))
        except OSError as error:
            why = error.strerror or str(error)
            if self._taken.get(port) != why:
                self._taken[port] = why
                _log.warning("health check port %d cannot be opened: %s", port, why)
            return
        self._open[port] = (pages, stack)
        if self._taken.pop(port, None) is not None:
            _log.info("health check port %d is open now", port)

    async def _close(self, port: int) -> None:
        _, stack = self._open.pop(port)
        await stack.aclose()
