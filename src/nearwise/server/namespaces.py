"""The end of a namespace: what is in it is deleted, and when it is empty it goes.

Law: nothing new gets into a namespace that is being deleted (``api`` refuses it), so it is empty
sooner or later. Here is only who empties it, and what the namespace says meanwhile: two of the
conditions by which Kubernetes tells what a deletion waits for, in its words.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

import msgspec

from nearwise.machinery.changes import Entry, Event
from nearwise.server.api import Api
from nearwise.server.chores import chores
from nearwise.server.deleting import timestamp
from nearwise.server.kinds.cluster import NAMESPACE_FINALIZER
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.stored import Decoded, load
from nearwise.server.options import DeleteOptions, ListOptions, WriteOptions
from nearwise.server.resources import NAMESPACES, RESOURCES, Address
from nearwise.store import Store

_CONTENT: Final = {each.storage: each for each in reversed(RESOURCES) if each.namespaced}
"""What can be in a namespace; of two names for one thing the first one."""

_WORKERS: Final = 5
_PAUSE: Final = 0.05  # seconds after something went, for the rest may be going too
_PAGE: Final = 200  # objects that are deleted in one go
_BACKGROUND: Final = DeleteOptions(propagation_policy="Background")


class Emptier:
    """Follows a store, and empties the namespaces that are being deleted."""

    def __init__(self, store: Store, api: Api) -> None:
        self._read = store.read
        self._api = api
        self._ending: set[str] = set()
        self._chores = chores("namespace", self._empty)
        self._unsubscribe = store.subscribe(self._follow)

    async def run(self) -> None:
        """Empty namespaces until cancelled."""
        try:
            for entry in self._read.page(NAMESPACES.storage).entries:
                self._note(entry)
            await self._chores.run(_WORKERS)
        finally:
            self._unsubscribe()

    def _follow(self, event: Event) -> None:
        if event.key.resource == NAMESPACES.storage:
            if event.deleted:
                self._ending.discard(event.key.name)
            else:
                self._note(event.entry)
        elif event.deleted and event.key.namespace in self._ending:
            self._chores.add(event.key.namespace, _PAUSE)

    def _note(self, entry: Entry) -> None:
        if "deletionTimestamp" in load(entry.value, NAMESPACES)["metadata"]:
            self._ending.add(entry.key.name)
            self._chores.add(entry.key.name)

    async def _empty(self, name: str) -> None:
        """Delete what is in a namespace, and let it go if nothing is left."""
        entry = self._read.get(Address(NAMESPACES, name=name).key)
        if entry is None or name not in self._ending:
            return
        namespace = load(entry.value, NAMESPACES)
        spec = namespace["spec"]
        if NAMESPACE_FINALIZER not in spec.get("finalizers", ()):
            return
        for resource in _CONTENT.values():
            await self._delete_all(Address(resource, name))
        left = {
            resource.full_name: entries
            for storage, resource in _CONTENT.items()
            if (entries := self._read.page(storage, name).entries)
        }
        if left:
            await self._tell(namespace, left)
            return
        kept = [each for each in spec["finalizers"] if each != NAMESPACE_FINALIZER]
        await self._update({**namespace, "spec": {**spec, "finalizers": kept}}, "finalize")

    async def _delete_all(self, at: Address) -> None:
        """Delete what is there, some at a time, so that requests have their turn."""
        page = ListOptions(limit=_PAGE)
        while True:
            listing = await self._api.delete_collection(at, page, _BACKGROUND)
            await asyncio.sleep(0)
            if not listing.continue_:
                return
            page = msgspec.structs.replace(page, continue_=listing.continue_)

    async def _tell(self, namespace: Decoded, left: dict[str, tuple[Entry, ...]]) -> None:
        """Have the namespace say what is left in it, and what that waits for."""
        now = timestamp(self._api.world.now())
        status = namespace.get("status", {})
        before = {one["type"]: one for one in status.get("conditions", ())}
        after = {one["type"]: one for one in _conditions(left, now)}
        for type_, one in after.items():
            if type_ in before and before[type_]["status"] == one["status"]:
                one["lastTransitionTime"] = before[type_]["lastTransitionTime"]
        conditions = list({**before, **after}.values())
        if conditions != status.get("conditions"):
            told = {**namespace, "status": {**status, "conditions": conditions}}
            await self._update(told, "status")

    async def _update(self, namespace: Decoded, subresource: str) -> None:
        at = Address(NAMESPACES, name=namespace["metadata"]["name"], subresource=subresource)
        await self._api.update(at, Sent(namespace), WriteOptions())


class _Metadata(msgspec.Struct, frozen=True):
    finalizers: tuple[str, ...] = ()


class _Stored(msgspec.Struct, frozen=True):
    metadata: _Metadata


_STORED: Final = msgspec.json.Decoder(_Stored)


def _conditions(left: dict[str, tuple[Entry, ...]], now: str) -> list[dict[str, str]]:
    remaining = sorted(
        f"{name if '.' in name else f'{name}.'} has {len(entries)} resource instances"
        for name, entries in left.items()
    )
    counts = Counter(
        finalizer
        for entries in left.values()
        for entry in entries
        for finalizer in _STORED.decode(entry.value).metadata.finalizers
    )
    finalizers = sorted(f"{name} in {count} resource instances" for name, count in counts.items())
    return [
        {
            "type": "NamespaceContentRemaining",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "SomeResourcesRemain",
            "message": f"Some resources are remaining: {', '.join(remaining)}",
        },
        {
            "type": "NamespaceFinalizersRemaining",
            "status": "True" if finalizers else "False",
            "lastTransitionTime": now,
            "reason": "SomeFinalizersRemain" if finalizers else "ContentHasNoFinalizers",
            "message": "Some content in the namespace has finalizers remaining: "
            + ", ".join(finalizers)
            if finalizers
            else "All content-preserving finalizers finished",
        },
    ]
