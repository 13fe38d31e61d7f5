"""The work queue: each key once, one worker a key, again after a failure."""

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nearwise.machinery.queue import TokenBucket, WorkQueue
from nearwise.machinery.wait import Wait


def seconds(step: object) -> float:
    """Return how long to wait, which is all there is to do."""
    assert isinstance(step, Wait)
    return step.seconds


# --- one after the other ------------------------------------------------------------------


def test_keys_come_out_in_the_order_in_which_they_were_added_and_each_once() -> None:
    queue = WorkQueue[str]()
    for key in ("web", "db", "web", "api", "db"):
        queue.add(key, 0)

    assert [queue.next(0) for _ in range(4)] == ["web", "db", "api", Wait(inf)]


def test_a_key_added_while_it_is_worked_on_is_worked_on_again_afterwards_and_not_beside() -> None:
    queue = WorkQueue[str]()
    queue.add("web", 0)
    assert queue.next(0) == "web"

    queue.add("web", 1)
    assert queue.next(1) == Wait(inf)

    queue.done("web", 2)
    assert queue.next(2) == "web"


def test_only_what_is_being_worked_on_can_be_done() -> None:
    with pytest.raises(KeyError):
        WorkQueue[str]().done("web", 0)


# --- waiting ------------------------------------------------------------------------------


def test_a_delayed_key_comes_when_its_time_has_come_and_the_wait_says_when_that_is() -> None:
    queue = WorkQueue[str]()
    queue.add_after("later", 5, now=10)
    queue.add_after("sooner", 2, now=10)

    assert queue.next(11) == Wait(1)
    assert queue.next(12) == "sooner"
    assert queue.next(14.5) == Wait(0.5)
    assert queue.next(15) == "later"


@pytest.mark.parametrize(("first", "second"), [(5, 3), (3, 5)])
def test_of_two_delays_the_earlier_counts_whichever_was_asked_for_first(
    first: float, second: float
) -> None:
    queue = WorkQueue[str]()
    queue.add_after("web", first, now=0)
    queue.add_after("web", second, now=0)

    assert queue.next(2.5) == Wait(0.5)
    assert queue.next(3) == "web"
    queue.done("web", 3)
    assert queue.next(100) == Wait(inf)


def test_what_is_due_now_is_not_due_again_later() -> None:
    queue = WorkQueue[str]()
    queue.add_after("web", 5, now=0)
    queue.add("web", 1)
    queue.add_after("web", 5, now=1)

    assert queue.next(1) == "web"
    queue.done("web", 1)
    assert queue.next(100) == Wait(inf)


def test_a_delay_asked_for_during_the_work_counts_even_if_it_is_over_before_the_work() -> None:
    queue = WorkQueue[str]()
    queue.add("web", 0)
    queue.next(0)
    queue.add_after("web", 1, now=0)

    assert queue.next(5) == Wait(inf)
    queue.done("web", 6)
    assert queue.next(6) == "web"


def test_a_key_that_is_made_earlier_again_and_again_leaves_no_trace_of_its_former_times() -> None:
    queue = WorkQueue[int]()
    queue.add_after(1, 1_000, now=0)
    for turn in range(1, 1_000):
        queue.add_after(7, 1_000, now=turn)
        queue.add(7, turn)
        assert queue.next(turn) == 7
        queue.done(7, turn)

    assert len(queue._heap) < 100


def test_fifty_pods_that_turn_ready_within_a_batching_period_are_one_sync_f19() -> None:
    queue = WorkQueue[str]()
    for pod in range(50):
        queue.add_after("shop/web", 0.5, now=pod * 0.01)

    assert seconds(queue.next(0.49)) == pytest.approx(0.01)
    assert queue.next(0.5) == "shop/web"
    queue.done("shop/web", 0.6)
    assert queue.next(100) == Wait(inf)


# --- failing ------------------------------------------------------------------------------


def test_a_create_that_is_forbidden_is_tried_after_1_2_4_8_seconds_up_to_1000_f21() -> None:
    queue = WorkQueue[str]()
    queue.add("shop/web", 0)
    now, attempts = 0.0, []
    for _ in range(13):
        step = queue.next(now)
        if isinstance(step, Wait):
            now += step.seconds
            step = queue.next(now)
        assert step == "shop/web"
        attempts.append(now)
        queue.retry("shop/web", now)
        queue.done("shop/web", now)

    waits = [after - before for before, after in pairwise(attempts)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]


def test_success_is_forgetting_the_next_failure_is_a_first_one() -> None:
    queue = WorkQueue[str]()
    assert [queue.retry("web", 0) for _ in range(3)] == [1, 2, 4]
    assert queue.failures("web") == 3

    queue.forget("web")

    assert queue.failures("web") == 0
    assert queue.retry("web", 10) == 1


def test_ten_thousand_failures_are_no_overflow() -> None:
    queue = WorkQueue[str]()
    assert [queue.retry("web", 0) for _ in range(10_000)][-1] == 1000


def test_many_keys_that_fail_at_once_come_back_at_the_rate_of_the_bucket() -> None:
    queue = WorkQueue[int](retries=TokenBucket(rate=10, burst=100))

    delays = [queue.retry(key, 0) for key in range(130)]

    assert delays[:110] == [1.0] * 110  # the hundred at once, then the bucket's wait is shorter
    assert delays[110:] == [pytest.approx(key / 10) for key in range(11, 31)]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60))
def test_a_bucket_never_lets_through_more_than_its_burst_and_its_rate(gaps: list[float]) -> None:
    bucket, now, let = TokenBucket(rate=2, burst=3), 0.0, []
    for gap in gaps:
        now += gap
        let.append(now + bucket.reserve(now))

    for begin in let:
        within = [at for at in let if begin <= at < begin + 1 - 1e-6]
        assert len(within) <= 3 + 2 * 1


# --- the end ------------------------------------------------------------------------------


def test_a_queue_that_is_shut_down_hands_out_what_is_ready_and_takes_nothing_more() -> None:
    queue = WorkQueue[str]()
    queue.add("first", 0)
    queue.add("second", 0)
    queue.add_after("waiting", 1, now=0)
    assert queue.next(0) == "first"
    queue.add("first", 0)

    queue.shut_down()
    queue.add("third", 0)
    queue.add_after("fourth", 1, now=0)

    assert queue.next(0) == "second"
    assert queue.next(0) == Wait(inf)
    queue.done("second", 5)
    drained = [queue.drained]
    queue.done("first", 5)
    assert queue.next(5) == "first"
    drained.append(queue.drained)
    queue.done("first", 5)
    assert [*drained, queue.drained] == [False, False, True]
    assert queue.next(100) == Wait(inf)


# --- numbers ------------------------------------------------------------------------------


def test_the_numbers_are_those_of_client_gos_work_queue_metrics() -> None:
    queue = WorkQueue[str]()
    queue.add("web", 0)
    queue.add("web", 1)  # merged: it counts once, and since it was first added
    queue.add("db", 2)
    queue.next(3)
    queue.next(3)
    queue.add("web", 4)
    queue.retry("db", 5)
    queue.done("db", 5.5)

    metrics = queue.metrics(7)

    assert (metrics.depth, metrics.adds, metrics.retries) == (1, 3, 1)
    assert (metrics.queue_duration.count, metrics.queue_duration.total) == (2, 4.0)
    assert (metrics.work_duration.count, metrics.work_duration.total) == (1, 2.5)
    assert metrics.unfinished_work_seconds == 4
    assert metrics.longest_running_processor_seconds == 4
    assert metrics.queue_duration.counts[8:11] == (1, 1, 0)  # up to 1 s, up to 10 s, up to 100 s


def test_time_spent_waiting_on_purpose_is_not_time_spent_in_the_queue() -> None:
    queue = WorkQueue[str]()
    queue.add_after("web", 60, now=0)
    queue.next(61)

    assert queue.metrics(61).queue_duration.total == 1


def test_a_duration_beyond_all_buckets_is_counted_beyond_them() -> None:
    queue = WorkQueue[str]()
    queue.add("web", 0)
    queue.next(5_000)

    assert queue.metrics(5_000).queue_duration.counts[-1] == 1


# --- any order of things ------------------------------------------------------------------

KEYS = st.sampled_from("abcd")


class Workers(RuleBasedStateMachine):
    """Any number of workers, and events at any time.

    ``wanted`` is when each key has to be worked on at the latest. It is met by work that begins
    after the wish: work that was under way may have read the state from before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.queue = WorkQueue[str]()
        self.now = 0.0
        self.wanted: dict[str, float] = {}
        self.working: set[str] = set()

    def wish(self, key: str, at: float) -> None:
        self.wanted[key] = min(at, self.wanted.get(key, inf))

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key, self.now)
        self.wish(key, self.now)

    @rule(key=KEYS, delay=st.integers(0, 20))
    def add_after(self, key: str, delay: int) -> None:
        self.queue.add_after(key, delay, self.now)
        self.wish(key, self.now + delay)

    @rule(seconds=st.integers(1, 15))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        step = self.queue.next(self.now)
        due = {key for key, at in self.wanted.items() if at <= self.now} - self.working
        if isinstance(step, Wait):
            assert not due, "a key is due and is not handed out"
            later = [at for key, at in self.wanted.items() if at > self.now]
            assert step.seconds == min(later, default=inf) - self.now
        else:
            assert step not in self.working, "a key is worked on twice at once"
            assert step in due, "a key is handed out that nobody wants, or not yet"
            del self.wanted[step]
            self.working.add(step)

    @precondition(lambda self: self.working)
    @rule(data=st.data(), again=st.booleans())
    def finish(self, data: st.DataObject, again: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        if again:
            self.wish(key, self.now + self.queue.retry(key, self.now))
        else:
            self.queue.forget(key)
        self.queue.done(key, self.now)
        self.working.remove(key)

    @invariant()
    def the_numbers_agree(self) -> None:
        metrics = self.queue.metrics(self.now)
        assert metrics.depth <= len(self.wanted)
        assert metrics.adds == metrics.queue_duration.count + metrics.depth

    def teardown(self) -> None:
        for key in sorted(self.working):
            self.queue.done(key, self.now)
        self.working.clear()
        self.now += 10_000
        while self.wanted:
            self.take()
        assert self.queue.next(self.now) == Wait(inf)


TestWorkers = Workers.TestCase
