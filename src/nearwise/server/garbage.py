"""The garbage collector: objects go when their owners have gone, or stay when these wish it.

Law: all is decided on what is stored at this moment, which the server knows for sure: an owner
that is not stored does not exist, and need not be asked for. Who owns whom is kept by uid and by
change; nothing is searched for it. The rules are those of Kubernetes' garbage collector:

- An object with owners of which none is left is deleted. One that has others left keeps these.
- An owner that goes in the foreground (finalizer ``foregroundDeletion``) stays until the
  dependents that block its deletion are gone; all dependents are deleted as if it were gone.
- An owner that orphans (finalizer ``orphan``) is taken out of the references to it, and goes.
- An owner is looked for in the namespace of its dependent, or among what has no namespace. Where
  that cannot be done, because its kind is not served, or it would have a namespace and its
  dependent has none, nothing is done.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from nearwise.machinery.changes import Entry, Event, Key
from nearwise.model.meta import Object, OwnerReference
from nearwise.server.api import Api
from nearwise.server.chores import chores
from nearwise.server.deleting import FOREGROUND, ORPHAN
from nearwise.server.options import DeleteOptions, Patch, PatchType, Preconditions, WriteOptions
from nearwise.server.resources import EVENTS, RESOURCES, Address
from nearwise.store import Store

_WORKERS: Final = 20
_CHUNK: Final = 1000  # objects that are looked through in one go at the start

_BY_KIND: Final = {(each.api_version, each.kind): each for each in RESOURCES}
_BY_STORAGE: Final = {
    each.storage: each for each in reversed(RESOURCES) if each.storage != EVENTS.storage
}
"""What is collected: all but events, as in Kubernetes."""


class _Metadata(Object, frozen=True):
    """What there is to know about an object."""

    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    def waits(self, finalizer: str) -> bool:
        """Tell whether the object is being deleted and this keeps it."""
        return self.deletion_timestamp is not None and finalizer in self.finalizers

    def blocks(self, owner: str) -> bool:
        """Tell whether the owner with this uid cannot go in the foreground before the object."""
        return any(
            each.uid == owner and each.block_owner_deletion for each in self.owner_references
        )


class _Stored(msgspec.Struct, frozen=True):
    metadata: _Metadata


_STORED: Final = msgspec.json.Decoder(_Stored)


class Collector:
    """Follows a store, and deletes what has lost its owners."""

    def __init__(self, store: Store, api: Api) -> None:
        self._read = store.read
        self._api = api
        self._dependents: defaultdict[str, dict[Key, None]] = defaultdict(dict)  # by owner's uid
        self._chores = chores("garbage", self._look_at)
        self._unsubscribe = store.subscribe(self._follow)

    async def run(self) -> None:
        """Look through all that is stored, then collect until cancelled."""
        try:
            for storage in _BY_STORAGE:
                await self._take_in(self._read.page(storage).entries)
            await self._chores.run(_WORKERS)
        finally:
            self._unsubscribe()

    # --- Who owns whom --------------------------------------------------------------------

    async def _take_in(self, entries: tuple[Entry, ...]) -> None:
        """Take note of objects that were stored before, as they are by now."""
        for start in range(0, len(entries), _CHUNK):
            for entry in entries[start : start + _CHUNK]:
                if (now := self._metadata(entry.key)) is not None:
                    self._note(entry.key, None, now)
            await asyncio.sleep(0)

    def _follow(self, event: Event) -> None:
        if event.key.resource in _BY_STORAGE:
            before = _metadata(event.previous) if event.previous else None
            self._note(event.key, before, None if event.deleted else _metadata(event.entry))

    def _note(self, key: Key, before: _Metadata | None, after: _Metadata | None) -> None:
        """Keep the index, and have all looked at to whom the change matters."""
        old = before.owner_references if before else ()
        new = after.owner_references if after else ()
        if old != new or before is None:
            self._index(key, old, new)
        if after is None:
            assert before is not None
            self._look_later(self._dependents.get(before.uid, ()))
        elif after.waits(ORPHAN) or after.waits(FOREGROUND):
            self._look_later([key, *self._dependents.get(after.uid, ())])

    def _index(
        self, key: Key, old: Iterable[OwnerReference], new: Iterable[OwnerReference]
    ) -> None:
        for owner in old:
            dependents = self._dependents[owner.uid]
            dependents.pop(key, None)
            if not dependents:
                del self._dependents[owner.uid]
            if (address := _address(owner, key)) is not None:
                self._chores.add(address.key)  # it may have waited for this one
        for owner in new:
            self._dependents[owner.uid][key] = None
            self._chores.add(key)

    def _look_later(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._chores.add(key)

    def _metadata(self, key: Key) -> _Metadata | None:
        entry = self._read.get(key)
        return _metadata(entry) if entry else None

    # --- What becomes of an object --------------------------------------------------------

    async def _look_at(self, key: Key) -> None:
        about = self._metadata(key)
        if about is None:
            return
        if about.waits(ORPHAN):
            await self._orphan_dependents(about)
            await self._finalize(key, about, ORPHAN)
        elif about.waits(FOREGROUND):
            if not self._delays(about):
                await self._finalize(key, about, FOREGROUND)
        elif about.deletion_timestamp is None and about.owner_references:
            await self._judge(key, about)

    async def _judge(self, key: Key, about: _Metadata) -> None:
        """Delete an object that has no owners any more, or none but such as wait for it."""
        owners = [(owner, _address(owner, key)) for owner in about.owner_references]
        if any(address is None for _, address in owners):
            return
        found = [(owner, self._metadata(address.key)) for owner, address in owners if address]
        gone = {owner.uid for owner, there in found if there is None or there.uid != owner.uid}
        going = {
            owner.uid
            for owner, there in found
            if owner.uid not in gone and there is not None and there.waits(FOREGROUND)
        }
        left = [each for each in about.owner_references if each.uid not in gone | going]
        if left:
            if gone or going:
                await self._own(key, about, left)
            return
        dependents = self._dependents.get(about.uid, {}) if going else {}
        in_circle = any(
            (each := self._metadata(one)) and each.waits(FOREGROUND) for one in dependents
        )
        if in_circle and any(owner.block_owner_deletion for owner in about.owner_references):
            await self._unblock(key, about)  # they would wait for each other for ever
            return
        await self._delete(key, about, foreground=bool(dependents))

    def _delays(self, owner: _Metadata) -> bool:
        """Tell whether there are dependents that an owner has to wait for."""
        dependents = map(self._metadata, self._dependents.get(owner.uid, ()))
        return any(each is not None and each.blocks(owner.uid) for each in dependents)

    async def _orphan_dependents(self, owner: _Metadata) -> None:
        while dependents := tuple(self._dependents.get(owner.uid, ())):
            await asyncio.gather(*(self._orphan(key, owner.uid) for key in dependents))

    async def _orphan(self, key: Key, owner: str) -> None:
        about = self._metadata(key)
        if about is not None:
            left = [each for each in about.owner_references if each.uid != owner]
            await self._own(key, about, left)

    # --- Writes ---------------------------------------------------------------------------

    async def _delete(self, key: Key, about: _Metadata, *, foreground: bool) -> None:
        policy = "Foreground" if foreground else _policy(about)
        precondition = Preconditions(about.uid, about.resource_version)
        options = DeleteOptions(preconditions=precondition, propagation_policy=policy)
        await self._api.delete(_at(key), options)

    async def _unblock(self, key: Key, about: _Metadata) -> None:
        free = [
            msgspec.structs.replace(each, block_owner_deletion=False)
            for each in about.owner_references
        ]
        await self._own(key, about, free)

    async def _own(self, key: Key, about: _Metadata, owners: Iterable[OwnerReference]) -> None:
        """Give an object these owners instead of those it has."""
        plain = [msgspec.to_builtins(each) for each in owners]
        await self._change(key, about, {"ownerReferences": plain or None})

    async def _finalize(self, key: Key, about: _Metadata, finalizer: str) -> None:
        left = [each for each in about.finalizers if each != finalizer]
        await self._change(key, about, {"finalizers": left or None})

    async def _change(self, key: Key, about: _Metadata, metadata: dict[str, Any]) -> None:
        same = {"uid": about.uid, "resourceVersion": about.resource_version}
        patch = Patch(PatchType.MERGE, {"metadata": {**metadata, **same}})
        await self._api.patch(_at(key), patch, WriteOptions())


def _metadata(entry: Entry) -> _Metadata:
    return _STORED.decode(entry.value).metadata


def _policy(about: _Metadata) -> str:
    """Return what an object says itself about its dependents."""
    if ORPHAN in about.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in about.finalizers else "Background"


def _at(key: Key) -> Address:
    return Address(_BY_STORAGE[key.resource], key.namespace, key.name)


def _address(owner: OwnerReference, dependent: Key) -> Address | None:
    """Return where an owner is, if it is anywhere; None when nobody can say."""
    resource = _BY_KIND.get((owner.api_version, owner.kind))
    if resource is None or (resource.namespaced and not dependent.namespace):
        return None
    return Address(resource, dependent.namespace if resource.namespaced else "", owner.name)
