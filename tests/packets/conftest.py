"""Tests with real packets and the real kernel: they need root, and the programs of the suite."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import lab_stories
import pytest
from netns import Namespace

from nearwise.lab.running import Lab, lab

_PROGRAMS = {"ip": "iproute2", "nft": "nftables", "conntrack": "conntrack"}


@pytest.fixture(scope="session", autouse=True)
def _means() -> None:
    """These tests are never left out: where they cannot run, that is a failure."""
    if os.geteuid() != 0:
        pytest.fail("tests/packets makes network namespaces: run it as root")
    if missing := [package for program, package in _PROGRAMS.items() if not shutil.which(program)]:
        pytest.fail(f"tests/packets needs programs: install {', '.join(missing)}")


@pytest.fixture
def host() -> Iterator[Callable[[], Namespace]]:
    """Make hosts; all are gone after the test."""
    made: list[Namespace] = []

    def make() -> Namespace:
        made.append(Namespace())
        return made[-1]

    yield make
    for each in made:
        each.remove()


@pytest.fixture(scope="session")
def running_town() -> Iterator[Lab]:
    """Run the lab of the stories; each of them leaves it as it found it."""
    with lab(lab_stories.town(), f"st{os.getpid()}") as it:
        yield it


@pytest.fixture
def town(running_town: Lab) -> Lab:
    """Give a story the lab when the one before is over in it."""
    running_town.settle()
    return running_town
