"""The embedded API as the controllers use any API server, without a network in between.

Law: one call is one request, as over a connection (``client.cluster``), and is refused like one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from nearwise.model.codec import decode, from_dict, to_dict
from nearwise.model.errors import StatusError
from nearwise.model.meta import ListMeta, ObjectMeta, WatchEvent
from nearwise.model.resources import K
from nearwise.model.resources import Resource as Typed
from nearwise.server.api import Api
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.views import View
from nearwise.server.options import (
    DeleteOptions,
    ListOptions,
    Preconditions,
    Strictness,
    WriteOptions,
)
from nearwise.server.requests import Request, Verb
from nearwise.server.resources import Address, Resource, find
from nearwise.server.statuses import Refusal

_OPTIONS: Final = WriteOptions(manager="nearwise", strictness=Strictness.IGNORE)
"""What comes of a type has no fields that nobody knows."""
_EVENT: Final = msgspec.json.Decoder(WatchEvent)


class LocalCluster:
    """Implements ``loops.cluster.Cluster``."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def page(
        self, resource: Typed[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        """List the objects of all namespaces, one page."""
        with _refused():
            listing = self._api.list(*_listed(resource, query, Verb.LIST))
        items = tuple(resource.named(decode(each.value, resource.type)) for each in listing.entries)
        return items, from_dict(listing.metadata, ListMeta)

    async def watch(
        self, resource: Typed[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        """Watch the objects of all namespaces: types of events and objects, bookmarks too."""
        at, options = _listed(resource, query, Verb.WATCH)
        with _refused():
            watch = self._api.watch(View(at.resource), options=options)
        try:
            async for chunk in watch:
                for line in chunk.splitlines():
                    event = _EVENT.decode(line)
                    yield event.type, from_dict(event.object, resource.type)
        finally:
            watch.close()

    async def get(self, resource: Typed[K], namespace: str, name: str) -> K:
        """Read one object."""
        with _refused():
            entry = self._api.get(Address(_served(resource), namespace, name))
        return resource.named(decode(entry.value, resource.type))

    async def create(self, resource: Typed[K], obj: K) -> K:
        """Create an object, and return it as stored."""
        at = Address(_served(resource), _meta(obj).namespace)
        sent = Sent(to_dict(resource.named(obj)))
        with _refused():
            written = await self._api.create(at, sent, _OPTIONS)
        return resource.named(decode(written.value, resource.type))

    async def update(self, resource: Typed[K], obj: K) -> K:
        """Replace an object, and return it as stored."""
        at = Address(_served(resource), *_meta(obj).key)
        sent = Sent(to_dict(resource.written_back(obj)))
        with _refused():
            written = await self._api.update(at, sent, _OPTIONS)
        return resource.named(decode(written.value, resource.type))

    async def delete(self, resource: Typed[K], obj: K) -> None:
        """Delete this very object, known by its uid."""
        meta = _meta(obj)
        options = DeleteOptions(preconditions=Preconditions(uid=meta.uid))
        with _refused():
            await self._api.delete(Address(_served(resource), *meta.key), options)


@contextmanager
def _refused() -> Iterator[None]:
    """Turn the server's refusal into what its client would raise."""
    try:
        yield
    except Refusal as refused:
        details = refused.status.details
        wait = details.retry_after_seconds if details else 0
        raise StatusError(refused.status, float(wait)) from None


def _served(resource: Typed[Any]) -> Resource:
    group, _, version = resource.api_version.rpartition("/")
    found = find(group, version, resource.plural)
    assert found is not None, f"{resource.plural} are not served"
    return found


def _listed(
    resource: Typed[Any], query: Mapping[str, str], verb: Verb
) -> tuple[Address, ListOptions]:
    at = Address(_served(resource))
    with _refused():
        parameters = {name: (value,) for name, value in query.items()}
        return at, Request(verb, at, View(at.resource), parameters).list_options()


def _meta(obj: Any) -> ObjectMeta:
    meta: ObjectMeta = obj.metadata
    return meta
