"""The API of a live cluster: what the controllers' ``Cluster`` asks for, over a connection.

Law: one call is one request. Nothing is asked again and nothing is waited for; that is up to those
who call, as is giving up a watch on which nothing comes. A call raises StatusError when the server
refuses, and LostError when no answer came or one that no API server gives; then a write may have
taken effect or not.
"""

from __future__ import annotations

import http.client
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Generic, Self, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from msgspec.structs import replace

from nearwise.client.connection import BrokenError, Connection
from nearwise.client.kubeconfig import Access
from nearwise.client.lines import Lines
from nearwise.model import ObjectMeta, Status
from nearwise.model.codec import decode, encode, from_dict
from nearwise.model.errors import InputError, LostError, StatusError
from nearwise.model.meta import ListMeta, Object, WatchEvent
from nearwise.model.resources import K, Resource

T = TypeVar("T")

_LONGEST_EVENT: Final = 64 * 2**20  # bytes; the API server's own limit for an object is 3 MiB

_EVENT: Final = msgspec.json.Decoder(WatchEvent)


class _Page(Object, Generic[T], frozen=True):
    """One answer to a list request."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] | None = None


class LiveCluster:
    """The API of one cluster, open while in its ``async with``."""

    def __init__(self, access: Access) -> None:
        self._connection = Connection(access)

    async def __aenter__(self) -> Self:
        """Find out who we are. Raises ClusterError for credentials that are of no use."""
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._connection.__aexit__(*failure)

    # --- reading --------------------------------------------------------------------------

    async def page(
        self, resource: Resource[K], query: Mapping[str, str], namespace: str | None = None
    ) -> tuple[tuple[K, ...], ListMeta]:
        """List the objects of one namespace or (None) of all, one page."""
        body = await self._answer("GET", _path(resource, namespace), query)
        page_type: type[_Page[K]] = _Page[resource.type]  # type: ignore[name-defined]
        page = self._decoded(body, page_type)
        return tuple(resource.named(item) for item in page.items or ()), page.metadata

    async def watch(
        self, resource: Resource[K], query: Mapping[str, str], namespace: str | None = None
    ) -> AsyncGenerator[tuple[str, K], None]:
        """Watch the objects of one namespace or (None) of all: types of events and objects.

        Of the object of a BOOKMARK only the metadata mean something. Ends when the server closes
        the stream in good order; an ERROR event raises StatusError. The connection is closed when
        the iterator is, or whoever waits for it cancelled.
        """
        path = _path(resource, namespace)
        lines = Lines()
        async with self._connection.ask("GET", path, query, silence=None) as response:
            await _check(response)
            async for piece in response.content.iter_any():
                for line in lines.feed(piece):
                    if line and not line.isspace():
                        yield self._event(line, resource)
                if lines.rest > _LONGEST_EVENT:
                    raise self._nonsense(f"an event of more than {_LONGEST_EVENT} bytes")
        if lines.rest:
            raise BrokenError(f"{self._connection.server} broke off in the middle of an event")

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        """Read one object."""
        body = await self._answer("GET", _path(resource, namespace, name))
        return self._decoded(body, resource.type)

    # --- writing --------------------------------------------------------------------------

    async def create(self, resource: Resource[K], obj: K) -> K:
        """Create an object, and return it as stored."""
        path = _path(resource, _meta(obj).namespace)
        body = encode(resource.named(obj))
        return self._decoded(await self._answer("POST", path, body=body), resource.type)

    async def update(self, resource: Resource[K], obj: K) -> K:
        """Replace an object, and return it as stored.

        Its resource version, if it has one, must be the stored one's. Raises ValueError for a kind
        of which only a part is kept, as of pods and nodes: the rest would be lost.
        """
        meta = _meta(obj)
        path = _path(resource, meta.namespace, meta.name)
        body = encode(resource.written_back(obj))
        return self._decoded(await self._answer("PUT", path, body=body), resource.type)

    async def delete(self, resource: Resource[K], obj: K) -> None:
        """Delete this very object, known by its uid.

        An object that is gone is a StatusError: 404, or 409 when another one has its name. Raises
        ValueError for an object without a uid, which was never stored.
        """
        meta = _meta(obj)
        if not meta.uid:
            raise ValueError(f"{resource.kind} {meta.namespace}/{meta.name} has no uid")
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": meta.uid},
        }
        path = _path(resource, meta.namespace, meta.name)
        await self._answer("DELETE", path, body=msgspec.json.encode(options))

    # --- answers --------------------------------------------------------------------------

    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        async with self._connection.ask(method, path, query or {}, body) as response:
            await _check(response)
            return await response.read()

    def _event(self, line: bytes, resource: Resource[K]) -> tuple[str, K]:
        try:
            event = _EVENT.decode(line)
            if event.type == "ERROR":
                raise StatusError(from_dict(event.object, Status))
            return event.type, from_dict(event.object, resource.type)
        except (msgspec.DecodeError, RecursionError, InputError) as error:
            raise self._nonsense(str(error)) from None

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return decode(body, kind)
        except InputError as error:
            raise self._nonsense(str(error)) from None

    def _nonsense(self, what: str) -> LostError:
        server = self._connection.server
        return LostError(f"{server} does not answer like a Kubernetes API server: {what}")


async def _check(response: aiohttp.ClientResponse) -> None:
    """Raise StatusError unless this is a good answer.

    What is not from a Kubernetes API server (a proxy's page) has no reason, but code and message.
    """
    if 200 <= response.status < 300:
        return
    try:
        status = decode(await response.read(), Status)
    except InputError:
        status = Status()
    phrase = http.client.responses.get(response.status, "no reason given")
    status = replace(status, code=response.status, message=status.message or phrase)
    retry_after = response.headers.get("Retry-After", "")
    raise StatusError(status, float(retry_after) if retry_after.isdecimal() else 0.0)


def _path(resource: Resource[Any], namespace: str | None, name: str = "") -> str:
    """Return where to ask. Whatever the names hold, they are one step of the path each."""
    for each in (namespace, name):
        if each in {".", ".."}:  # such a step cannot be quoted, and nothing can be named so
            message = f"nothing can be named {each!r}"
            raise StatusError(Status(code=404, reason="NotFound", message=message))
    return resource.path(namespace and quote(namespace, safe=""), quote(name, safe=""))


def _meta(obj: Any) -> ObjectMeta:
    meta: ObjectMeta = obj.metadata
    return meta
