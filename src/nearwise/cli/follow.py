"""One service of a live cluster, explained again whenever something happened to it.

Law: here is decided which objects are followed, and when to look again. What an answer is and what
changed is ``insight``'s, what is printed the ``Telling``'s, and the time is handed in.

Followed are the service, its slices, all nodes, and the pods of all namespaces, one of whom may be
a client. Pods decide where the traffic comes from, but hardly an answer: so they are kept up to
date, and looked at when something else happens. After a change it is waited until nothing more
comes for a moment, so that a step of a rollout is one change.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from http import HTTPStatus
from typing import Any, Final, Generic, NamedTuple, Protocol

from msgspec.structs import replace

from nearwise.client.errors import ForbiddenError
from nearwise.insight.changes import Change, absent, change
from nearwise.insight.explain import explain
from nearwise.insight.explanation import Explanation
from nearwise.insight.world import Key, World
from nearwise.loops.informer import Informer
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import Delta, K
from nearwise.machinery.trim import PodTrimmer
from nearwise.model import EndpointSlice, Node, Pod, Service
from nearwise.model.core import Condition
from nearwise.model.errors import InputError, LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.objects import Objects
from nearwise.model.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES, Resource
from nearwise.model.wellknown import SERVICE_NAME

_MOMENT: Final = 0.1  # seconds without a change, after which it is looked
_LONGEST: Final = 1.0  # seconds from the first change until it is looked, whatever comes
_EASE: Final = 3.0  # times what a look took, before the next one
_POLL: Final = 1.0  # seconds between looks at the connection
_SILENCE: Final = 15.0  # seconds that a watch must last without a word to count as one


class Manner(NamedTuple):
    """How a service is explained: see ``insight.explain``."""

    origin: str
    clients: str
    profiles: tuple[str, ...]


class Telling(NamedTuple):
    """Whom to tell what. Times are RFC 3339 in UTC, when the first of the changes was seen."""

    answer: Callable[[str, Explanation], None]
    change: Callable[[str, Change, Explanation], None]
    note: Callable[[str], None]


class Namespaces(Protocol):
    """An API server that can be asked for one namespace, or (None) for all."""

    async def page(
        self, resource: Resource[Any], query: Mapping[str, str], namespace: str | None = None
    ) -> tuple[tuple[Any, ...], ListMeta]:
        """List objects, one page, as ``loops.cluster.Reading`` has it."""
        ...

    def watch(
        self, resource: Resource[Any], query: Mapping[str, str], namespace: str | None = None
    ) -> AsyncGenerator[tuple[str, Any], None]:
        """Watch objects, as ``loops.cluster.Reading`` has it."""
        ...


async def follow(
    cluster: Namespaces, service: Key, manner: Manner, surroundings: Surroundings, telling: Telling
) -> None:
    """Tell the answer, then each change of it, until cancelled.

    A kind that we may not list is left out and that is told, but without services there is no
    answer: raises ForbiddenError for these, and InputError when the answer cannot be given from
    the beginning on.
    """
    kept = _Kept(cluster, service, manner.origin, surroundings)
    try:
        async with asyncio.TaskGroup() as tasks:
            for kind in kept.kinds:
                tasks.create_task(kind.run(telling))
            tasks.create_task(_tell_trouble(kept, telling))
            await _tell(kept, service, manner, surroundings, telling)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _tell(
    kept: _Kept, service: Key, manner: Manner, surroundings: Surroundings, telling: Telling
) -> None:
    await kept.complete()
    when = surroundings.wall()
    told = _explained(kept.world(), service, manner)
    telling.answer(when, told)
    question = ""  # what is wrong with it
    while True:
        when = await kept.changed()
        begun = surroundings.now()
        try:
            found = _explained(kept.world(), service, manner)
        except InputError as error:
            if question != (question := str(error)):
                telling.note(f"There is no answer now: {question}")
        else:
            question = ""
            if (what := change(told, found)) is not None:
                telling.change(when, what, found)
                told = found
        await asyncio.sleep(_EASE * (surroundings.now() - begun))


def _explained(world: World, service: Key, manner: Manner) -> Explanation:
    if service not in world.services:
        return absent(service)
    return explain(world, service, **manner._asdict())


async def _tell_trouble(kept: _Kept, telling: Telling) -> None:
    """Tell once when the cluster cannot be followed, and when it can again."""
    told = False
    while True:
        await asyncio.sleep(_POLL)
        trouble = next(filter(None, (kind.trouble for kind in kept.kinds)), "")
        if trouble and not told:
            telling.note(f"Cannot follow the cluster: {trouble}")
        elif told and not trouble:
            telling.note("Following the cluster again.")
        told = bool(trouble)


# --- What is followed -------------------------------------------------------------------------


class _Kept:
    """The objects that decide the answers, and whether one of them changed."""

    def __init__(
        self, cluster: Namespaces, service: Key, origin: str, surroundings: Surroundings
    ) -> None:
        namespace, name = service
        of_service = {"labelSelector": f"{SERVICE_NAME}={name}"}
        itself = {"fieldSelector": f"metadata.name={name}"}
        self._services: _Kind[Service] = _Kind(cluster, SERVICES, surroundings, namespace, itself)
        self._slices: _Kind[EndpointSlice] = _Kind(
            cluster, ENDPOINT_SLICES, surroundings, namespace, of_service
        )
        self._nodes: _Kind[Node] = _Kind(cluster, NODES, surroundings, trim=_without_news)
        self._pods: _Kind[Pod] = _Kind(cluster, PODS, surroundings, trim=PodTrimmer())
        self._now = surroundings.now
        self._wall = surroundings.wall
        self._changed = asyncio.Event()
        self._origin = origin
        self._services.informer.listen(self._notice)
        self._slices.informer.listen(self._notice)
        self._nodes.informer.listen(self._notice)
        self._pods.informer.listen(self._notice_pod)

    @property
    def kinds(self) -> tuple[_Kind[Any], ...]:
        """Everything that is followed."""
        return (self._nodes, self._services, self._slices, self._pods)

    async def complete(self) -> None:
        """Wait until everything is there that we may see."""
        for kind in self.kinds:
            await kind.complete()

    def world(self) -> World:
        """Return the world as it is now; from now on it has not changed."""
        self._changed.clear()
        return World(
            Objects(
                services=tuple(self._services.informer.cache),
                slices=tuple(self._slices.informer.cache),
                nodes=tuple(self._nodes.informer.cache),
                pods=tuple(self._pods.informer.cache),
            )
        )

    async def changed(self) -> str:
        """Wait for a change, and until nothing more came for a moment; return when it came."""
        await self._changed.wait()
        when = self._wall()
        last = self._now() + _LONGEST
        while self._changed.is_set() and self._now() < last:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_MOMENT, last - self._now())):
                    await self._changed.wait()
        return when

    def _notice(self, delta: Delta[Any]) -> None:
        if delta.old is None or delta.new is None or _bare(delta.old) != _bare(delta.new):
            self._changed.set()

    def _notice_pod(self, delta: Delta[Pod]) -> None:
        pod = delta.new or delta.old
        if pod is not None and self._origin in {pod.metadata.name, "/".join(pod.metadata.key)}:
            self._changed.set()


class _Kind(Generic[K]):
    """The objects of one kind, as far as they are needed, and how the connection is.

    One request may fail, for the next one is good. It is trouble when two do, one after the other;
    it is over when something is heard, or when nobody refused a watch for a while.
    """

    def __init__(
        self,
        cluster: Namespaces,
        resource: Resource[Any],
        surroundings: Surroundings,
        namespace: str | None = None,
        selector: Mapping[str, str] | None = None,
        trim: Callable[[K], K] = lambda obj: obj,
    ) -> None:
        self.informer: Informer[K] = Informer(self, resource, surroundings, trim=trim)
        self._cluster = cluster
        self._essential = resource is SERVICES
        self._now = surroundings.now
        self._namespace = namespace
        self._selector = selector or {}
        self._left_out = asyncio.Event()
        self._heard = False  # ever
        self._failures = 0  # in a row
        self._message = ""
        self._watching_since: float | None = None

    @property
    def trouble(self) -> str:
        """Why the objects are not up to date; empty if they are."""
        since = self._watching_since
        if since is not None and self._now() - since >= _SILENCE:
            self._failures = 0
        return self._message if self._failures > 1 else ""

    async def run(self, telling: Telling) -> None:
        """Follow the API server until cancelled, or until it is clear that we may not."""
        try:
            await self.informer.run()
        except ForbiddenError as refused:
            if self._essential:
                raise
            telling.note(f"Left out: {refused}")
            self._left_out.set()

    async def complete(self) -> None:
        """Wait until the objects are there, or it is clear that we may not see them."""
        waits = [
            asyncio.ensure_future(each) for each in (self.informer.synced(), self._left_out.wait())
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def page(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> tuple[tuple[Any, ...], ListMeta]:
        """List the objects, one page."""
        with self._noticing():
            page = await self._cluster.page(resource, {**query, **self._selector}, self._namespace)
            self._hear()
            return page

    async def watch(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, Any]]:
        """Watch the objects."""
        query = {**query, **self._selector}
        self._watching_since = self._now()
        try:
            with self._noticing():
                async with aclosing(
                    self._cluster.watch(resource, query, self._namespace)
                ) as events:
                    async for event in events:
                        self._hear()
                        yield event
        finally:
            self._watching_since = None

    def _hear(self) -> None:
        self._heard = True
        self._failures = 0

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except StatusError as refused:
            if refused.status.code == HTTPStatus.FORBIDDEN and not self._heard:
                raise ForbiddenError(str(refused)) from None
            self._fail(str(refused))
            raise
        except LostError as lost:
            self._fail(str(lost))
            raise

    def _fail(self, message: str) -> None:
        self._failures += 1
        self._message = message


def _without_news(node: Node) -> Node:
    """Return a node without what it reports again and again, and nobody asks for."""
    meta, status = node.metadata, node.status
    return replace(
        node,
        metadata=replace(meta, annotations={}),
        status=replace(
            status,
            capacity={},
            addresses=(),
            conditions=tuple(Condition(each.type, each.status) for each in status.conditions),
        ),
    )


def _bare(obj: Any) -> Any:
    """Return an object without its version, which counts writes and not changes."""
    return replace(obj, metadata=replace(obj.metadata, resource_version=""))
