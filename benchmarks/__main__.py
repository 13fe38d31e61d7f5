"""Run the benchmarks: ``python -m benchmarks [WORD...]`` runs those with a word in their name."""

from __future__ import annotations

import importlib
import platform
import sys

from benchmarks.live.report import report
from benchmarks.nodes.report import report as report_nodes
from benchmarks.timing import run, tell

MODULES = ("slices", "routing", "reading", "machinery", "storing", "watching")


def main(words: list[str]) -> None:
    """Print one line a case as a Markdown table, and then what the running system and a node do."""
    print(f"Python {platform.python_version()}, {platform.machine()}\n")
    print("| case | ours | against | takes | ratio |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for name in MODULES:
        for case in importlib.import_module(f"benchmarks.{name}").cases():
            if words and not any(word in case.name for word in words):
                continue
            outcome = run(case)
            print(
                f"| {case.name} | {tell(outcome.ours)} | {case.against} "
                f"| {tell(outcome.theirs)} | {outcome.ratio:.3g} |",
                flush=True,
            )
    report(words)
    report_nodes(words, full=False)


main(sys.argv[1:])
