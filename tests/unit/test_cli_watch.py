"""``nearwise explain --watch``: when a line is printed, what is in it, and how it ends."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from cluster import node, pod, service
from followed_server import Server, over_http
from nearwise.cli import Exit, cli, follow
from nearwise.cli.follow import Manner, Telling
from nearwise.cli.watch_screen import (
    print_change,
    print_change_json,
    print_first,
    print_first_json,
)
from nearwise.client.dump import load
from nearwise.client.errors import ForbiddenError
from nearwise.controllers.surroundings import Surroundings
from nearwise.insight.changes import Change
from nearwise.insight.explain import explain
from nearwise.insight.explanation import Explanation
from nearwise.insight.world import Key, World
from nearwise.model import Node
from nearwise.model.core import Condition
from nearwise.model.errors import InputError
from nearwise.model.wellknown import SERVICE_NAME
from scripted_server import serving
from virtual_time import run
from worlds import KEY, client, settled, stored, web

ROOT = Path(__file__).parents[2]
SEOUL = timezone(timedelta(hours=9))
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
        task = asyncio.create_task(follow.follow(cluster, key, manner, surroundings, telling))
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
        "web-1, web-2 and web-3 lost readiness; zone hints: 1 of 1 ready endpoints have one, none "
        "names b (they name a)"
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
    assert told.why[0].endswith("there is no service shop/web")
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


# --- What a line looks like -------------------------------------------------------------------


def flags() -> Seen:
    """Follow the flag server through its three dumps."""
    first, second, third = (
        World(load([str(ROOT / "examples" / f"flag-server-{name}.yaml")]))
        for name in ("1-hints-on", "2-hints-off", "3-hints-on-again")
    )

    async def happening(server: Server) -> None:
        await asyncio.sleep(3)
        server.become(second)
        await asyncio.sleep(9)
        server.become(third)

    return seen(first, happening, key=("platform", "feature-flags"))


def printed(told: Seen, capsys: pytest.CaptureFixture[str]) -> list[str]:
    for _, _, what, found in told.lines:
        print_change("2026-11-30T05:43:44.25Z", what, found, SEOUL)
    return capsys.readouterr().out.splitlines()


def test_the_page_about_it_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    told = flags()
    for _, found in told.answers:
        print_first(found, wide=False)
    for line in told.lines:
        print_change(line.when, line.change, line.found, SEOUL)
    page = (ROOT / "docs" / "explain.md").read_text()
    assert (
        f"$ nearwise explain feature-flags -n platform --watch\n{capsys.readouterr().out}" in page
    )


def test_a_line_has_the_local_time_whom_it_concerns_from_what_to_what_and_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def happening(server: Server) -> None:
        server.become(rollout(1))

    assert printed(seen(WORLD, happening), capsys) == [
        "2026-11-30T14:43:44+09:00  a: same-zone (2 endpoints) → same-zone (1 endpoint), because "
        "web-1 lost readiness"
    ]


def lines(
    before: World, after: World, capsys: pytest.CaptureFixture[str], manner: Manner = EVERYWHERE
) -> list[str]:
    """Return what is printed when one world becomes another, without times and reasons."""

    async def happening(server: Server) -> None:
        server.become(after)

    told = printed(seen(before, happening, manner), capsys)
    return [line.partition("  ")[2].partition(", because")[0] for line in told]


WIDE = [*(node(f"a-{number}", "a") for number in range(6)), node("x-0", ""), node("x-1", "")]
BESIDE = service(distribution="PreferSameNode")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            settled(service(), NODES, web("a-0", "a-0")),
            settled(service(), NODES, [*web("a-0"), pod("web-7", "a-0")]),
            "all clients: cluster (2 endpoints) → cluster (2 endpoints), others than before",
        ),
        (
            settled(service(), NODES, web("a-0")),
            settled(service(), NODES, [pod("web-0", "a-0", ready=False)]),
            "all clients: cluster (1 endpoint) → rejected",
        ),
        (
            settled(NEAR, NODES, web("b-0")),
            settled(NEAR, [*NODES, node("a-2", "a"), node("c-0", "c")], web("b-0")),
            "a-2, c: new → cluster (1 endpoint)",
        ),
        (
            settled(NEAR, [*NODES, node("x-0", "")], web("a-0", "b-0")),
            settled(NEAR, [*NODES, node("x-0", ""), node("b-9", "b")], web("a-0")),
            "b: same-zone (1 endpoint) → cluster (1 endpoint); b-9: new → cluster (1 endpoint); "
            "clients without a zone: cluster (2 endpoints) → cluster (1 endpoint)",
        ),
        (
            settled(BESIDE, WIDE, web("a-0")),
            settled(BESIDE, WIDE, web("a-0", "a-1", "a-2", "a-3", "a-4")),
            "4 nodes of a: same-zone (1 endpoint) → same-node (1 endpoint); "
            "a-5: same-zone (1 endpoint) → same-zone (5 endpoints); "
            "clients without a zone: cluster (1 endpoint) → cluster (5 endpoints)",
        ),
    ],
)
def test_whom_it_concerns_is_said_in_few_words(
    before: World, after: World, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(before, after, capsys) == [told]


def test_a_line_tells_of_four_moves_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = [node(f"{zone}-0", zone) for zone in "abcdef"]
    crowd = [*"abcdef", *"bcdef", *"cdef", *"def", *"ef", "f"]
    near = settled(NEAR, nodes, web(*(f"{zone}-0" for zone in crowd)))
    everywhere = settled(service(), nodes, web(*(f"{zone}-0" for zone in crowd)))
    (told,) = lines(near, everywhere, capsys)
    assert told.count("→") == 4
    assert told.endswith("; and 2 more")


def test_the_families_of_a_service_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    both = service(families=("IPv4", "IPv6"))
    ips = {number: (f"10.0.0.{number}", f"fd00::{number}") for number in range(2)}
    pods = [pod(f"web-{number}", "a-0", ips=each) for number, each in ips.items()]
    told = lines(settled(both, NODES, pods), settled(both, NODES, pods[:1]), capsys)
    assert told == [
        "IPv4 all clients: cluster (2 endpoints) → cluster (1 endpoint); "
        "IPv6 all clients: cluster (2 endpoints) → cluster (1 endpoint)"
    ]


def test_from_one_place_the_place_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    told = lines(WORLD, rollout(1), capsys, Manner("zone=a", "nodes", ()))
    assert told == ["zone=a: same-zone (2 endpoints) → same-zone (1 endpoint)"]


def test_on_a_terminal_without_unicode_the_arrow_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    async def happening(server: Server) -> None:
        server.become(rollout(1))

    told = seen(WORLD, happening)
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    print_change(told.lines[0].when, told.lines[0].change, told.lines[0].found, SEOUL)
    screen.seek(0)
    assert "same-zone (2 endpoints) -> same-zone (1 endpoint)" in screen.read()


# --- For machines -----------------------------------------------------------------------------


def documents(told: Seen, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return what is printed, one JSON object a line."""
    for when, found in told.answers:
        print_first_json(when, found, SEOUL)
    for line in told.lines:
        print_change_json(line.when, line.change, SEOUL)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_is_an_object_a_line_the_answer_first(capsys: pytest.CaptureFixture[str]) -> None:
    answer, off, on = documents(flags(), capsys)
    assert [each["kind"] for each in (answer, off, on)] == [
        "Explanation",
        "ExplanationChange",
        "ExplanationChange",
    ]
    assert {each["apiVersion"] for each in (answer, off, on)} == {"nearwise/v1"}
    assert [each["time"] for each in (answer, off, on)] == [
        "2026-11-30T14:43:40+09:00",
        "2026-11-30T14:43:44+09:00",
        "2026-11-30T14:43:53+09:00",
    ]
    assert answer["parts"][0]["endpoints"][0]["share"] == 0.0
    move = off["moves"][0]
    assert move["from"] == {"mode": "same-zone", "fate": "forward", "endpoints": 2}
    assert move["to"] == {"mode": "cluster", "fate": "forward", "endpoints": 4}
    assert (move["everybody"], len(move["gained"])) == (True, 4)
    assert [why["code"] for why in off["reasons"]] == ["hints-off-minimums"]
    assert off["reasons"][0] in off["came"]
    assert off["reasons"][0] in on["went"]


def test_every_field_of_a_change_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "explain.md").read_text().partition("## Watching")[2]
    _, change, _ = documents(flags(), capsys)
    named = [change, change["moves"][0], change["moves"][0]["from"]]
    documented = set(re.findall(r"`([a-zA-Z]+)(?:\[\])?`", page)) | {"apiVersion", "kind"}
    assert {name for each in named for name in each} <= documented


# --- The command ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-f", "dump.yaml"], "--watch follows a live cluster, and what -f reads does not change"),
        (["-o", "yaml"], "--watch prints a line a change, and YAML has no such: use -o json"),
    ],
)
def test_what_cannot_be_watched_is_refused_with_the_reason(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(cli, ["explain", "web", "--watch", *arguments])
    assert result.exit_code == Exit.INPUT
    assert told in result.output


class Run(NamedTuple):
    """How a run of the command ended, and what it printed."""

    code: int | None
    out: str
    err: str


def kubeconfig(address: str, tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(
        "current-context: test\n"
        f"clusters: [{{name: c, cluster: {{server: '{address}'}}}}]\n"
        "contexts: [{name: test, context: {cluster: c, namespace: shop}}]\n"
    )
    return str(path)


def running(tmp_path: Path, *arguments: str, answer: str = "") -> Run:
    """Run the command; change the world after the answer, and interrupt it after the next line.

    ``answer`` is how the answer ends; without one it is waited until the command ends.
    """

    async def main() -> Run:
        server = Server(WORLD)
        async with serving(over_http(server)) as http, asyncio.timeout(30):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "nearwise", "explain", "--watch", *arguments),
                *("--kubeconfig", kubeconfig(http.address, tmp_path)),
                env={"PYTHONUTF8": "1", "TZ": "Asia/Seoul", "PATH": os.environ["PATH"]},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            assert process.stdout is not None
            out = b""
            if answer:
                out += await process.stdout.readuntil(answer.encode())
                server.become(rollout(1))
                out += await process.stdout.readline()
                process.send_signal(signal.SIGINT)
            rest, err = await process.communicate()
            return Run(process.returncode, (out + rest).decode(), err.decode())

    return asyncio.run(main())


def test_ctrl_c_is_how_it_ends_and_the_line_is_there_before(tmp_path: Path) -> None:
    run = running(tmp_path, "web", answer="same-zone\n\n")
    assert (run.code, run.err) == (Exit.FINE, "")
    assert run.out.startswith("shop/web")
    assert re.search(
        r"\n\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00  a: same-zone \(2 endpoints\) → same-zone "
        r"\(1 endpoint\), because web-1 lost readiness\n$",
        run.out,
    )


def test_json_lines_are_there_at_once_too(tmp_path: Path) -> None:
    run = running(tmp_path, "shop/web", "-o", "json", answer="}\n")
    assert (run.code, run.err) == (Exit.FINE, "")
    kinds = [json.loads(line)["kind"] for line in run.out.splitlines()]
    assert kinds == ["Explanation", "ExplanationChange"]


def test_a_service_that_is_not_there_is_refused_as_without_watch(tmp_path: Path) -> None:
    run = running(tmp_path, "wbe")
    assert (run.code, run.out) == (Exit.INPUT, "")
    assert "no service is called wbe in namespace shop (did you mean web" in run.err


def test_a_place_that_is_not_there_is_refused_too(tmp_path: Path) -> None:
    run = running(tmp_path, "web", "--from", "c-0")
    assert (run.code, run.out) == (Exit.INPUT, "")
    assert "no node, zone or pod is called c-0" in run.err


def test_a_cluster_that_is_not_reached_ends_with_3(tmp_path: Path) -> None:
    config = kubeconfig("http://127.0.0.1:1", tmp_path)
    result = CliRunner().invoke(cli, ["explain", "web", "--watch", "--kubeconfig", config])
    assert result.exit_code == Exit.CLUSTER
    assert "cannot reach http://127.0.0.1:1" in result.output
