"""Following a service: what is asked for, when a line is told, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from followed import EVERYWHERE, NEAR, NODES, PODS, WORLD, rollout, seen, wall
from followed_server import Server
from nearwise.cli import follow
from nearwise.cli.follow import Manner, Telling
from nearwise.client.errors import ForbiddenError
from nearwise.insight.explain import explain
from nearwise.insight.explanation import Explanation
from nearwise.insight.world import World
from nearwise.loops.surroundings import Surroundings
from nearwise.model import Node
from nearwise.model.core import Condition
from nearwise.model.errors import InputError
from nearwise.model.wellknown import SERVICE_NAME
from virtual_time import run
from worlds import KEY, client, explained, settled, stored, web

# --- When a line is printed -------------------------------------------------------------------


def test_the_answer_is_told_once_and_nothing_more_while_nothing_happens() -> None:
    told = seen(WORLD, lambda _: asyncio.sleep(3600))
    assert [when for when, _ in told.answers] == [wall(0)]
    assert (told.lines, told.notes) == ([], [])


def test_a_change_is_told_with_the_time_when_it_was_seen() -> None:
    async def happening(server: Server) -> None:
        await asyncio.sleep(41)
        server.become(rollout(1))

    told = seen(WORLD, happening)
    (line,) = told.lines
    assert line.when == wall(42)
    assert line.at == pytest.approx(42.1)
    assert told.why == ["web-1 lost readiness"]


def test_a_step_of_a_rollout_is_one_line_in_how_many_writes_it_comes() -> None:
    async def happening(server: Server) -> None:
        for off in [(1,), (1, 2), (1, 2, 3)]:
            server.become(rollout(*off))
            await asyncio.sleep(0.08)

    told = seen(WORLD, happening)
    assert told.why == [
        "web-1, web-2 and web-3 lost readiness; zone hints: 1 of 1 ready endpoints has one, none "
        "names b (it names a)"
    ]
    assert told.lines[0].when == wall(1)


def test_what_comes_without_end_is_told_once_a_second() -> None:
    async def happening(server: Server) -> None:
        for number in range(100):
            server.become(rollout(number % 3))
            await asyncio.sleep(0.05)

    told = seen(WORLD, happening)
    assert [round(line.at, 1) for line in told.lines] == [2.0, 3.0, 4.0, 5.0, 6.0]


def test_what_is_undone_at_once_is_not_told() -> None:
    async def happening(server: Server) -> None:
        server.become(rollout(1))
        await asyncio.sleep(0.05)
        server.become(rollout())

    assert seen(WORLD, happening).lines == []


def test_each_line_tells_what_changed_since_the_line_before_and_no_more() -> None:
    async def happening(server: Server) -> None:
        for off in [(1,), (1, 3), (3,)]:
            server.become(rollout(*off))
            await asyncio.sleep(10)

    assert seen(WORLD, happening).why == [
        "web-1 lost readiness",
        "web-3 lost readiness",
        "web-1 became ready",
    ]


def looks(monkeypatch: pytest.MonkeyPatch, each: Callable[[], None]) -> None:
    """Have a function called whenever the service is explained."""

    def counted(*given: Any, **how: Any) -> Explanation:
        each()
        return explain(*given, **how)

    monkeypatch.setattr(follow, "explain", counted)


def beating(at: Node, beat: str) -> Node:
    conditions = (Condition("Ready", "True", message=beat),)
    meta = replace(at.metadata, annotations={"heard-of": beat})
    return replace(at, metadata=meta, status=replace(at.status, conditions=conditions))


def test_heartbeats_of_nodes_and_pods_that_come_and_go_are_not_even_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def happening(server: Server) -> None:
        for number in range(100):
            server.put(beating(NODES[0], f"beat {number}"))
            server.put(client(f"client-{number}", "b-0"))
            await asyncio.sleep(1)

    count = itertools.count()
    looks(monkeypatch, lambda: None if next(count) == 0 else pytest.fail("looked again"))
    assert seen(WORLD, happening).lines == []
    assert next(count) == 1


def test_but_the_next_line_knows_where_the_clients_are() -> None:
    caller = client("client-1", "b-0")

    async def happening(server: Server) -> None:
        server.put(caller)
        await asyncio.sleep(10)
        server.become(settled(NEAR, NODES, web("a-0", "a-1", "b-0"), others=[caller]))

    (line,) = seen(WORLD, happening).lines
    assert [row.share for row in line.found.parts[0].endpoints] == [0.0, 0.0, 1.0]


def test_a_look_that_takes_long_is_followed_by_a_rest_of_three_times_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter of a processor at most."""
    times: list[float] = []
    worked = 0.0

    def work() -> None:
        nonlocal worked
        worked += 2.0
        times.append(asyncio.get_running_loop().time())

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        server = Server(WORLD)
        surroundings = Surroundings(lambda: loop.time() + worked, lambda: wall(0), lambda: 0.5)
        telling = Telling(lambda *_: None, lambda *_: None, lambda _: None)
        task = asyncio.create_task(follow.follow(server, KEY, EVERYWHERE, surroundings, telling))
        for number in range(400):
            await asyncio.sleep(0.05)
            server.become(rollout(number % 3))
        task.cancel()

    looks(monkeypatch, work)
    run(watch())
    rests = [later - before for before, later in itertools.pairwise(times[1:])]
    assert len(rests) == 2
    assert min(rests) >= 6.0


# --- What is followed -------------------------------------------------------------------------


def test_only_what_is_needed_is_asked_for() -> None:
    server = Server(WORLD)
    seen(server)
    assert sorted(server.asked, key=str) == [
        ("endpointslices", "shop", f"{SERVICE_NAME}=web"),
        ("nodes", None, ""),
        ("pods", None, ""),
        ("services", "shop", "metadata.name=web"),
    ]


def test_a_service_that_is_deleted_and_comes_back() -> None:
    async def happening(server: Server) -> None:
        server.become(stored(None, NODES, pods=PODS))
        await asyncio.sleep(60)
        server.become(WORLD)

    told = seen(WORLD, happening)
    assert [
        (move.before is None, move.after is None)
        for line in told.lines
        for move in line.change.moves
    ] == [(False, True), (True, False)]
    assert told.why[0] == "there is no service shop/web"
    assert told.notes == []


def test_from_a_pod_the_answer_follows_the_pod_and_its_absence_is_noted_once() -> None:
    def on(place: str | None) -> World:
        others = [client("client-1", place)] if place else []
        return settled(NEAR, NODES, PODS, others=others)

    async def happening(server: Server) -> None:
        for place in (None, None, "b-1"):
            server.become(on(place))
            server.put(beating(NODES[0], "x") if place is None else NODES[0])
            await asyncio.sleep(10)

    told = seen(on("a-0"), happening, Manner("client-1", "nodes", ()))
    assert [text for _, text in told.notes] == [
        "There is no answer now: no node, zone or pod is called client-1 (--from takes a node, a "
        "zone, or a pod)"
    ]
    (line,) = told.lines
    assert [(dict(move.nodes), move.before is None) for move in line.change.moves] == [
        ({"a": ("a-0",)}, False),
        ({"b": ("b-1",)}, True),
    ]


def test_a_place_that_is_not_there_from_the_beginning_is_an_error() -> None:
    with pytest.raises(InputError, match="no node, zone or pod is called a-9"):
        seen(WORLD, manner=Manner("a-9", "nodes", ()))


# --- The connection ---------------------------------------------------------------------------


def test_a_server_that_is_away_is_told_once_and_what_happened_meanwhile_in_one_line() -> None:
    async def happening(server: Server) -> None:
        server.down = True
        server.break_watches()
        await asyncio.sleep(20)
        server.become(rollout(1))
        await asyncio.sleep(300)
        server.become(rollout(1, 3))
        server.down = False
        await asyncio.sleep(120)

    told = seen(WORLD, happening)
    assert [text for _, text in told.notes] == [
        "Cannot follow the cluster: cannot reach the server: connection refused",
        "Following the cluster again.",
    ]
    assert told.notes[0][0] < 5
    assert 321 < told.notes[1][0] < 321 + 60 + 15 + 2
    assert told.why == ["web-1 and web-3 lost readiness"]


def test_a_watch_that_breaks_and_is_made_again_is_no_trouble() -> None:
    async def happening(server: Server) -> None:
        for _ in range(5):
            server.break_watches()
            await asyncio.sleep(30)
        server.become(rollout(1))

    told = seen(WORLD, happening)
    assert told.notes == []
    assert told.why == ["web-1 lost readiness"]


def test_a_kind_that_we_may_not_see_is_left_out() -> None:
    async def happening(server: Server) -> None:
        server.become(rollout(1))

    server = Server(WORLD)
    server.forbidden = {"pods"}
    told = seen(server, happening)
    assert [text for _, text in told.notes] == ["Left out: pods is forbidden"]
    assert len(told.answers) == 1
    assert told.why == ["web-1 lost readiness"]


def test_without_services_there_is_no_answer() -> None:
    server = Server(WORLD)
    server.forbidden = {"services"}
    with pytest.raises(ForbiddenError, match="services is forbidden"):
        seen(server)


def test_what_goes_wrong_while_telling_comes_out_as_it_is() -> None:
    """As a broken pipe: the command line knows what to do about it."""

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        surroundings = Surroundings(loop.time, lambda: wall(0), lambda: 0.5)
        telling = Telling(broken, broken, lambda _: None)
        await follow.follow(Server(WORLD), KEY, EVERYWHERE, surroundings, telling)

    def broken(*_: object) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run(watch())


def answers(found: Explanation) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        on: (group.mode, group.endpoints)
        for part in found.parts
        for group in part.groups
        for nodes in group.nodes.values()
        for on in nodes
    }


@pytest.mark.parametrize("seed", range(40))
def test_whatever_breaks_on_the_way_what_was_told_last_is_true_in_the_end(seed: int) -> None:
    lot = random.Random(seed)
    worlds = [WORLD]

    async def happening(server: Server) -> None:
        for _ in range(lot.randrange(1, 30)):
            what = lot.random()
            if what < 0.2:
                server.break_watches()
            elif what < 0.4:
                server.down = not server.down
            else:
                worlds.append(rollout(*lot.sample(range(4), lot.randrange(4))))
                server.become(worlds[-1])
            await asyncio.sleep(lot.expovariate(1.0))
        server.down = False
        await asyncio.sleep(200)

    told = seen(WORLD, happening)
    last = told.lines[-1].found if told.lines else told.answers[0][1]
    assert answers(last) == answers(explained(worlds[-1]))
    assert len(told.notes) % 2 == 0
