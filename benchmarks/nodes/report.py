"""The measurements as two tables: rules, and what stands around them."""

from __future__ import annotations

import os
import shutil

from benchmarks.nodes import agent, packets, tables
from benchmarks.nodes.services import Shape

_SMALL = (Shape(1_000, 10), Shape(3_000, 5))
_LARGE = (Shape(10_000, 10), Shape(20_000, 10), Shape(1_000, 250), Shape(50_000, 5))
_TOO_LARGE = (Shape(50_000, 5),)  # for a chain an endpoint: it would take a quarter of an hour


def report(words: list[str], *, full: bool) -> None:
    """Print the lines with a word in their name; ``full`` takes ten minutes, else it is one."""
    if os.geteuid() != 0 or not shutil.which("nft") or not shutil.which("ip"):
        print("\nRules of a node are left out: they need root, nft and ip.")
        return
    shapes = (*_SMALL, *_LARGE) if full else _SMALL
    if wanted := [each for each in shapes if _asked(f"rules, {each}", words)]:
        print(f"\n{tables.HEAD}", flush=True)
        for shape in wanted:
            for row in tables.rows(shape, rival=shape not in _TOO_LARGE):
                print(row, flush=True)
    many = Shape(10_000, 10) if full else Shape(1_000, 10)
    cases = [case for module in (agent, packets) for case in module.cases(many)]
    if wanted_cases := [case for case in cases if _asked(case.name, words)]:
        print("\n| a node | ours | beside it |\n| --- | --- | --- |", flush=True)
        for case in wanted_cases:
            measured = case.measure()
            print(f"| {case.name} | {measured.ours} | {measured.beside} |", flush=True)


def _asked(name: str, words: list[str]) -> bool:
    return not words or any(word in name for word in words)
