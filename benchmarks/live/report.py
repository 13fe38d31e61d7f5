"""The measurements as one table."""

from __future__ import annotations

from benchmarks.live import flips, rollout, starting, watchers, writes

_MODULES = (flips, writes, watchers, rollout, starting)


def report(words: list[str]) -> None:
    """Print one line a measurement as a Markdown table; those with a word in their name."""
    cases = [case for module in _MODULES for case in module.cases()]
    if words:
        cases = [case for case in cases if any(word in case.name for word in words)]
    if not cases:
        return
    print("\n| the running system | ours | beside it |\n| --- | --- | --- |", flush=True)
    for case in cases:
        measured = case.measure()
        print(f"| {case.name} | {measured.ours} | {measured.beside} |", flush=True)
