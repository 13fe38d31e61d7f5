"""A small API server that can be followed: objects by kind, and everybody who watches them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from nearwise.insight.world import World
from nearwise.model import ObjectMeta, Status
from nearwise.model.codec import to_dict
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES, Resource
from nearwise.model.wellknown import SERVICE_NAME
from scripted_server import Answer, Asked, Reply, says

_FIELDS: dict[str, Resource[Any]] = {
    "nodes": NODES,
    "services": SERVICES,
    "slices": ENDPOINT_SLICES,
    "pods": PODS,
}
_END = {"k8s.io/initial-events-end": "true"}


class Server:
    """Objects that change by hand, for who follows them on the same event loop."""

    def __init__(self, world: World) -> None:
        self.asked: list[tuple[str, str | None, str]] = []  # kind, namespace, selector
        self.down = False
        self.forbidden: set[str] = set()
        self._version = 1
        self._objects: dict[str, dict[tuple[str, str], Any]] = {}
        self._watches: list[tuple[str, Mapping[str, str], asyncio.Queue[Any]]] = []
        self._log: list[tuple[int, str, Any]] = []
        self.become(world)

    # --- what happens -------------------------------------------------------------------------

    def become(self, world: World) -> None:
        """Write whatever makes the objects those of a world."""
        for field, resource in _FIELDS.items():
            wanted = {each.metadata.key: each for each in getattr(world.objects, field)}
            held = self._objects.setdefault(resource.plural, {})
            for key in [key for key in held if key not in wanted]:
                self.drop(held[key])
            for key, obj in wanted.items():
                if key not in held or _bare(held[key]) != _bare(obj):
                    self.put(obj)

    def put(self, obj: Any) -> None:
        """Create or replace an object."""
        held = self._objects[_plural(obj)]
        kind = "MODIFIED" if obj.metadata.key in held else "ADDED"
        held[obj.metadata.key] = obj = self._versioned(obj)
        self._tell(kind, obj)

    def drop(self, obj: Any) -> None:
        """Delete an object."""
        del self._objects[_plural(obj)][obj.metadata.key]
        self._tell("DELETED", self._versioned(obj))

    def break_watches(self) -> None:
        """Break every connection that is open."""
        for _, _, events in self._watches:
            events.put_nowait(LostError("the connection broke"))

    def _versioned(self, obj: Any) -> Any:
        self._version += 1
        return replace(obj, metadata=replace(obj.metadata, resource_version=str(self._version)))

    def _tell(self, kind: str, obj: Any) -> None:
        self._log.append((self._version, kind, obj))
        for plural, query, events in self._watches:
            if plural == _plural(obj) and _picks(query, obj):
                events.put_nowait((kind, obj))

    # --- what is asked ------------------------------------------------------------------------

    async def page(
        self, resource: Resource[Any], query: Mapping[str, str], namespace: str | None = None
    ) -> tuple[tuple[Any, ...], ListMeta]:
        """List everything on one page."""
        self._begin(resource, query, namespace)
        return tuple(self._picked(resource, query)), ListMeta(str(self._version))

    async def watch(
        self, resource: Resource[Any], query: Mapping[str, str], namespace: str | None = None
    ) -> AsyncGenerator[tuple[str, Any], None]:
        """Stream the list, or what happened since a version; then what happens."""
        self._begin(resource, query, namespace)
        events: asyncio.Queue[Any] = asyncio.Queue()
        watch = (resource.plural, query, events)
        if query.get("sendInitialEvents"):
            for obj in self._picked(resource, query):
                events.put_nowait(("ADDED", obj))
            end = ObjectMeta(annotations=_END, resource_version=str(self._version))
            events.put_nowait(("BOOKMARK", resource.type(metadata=end)))
        else:
            for version, kind, obj in self._log:
                missed = version > int(query["resourceVersion"])
                if missed and resource.plural == _plural(obj) and _picks(query, obj):
                    events.put_nowait((kind, obj))
        self._watches.append(watch)
        try:
            while True:
                event = await events.get()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self._watches.remove(watch)

    def _begin(
        self, resource: Resource[Any], query: Mapping[str, str], namespace: str | None
    ) -> None:
        selector = query.get("labelSelector") or query.get("fieldSelector") or ""
        self.asked.append((resource.plural, namespace, selector))
        if self.down:
            raise LostError("cannot reach the server: connection refused")
        if resource.plural in self.forbidden:
            message = f"{resource.plural} is forbidden"
            raise StatusError(Status(code=403, reason="Forbidden", message=message))

    def _picked(self, resource: Resource[Any], query: Mapping[str, str]) -> Iterator[Any]:
        return (obj for obj in self._objects[resource.plural].values() if _picks(query, obj))


def _plural(obj: Any) -> str:
    return next(each.plural for each in _FIELDS.values() if isinstance(obj, each.type))


def _picks(query: Mapping[str, str], obj: Any) -> bool:
    name = query.get("fieldSelector", "").removeprefix("metadata.name=")
    service = query.get("labelSelector", "").removeprefix(f"{SERVICE_NAME}=")
    return name in {"", obj.metadata.name} and (
        service in {"", obj.metadata.labels.get(SERVICE_NAME)}
    )


def _bare(obj: Any) -> Any:
    return replace(obj, metadata=replace(obj.metadata, resource_version=""))


def over_http(server: Server) -> Answer:
    """Answer requests over HTTP with what a server has."""

    async def answer(asked: Asked, reply: Reply) -> None:
        parents, _, plural = asked.path.rpartition("/")
        _, _, namespace = parents.partition("/namespaces/")
        resource = next((each for each in _FIELDS.values() if each.plural == plural), None)
        if resource is None:
            await says({"metadata": {}, "items": []})(asked, reply)
        elif "watch" not in asked.query:
            items, meta = await server.page(resource, asked.query, namespace or None)
            metadata = {"resourceVersion": meta.resource_version}
            await says({"metadata": metadata, "items": [*map(to_dict, items)]})(asked, reply)
        else:
            await reply.head()
            stream = asyncio.ensure_future(_stream(server, resource, asked.query, namespace, reply))
            try:
                await reply.hung_up()
            finally:
                stream.cancel()

    return answer


async def _stream(
    server: Server, resource: Resource[Any], query: Mapping[str, str], namespace: str, reply: Reply
) -> None:
    async for kind, obj in server.watch(resource, query, namespace or None):
        line = {"type": kind, "object": to_dict(obj)}
        await reply.chunk(json.dumps(line).encode() + b"\n")
