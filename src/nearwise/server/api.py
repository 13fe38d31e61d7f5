"""The API without HTTP: what the server does, for itself and for who lives in the same process.

Law: here stored objects, the functions that decide (``writing``, ``deleting``, ``reading``,
``watching``) and the moment come together, and nowhere else. Between looking at what is stored
and handing the change to the store nothing is awaited, so no write is lost between two others.
Refusals are ``Refusal``, or ``PatchError`` with a Status too.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec

from nearwise.machinery.changes import (
    AlreadyExistsError,
    Change,
    ConflictError,
    Create,
    Delete,
    Encode,
    Entry,
    Event,
    NotFoundError,
    Update,
)
from nearwise.server import reading, scaling
from nearwise.server.allocation import Claim, Pool
from nearwise.server.binding import bound, target
from nearwise.server.deleting import deletion, timestamp
from nearwise.server.kinds import to_served
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.stored import Decoded, at_revision, encoder, load, unversioned
from nearwise.server.objects.views import Listing, View
from nearwise.server.options import (
    DeleteOptions,
    ListOptions,
    Patch,
    PatchType,
    WriteOptions,
    delete_errors,
)
from nearwise.server.patch import Write, settled, track_update
from nearwise.server.resources import NAMESPACES, NODES, PODS, SERVICES, Address, Resource
from nearwise.server.statuses import (
    already_exists,
    invalid_options,
    modified,
    namespace_terminating,
    no_free_name,
    not_found,
    object_too_large,
    other_uid,
    unavailable,
    version_required,
)
from nearwise.server.watching import Hub, Scope, Watch
from nearwise.server.writing import (
    Moment,
    begun,
    blank_for,
    check_name,
    is_finished,
    patched,
    placed,
    replaced,
    understood,
)
from nearwise.store import Store, StoreFailedError

MAX_OBJECT: Final = 1_536 * 1024
"""Bytes that an object may have when it is stored: as many as etcd takes."""

_NAMESPACES: Final = ("kube-system", "kube-public", "default", "kube-node-lease")
_ATTEMPTS: Final = 8  # to find a name that is free
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words


class World(NamedTuple):
    """Where time and chance come from."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    uid: Callable[[], str] = lambda: str(uuid4())
    suffix: Callable[[], str] = lambda: "".join(secrets.choice(_LETTERS) for _ in range(5))


class Written(NamedTuple):
    """An object as a write left it."""

    value: bytes
    """As it is stored, or would be."""
    created: bool = False
    warnings: tuple[str, ...] = ()


class Deleted(NamedTuple):
    """An object that was deleted, or will be."""

    value: bytes
    gone: bool


class Api:
    """A Kubernetes API over a store. Belongs to one event loop."""

    def __init__(self, store: Store, world: World | None = None, pool: Pool | None = None) -> None:
        self.world = world or World()
        self._store = store
        self._pool = pool or Pool()
        self._pool.restore(store.read.page(SERVICES.storage).entries)
        self._hub = Hub(store.read, self.world.now)
        self._subscription = ExitStack()
        self._subscription.callback(store.subscribe(self._follow))

    async def start(self) -> None:
        """Create the namespaces that every cluster has, where they are missing."""
        options = WriteOptions(manager="kube-apiserver")
        for name in _NAMESPACES:
            if self._store.read.get(Address(NAMESPACES, name=name).key) is None:
                sent = Sent({"metadata": {"name": name}})
                await self.create(Address(NAMESPACES), sent, options)

    def close(self) -> None:
        """End all watches. The store is its owner's to close. Closing twice is fine."""
        self._subscription.close()
        self._hub.close()

    @property
    def can_write(self) -> bool:
        """Whether the store takes writes."""
        return not self._store.refusal

    @property
    def open_watches(self) -> int:
        """How many watches there are."""
        return self._hub.open

    # --- Reading --------------------------------------------------------------------------

    def get(self, at: Address, resource_version: str = "") -> Entry:
        """Return an object, not older than a version."""
        return reading.get(self._store.read, at, resource_version)

    def list(self, at: Address, options: ListOptions | None = None) -> Listing:
        """Return the objects of a resource in one namespace, or in all."""
        return reading.list_objects(self._store.read, at, options or ListOptions())

    def watch(self, view: View, namespace: str = "", options: ListOptions | None = None) -> Watch:
        """Open a watch on the objects of a resource in one namespace, or with "" in all.

        After a ``list`` without an await in between, a watch from its version misses nothing.
        """
        options = options or ListOptions()
        return self._hub.watch(Scope(view, namespace, options.selection), options)

    # --- Writing --------------------------------------------------------------------------

    async def create(self, at: Address, sent: Sent, options: WriteOptions) -> Written:
        """Create an object in a namespace."""
        resource, namespace = at.resource, at.namespace
        obj, warnings = understood(sent, resource, options.strictness)
        tracked = track_update(
            blank_for(resource, namespace), placed(obj, namespace), self._write_of(options)
        )
        written = await self._create(at, tracked, options)
        return written._replace(warnings=warnings)

    async def update(self, at: Address, sent: Sent, options: WriteOptions) -> Written:
        """Replace an object, or what is at one of its subresources."""
        if at.subresource == "scale":
            return await self._scale(at, sent.content, options)
        resource, namespace = at.resource, at.namespace
        obj, warnings = understood(sent, resource, options.strictness)
        check_name(obj, at)
        obj = placed(obj, namespace)
        write = self._write_of(options, at.subresource)
        is_new = self._store.read.latest(at.key) is None
        if is_new and resource.created_by_put and not at.subresource:
            tracked = track_update(blank_for(resource, namespace), obj, write)
            written = await self._create(at, tracked, options)
        else:
            old = await self._latest(at)
            stored = load(old.value, resource)
            tracked = track_update(to_served(stored, resource), obj, write)
            written = await self._replace(at, old, stored, tracked, options)
        return written._replace(warnings=warnings)

    async def patch(self, at: Address, patch: Patch, options: WriteOptions) -> Written:
        """Change an object, or what is at one of its subresources; an apply may create it."""
        resource = at.resource
        write = self._write_of(options, at.subresource)
        is_new = self._store.read.latest(at.key) is None
        if is_new and patch.type is PatchType.APPLY and not at.subresource:
            live = blank_for(resource, at.namespace)
            obj, warnings = patched(live, resource, patch, write, options.strictness)
            check_name(obj, at)
            written = await self._create(at, placed(obj, at.namespace), options)
            return written._replace(warnings=warnings)
        old = await self._latest(at)
        stored = load(old.value, resource)
        if at.subresource == "scale":
            return await self._scale(at, scaling.patched_scale(stored, patch), options)
        live = to_served(stored, resource)
        obj, warnings = patched(live, resource, patch, write, options.strictness)
        check_name(obj, at)
        written = await self._replace(at, old, stored, obj, options)
        return written._replace(warnings=warnings)

    async def delete(self, at: Address, options: DeleteOptions | None = None) -> Deleted:
        """Delete an object, or begin to."""
        old = await self._latest(at)
        return await self._delete(at.resource, old, options or DeleteOptions())

    async def delete_collection(
        self,
        at: Address,
        chosen: ListOptions | None = None,
        options: DeleteOptions | None = None,
    ) -> Listing:
        """Delete all objects that are chosen; returns them as they were."""
        listing = self.list(at, chosen)

        async def delete(entry: Entry) -> None:
            old = self._store.read.latest(entry.key)
            if old is not None:
                await self._delete(at.resource, old, options or DeleteOptions())

        await asyncio.gather(*map(delete, listing.entries))
        return listing

    async def bind(self, at: Address, sent: Sent, options: WriteOptions) -> None:
        """Assign a pod to a node."""
        old = await self._latest(at)
        pod = load(old.value, PODS)
        name = target(sent.content)
        node = self._store.read.latest(Address(NODES, name=name).key)
        assigned = bound(pod, name, load(node.value, NODES) if node else None)
        new = track_update(pod, assigned, self._write_of(options, at.subresource))
        if not options.dry_run:
            await self._write(PODS, Update(old.key, encoder(new), old.revision))

    # --- What they have in common ---------------------------------------------------------

    async def _create(self, at: Address, wanted: Decoded, options: WriteOptions) -> Written:
        """Store a new object; ``wanted`` is understood, placed, and its owners are tracked."""
        resource = at.resource
        given = wanted["metadata"].get("name", "")
        generated = not given and "generateName" in wanted["metadata"]
        key = Address(resource, at.namespace, given).key
        for _ in range(_ATTEMPTS if generated else 1):
            self._check_namespace(resource, at.namespace, given)
            claim = self._pool.claim()
            try:
                obj = begun(wanted, resource, self._moment(claim))
                key = Address(resource, at.namespace, obj["metadata"]["name"]).key
                if not options.dry_run:
                    event = await self._write(resource, Create(key, _bounded(obj)))
                    claim.keep()
                    return Written(event.entry.value, created=True)
                if self._store.read.latest(key) is None:
                    return Written(unversioned(obj), created=True)
            except AlreadyExistsError:
                pass
            finally:
                claim.end()
        if generated:
            raise no_free_name(resource, key.name)
        there = self._store.read.latest(key)
        doomed = there is not None and _is_doomed(there)
        raise already_exists(resource, key.name, being_deleted=doomed)

    async def _replace(
        self, at: Address, old: Entry, stored: Decoded, wanted: Decoded, options: WriteOptions
    ) -> Written:
        """Store an object in the place of another; ``wanted`` is understood and tracked.

        ``stored`` is what ``old`` holds.
        """
        resource = at.resource
        await self._check_versions(resource, old, stored, wanted["metadata"])
        claim = self._pool.claim()
        try:
            new = replaced(wanted, stored, at, self._moment(claim))
            if is_finished(new, stored):
                if not options.dry_run:
                    await self._remove(resource, old, expected=old.revision)
                return Written(encoder(new)(old.revision))
            if settled(stored, new) is stored:
                return Written(old.value)
            if options.dry_run:
                return Written(encoder(new)(old.revision))
            event = await self._write(resource, Update(old.key, _bounded(new), old.revision))
            claim.keep()
            return Written(event.entry.value)
        finally:
            claim.end()

    async def _scale(self, at: Address, scale: Decoded, options: WriteOptions) -> Written:
        """Have a workload have as many pods as a Scale says."""
        old = await self._latest(at)
        stored = load(old.value, at.resource)
        workload = scaling.scaled(stored, scale)
        tracked = track_update(stored, workload, self._write_of(options, at.subresource))
        return await self._replace(at, old, stored, tracked, options)

    async def _delete(self, resource: Resource, old: Entry, options: DeleteOptions) -> Deleted:
        if errors := delete_errors(options):
            raise invalid_options("DeleteOptions", errors)
        plan = deletion(load(old.value, resource), resource, options, self.world.now())
        if options.is_dry_run:
            value = encoder(plan.update)(old.revision) if plan.update else old.value
            return Deleted(value, plan.remove)
        expected: int | None = old.revision
        if plan.update is not None:
            update = Update(old.key, encoder(plan.update), expected)
            old = (await self._write(resource, update)).entry
            expected = None
        if plan.remove:
            old = await self._remove(resource, old, expected)
        return Deleted(old.value, plan.remove)

    async def _remove(self, resource: Resource, last: Entry, expected: int | None) -> Entry:
        """Take an object out; returns it as it was last."""
        change = Delete(last.key, lambda revision: at_revision(last.value, revision), expected)
        return (await self._write(resource, change)).entry

    async def _latest(self, at: Address) -> Entry:
        """Return an object to base a write on."""
        found = self._store.read.latest(at.key)
        if found is None:  # the store refuses it too, but not before it is sure
            await self._write(at.resource, Delete(at.key, _never))
            raise not_found(at.resource, at.name)
        return found

    async def _check_versions(
        self, resource: Resource, old: Entry, stored: Decoded, wanted: Decoded
    ) -> None:
        """Check that a replacement is meant for this object, and for this version of it."""
        name, uid = old.key.name, stored["metadata"]["uid"]
        if wanted.get("uid", uid) != uid:
            raise other_uid(resource, old.key, wanted["uid"], uid)
        version = wanted.get("resourceVersion", "")
        if not version:
            if resource.needs_version:
                raise version_required(resource, name)
        elif version != str(old.revision):
            if reading.parse_version(version):  # the store refuses it too, once it is sure
                await self._write(resource, Update(old.key, _never, int(version)))
            raise modified(resource, name)

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        """Check that a new object has a namespace to be in."""
        if not resource.namespaced:
            return
        found = self._store.read.latest(Address(NAMESPACES, name=namespace).key)
        if found is None:
            raise not_found(NAMESPACES, namespace)
        if _is_doomed(found):
            raise namespace_terminating(resource, name, namespace)

    async def _write(self, resource: Resource, change: Change) -> Event:
        """Have the store make a change. Raises Refusal; AlreadyExistsError for a creation."""
        try:
            return await self._store.write(change)
        except NotFoundError:
            raise not_found(resource, change.key.name) from None
        except ConflictError:
            raise modified(resource, change.key.name) from None
        except StoreFailedError as error:
            raise unavailable(str(error)) from None

    def _write_of(self, options: WriteOptions, subresource: str = "") -> Write:
        return Write(options.manager, timestamp(self.world.now()), subresource)

    def _moment(self, claim: Claim) -> Moment:
        now, uid, suffix = self.world
        return Moment(timestamp(now()), uid, suffix, self._store.read, claim)

    def _follow(self, event: Event) -> None:
        if event.key.resource == SERVICES.storage:
            self._pool.follow(event)
        self._hub.follow(event)


def _bounded(obj: Decoded) -> Encode:
    """Return what makes the stored bytes of an object. Raises Refusal when there are too many."""
    encode = encoder(obj)
    size = len(encode(0))
    if size > MAX_OBJECT:
        raise object_too_large(size, MAX_OBJECT)
    return encode


def _never(_: int) -> bytes:
    raise AssertionError("a change that the store has to refuse")


class _Doomed(msgspec.Struct, frozen=True):
    deletion_timestamp: str = msgspec.field(default="", name="deletionTimestamp")


class _WithDoom(msgspec.Struct, frozen=True):
    metadata: _Doomed


_DOOM: Final = msgspec.json.Decoder(_WithDoom)


def _is_doomed(entry: Entry) -> bool:
    """Tell whether an object is being deleted."""
    return bool(_DOOM.decode(entry.value).metadata.deletion_timestamp)
