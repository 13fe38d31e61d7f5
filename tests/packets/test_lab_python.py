"""A lab driven from Python: traffic while things change, and what of it failed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from nearwise.lab.probe import Failure
from nearwise.lab.running import Lab, lab
from nearwise.lab.topology import Wanted, demo


@pytest.fixture(scope="module")
def it() -> Iterator[Lab]:
    """Two zones of one node: web-1 on a1, web-2 on b1, and dns on both."""
    services = [Wanted("web", 2, "PreferSameZone"), Wanted("dns", None, "PreferSameNode")]
    with lab(demo(2, 1, services), f"p{os.getpid()}") as running:
        yield running


def test_new_pods_for_old_ones_without_a_failed_connection(it: Lab) -> None:
    with it.traffic("a1", "web", 200) as near, it.traffic("outside", "web", 1):
        it.rollout("web")
    assert near.failures == []
    assert {each.pod for each in near.answers} == {"default/web-1", "default/web-1-r2"}
    assert [pod.metadata.name for pod in it.objects().pods if pod.ready] == [
        *("dns-a1", "dns-b1", "web-1-r2", "web-2-r2"),
    ]


def test_a_daemon_that_is_replaced_is_served_for_by_another_zone(it: Lab) -> None:
    with it.traffic("a1", "dns:dns-tcp", 200) as traffic:
        it.rollout("dns")
    assert traffic.failures == []
    assert {each.pod for each in traffic.answers} == {
        *("default/dns-a1", "default/dns-b1", "default/dns-a1-r2"),
    }


def test_a_connection_that_is_open_stays_with_its_pod(it: Lab) -> None:
    with it.conversation("a1", "web") as connection:
        first = connection.ask()
        it.fail(first.pod)
        it.settle()
        assert it.curl("a1", "web")[0].pod != first.pod
        again = connection.ask()
    it.heal(first.pod)
    assert (again.pod, again.failure) == (first.pod, None)


def test_a_pod_that_is_told_to_end_says_so_and_answers_until_it_is_gone(it: Lab) -> None:
    it.settle()
    with it.conversation("b1", "web") as connection:
        pod = connection.ask().pod
        it.delete_pod(pod, grace=1)
        it.until(lambda objects: any(p.metadata.deletion_timestamp for p in objects.pods))
        assert connection.ask().pod == pod
        it.until(lambda objects: pod not in ["/".join(each.metadata.key) for each in objects.pods])
        until = time.monotonic() + 5
        while not (last := connection.ask()).failure:
            assert time.monotonic() < until
    assert last.failure in {Failure.EMPTY, Failure.RESET}
