"""The measurements as one table."""

from __future__ import annotations

import importlib

MODULES = ("flips", "writes", "watchers", "rollout", "starting")


def report(words: list[str]) -> None:
    """Print one line a measurement as a Markdown table; those with a word in their name."""
    print("| the running system | ours | beside it |")
    print("| --- | --- | --- |", flush=True)
    for module in MODULES:
        for case in importlib.import_module(f"benchmarks.live.{module}").cases():
            if words and not any(word in case.name for word in words):
                continue
            measured = case.measure()
            print(f"| {case.name} | {measured.ours} | {measured.beside} |", flush=True)
