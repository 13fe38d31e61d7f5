"""Labs that break down, are not finished, or cannot be made: nothing of them is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from lab_commands import ROOT, Commands, lab, outside, traces
from netns import run

_SMALL = ("--zones", 1, "--nodes", 1, "--service", "web=2")


@pytest.fixture
def it() -> Iterator[Commands]:
    """Nothing yet; whatever the test leaves is taken away."""
    commands = Commands(f"c{os.getpid()}")
    yield commands
    commands.run("down")


def killed(process: int) -> None:
    """Kill a process, and wait until it is no more."""
    os.kill(process, signal.SIGKILL)
    with suppress(OSError):
        while os.readlink(f"/proc/{process}/ns/net"):
            time.sleep(0.01)


def test_a_lab_whose_process_was_killed_is_told_and_taken_away(it: Commands) -> None:
    before = outside()
    it.run("up", *_SMALL)
    killed(it.process)
    assert "has broken down" in it.run("status", code=2)
    assert it.run("down") == f"The lab {it.name} is gone.\n"
    assert traces(it.name) == []
    assert outside() == before
    assert it.run("down") == f"There is no lab {it.name}.\n"


def test_after_a_crash_of_everything_up_begins_anew(it: Commands) -> None:
    it.run("up", *_SMALL, "--no-proxies")
    for name in ("control", "node-a1"):
        for process in run("ip", "netns", "pids", f"nw-{it.name}-{name}").split():
            killed(int(process))
    it.run("up", *_SMALL, "--no-proxies")
    assert it.json("status")["nodes"][0]["readyPods"] == 2


def test_what_is_left_without_any_files_is_found_by_its_names(it: Commands) -> None:
    for namespace in (f"nw-{it.name}-node-x", f"nw-{it.name}-router"):
        run("ip", "netns", "add", namespace)
    command = ["ip", "netns", "exec", f"nw-{it.name}-node-x", "sleep", "1000"]
    with subprocess.Popen(command) as process:
        assert it.run("down") == f"The lab {it.name} is gone.\n"
    assert process.returncode == -signal.SIGKILL
    assert f"nw-{it.name}-" not in run("ip", "netns")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_lab_that_is_interrupted_while_it_starts_leaves_nothing(
    it: Commands, how: signal.Signals
) -> None:
    command = [sys.executable, "-m", "nearwise", "lab", "up", "--name", it.name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 20
    while f"nw-{it.name}-node" not in run("ip", "netns"):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert traces(it.name) == []


def test_of_two_who_start_the_same_lab_one_does(it: Commands) -> None:
    command = [sys.executable, "-m", "nearwise", "lab", "up", "--name", it.name, *map(str, _SMALL)]
    both = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [each.communicate(timeout=60)[1] for each in both]
    assert sorted(each.returncode for each in both) == [0, 2], said
    assert re.search("just being started by somebody else|there is a lab called", "".join(said))
    assert it.json("status")["nodes"][0]["readyPods"] == 2


def test_what_cannot_be_is_refused_and_changes_nothing(it: Commands) -> None:
    it.run("up", *_SMALL, "--no-proxies")
    assert "called a1 already" in it.run("add", "node", "a1", "--zone", "zone-b", code=2)
    it.run("add", "node", "b1", "--zone", "zone-b")
    assert "at most 60 s" in it.run("latency", "zone-a", "zone-b", "61s", code=2)
    assert "no added latency" in it.run("latency", "zone-a", "zone-b")
    it.run("kill", "node", "a1", "--wait")
    refused = it.run("rollout", "web", code=2)
    assert "is on node a1, which is off" in refused
    assert len(it.json("status")["pods"]) == 2


def test_two_labs_beside_each_other_do_not_know_of_each_other(it: Commands) -> None:
    it.run("up", *_SMALL, "--no-proxies")
    with lab("d", *_SMALL, "--no-proxies") as other:
        assert other.json("status")["nodes"][0]["addresses"] == ["10.89.1.1"]
    assert it.json("status")["nodes"][0]["readyPods"] == 2


def test_a_file_without_nodes_is_refused_before_anything_is_made(it: Commands) -> None:
    refused = it.run("up", "-f", ROOT / "examples" / "shop" / "1-services.yaml", code=2)
    assert "a lab needs nodes" in refused
    assert traces(it.name) == []
