"""An API server in small, on the clock of the running event loop, for tests of controllers.

It does what controllers lean on: versions, conflicts, generations of slices, uids, finalizers,
owners, pages, streaming lists, watches from a version, bookmarks, 410 after compaction. Tests act
on it as users do (``put``, ``drop``), hold back what its watches tell, and have it refuse.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from nearwise.loops.surroundings import Surroundings
from nearwise.model import (
    Endpoints,
    EndpointSlice,
    Event,
    Lease,
    Node,
    ObjectMeta,
    Pod,
    Service,
    Status,
)
from nearwise.model.errors import StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    SERVICES,
    K,
    Resource,
)

_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TRAVEL: Final = 0.001  # seconds that a request or an answer is on its way
_BOOKMARKS: Final = 60.0

_RESOURCES: Final[dict[type, Resource[Any]]] = {
    Service: SERVICES,
    Pod: PODS,
    Node: NODES,
    Endpoints: ENDPOINTS,
    EndpointSlice: ENDPOINT_SLICES,
    Event: EVENTS,
    Lease: LEASES,
}


class Request(NamedTuple):
    """A request that came, when, and about what: a plural, and a namespace and name if one."""

    at: float
    verb: str  # as RBAC calls it
    plural: str
    key: tuple[str, str] = ("", "")


class Told(NamedTuple):
    """What the watches of a resource tell."""

    version: int
    kind: str
    obj: Any


def now() -> float:
    """Return the seconds on the event loop's clock."""
    return asyncio.get_running_loop().time()


def stamp(micros: int = 0) -> str:
    """Return the time of day, which began at 2026 with the loop's clock."""
    moment = _EPOCH + timedelta(seconds=now(), microseconds=micros)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def surroundings(seed: int = 0) -> Surroundings:
    """Return time, calendar and lot of the simulation; no two moments of a calendar are one."""
    ticks = count()
    return Surroundings(now, lambda: stamp(next(ticks)), random.Random(seed).random)


class ModelCluster:
    """The API server. Implements ``Cluster``."""

    def __init__(self, *, streams: bool = True, lag: float = 0.005) -> None:
        """Begin empty. ``lag`` are the seconds after which a change is told to those who watch."""
        self.requests: list[Request] = []
        self.refuse: Callable[[Request], Status | None] = lambda _: None
        self.lag = lag
        self._streams = streams
        self._version = 100
        self._compacted = 0
        self._forgotten: dict[str, int] = defaultdict(int)  # versions of the last told of each kind
        self._stored: dict[str, dict[tuple[str, str], Any]] = defaultdict(dict)
        self._log: dict[str, list[Told]] = defaultdict(list)
        self._snapshots: dict[str, list[Any]] = {}
        self._held: set[str] = set()
        self._news = asyncio.Event()

    # --- what users do, at once -------------------------------------------------------------

    def put(self, *objects: Any) -> None:
        """Have these objects stored as they are, whatever was there."""
        for obj in objects:
            resource = _RESOURCES[type(obj)]
            old = self.look(resource, *obj.metadata.key)
            meta = replace(obj.metadata, resource_version="")
            if old is not None:
                kept = ("uid", "generation", "creation_timestamp")
                meta = replace(meta, **{name: getattr(old.metadata, name) for name in kept})
            self._store(resource, replace(obj, metadata=meta), old)

    def drop(self, *objects: Any) -> None:
        """Have the objects of these names deleted, and what they own."""
        for obj in objects:
            resource = _RESOURCES[type(obj)]
            self._remove(resource, self._stored[resource.plural][obj.metadata.key])

    def look(self, resource: Resource[K], namespace: str, name: str) -> K | None:
        """Return an object as stored, or None."""
        found: K | None = self._stored[resource.plural].get((namespace, name))
        return found

    def kind_of(self, obj: Any) -> Resource[Any]:
        """Return what an object is."""
        return _RESOURCES[type(obj)]

    def all(self, resource: Resource[K]) -> list[K]:
        """Return all objects as stored, by name."""
        stored = self._stored[resource.plural]
        return [stored[key] for key in sorted(stored)]

    def writes(self, plural: str = "endpointslices") -> list[Request]:
        """Return the requests that came to change objects of a kind, refused ones too."""
        verbs = {"create", "update", "delete"}
        return [each for each in self.requests if each.verb in verbs and each.plural == plural]

    def hold(self, *plurals: str) -> None:
        """Tell nothing of these kinds to those who watch, until ``release``."""
        self._held.update(plurals)

    def release(self) -> None:
        """Tell what was held back, and go on."""
        self._held.clear()
        self._ring()

    def compact(self) -> None:
        """Forget the past: whoever watches from it, or has not been told all of it, gets 410."""
        self._compacted = self._version
        for plural, log in self._log.items():
            if log:
                self._forgotten[plural] = log[-1].version
        self._log.clear()
        self._ring()

    # --- what controllers do ----------------------------------------------------------------

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        await self._ask("list", resource)
        token, limit = query.get("continue", ""), int(query.get("limit", 0))
        version, _, begin = token.partition(":")
        if not token:
            version = str(self._version)
            self._snapshots[version + resource.plural] = self.all(resource)
        elif int(version) < self._compacted:
            raise _refused(410, "Expired", "the continue token is too old")
        items = self._snapshots[version + resource.plural]
        first = int(begin or 0)
        end = first + limit if limit else len(items)
        rest = f"{version}:{end}" if end < len(items) else ""
        return tuple(items[first:end]), ListMeta(version, rest)

    async def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        await self._ask("watch", resource)
        until = now() + float(query["timeoutSeconds"])
        if "sendInitialEvents" in query:
            if not self._streams:
                raise _refused(422, "Invalid", "sendInitialEvents is forbidden")
            seen = self._version
            for obj in self.all(resource):
                yield "ADDED", obj
            yield "BOOKMARK", _bookmark(resource, seen, {"k8s.io/initial-events-end": "true"})
        else:
            seen = int(query["resourceVersion"])
            if seen < self._compacted:
                raise _refused(410, "Expired", f"too old resource version: {seen}")
        while now() < until:
            news = self._news
            if seen < self._forgotten[resource.plural]:
                raise _refused(410, "Expired", f"too old resource version: {seen}")
            for told in self._since(resource.plural, seen):
                seen = told.version
                yield told.kind, told.obj
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_BOOKMARKS, until - now())):
                    await news.wait()
                    await asyncio.sleep(self.lag)
                    continue
            if resource.plural not in self._held and not self._since(resource.plural, seen):
                seen = self._version
                yield "BOOKMARK", _bookmark(resource, seen, {})

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        await self._ask("get", resource, (namespace, name))
        return await self._answer(self._found(resource, (namespace, name)))

    async def create(self, resource: Resource[K], obj: K) -> K:
        key = _meta(obj).key
        await self._ask("create", resource, key)
        if key in self._stored[resource.plural]:
            raise _refused(409, "AlreadyExists", f"{resource.plural} {key[1]} already exists")
        return await self._answer(self._store(resource, obj, None))

    async def update(self, resource: Resource[K], obj: K) -> K:
        meta = _meta(obj)
        await self._ask("update", resource, meta.key)
        old = self._found(resource, meta.key)
        known = _meta(old)
        if meta.uid not in ("", known.uid) or meta.resource_version not in (
            "",
            known.resource_version,
        ):
            raise _refused(409, "Conflict", "the object has been modified")
        if replace(obj, metadata=replace(meta, resource_version=known.resource_version)) == old:
            return await self._answer(old)
        return await self._answer(self._store(resource, obj, old))

    async def delete(self, resource: Resource[K], obj: K) -> None:
        meta = _meta(obj)
        await self._ask("delete", resource, meta.key)
        old = self._found(resource, meta.key)
        if meta.uid != _meta(old).uid:
            raise _refused(409, "Conflict", "the uid in the precondition is another")
        self._remove(resource, old)
        await asyncio.sleep(_TRAVEL)

    # --- inside -----------------------------------------------------------------------------

    async def _ask(self, verb: str, resource: Resource[K], key: tuple[str, str] = ("", "")) -> None:
        await asyncio.sleep(_TRAVEL)
        request = Request(now(), verb, resource.plural, key)
        self.requests.append(request)
        status = self.refuse(request)
        if status is not None:
            raise StatusError(status)

    async def _answer(self, obj: K) -> K:
        await asyncio.sleep(_TRAVEL)
        return obj

    def _found(self, resource: Resource[K], key: tuple[str, str]) -> K:
        found = self.look(resource, *key)
        if found is None:
            raise _refused(404, "NotFound", f"{resource.plural} {key[1]} not found")
        return found

    def _store(self, resource: Resource[K], obj: K, old: K | None) -> K:
        self._version += 1
        meta = replace(_meta(obj), resource_version=str(self._version))
        if old is None:
            uid = meta.uid or f"uid-{self._version}"
            meta = replace(meta, uid=uid, creation_timestamp=stamp()[:19] + "Z")
        if resource is ENDPOINT_SLICES:
            generation = _meta(old).generation if old is not None else 0
            same = (
                old is not None
                and _contents(old) == _contents(obj)
                and _meta(old).deletion_timestamp == meta.deletion_timestamp
            )
            meta = replace(meta, generation=generation if same else generation + 1)
        obj = replace(obj, metadata=meta, api_version=resource.api_version, kind=resource.kind)
        self._stored[resource.plural][meta.key] = obj
        self._tell(resource, "ADDED" if old is None else "MODIFIED", obj)
        return obj

    def _remove(self, resource: Resource[K], obj: K) -> None:
        meta = _meta(obj)
        if meta.finalizers:
            if meta.deletion_timestamp is None:
                doomed = replace(meta, deletion_timestamp=stamp()[:19] + "Z")
                self._store(resource, replace(obj, metadata=doomed), obj)
            return
        del self._stored[resource.plural][meta.key]
        self._version += 1
        last = replace(meta, resource_version=str(self._version))
        self._tell(resource, "DELETED", replace(obj, metadata=last))
        for other in list(_RESOURCES.values()):
            for each in self.all(other):
                if any(owner.uid == meta.uid for owner in each.metadata.owner_references):
                    self._remove(other, each)

    def _tell(self, resource: Resource[K], kind: str, obj: K) -> None:
        self._log[resource.plural].append(Told(self._version, kind, obj))
        self._ring()

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _since(self, plural: str, version: int) -> list[Told]:
        if plural in self._held:
            return []
        log = self._log[plural]
        return log[bisect_right(log, version, key=lambda told: told.version) :]


def _refused(code: int, reason: str, message: str) -> StatusError:
    return StatusError(Status(status="Failure", code=code, reason=reason, message=message))


def _bookmark(resource: Resource[K], version: int, annotations: dict[str, str]) -> K:
    meta = ObjectMeta(resource_version=str(version), annotations=annotations)
    return resource.type(metadata=meta)


def _meta(obj: Any) -> ObjectMeta:
    meta: ObjectMeta = obj.metadata
    return meta


def _contents(slice_: Any) -> object:
    return replace(slice_, metadata=ObjectMeta(), api_version="", kind="")
