"""``nearwise lab`` where it cannot run, and what it says of wrong options."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nearwise.cli import Exit, cli

SHOP = Path(__file__).parent.parent.parent / "examples" / "shop.yaml"
COMMANDS = [
    ["up"],
    ["down"],
    ["status"],
    ["curl", "a1", "web"],
    ["fail", "web-1"],
    ["heal", "web-1"],
    ["kill", "node", "a1"],
    ["start", "node", "a1"],
    ["add", "node", "a1", "--zone", "a"],
    ["remove", "node", "a1"],
    ["rollout", "web"],
    ["latency", "a", "b", "5ms"],
]


def refused(*words: str) -> str:
    result = CliRunner().invoke(cli, ["lab", *words])
    assert result.exit_code == Exit.INPUT, result.output
    return result.output


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda program: f"/sbin/{program}")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_without_root_every_command_says_so_at_once(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root (use sudo)" in refused(*words)


def test_without_the_program_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "needs the program ip, which is not installed" in refused("up")


def test_elsewhere_than_on_linux_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "network namespaces of Linux" in refused("up")


@pytest.mark.usefixtures("as_root")
def test_numbers_and_files_exclude_each_other() -> None:
    assert "-f says what there is: leave --zones out" in refused(
        "up", "-f", str(SHOP), "--zones", "2"
    )


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize("name", ["", "a-b", "Lab", "much-too-long-a-name", "a/b", "../x"])
def test_a_lab_has_a_short_name(name: str) -> None:
    for command in ("up", "down"):
        assert "a lab cannot be called" in refused(command, "--name", name)


@pytest.mark.usefixtures("as_root")
def test_services_are_checked_before_anything_is_made() -> None:
    assert "did you mean PreferSameZone" in refused("up", "--service", "web=2,PreferSameZon")


@pytest.mark.parametrize("timeout", ["0", "61m", "99999999999999h"])
def test_a_timeout_is_more_than_nothing_and_at_most_an_hour(timeout: str) -> None:
    assert "--timeout is more than 0s" in refused("curl", "a", "web", "--timeout", timeout)


def test_wrong_durations_and_kinds_are_refused() -> None:
    assert "is not a duration" in refused("latency", "a", "b", "fast")
    assert "'zone' is not one of" in refused("kill", "zone", "a")
