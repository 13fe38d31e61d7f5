"""What somebody may have meant who named something that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the known names most like ``name``; empty when none is."""
    found = get_close_matches(name, sorted(set(known)), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(found)}?" if found else ""
