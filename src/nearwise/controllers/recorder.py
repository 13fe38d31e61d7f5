"""Events about objects, written to the API server beside the work and never in its way."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from nearwise.loops.cluster import Cluster
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.correlation import Correlator
from nearwise.model import Endpoints, Event, ObjectMeta, ObjectReference, Service
from nearwise.model.core import EventSource
from nearwise.model.errors import LostError, StatusError
from nearwise.model.resources import EVENTS

_MOST_WAITING: Final = 1000

_log = logging.getLogger(__name__)


class Recorder:
    """Tells what happened to an object as an event of one component."""

    def __init__(self, cluster: Cluster, component: str, surroundings: Surroundings) -> None:
        self._cluster = cluster
        self._component = component
        self._surroundings = surroundings
        self._correlator = Correlator()
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(_MOST_WAITING)

    def tell(self, about: Service | Endpoints, kind: str, reason: str, message: str) -> None:
        """Have an event written: ``Normal`` or ``Warning``. When too many wait, it is dropped."""
        meta = about.metadata
        wall = self._surroundings.wall()
        moment = wall[:19] + "Z"
        event = Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=f"{meta.name}.{_stamp(wall)}", namespace=meta.namespace),
            involved_object=ObjectReference(
                kind=about.kind or type(about).__name__,
                namespace=meta.namespace,
                name=meta.name,
                uid=meta.uid,
                api_version="v1",
                resource_version=meta.resource_version,
            ),
            type=kind,
            reason=reason,
            message=message,
            count=1,
            first_timestamp=moment,
            last_timestamp=moment,
            source=EventSource(self._component),
            reporting_component=self._component,
        )
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            _log.warning("an event about %s is dropped: too many wait", meta.name)

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            event = await self._waiting.get()
            stored = self._correlator.next(event, self._surroundings.now())
            if stored is not None:
                await self._write(event, stored)
            self._waiting.task_done()

    async def flush(self) -> None:
        """Wait until all that was told is written."""
        await self._waiting.join()

    async def _write(self, event: Event, stored: Event) -> None:
        try:
            if stored.metadata.resource_version:
                try:
                    self._correlator.stored(await self._cluster.update(EVENTS, stored))
                    return
                except StatusError as refused:
                    if refused.status.code not in (404, 409):
                        raise
                    self._correlator.lost(stored)  # it expired: told anew
                    stored = event
            self._correlator.stored(await self._cluster.create(EVENTS, stored))
        except (StatusError, LostError) as failure:
            _log.warning("event %s about %s: %s", event.reason, event.involved_object.name, failure)


def _stamp(wall: str) -> str:
    """Make the ending of an event's name, as long as client-go's, from the time of day."""
    digits = "".join(filter(str.isdigit, wall))
    return f"{int(digits):016x}"
