"""Candidates carried out over a cluster: one leads, it is known when it leads no more, and when
it leads no more nothing is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest
from msgspec.structs import replace

from cluster import slice_of
from nearwise.controllers.election import Candidate, LeadingCluster, NotLeadingError
from nearwise.loops.cluster import Cluster
from nearwise.machinery.election import Timing
from nearwise.model import Lease, ObjectMeta, Status
from nearwise.model.coordination import LeaseSpec
from nearwise.model.errors import StatusError
from nearwise.model.resources import ENDPOINT_SLICES, LEASES
from simulation.faults import Faults, FaultyCluster
from simulation.model_cluster import ModelCluster, now, stamp, surroundings
from simulation.wire import Wire
from virtual_time import run

KEY = ("kube-system", "nearwise-controller")

# As kube-controller-manager 1.36 leaves it.
RECORDED = msgspec.json.decode(
    b"""{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
    "metadata":{"name":"nearwise-controller","namespace":"kube-system"},
    "spec":{"acquireTime":"2026-01-01T00:00:00.000000Z",
      "holderIdentity":"master-0_3f5b1c9e-75f2-4cf9-b1a1-7a1f0e2d9f10",
      "leaseDurationSeconds":15,"leaseTransitions":3,
      "renewTime":"2026-01-01T08:00:00.000000Z"}}""",
    type=Lease,
)


def candidate(cluster: Cluster, identity: str, seed: int = 0) -> Candidate:
    return Candidate(cluster, KEY, identity, surroundings(seed), Timing())


@asynccontextmanager
async def standing(*candidates: Candidate) -> AsyncIterator[None]:
    """Have candidates take part meanwhile."""
    tasks = [asyncio.create_task(each.run()) for each in candidates]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def never_two(*candidates: Candidate) -> None:
    """Look every few milliseconds that at most one leads."""
    while True:
        assert sum(each.is_leader() for each in candidates) <= 1
        await asyncio.sleep(0.007)


def lease(cluster: ModelCluster) -> LeaseSpec:
    found = cluster.look(LEASES, *KEY)
    assert found is not None
    return found.spec


# --- alone --------------------------------------------------------------------------------


def test_the_first_candidate_makes_the_lease_and_renews_it_every_retry_period() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        me = candidate(cluster, "me")
        async with standing(me):
            await me.gained()
            begun = lease(cluster)
            await asyncio.sleep(63)
            renewed = lease(cluster)
        assert (begun.holder_identity, begun.lease_duration_seconds) == ("me", 15)
        assert (begun.lease_transitions, begun.acquire_time) == (0, begun.renew_time)
        assert renewed.acquire_time == begun.acquire_time
        assert (renewed.renew_time or "")[:18] == "2026-01-01T00:01:0"
        assert len(renewed.renew_time or "") == len("2026-01-01T00:01:00.000000Z")
        assert 30 <= len(cluster.writes("leases")) <= 33

    run(story())


def test_a_lease_given_back_is_nobodys_and_the_next_has_it_within_seconds() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        first, second = candidate(cluster, "first"), candidate(cluster, "second", 1)
        async with standing(first):
            await first.gained()
            waiting = asyncio.create_task(second.run())
            await asyncio.sleep(10)
        await first.give_back()
        assert not first.is_leader()
        moment = lease(cluster).renew_time
        assert lease(cluster) == LeaseSpec("", 1, moment, moment, 0)
        given_back = now()
        await second.gained()
        assert now() - given_back <= 2 * 2.2 + 0.1
        assert (lease(cluster).holder_identity, lease(cluster).lease_transitions) == ("second", 1)
        waiting.cancel()

    run(story())


def test_giving_back_what_another_holds_by_now_leaves_it_to_him() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        me = candidate(cluster, "me")
        async with standing(me):
            await me.gained()
        found = cluster.look(LEASES, *KEY)
        assert found is not None
        taken = replace(found, spec=replace(found.spec, holder_identity="other"))
        cluster.put(taken)
        await me.give_back()
        assert lease(cluster) == taken.spec

    run(story())


# --- several ------------------------------------------------------------------------------


def test_the_second_waits_and_takes_over_within_the_lease_time_when_the_first_falls_silent() -> (
    None
):
    async def story() -> None:
        cluster = ModelCluster()
        wire = Wire(cluster)
        first, second = candidate(wire, "first"), candidate(cluster, "second", 1)
        async with standing(first):
            await first.gained()
            async with standing(second):
                watch = asyncio.create_task(never_two(first, second))
                await asyncio.sleep(60)
                assert first.is_leader()
                wire.cut = True
                cut = now()
                await first.lost()
                assert 8 <= now() - cut <= 10
                await second.gained()
                assert 13 <= now() - cut <= 15 + 2 * 2.2
                assert not watch.done()
                watch.cancel()

    run(story())


@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens_to_requests_there_are_never_two_and_at_last_there_is_one(
    seed: int,
) -> None:
    async def story() -> None:
        faults = Faults(seed)
        cluster = ModelCluster()
        all_of_them = [
            candidate(FaultyCluster(cluster, faults), f"c{number}", seed * 10 + number)
            for number in range(3)
        ]
        async with standing(*all_of_them):
            watch = asyncio.create_task(never_two(*all_of_them))
            await asyncio.sleep(60)
            faults.on = False
            await asyncio.sleep(25)
            assert sum(each.is_leader() for each in all_of_them) == 1
            assert not watch.done()
            watch.cancel()

    run(story())


# --- beside client-go -----------------------------------------------------------------------


class ClientGo:
    """What client-go's leaderelection does with a lease: records, expiry, release."""

    def __init__(self, cluster: ModelCluster, identity: str) -> None:
        self._cluster = cluster
        self._identity = identity
        self._seen: LeaseSpec | None = None
        self._seen_at = 0.0
        self.leads = False

    async def run(self) -> None:
        while True:
            with suppress(StatusError):
                await self._try()
            await asyncio.sleep(2.0)

    async def _try(self) -> None:
        found = await self._cluster.get(LEASES, *KEY)
        if found.spec != self._seen:
            self._seen, self._seen_at = found.spec, now()
        spec = found.spec
        ours = spec.holder_identity == self._identity
        valid = now() < self._seen_at + (spec.lease_duration_seconds or 0)
        self.leads = ours
        if spec.holder_identity and valid and not ours:
            return
        record = LeaseSpec(
            self._identity,
            15,
            spec.acquire_time if ours else stamp(),
            stamp(),
            (spec.lease_transitions or 0) + (not ours),
        )
        stored = await self._cluster.update(LEASES, replace(found, spec=record))
        self._seen, self._seen_at, self.leads = stored.spec, now(), True


def test_a_lease_that_client_go_holds_is_left_alone_and_taken_when_it_falls_silent() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        cluster.put(RECORDED)
        theirs = ClientGo(cluster, RECORDED.spec.holder_identity or "")
        task = asyncio.create_task(theirs.run())
        me = candidate(cluster, "me")
        async with standing(me):
            await asyncio.sleep(120)
            assert theirs.leads
            assert not me.is_leader()
            task.cancel()
            silent = now()
            await me.gained()
            assert 13 <= now() - silent <= 15 + 2 * 2.2
        assert (lease(cluster).holder_identity, lease(cluster).lease_transitions) == ("me", 4)

    run(story())


def leads(other: ClientGo) -> bool:
    """Ask anew each time: it changes while others run."""
    return other.leads


@pytest.mark.parametrize("gives_back", [True, False])
def test_client_go_takes_over_from_us(gives_back: bool) -> None:
    async def story() -> None:
        cluster = ModelCluster()
        me = candidate(cluster, "me")
        theirs = ClientGo(cluster, "theirs")
        async with standing(me):
            await me.gained()
            task = asyncio.create_task(theirs.run())
            await asyncio.sleep(60)
            assert not leads(theirs)
        ended = now()
        if gives_back:
            await me.give_back()
        while not leads(theirs):
            await asyncio.sleep(0.01)
        assert not me.is_leader()
        assert now() - ended <= (2.1 if gives_back else 17.1)
        assert lease(cluster).lease_transitions == 1
        task.cancel()

    run(story())


def test_a_lease_held_by_hand_keeps_replicas_waiting_until_it_is_emptied() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        by_hand = Lease(
            metadata=ObjectMeta(name=KEY[1], namespace=KEY[0]),
            spec=LeaseSpec(holder_identity="take-over", lease_duration_seconds=86_400),
        )
        cluster.put(by_hand)
        me = candidate(cluster, "me")
        async with standing(me):
            await asyncio.sleep(3 * 3600)
            assert not me.is_leader()
            cluster.put(replace(by_hand, spec=replace(by_hand.spec, holder_identity="")))
            emptied = now()
            await me.gained()
            assert now() - emptied <= 2 * 2.2 + 0.1

    run(story())


# --- losing it ----------------------------------------------------------------------------


def test_a_leader_that_is_overtaken_knows_with_its_next_request() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        me = candidate(cluster, "me")
        async with standing(me):
            await me.gained()
            found = cluster.look(LEASES, *KEY)
            assert found is not None
            cluster.put(replace(found, spec=replace(found.spec, holder_identity="thief")))
            before = now()
            await me.lost()
            assert now() - before <= 2.1

    run(story())


def test_a_request_without_an_answer_is_given_up_and_made_again() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        wire = Wire(cluster)
        me = candidate(wire, "me")
        async with standing(me):
            await me.gained()
            wire.cut = True
            await asyncio.sleep(4)
            wire.cut = False  # the request that hangs is never answered
            await asyncio.sleep(60)
            assert me.is_leader()

    run(story())


def test_one_line_is_logged_when_something_changes(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        cluster = ModelCluster()
        me = candidate(cluster, "me")
        async with standing(me):
            await me.gained()
            cluster.refuse = lambda _: Status(code=503, message="the server is shutting down")
            await asyncio.sleep(120)
            cluster.refuse = lambda _: None
            await asyncio.sleep(20)
            assert me.is_leader()

    caplog.set_level(logging.INFO)
    run(story())
    name = "/".join(KEY)
    assert [record.getMessage() for record in caplog.records] == [
        f"lease {name}: held by nobody",
        f"lease {name}: ours",
        f"lease {name}: the server is shutting down",
    ]


# --- writing ------------------------------------------------------------------------------


def test_nothing_is_written_by_who_does_not_lead() -> None:
    async def story() -> None:
        cluster = ModelCluster()
        leads = True
        writing = LeadingCluster(cluster, lambda: leads)
        stored = await writing.create(ENDPOINT_SLICES, slice_of("web-a"))
        leads = False
        requests = len(cluster.requests)
        for write in (
            writing.create(ENDPOINT_SLICES, slice_of("web-b")),
            writing.update(ENDPOINT_SLICES, stored),
            writing.delete(ENDPOINT_SLICES, stored),
        ):
            with pytest.raises(NotLeadingError, match="another replica leads"):
                await write
        assert len(cluster.requests) == requests

        assert await writing.get(ENDPOINT_SLICES, "shop", "web-a") == stored
        assert (await writing.page(ENDPOINT_SLICES, {}))[0] == (stored,)
        async for kind, obj in writing.watch(
            ENDPOINT_SLICES, {"timeoutSeconds": "1", "resourceVersion": "0"}
        ):
            assert (kind, obj) == ("ADDED", stored)
            break

    run(story())
