"""What the kubelets of a cluster would do that somebody has to: take pods away that have ended.

Law: no containers run here, so a pod that is deleted has its time of grace, in which it is
terminating for all to see, and is then gone. A pod that was terminating when it came, from a
dump, stays as it came: nobody here was asked to end it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nearwise.machinery.changes import Entry, Event, Key
from nearwise.model.meta import Object
from nearwise.server.api import Api
from nearwise.server.chores import chores
from nearwise.server.options import DeleteOptions, Preconditions
from nearwise.server.resources import PODS, Address
from nearwise.store import Store

_WORKERS: Final = 5
_MARK: Final = b'"deletionTimestamp"'  # hardly any pod has it, and it is quickly looked for


class _Metadata(Object, frozen=True):
    """What there is to know about a pod."""

    uid: str = ""
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None


class _Stored(msgspec.Struct, frozen=True):
    metadata: _Metadata


_STORED: Final = msgspec.json.Decoder(_Stored)
_ALIVE: Final = _Metadata()


class Kubelets:
    """Follows a store, and takes pods away when their time is over."""

    def __init__(self, store: Store, api: Api) -> None:
        """Begin with the pods that are stored now and those that are deleted from now on."""
        self._read = store.read
        self._api = api
        self._chores = chores("kubelet", self._end)
        self._unsubscribe = store.subscribe(self._follow)
        for pod in self._read.page(PODS.storage).entries:
            if _about(pod) is not _ALIVE:
                self._chores.add(pod.key)

    async def run(self) -> None:
        """Take pods away until cancelled."""
        try:
            await self._chores.run(_WORKERS)
        finally:
            self._unsubscribe()

    def _follow(self, event: Event) -> None:
        if event.key.resource == PODS.storage and event.previous and not event.deleted:
            before, after = _about(event.previous), _about(event.entry)
            if before.deletion_timestamp != after.deletion_timestamp:
                self._chores.add(event.key)

    async def _end(self, key: Key) -> None:
        pod = self._read.get(key)
        about = _about(pod) if pod else _ALIVE
        if about.deletion_timestamp is None or not about.deletion_grace_period_seconds:
            return  # only finalizers keep it, if it is there
        left = (about.deletion_timestamp - self._api.world.now()).total_seconds()
        if 0 < left <= about.deletion_grace_period_seconds + 1:  # or the clock was set back
            self._chores.add(key, left)
            return
        options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(about.uid))
        await self._api.delete(Address(PODS, key.namespace, key.name), options)


def _about(pod: Entry) -> _Metadata:
    return _STORED.decode(pod.value).metadata if _MARK in pod.value else _ALIVE
