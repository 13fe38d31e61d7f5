"""One candidate of a leader election, carried out over a cluster; and writing for leaders only.

Law: when to ask for the lease and who leads is decided by ``machinery.election``. Here requests
are sent and given up in time, and no write passes when this candidate does not lead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

from nearwise.loops.cluster import Cluster
from nearwise.loops.surroundings import Surroundings
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.election import Election, Look, Timing
from nearwise.machinery.wait import Wait
from nearwise.model import Lease
from nearwise.model.errors import LostError, StatusError
from nearwise.model.meta import ListMeta
from nearwise.model.resources import LEASES, K, Resource

_log = logging.getLogger(__name__)


class Candidate:
    """Takes part in the election over one lease."""

    def __init__(
        self,
        cluster: Cluster,
        lease: ObjectKey,
        identity: str,
        surroundings: Surroundings,
        timing: Timing,
    ) -> None:
        """Stand for the lease of this namespace and name; ``identity`` is this process's alone."""
        self.lease = lease
        self.identity = identity
        self._cluster = cluster
        self._now = surroundings.now
        self._wall = surroundings.wall
        self._patience = timing.renew_deadline / 2  # for one request, as Kubernetes has it
        self._election = Election(lease, identity, lot=surroundings.lot, timing=timing)
        self._leads = asyncio.Event()
        self._follows = asyncio.Event()
        self._follows.set()
        self._holder: str | None = None  # as last told
        self._trouble = ""

    def is_leader(self) -> bool:
        """Tell whether this candidate leads at this very moment."""
        return self._election.is_leader(self._now())

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            await self._step()

    async def give_back(self) -> None:
        """Lead no more, and give the lease back if it is ours.

        To be called when ``run`` is cancelled and what only a leader may do has ended.
        """
        self._election.stop()
        while not self._election.finished:
            await self._step()

    async def gained(self) -> None:
        """Wait until this candidate leads."""
        await self._leads.wait()

    async def lost(self) -> None:
        """Wait until this candidate leads no longer."""
        while self.is_leader():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._election.leads_until - self._now()):
                    await self._follows.wait()

    async def _step(self) -> None:
        step = self._election.next(self._now(), self._wall())
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return
        try:
            async with asyncio.timeout(self._patience):
                await (self._look() if isinstance(step, Look) else self._write(step.lease))
        except StatusError as refused:
            self._failed(str(refused), conflict=refused.status.code == 409)
        except (LostError, TimeoutError) as lost:
            self._failed(str(lost) or "no answer in time")
        else:
            self._trouble = ""
        self._notice()

    async def _look(self) -> None:
        lease = None
        try:
            lease = await self._cluster.get(LEASES, *self.lease)
        except StatusError as refused:
            if refused.status.code != 404:
                raise
        self._election.looked(self._now(), lease)

    async def _write(self, lease: Lease) -> None:
        write = self._cluster.update if lease.metadata.resource_version else self._cluster.create
        stored = await write(LEASES, lease)
        self._election.written(self._now(), stored)

    def _failed(self, why: str, *, conflict: bool = False) -> None:
        if not conflict and why != self._trouble:
            self._trouble = why
            _log.warning("lease %s: %s", "/".join(self.lease), why)
        self._election.failed(self._now(), conflict=conflict)

    def _notice(self) -> None:
        """Tell those who wait, and the log, what has changed."""
        if self.is_leader():
            self._leads.set()
            self._follows.clear()
        else:
            self._leads.clear()
            self._follows.set()
        holder = self._election.holder
        if holder != self._holder:
            self._holder = holder
            whose = "ours" if holder == self.identity else f"held by {holder or 'nobody'}"
            _log.info("lease %s: %s", "/".join(self.lease), whose)


class NotLeadingError(LostError):
    """A write was not sent, because this candidate does not lead."""


class LeadingCluster:
    """A cluster that is written to only while we lead. Implements ``Cluster``."""

    def __init__(self, cluster: Cluster, leads: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._leads = leads

    async def page(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> tuple[tuple[K, ...], ListMeta]:
        """List, whoever leads."""
        return await self._cluster.page(resource, query)

    def watch(
        self, resource: Resource[K], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, K]]:
        """Watch, whoever leads."""
        return self._cluster.watch(resource, query)

    async def get(self, resource: Resource[K], namespace: str, name: str) -> K:
        """Read, whoever leads."""
        return await self._cluster.get(resource, namespace, name)

    async def create(self, resource: Resource[K], obj: K) -> K:
        """Create. Raises NotLeadingError if we do not lead."""
        self._check()
        return await self._cluster.create(resource, obj)

    async def update(self, resource: Resource[K], obj: K) -> K:
        """Replace. Raises NotLeadingError if we do not lead."""
        self._check()
        return await self._cluster.update(resource, obj)

    async def delete(self, resource: Resource[K], obj: K) -> None:
        """Delete. Raises NotLeadingError if we do not lead."""
        self._check()
        await self._cluster.delete(resource, obj)

    def _check(self) -> None:
        if not self._leads():
            raise NotLeadingError("not written: another replica leads by now")
