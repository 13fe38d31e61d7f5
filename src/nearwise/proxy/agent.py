"""The agent of a node: what it hears of the cluster goes into the kernel, and stays there.

Law: nothing is decided here about endpoints or rules. Here is what is heard, when a sync runs, and
for which place it is chosen. Changes are gathered while a sync runs; the next one is at once,
unless the operator wants some seconds between two.

The kernel is called from the event loop: most changes take it less time than to hand them to a
thread would.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import Delta
from nearwise.model import EndpointSlice, Node, Service
from nearwise.model.wellknown import LAST_CHANGE_TRIGGER_TIME
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.proxy.caches import Caches
from nearwise.proxy.counts import ChangeCounts
from nearwise.proxy.health import Health
from nearwise.proxy.node import Options, families_of, is_staying, settings_for
from nearwise.proxy.programming import Programming, seconds_of
from nearwise.proxy.routes import FamilyRoutes
from nearwise.routing import Client

_NODE_PATIENCE: Final = 30.0  # seconds for the node to be registered, as kube-proxy gives it
_NO_ZONE: Final = "it has no zone label, so endpoints of no zone are near to it"
_LOOKING: Final = 0.02  # the part of the time that looking for changes of others may take

_log = logging.getLogger(__name__)


class Agent:
    """Keeps the tables of this machine as the cluster wants them."""

    def __init__(
        self,
        caches: Caches,
        programming: Programming,
        machine: Callable[[], tuple[str, ...]],
        health: Health,
        *,
        options: Options,
        surroundings: Surroundings,
    ) -> None:
        """Prepare to have a kernel programmed; ``machine`` gives the addresses of this machine."""
        self.client = Client(options.node, options.zone or None)
        """Where traffic of this machine comes from."""
        self.programming = programming
        self.changes = ChangeCounts()
        self.settled = asyncio.Event()
        """Everything was in the kernel once."""
        self._caches = caches
        self._options = options
        self._surroundings = surroundings
        self._machine = machine
        self._health = health
        self._node: Node | None = None
        self._node_there = asyncio.Event()
        self._addresses: tuple[str, ...] = ()
        self._news = asyncio.Event()
        self._began = seconds_of(surroundings.wall())
        self._earliest = 0.0  # when the next sync may be
        self._look_at = 0.0
        caches.services.listen(self._on_service)
        caches.slices.listen(self._on_slice)
        if caches.node is not None:
            caches.node.listen(self._on_node)

    async def run(self) -> None:
        """Work until cancelled. Raises KernelError if the kernel takes nothing from the start."""
        await self._caches.synced()
        _log.info("all caches are complete")
        await self._node_known()
        while True:
            now = self._surroundings.now()
            if now >= self._look_at:
                self._look()
            if now >= self._earliest:
                self._sync()
            await self._rest()

    # --- what is heard --------------------------------------------------------------------

    def _on_service(self, delta: Delta[Service]) -> None:
        obj = delta.new or delta.old
        assert obj is not None
        self.changes.service()
        for each in self.programming.families.values():
            each.routes.service_changed(obj.metadata.key)
        self._queued()

    def _on_slice(self, delta: Delta[EndpointSlice]) -> None:
        self.changes.slice()
        began = self._trigger(delta)
        for each in self.programming.families.values():
            each.routes.slice_changed(*delta)
            if began and delta.new is not None and delta.new.address_type == each.family.api:
                each.triggers.append(began)
        self._queued()

    def _trigger(self, delta: Delta[EndpointSlice]) -> float:
        """Return when the change began that a slice was written for; 0 if it does not say.

        What began before we did, nobody could have programmed.
        """
        before, after = (
            each.metadata.annotations.get(LAST_CHANGE_TRIGGER_TIME, "") if each else ""
            for each in delta
        )
        if after == before:
            return 0.0
        try:
            began = seconds_of(after)
        except ValueError:  # an annotation can hold anything
            return 0.0
        return began if began > self._began else 0.0

    def _on_node(self, delta: Delta[Node]) -> None:
        node = delta.new
        if node is None:
            self._health.is_staying = False
            _log.warning("node %s is gone; its zone and addresses are kept", self.client.node)
            return
        client = Client(node.metadata.name, node.zone or None)
        if self._node is None or client != self.client:
            _log.info("node %s: %s", client.node, f"zone {node.zone}" if node.zone else _NO_ZONE)
            self.client = client
            for each in self.programming.families.values():
                each.routes.move(client)
        self._node = node
        self._node_there.set()
        self._health.is_staying = is_staying(node)
        self._settle()
        self._queued()

    def _queued(self) -> None:
        """Take note that something may have to get into the kernel."""
        if any(each.is_due for each in self.programming.families.values()):
            now = seconds_of(self._surroundings.wall())
            for each in self.programming.families.values():
                each.counts.last_queued = now
            self._health.queued()
            self._news.set()

    # --- when it is carried out -----------------------------------------------------------

    def _sync(self) -> None:
        if self.programming.next_at() is None:
            return
        self._earliest = self._surroundings.now() + self._options.min_sync_period
        self.programming.sync()
        if not self.programming.is_waiting:
            self.changes.done()
            self._health.updated()
            self.settled.set()

    def _look(self) -> None:
        """See whether this machine, or somebody else's hand in our tables, has changed anything.

        Whoever changes tables all the time must not have us read ours all the time.
        """
        begun = self._surroundings.now()
        self._look_at_machine()
        self.programming.look()
        now = self._surroundings.now()
        self._look_at = now + max(self._options.sync_period, (now - begun) / _LOOKING)

    async def _rest(self) -> None:
        """Wait until there is something to do."""
        while True:
            self._news.clear()
            due, now = self._look_at, self._surroundings.now()
            if (at := self.programming.next_at()) is not None:
                due = min(due, max(at, self._earliest))
            with suppress(TimeoutError):
                async with asyncio.timeout(max(due - now, 0.0)):
                    await self._news.wait()
                    continue
            return

    # --- the place ------------------------------------------------------------------------

    async def _node_known(self) -> None:
        """Wait for our node to be registered, for a while: without it nothing is near."""
        if self._caches.node is None or self._node is not None:
            return
        name = self.client.node
        _log.info("waiting for node %s to be registered", name)
        with suppress(TimeoutError):
            async with asyncio.timeout(_NODE_PATIENCE):
                await self._node_there.wait()
                return
        _log.warning(
            "there is no node %s (--node-name says which): going on without its zone, and without "
            "node ports, until it is there",
            name,
        )

    def _look_at_machine(self) -> None:
        """Find out which addresses this machine has, and have the tables made for them."""
        try:
            self._addresses = self._machine()
        except OSError as error:
            _log.warning("the addresses of this machine cannot be read: %s", error)
        for family in families_of(self._addresses):
            if family not in self.programming.families:
                routes = FamilyRoutes(family, self._caches, self.client)
                self.programming.tend(routes, self._settings(family))
        self._settle()

    def _settle(self) -> None:
        """Have the tables made by what follows from the node and the machine now."""
        for family, each in self.programming.families.items():
            if each.table.settle(self._settings(family)):
                where = ", ".join(each.table.settings.node_port_addresses) or "no address"
                _log.info("%s: node ports answer on %s", family.api, where)
                self._queued()

    def _settings(self, family: Family) -> Settings:
        return settings_for(family, self._options, self._node, self._addresses)
