"""How long changes wait for each other, and which of them is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.machinery.batching import Batching, TriggerTimes
from nearwise.machinery.queue import WorkQueue
from nearwise.model import ObjectMeta, Pod, Service
from nearwise.model.core import Condition, PodStatus

WEB = ("shop", "web")


def at(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"


def service(created: int = 0) -> Service:
    return Service(metadata=ObjectMeta("web", "", "shop", creation_timestamp=at(created)))


def pod(name: str, ready_since: int | None, ready: bool = True) -> Pod:
    condition = Condition(
        "Ready",
        "True" if ready else "False",
        last_transition_time=None if ready_since is None else at(ready_since),
    )
    return Pod(
        metadata=ObjectMeta(name, "", "shop"),
        status=PodStatus(conditions=(Condition("Initialized", "True"), condition)),
    )


def known_service() -> TriggerTimes:
    """Make trigger times of a service that has been looked at once."""
    times = TriggerTimes()
    times.service_seen(service())
    times.take(WEB)
    return times


# --- how long ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "after_pod", "after_slice"), [(0, 0, 1), (0.5, 0.5, 1), (5, 5, 5)]
)
def test_pods_wait_for_the_period_and_slices_for_a_second_at_least_f21(
    period: float, after_pod: float, after_slice: float
) -> None:
    batching = Batching(period)

    assert (batching.after_pod, batching.after_slice) == (after_pod, after_slice)


# --- which change ---------------------------------------------------------------------------


def test_a_new_service_is_told_by_its_creation_whatever_its_pods_say() -> None:
    times = TriggerTimes()
    times.service_seen(service(created=30))
    for second in (10, 20, 50):
        times.pod_changed(WEB, None, pod(f"p-{second}", second))

    assert times.take(WEB) == at(30)


def test_of_the_pods_that_changed_the_earliest_is_told() -> None:
    times = known_service()
    times.pod_changed(WEB, pod("a", 10), pod("a", 50, ready=False))
    times.pod_changed(WEB, pod("b", 20), pod("b", 40))
    times.pod_changed(WEB, pod("c", 30), pod("c", 30))

    assert times.take(WEB) == at(40)
    assert times.take(WEB) is None


def test_a_pod_that_was_not_there_before_is_told_by_its_readiness() -> None:
    times = known_service()
    times.pod_changed(WEB, None, pod("a", 70))

    assert times.take(WEB) == at(70)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pod("a", 10), None),
        (pod("a", 10), pod("a", None)),
        (None, pod("a", None)),
        (None, Pod()),
        (pod("a", 10), pod("a", 9)),
    ],
)
def test_a_change_that_has_no_time_of_its_own_is_not_told(old: Pod | None, new: Pod | None) -> None:
    times = known_service()
    times.pod_changed(WEB, old, new)

    assert times.take(WEB) is None


def test_a_changed_service_has_no_time_to_be_told_by() -> None:
    times = known_service()
    times.service_seen(service(created=99))

    assert times.take(WEB) is None


def test_a_service_that_was_made_anew_is_new_again() -> None:
    times = known_service()
    times.pod_changed(WEB, None, pod("a", 10))
    times.forget(WEB)
    times.service_seen(service(created=60))

    assert times.take(WEB) == at(60)


def test_what_came_to_nothing_is_told_next_time_together_with_what_came_since() -> None:
    times = known_service()
    times.pod_changed(WEB, None, pod("a", 10))
    taken = times.take(WEB)
    times.pod_changed(WEB, None, pod("b", 20))
    times.give_back(WEB, taken)

    assert times.take(WEB) == at(10)

    times.pod_changed(WEB, None, pod("c", 30))
    times.give_back(WEB, None)
    assert times.take(WEB) == at(30)


def test_services_nobody_knows_have_no_times() -> None:
    times = TriggerTimes()
    times.pod_changed(WEB, None, pod("a", 10))
    times.give_back(WEB, at(10))
    times.forget(WEB)
    assert times.take(WEB) is None

    times.service_seen(service())
    times.forget(WEB)
    assert not times._earliest
    assert not times._new


def test_fifty_pods_within_a_batching_period_are_one_sync_with_the_time_of_the_first_f19() -> None:
    times, queue = known_service(), WorkQueue[tuple[str, str]]()
    batching = Batching(0.5)
    for number in range(50):
        now = 100 + number / 100
        times.pod_changed(WEB, None, pod(f"p-{number}", 100 + number // 30))
        queue.add_after(WEB, batching.after_pod, now)

    assert queue.next(100.5) == WEB
    assert times.take(WEB) == at(100)
    queue.done(WEB, 100.5)
    assert queue.next(1_000) != WEB


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(1, 50)), max_size=8)
)
def test_with_one_change_of_a_pod_between_two_looks_it_is_what_kubernetes_tells(
    looks: list[dict[str, int | None]],
) -> None:
    """Kubernetes compares at each look all pods (by name: ready since) with those of the last."""
    times, kubernetes = known_service(), dict[str, str]()
    present: dict[str, Pod] = {}
    for look in looks:
        for name, second in look.items():
            old = present.pop(name, None)
            if second is not None:
                present[name] = pod(name, second)
            times.pod_changed(WEB, old, present.get(name))

        now = {
            name: p.status.conditions[1].last_transition_time or "" for name, p in present.items()
        }
        changed = [time for name, time in now.items() if time > kubernetes.get(name, "")]
        kubernetes = now
        assert times.take(WEB) == min(changed, default=None)
