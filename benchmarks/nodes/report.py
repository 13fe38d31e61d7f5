"""The measurements as two tables: the rules, and the agent with what its rules cost packets."""

from __future__ import annotations

import os
import shutil
from functools import partial

from benchmarks.live.case import Case
from benchmarks.nodes import agent, packets, tables
from benchmarks.nodes.services import Shape

_SMALL = (Shape(1_000, 10), Shape(3_000, 5))
_LARGE = (Shape(10_000, 10), Shape(20_000, 10), Shape(1_000, 250))
_LARGEST = Shape(50_000, 5)


def report(words: list[str], *, full: bool) -> None:
    """Print the lines with a word in their name.

    What takes minutes, most of them the rival's, is left out unless it is to be ``full``.
    """
    if missing := _missing():
        print(f"\nThe rules of a node are left out: they need {missing}.")
        return
    shapes = (*_SMALL, *_LARGE, _LARGEST) if full else _SMALL
    if wanted := [each for each in shapes if _asked(f"rules of {each}", words)]:
        print(f"\n{tables.HEAD}", flush=True)
        for shape in wanted:
            for row in tables.rows(shape, rival=shape != _LARGEST):
                print(row, flush=True)
    many = _LARGE[0] if full else _SMALL[0]
    sizes = (many, _LARGEST) if full else (many,)
    cases = (
        *(Case(f"reading JSON, {each}", partial(tables.reading, each)) for each in sizes),
        *agent.cases(*sizes),
        *packets.cases(many),
    )
    if asked := [each for each in cases if _asked(each.name, words)]:
        print("\n| a node | ours | beside it |\n| --- | --- | --- |", flush=True)
        for case in asked:
            measured = case.measure()
            print(f"| {case.name} | {measured.ours} | {measured.beside} |", flush=True)
    if not full:
        print("\nLarger nodes take minutes: python -m benchmarks.nodes --full")


def _missing() -> str:
    """Say what is needed and not there."""
    if os.geteuid() != 0:
        return "root"
    return " and ".join(each for each in ("ip", "nft") if shutil.which(each) is None)


def _asked(name: str, words: list[str]) -> bool:
    return not words or any(word in name for word in words)
