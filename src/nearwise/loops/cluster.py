"""The API server as the controllers use it: a real one, an embedded one, or one with faults.

All methods raise ``StatusError`` when the server refuses, and ``LostError`` when no answer came,
in which case a write may have taken effect or not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from nearwise.model.meta import ListMeta
from nearwise.model.resources import K, Resource


class Reading(Protocol):
    """What an informer needs of an API server. Requests are not repeated in here."""

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        """List the objects of all namespaces, one page."""
        ...

    def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        """Watch the objects of all namespaces: types of events and objects, bookmarks too.

        Ends when the server closes the stream in good order; an ERROR event raises StatusError.
        """
        ...


class Cluster(Reading, Protocol):
    """What a controller needs of an API server."""

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        """Read one object."""
        ...

    async def create(self, resource: Resource[K], obj: K) -> K:
        """Create an object, and return it as stored."""
        ...

    async def update(self, resource: Resource[K], obj: K) -> K:
        """Replace an object; its resource version, if it has one, must be the stored one's."""
        ...

    async def delete(self, resource: Resource[K], obj: K) -> None:
        """Delete this very object, known by its uid."""
        ...
