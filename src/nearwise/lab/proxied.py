"""Whether the proxies of a lab have in the kernel what the slices say."""

from __future__ import annotations

from nearwise.lab.state import Facts
from nearwise.model.objects import Objects


def behind(lab: str, objects: Objects, facts: Facts) -> str:
    """Return which node has something else in its kernel than it should; empty when none has."""
    return ""
