"""Rolling updates under load, told with real connections: no request fails in any of them."""

from __future__ import annotations

import time

from lab_stories import begin_to_end, clients, end, pods_of, short, spread

from nearwise.lab.marks import READY
from nearwise.lab.probe import Failure
from nearwise.lab.rollout import successor
from nearwise.lab.running import Lab


def test_new_pods_come_before_old_ones_go(town: Lab) -> None:
    """As a Deployment does it with maxSurge 1 and maxUnavailable 0."""
    before = pods_of(town, "web")
    with (
        clients(town, "web", "a1", "b2") as inside,
        clients(town, "web", "outside", node_port="c2") as outside,
    ):
        town.rollout("web", max_unavailable=0)
    after = pods_of(town, "web")
    assert not set(before.values()) & set(after.values())
    for running, place in ((inside, "a1"), (inside, "b2"), (outside, "outside")):
        journey = running.journey(place)
        assert journey[0] in before.values()
        assert set(journey) <= {*before.values(), *after.values()}
    spread(town, "a1", "web", after.values())


def test_old_pods_go_before_new_ones_come(town: Lab) -> None:
    """As with maxSurge 0 and maxUnavailable 2, of four."""
    before = pods_of(town, "web")
    with (
        clients(town, "web", "a1", "b2") as inside,
        clients(town, "web", "outside", node_port="c2") as outside,
    ):
        town.rollout("web", max_unavailable=2)
    after = pods_of(town, "web")
    assert not set(before.values()) & set(after.values())
    for running, place in ((inside, "a1"), (inside, "b2"), (outside, "outside")):
        assert set(running.journey(place)) <= {*before.values(), *after.values()}
    spread(town, "a1", "web", after.values())
    spread(town, "outside", "web", after.values(), node_port="c2")


def test_the_only_pod_serves_while_it_is_terminating_until_the_next_one_is_ready(
    town: Lab,
) -> None:
    """One replica, replaced by deletion: there is nobody but the one that was told to end."""
    ((place, old),) = pods_of(town, "solo").items()
    new = successor(town.api.get("Pod", old, "default"))
    name = new["metadata"]["name"]
    new["metadata"].setdefault("annotations", {})[READY] = "false"
    with clients(town, "solo", "a1", "b1") as running:
        begin_to_end(town, old)
        town.settle()
        answers = town.curl("b1", "solo", 20)
        assert {(short(each), each.terminating) for each in answers} == {(old, True)}
        town.api.create(new)
        town.settle()
        spread(town, "b1", "solo", [old])  # the new one is there, but not ready
        town.heal(name)
        town.settle()
        spread(town, "b1", "solo", [name])
        end(town, old)
        town.until(lambda objects: all(pod.metadata.name != old for pod in objects.pods))
    assert running.journey(place) == [old, name]


def test_a_terminating_pod_gets_no_new_connections_and_serves_those_it_has_to_the_end(
    town: Lab,
) -> None:
    pods = pods_of(town, "checkout")
    old = town.api.get("Pod", pods["a1"], "default")
    with clients(town, "checkout", "a2") as running:
        with town.conversation("a2", "checkout") as connection:
            assert short(connection.ask()) == pods["a1"]
            begin_to_end(town, pods["a1"])
            town.settle()
            spread(town, "a2", "checkout", [pods["b1"], pods["c1"]])
            for _ in range(50):
                answer = connection.ask()
                assert (short(answer), answer.terminating) == (pods["a1"], True)
            town.api.create(successor(old))
            town.settle()
            new = pods_of(town, "checkout")["a1"]
            spread(town, "a2", "checkout", [new])
            assert short(connection.ask()) == pods["a1"]
            end(town, pods["a1"])
            until = time.monotonic() + 30
            while not (last := connection.ask()).failure:
                assert time.monotonic() < until
        assert last.failure in {Failure.EMPTY, Failure.RESET}
    assert running.stages("a2", pods["a1"], new) == [pods["a1"], "others", new]
