"""``nearwise explain --watch``: what a line looks like, how it is called, and how it ends."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import sys
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from cluster import node, pod, service
from followed import EVERYWHERE, NEAR, NODES, WORLD, Seen, rollout, seen
from followed_server import Server, over_http
from nearwise.cli import Exit, cli
from nearwise.cli.follow import Manner
from nearwise.cli.watch_screen import (
    print_change,
    print_change_json,
    print_first,
    print_first_json,
)
from nearwise.client.dump import load
from nearwise.insight.world import World
from scripted_server import serving
from worlds import settled, stored, web

ROOT = Path(__file__).parents[2]
SEOUL = timezone(timedelta(hours=9))


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
            "x-0: cluster (2 endpoints) → cluster (1 endpoint)",
        ),
        (
            settled(NEAR, [*NODES, *(node(f"x-{n}", "") for n in range(4))], web("a-0", "b-0")),
            settled(
                NEAR, [*NODES, *(node(f"x-{n}", "") for n in range(4))], web("a-0", "b-0", "b-1")
            ),
            "b: same-zone (1 endpoint) → same-zone (2 endpoints); "
            "4 nodes without a zone: cluster (2 endpoints) → cluster (3 endpoints)",
        ),
        (WORLD, stored(None, NODES), "all clients: gone"),
        (
            settled(BESIDE, WIDE, web("a-0")),
            settled(BESIDE, WIDE, web("a-0", "a-1", "a-2", "a-3", "a-4")),
            "4 nodes of a: same-zone (1 endpoint) → same-node (1 endpoint); "
            "a-5: same-zone (1 endpoint) → same-zone (5 endpoints); "
            "x-0, x-1: cluster (1 endpoint) → cluster (5 endpoints)",
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
                env={"PYTHONUTF8": "1", "TZ": "KST-9", "PATH": os.environ["PATH"]},
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
