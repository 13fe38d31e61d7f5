"""An embedded API with what the server does by itself, on a virtual clock: write, wait, look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import virtual_time
from nearwise.server.api import Api, World
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.stored import Decoded, decode
from nearwise.server.options import DeleteOptions, Patch, PatchType, WriteOptions
from nearwise.server.resources import RESOURCES, Address
from nearwise.server.statuses import Refusal
from nearwise.store import MemoryStore, Store

_BY_KIND = {each.kind: each for each in reversed(RESOURCES)}
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Chore(Protocol):
    """Something that goes on beside requests."""

    async def run(self) -> None:
        """Go on until cancelled."""


class SmallCluster:
    """Objects are known as ``kind namespace/name``, without the namespace where there is none."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.api = Api(self.store, World(now=_now))
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *chores: Callable[[Store, Api], Chore]) -> None:
        """Begin with what goes on beside requests."""
        self._tasks += [asyncio.create_task(each(self.store, self.api).run()) for each in chores]

    async def stop(self) -> None:
        """End it."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    # --- writes ---------------------------------------------------------------------------

    async def create(self, what: str, *owners: str, **content: Any) -> str:
        """Create an object; an owner after ``!`` cannot go in the foreground before it."""
        at = _address(what)
        metadata = {"name": at.name, **content.pop("metadata", {})}
        if owners:
            metadata["ownerReferences"] = [self._reference(owner) for owner in owners]
        sent = Sent({**_CONTENT.get(at.resource.kind, {}), **content, "metadata": metadata})
        await self.api.create(Address(at.resource, at.namespace), sent, WriteOptions())
        return what

    async def delete(self, what: str, policy: str | None = None, **options: Any) -> None:
        """Delete an object, or begin to."""
        await self.api.delete(_address(what), DeleteOptions(propagation_policy=policy, **options))

    async def patch(self, what: str, **metadata: Any) -> None:
        """Change the metadata of an object."""
        patch = Patch(PatchType.MERGE, {"metadata": metadata})
        await self.api.patch(_address(what), patch, WriteOptions())

    def _reference(self, owner: str) -> Decoded:
        blocks, what = owner.startswith("!"), owner.removeprefix("!")
        what, _, uid = what.partition("#")
        at = _address(what)
        return {
            "apiVersion": at.resource.api_version,
            "kind": at.resource.kind,
            "name": at.name,
            "uid": uid or self.get(what)["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if blocks else {}),
        }

    # --- looks ----------------------------------------------------------------------------

    def get(self, what: str) -> Decoded:
        """Return an object."""
        return decode(self.api.get(_address(what)).value)

    def has(self, *what: str) -> bool:
        """Tell whether these objects are all there."""
        try:
            for one in what:
                self.api.get(_address(one))
        except Refusal:
            return False
        return True

    def names(self, kind: str, namespace: str = "shop") -> list[str]:
        """Return the names of the objects of a kind."""
        listing = self.api.list(Address(_BY_KIND[kind], namespace))
        return [entry.key.name for entry in listing.entries]

    def owners(self, what: str) -> list[str]:
        """Return the names of an object's owners."""
        return [one["name"] for one in self.get(what)["metadata"].get("ownerReferences", [])]


async def settled() -> None:
    """Wait until nothing is left to be done."""
    await asyncio.sleep(120)


def run(test: Callable[[SmallCluster], Awaitable[None]]) -> None:
    """Run a test on a cluster with a namespace, in no time."""

    async def main() -> None:
        cluster = SmallCluster()
        await cluster.create("Namespace shop")
        try:
            await test(cluster)
        finally:
            await cluster.stop()

    virtual_time.run(main())


def _address(what: str) -> Address:
    kind, _, path = what.partition(" ")
    namespace, _, name = path.rpartition("/")
    return Address(_BY_KIND[kind], namespace, name)


def _now() -> datetime:
    return _BEGIN + timedelta(seconds=asyncio.get_running_loop().time())


_CONTAINERS = {"containers": [{"name": "main", "image": "image"}]}
_CONTENT: dict[str, Decoded] = {
    "Pod": {"spec": _CONTAINERS},
    "Service": {"spec": {"ports": [{"port": 80}]}},
}
