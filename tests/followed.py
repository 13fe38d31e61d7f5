"""What is told of a service that is followed on a virtual clock, while things happen to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cluster import node, pod, service
from followed_server import Server
from nearwise.cli.follow import Manner, Telling, follow
from nearwise.insight.changes import Change
from nearwise.insight.explanation import Explanation
from nearwise.insight.world import Key, World
from nearwise.loops.surroundings import Surroundings
from virtual_time import run
from worlds import KEY, settled, web

BEGIN = datetime(2026, 11, 30, 5, 43, 40, tzinfo=UTC)  # the virtual clock's 0
EVERYWHERE = Manner("", "nodes", ())
NEAR = service(distribution="PreferSameZone")
NODES = [node("a-0", "a"), node("a-1", "a"), node("b-0", "b"), node("b-1", "b")]
PODS = web("a-0", "a-1", "b-0", "b-1")


class Line(NamedTuple):
    """What was told of a change, and when, in seconds of the virtual clock."""

    at: float
    when: str
    change: Change
    found: Explanation


class Seen(NamedTuple):
    """Everything that was told."""

    answers: list[tuple[str, Explanation]]
    lines: list[Line]
    notes: list[tuple[float, str]]

    @property
    def why(self) -> list[str]:
        """The reasons of each line."""
        return ["; ".join(why.text for why in line.change.reasons) for line in self.lines]


Happening = Callable[[Server], Awaitable[None]]


def wall(seconds: float) -> str:
    time = BEGIN + timedelta(seconds=seconds)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def seen(
    server: World | Server,
    happening: Happening | None = None,
    manner: Manner = EVERYWHERE,
    key: Key = KEY,
) -> Seen:
    """Follow a service while something happens, and for five seconds more."""
    told = Seen([], [], [])

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        cluster = server if isinstance(server, Server) else Server(server)
        surroundings = Surroundings(loop.time, lambda: wall(loop.time()), lambda: 0.5)
        telling = Telling(
            lambda when, found: told.answers.append((when, found)),
            lambda when, what, found: told.lines.append(Line(loop.time(), when, what, found)),
            lambda text: told.notes.append((loop.time(), text)),
        )
        task = asyncio.create_task(follow(cluster, key, manner, surroundings, telling))
        try:
            await asyncio.sleep(1)
            if happening:
                await happening(cluster)
            await asyncio.sleep(5)
            if task.done():
                await task
        finally:
            task.cancel()

    run(watch())
    return told


def rollout(*off: int) -> World:
    """Return the world with some pods not ready, and the slices written that say so."""
    pods = [
        pod(each.metadata.name, each.spec.node_name, ready=False) if number in off else each
        for number, each in enumerate(PODS)
    ]
    return settled(NEAR, NODES, pods)


WORLD = rollout()
