"""Lists of a live cluster for people: patient, and plain about what failed.

Reads are repeated when the server is busy or a connection breaks; how often and how long is
bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Self

from nearwise.client.cluster import LiveCluster
from nearwise.client.connection import BrokenError
from nearwise.client.errors import ClusterError, ForbiddenError
from nearwise.client.kubeconfig import Access
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource

_PAGE: Final = "500"  # objects a request, as kubectl has it
_WAITS: Final = (0.25, 0.5, 1.0, 2.0)  # seconds between attempts, if the server names none
_LONGEST_WAIT: Final = 30.0  # seconds, whatever Retry-After says
_BUSY: Final = frozenset({429, 500, 502, 503, 504})


class Api:
    """The API of one cluster, open while in its ``async with``."""

    def __init__(
        self, access: Access, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._access = access
        self._sleep = sleep
        self._cluster = LiveCluster(access)

    async def __aenter__(self) -> Self:
        """Find out who we are. Raises ClusterError for credentials that are of no use."""
        await self._cluster.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._cluster.__aexit__(*failure)

    async def list(self, resource: Resource[K], namespace: str | None = None) -> tuple[K, ...]:
        """Return all objects of a kind, in one namespace or (None) in all.

        Raises ForbiddenError when we may not list them, else ClusterError.
        """
        try:
            return await self._list(resource, namespace)
        except StatusError as error:
            raise self._refusal(error, resource.path(namespace)) from None
        except LostError as error:
            raise ClusterError(f"{error}; is the context right? ({self._access.origin})") from None

    async def _list(self, resource: Resource[K], namespace: str | None) -> tuple[K, ...]:
        query = {"limit": _PAGE}
        items: list[K] = []
        while True:
            try:
                page, meta = await self._page(resource, query, namespace)
            except StatusError as error:
                if error.status.code != 410 or "continue" not in query:
                    raise
                # The pages would no longer show one moment: read all again, in one piece.
                items, query = [], {}
                continue
            items += page
            if not meta.continue_:
                return tuple(items)
            query["continue"] = meta.continue_

    async def _page(
        self, resource: Resource[K], query: Mapping[str, str], namespace: str | None
    ) -> tuple[tuple[K, ...], ListMeta]:
        """Ask for a page, again while the server is busy or breaks the connection."""
        for wait in _WAITS:
            try:
                return await self._cluster.page(resource, query, namespace)
            except BrokenError:
                await self._sleep(wait)
            except StatusError as error:
                if error.status.code not in _BUSY:
                    raise
                await self._sleep(min(error.retry_after or wait, _LONGEST_WAIT))
        return await self._cluster.page(resource, query, namespace)

    def _refusal(self, error: StatusError, path: str) -> ClusterError:
        """Return what to tell when the answer is not what we asked for."""
        access = self._access
        match error.status.code:
            case 401:
                return ClusterError(
                    f"{access.server} does not accept our credentials: {error}; "
                    f"log in again, or is the context right? ({access.origin})"
                )
            case 403:
                return ForbiddenError(f"{error} ({access.origin})")
            case code:
                return ClusterError(
                    f"{access.server} answers {code} to {path}: {error} ({access.origin})"
                )
