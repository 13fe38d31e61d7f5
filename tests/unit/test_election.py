"""Leader election: never two leaders, and never none for long."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nearwise.machinery.election import Election, Look, Timing, Write
from nearwise.machinery.wait import Wait
from nearwise.model import Lease, ObjectMeta
from nearwise.model.coordination import LeaseSpec

KEY = ("kube-system", "nearwise")

# As kube-controller-manager 1.36 leaves it.
RECORDED = msgspec.json.decode(
    b"""{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
    "metadata":{"name":"nearwise","namespace":"kube-system","resourceVersion":"812",
      "uid":"0b2f6a0e-6f0e-4b0e-9a53-6b8a6f1f6c11","labels":{"team":"x"}},
    "spec":{"acquireTime":"2026-01-01T00:00:00.000000Z",
      "holderIdentity":"master-0_3f5b1c9e-75f2-4cf9-b1a1-7a1f0e2d9f10",
      "leaseDurationSeconds":15,"leaseTransitions":3,
      "renewTime":"2026-01-01T08:00:00.000000Z"}}""",
    type=Lease,
)


def seconds(step: object) -> float:
    """Return how long to wait, which is all there is to do."""
    assert isinstance(step, Wait)
    return step.seconds


def wall(second: float) -> str:
    return f"2026-01-01T09:{int(second) // 60:02}:{second % 60:09.6f}Z"


def candidate(identity: str = "me", lot: float = 0.0, timing: Timing | None = None) -> Election:
    return Election(KEY, identity, lot=lambda: lot, timing=timing or Timing())


def held(by: str = "other", renewed: float = 0, version: int = 1, duration: int = 15) -> Lease:
    return Lease(
        metadata=ObjectMeta("nearwise", "", "kube-system", resource_version=str(version)),
        spec=LeaseSpec(by, duration, wall(0), wall(renewed), 3),
    )


def write(election: Election, now: float) -> Lease:
    step = election.next(now, wall(now))
    assert isinstance(step, Write)
    return step.lease


def stored(lease: Lease, version: int) -> Lease:
    return replace(lease, metadata=replace(lease.metadata, resource_version=str(version)))


def leader(now: float = 0, version: int = 1) -> Election:
    """Make a candidate that has just become the leader."""
    election = candidate(lot=0.9)
    election.next(now, wall(now))
    election.looked(now, None)
    election.written(now, stored(write(election, now), version))
    assert election.is_leader(now)
    return election


# --- becoming the leader ------------------------------------------------------------------


def test_where_there_is_no_lease_it_is_created() -> None:
    election = candidate()
    assert election.next(0, wall(0)) == Look()
    election.looked(0, None)

    lease = write(election, 1)

    assert lease == Lease(
        "coordination.k8s.io/v1",
        "Lease",
        ObjectMeta(name="nearwise", namespace="kube-system"),
        LeaseSpec("me", 15, wall(1), wall(1), 0),
    )
    assert not election.is_leader(1)
    election.written(2, stored(lease, 1))
    assert election.is_leader(2)
    assert election.holder == "me"


def test_a_lease_that_its_holder_gave_back_is_taken_at_once() -> None:
    election = candidate()
    election.looked(0, held(by="", duration=1))

    assert write(election, 0).spec == LeaseSpec("me", 15, wall(0), wall(0), 4)


def test_a_lease_that_never_had_a_holder_is_taken_too() -> None:
    election = candidate()
    election.looked(0, Lease(metadata=held().metadata))

    assert write(election, 0).spec == LeaseSpec("me", 15, wall(0), wall(0), 1)


def test_a_lease_of_client_go_is_taken_over_when_it_was_seen_unchanged_for_its_time() -> None:
    election = candidate()
    election.looked(100, RECORDED)  # renewed hours ago by its clock: that says nothing
    assert election.holder.startswith("master-0")
    now = 100.0
    while now < 115:
        step = election.next(now, wall(now))
        assert isinstance(step, Wait), "not before the lease time is over"
        now += step.seconds
        assert election.next(now, wall(now)) == Look()
        election.looked(now, RECORDED)

    lease = write(election, 115)

    assert lease.metadata == RECORDED.metadata
    assert lease.spec == LeaseSpec("me", 15, wall(115), wall(115), 4)


def test_a_holder_that_renews_is_left_in_peace() -> None:
    election, now = candidate(), 0.0
    for turn in range(100):
        election.looked(now, held(renewed=turn // 5))
        step = election.next(now, wall(now))
        assert isinstance(step, Wait)
        now += step.seconds


def test_the_time_is_that_which_the_holder_promised() -> None:
    election = candidate()
    election.looked(0, held(duration=60))
    election.looked(59.9, held(duration=60))
    assert isinstance(election.next(59.9, wall(0)), Wait)

    election.looked(60, held(duration=60))

    assert write(election, 60).spec.lease_duration_seconds == 15


def test_what_else_is_written_on_the_lease_is_no_sign_of_life() -> None:
    election = candidate()
    election.looked(0, held())
    labelled = stored(held(), 2)
    election.looked(15, labelled)

    assert write(election, 15).metadata.resource_version == "2"


def test_the_end_of_a_lease_is_waited_for_to_the_moment() -> None:
    election = candidate(lot=0.99)
    election.looked(0, held())
    assert seconds(election.next(0, wall(0))) == pytest.approx(4.376)

    election.looked(14, held())

    assert election.next(14, wall(0)) == Wait(1)


def test_whoever_comes_too_late_looks_again_at_once() -> None:
    election = candidate()
    election.looked(0, held(by=""))
    write(election, 0)
    election.failed(1, conflict=True)

    assert election.next(1, wall(1)) == Look()
    election.looked(1, held(by="other", version=2))
    assert isinstance(election.next(1, wall(1)), Wait)
    assert not election.is_leader(1)


@pytest.mark.parametrize(("lot", "pause"), [(0.0, 2), (0.5, 3.2), (0.999, 4.3976)])
def test_a_candidate_that_failed_looks_again_after_a_retry_period_and_up_to_1_2_more(
    lot: float, pause: float
) -> None:
    election = candidate(lot=lot)
    election.failed(10)

    assert seconds(election.next(10, wall(10))) == pytest.approx(pause)
    assert election.next(10 + pause, wall(12)) == Look()


def test_a_lease_of_this_very_identity_is_taken_on_without_a_transition() -> None:
    election = candidate()
    election.looked(0, held(by="me"))

    assert write(election, 5).spec == LeaseSpec("me", 15, wall(0), wall(5), 3)


# --- staying the leader -------------------------------------------------------------------


def test_a_leader_renews_every_retry_period_without_looking() -> None:
    election = leader()

    assert election.next(0.5, wall(0.5)) == Wait(1.5)
    renewal = write(election, 2)

    assert renewal.metadata.resource_version == "1"
    assert renewal.spec == LeaseSpec("me", 15, wall(0), wall(2), 0)
    election.written(2.1, stored(renewal, 2))
    assert seconds(election.next(2.1, wall(2.1))) == pytest.approx(2)


def test_a_leader_leads_for_the_renew_deadline_from_when_it_sent_its_last_success() -> None:
    election = leader(now=0)
    renewal = write(election, 2)
    election.written(9, stored(renewal, 2))  # the answer took its time

    assert election.is_leader(11.999)
    assert not election.is_leader(12)


def test_an_answer_that_comes_after_the_deadline_makes_no_leader() -> None:
    election = candidate()
    election.looked(0, None)
    election.written(10, stored(write(election, 0), 1))

    assert not election.is_leader(10)


def test_a_leader_that_cannot_renew_tries_every_retry_period_and_then_leads_no_more() -> None:
    election, now = leader(), 2.0
    write(election, now)
    while election.is_leader(now):
        election.failed(now)
        assert election.next(now, wall(now)) == Wait(2)
        now += 2
        assert election.next(now, wall(now)) == Look()

    assert now == 10
    election.looked(now, held(by="me", version=1))
    election.written(now, stored(write(election, now), 2))
    assert election.is_leader(now)


def test_a_leader_whose_answer_was_lost_finds_its_own_write_and_goes_on() -> None:
    election = leader()
    lost = write(election, 2)
    election.failed(5)
    assert election.next(7, wall(7)) == Look()
    election.looked(7, stored(lost, 2))

    assert write(election, 7).metadata.resource_version == "2"


def test_a_leader_that_finds_another_holder_leads_no_more_at_once() -> None:
    election = leader()
    write(election, 2)
    election.failed(2, conflict=True)
    assert election.next(2, wall(2)) == Look()
    election.looked(2, held(by="other", version=2))

    assert not election.is_leader(2)


def test_a_write_that_changed_nothing_is_no_renewal() -> None:
    """The wall clock stands still, so the lease is the same and nobody sees that it was written."""
    election = leader(now=0)
    for now in (2, 4, 6, 8):
        step = election.next(now, wall(0))
        assert isinstance(step, Write)
        election.written(now, stored(step.lease, 1))

    assert not election.is_leader(10)


# --- stopping -----------------------------------------------------------------------------


def test_a_leader_that_stops_leads_no_more_and_gives_the_lease_back_as_client_go_does() -> None:
    election = leader()
    election.stop()
    assert not election.is_leader(0)

    assert election.next(1, wall(1)) == Look()
    election.looked(1, held(by="me"))
    released = write(election, 1)
    assert released.spec == LeaseSpec("", 1, wall(1), wall(1), 3)
    assert b'"holderIdentity":""' in msgspec.json.encode(released)
    finished = [election.finished]

    election.written(2, stored(released, 2))
    assert [*finished, election.finished] == [False, True]
    assert not election.is_leader(2)
    assert election.next(2, wall(2)) == Wait(inf)


def test_a_candidate_that_stops_leaves_the_lease_to_its_holder() -> None:
    election = candidate()
    election.looked(0, held())
    election.stop()
    assert election.next(0, wall(0)) == Look()
    election.looked(0, held())

    assert election.finished


def test_a_renewal_that_is_under_way_at_the_stop_makes_no_leader_and_is_given_back() -> None:
    election = leader()
    renewal = write(election, 2)
    election.stop()
    election.written(3, stored(renewal, 2))

    assert not election.is_leader(3)
    assert not election.finished
    assert write(election, 3).spec.holder_identity == ""


def test_a_lease_that_cannot_be_given_back_is_left_to_expire() -> None:
    election = leader()
    election.stop()
    for now in (0, 10, 20):
        assert not election.finished
        assert election.next(now, wall(now)) == Look()
        election.failed(now)

    assert election.finished


@pytest.mark.parametrize(
    ("timing", "complaint"),
    [
        ((10, 10, 2), "longer than the renew deadline"),
        ((15, 2, 2), "1.2 times"),
        ((15, 10, 0), "longer than nothing"),
    ],
)
def test_durations_that_cannot_work_together_are_refused(
    timing: tuple[int, float, float], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Timing(*timing)


# --- whatever the network does ------------------------------------------------------------


class Server:
    """One lease, with versions."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0

    def write(self, lease: Lease) -> Lease | None:
        """Store a lease and return it; None if it replaces another than what is there."""
        known = self.lease.metadata.resource_version if self.lease else ""
        if lease.metadata.resource_version != known:
            return None
        if self.lease is None or lease.spec != self.lease.spec:
            self.version += 1
            self.lease = stored(lease, self.version)
        return self.lease


class World:
    """Candidates with clocks of their own, a server, and a network that loses and delays.

    The time here is nobody's: each candidate's clocks are off by an amount of its own. A request
    may come to the server long after its sender gave up waiting for the answer.
    """

    def __init__(self, seed: int, candidates: int, loss: float, slowness: float) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.slowness = slowness
        self.server = Server()
        self.now = 0.0
        self.todo: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()
        self.dead: set[str] = set()
        self.waiting: dict[str, int] = {}  # the request that each one waits for
        self.requests = count()
        self.reigns: list[tuple[float, str]] = []
        self.elections: dict[str, Election] = {}
        self.offsets: dict[str, float] = {}
        self.walls: dict[str, float] = {}
        for number in range(candidates):
            self.join(f"candidate-{number}", self.random.uniform(0, 5))

    def join(self, name: str, at: float) -> None:
        self.elections[name] = Election(KEY, name, lot=self.random.random)
        self.offsets[name] = self.random.uniform(-1e4, 1e4)
        self.walls[name] = self.random.uniform(0, 1e3)
        self.at(at, lambda: self.act(name))

    def at(self, time: float, what: Callable[[], None]) -> None:
        heappush(self.todo, (time, next(self.order), what))

    def clock(self, name: str) -> float:
        return self.now + self.offsets[name]

    def leaders(self) -> list[str]:
        alive = [name for name in self.elections if name not in self.dead]
        return [name for name in alive if self.elections[name].is_leader(self.clock(name))]

    def run(self, until: float) -> None:
        """Let things happen; whoever begins to lead does so at one of them."""
        while self.todo and self.todo[0][0] <= until:
            self.now, _, what = heappop(self.todo)
            what()
            leaders = self.leaders()
            assert len(leaders) <= 1, f"two leaders at {self.now}: {leaders}"
            if leaders and (not self.reigns or self.reigns[-1][1] != leaders[0]):
                self.reigns.append((self.now, leaders[0]))
        self.now = until

    def delay(self) -> float:
        return self.random.choice([0.001, 0.01, 0.05, self.random.uniform(0, self.slowness)])

    def act(self, name: str) -> None:
        election = self.elections[name]
        if name in self.dead or election.finished or name in self.waiting:
            return
        step = election.next(self.clock(name), wall(self.now + self.walls[name]))
        if isinstance(step, Wait):
            self.at(self.now + step.seconds + 1e-9, lambda: self.act(name))
            return
        number = self.waiting[name] = next(self.requests)
        patience = self.random.choice([5, 30])
        self.at(self.now + patience, lambda: self.answer(name, number, election.failed))
        if self.random.random() >= self.loss:
            self.at(self.now + self.delay(), lambda: self.serve(name, number, step))

    def serve(self, name: str, number: int, step: Look | Write) -> None:
        """Let a request come to the server, and send its answer."""
        election = self.elections[name]
        tell: Callable[[float], None]
        if isinstance(step, Look):
            lease = self.server.lease
            tell = lambda now: election.looked(now, lease)  # noqa: E731
        elif (written := self.server.write(step.lease)) is None:
            tell = lambda now: election.failed(now, conflict=True)  # noqa: E731
        else:
            tell = lambda now: election.written(now, written)  # noqa: E731
        if self.random.random() >= self.loss:
            self.at(self.now + self.delay(), lambda: self.answer(name, number, tell))

    def answer(self, name: str, number: int, tell: Callable[[float], None]) -> None:
        if name not in self.dead and self.waiting.get(name) == number:
            del self.waiting[name]
            tell(self.clock(name))
            self.act(name)

    def stop(self, name: str) -> None:
        self.elections[name].stop()
        self.act(name)


SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(2, 3), st.floats(0, 0.9), st.floats(0, 40))
@settings(max_examples=150, deadline=None)
def test_there_are_never_two_leaders(
    seed: int, candidates: int, loss: float, slowness: float
) -> None:
    world = World(seed, candidates, loss, slowness)
    for number in range(6):
        world.run(until=60.0 * (number + 1))
        unlucky = world.random.choice(sorted(world.elections))
        if world.random.random() < 0.5:
            world.dead.add(unlucky)
        else:
            world.stop(unlucky)
        world.join(f"new-{number}", world.now + world.random.uniform(0, 20))
    world.run(until=500)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_a_leader_that_dies_is_replaced_within_lease_time_and_retry(seed: int) -> None:
    world = World(seed, candidates=2, loss=0, slowness=0.05)
    world.run(until=30 + world.random.uniform(0, 10))
    (first,) = world.leaders()
    world.dead.add(first)

    # Its last renewal was seen up to a pause (2.2 periods) late, and looking takes a moment.
    world.run(until=world.now + 15 + 2.2 * 2 + 0.5)

    assert world.leaders() == [name for name in world.elections if name != first]


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_a_leader_that_stops_is_replaced_within_a_retry(seed: int) -> None:
    world = World(seed, candidates=2, loss=0, slowness=0.05)
    world.run(until=30 + world.random.uniform(0, 10))
    (first,) = world.leaders()
    world.stop(first)

    world.run(until=world.now + 2.2 * 2 + 0.5)

    assert world.leaders() == [name for name in world.elections if name != first]
    assert world.elections[first].finished


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_in_calm_weather_the_first_leader_stays_the_leader(seed: int) -> None:
    world = World(seed, candidates=3, loss=0, slowness=0.2)
    world.run(until=600)

    assert len(world.reigns) == 1
    assert world.server.lease is not None
    assert world.server.lease.spec.lease_transitions == 0


@given(SEEDS, st.floats(0.3, 0.8), st.floats(0, 30))
@settings(max_examples=50, deadline=None)
def test_when_the_storm_is_over_there_is_a_leader(seed: int, loss: float, slowness: float) -> None:
    world = World(seed, 3, loss, slowness)
    world.run(until=200)
    world.loss, world.slowness = 0, 0.05

    world.run(until=200 + slowness + 30 + 15 + 2.2 * 2 + 1)

    assert len(world.leaders()) == 1
