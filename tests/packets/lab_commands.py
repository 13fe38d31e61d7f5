"""``nearwise lab`` as its users run it, and what is on the machine beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from netns import run

from nearwise.cli import cli

ROOT = Path(__file__).parent.parent.parent


class Commands:
    """One lab, by the command line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *words: object, code: int = 0) -> str:
        """Run a command, which has to end so; what it said."""
        done = CliRunner().invoke(cli, ["lab", *map(str, words), "--name", self.name])
        assert done.exit_code == code, f"{words}: {done.exit_code}: {done.output}"
        return done.output

    def json(self, *words: object, code: int = 0) -> Any:
        """Run a command; what it said, as a document."""
        return json.loads(self.run(*words, "-o", "json", code=code))

    def answers(self, place: str, service: str, *words: object) -> dict[str, int]:
        """Send connections; how many answers came from each pod of the namespace default."""
        found = self.json("curl", place, service, *words)["result"]["pods"]
        return {each["pod"].removeprefix("default/"): each["count"] for each in found}

    @property
    def process(self) -> int:
        """The process of the lab."""
        number: int = json.loads((self.folder / "facts.json").read_text())["process"]
        return number

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path("/run/nearwise/lab") / self.name


@contextmanager
def lab(name: str, *options: object) -> Iterator[Commands]:
    """Run a lab; nothing of it is left afterwards, however the test ends."""
    commands = Commands(f"{name}{os.getpid()}")
    try:
        commands.run("up", *options)
        yield commands
    finally:
        commands.run("down")


def traces(name: str) -> list[str]:
    """Return everything on this machine that has to do with a lab."""
    found = [line for line in run("ip", "netns").split("\n") if f"nw-{name}-" in line]
    folder = Path("/run/nearwise/lab") / name
    found += [str(folder)] if folder.exists() else []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has just ended
        if re.search(rf"nw-{name}-|/lab/{name}/|nearwise[.]lab[.]process {name}\b", words):
            found.append(words)
    return found


def outside() -> str:
    """Return the links, addresses, routes, rules and settings of this machine itself."""
    forwarding = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    counted = re.compile(r"(valid|preferred)_lft \S+|link-netns\S* \S+")
    shown = [run("ip", *words.split()) for words in ("link", "addr", "route", "rule", "-6 route")]
    return counted.sub("", "\n".join(shown)) + forwarding + run("nft", "list", "ruleset")
