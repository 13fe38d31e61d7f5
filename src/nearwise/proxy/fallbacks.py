"""How often connections of a service could not stay near, and why: the reasons of the choice.

A fallback is counted when it begins to hold, not while it holds: one flip of a pod is one more.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from nearwise.machinery.cache import ObjectKey
from nearwise.nft.compile import Routes
from nearwise.routing import Mode, Selection
from nearwise.routing.backend import PortKey

FALLBACKS: Final = frozenset(
    (
        "route-node-hints-elsewhere",
        "route-node-hints-partial",
        "route-zone-hints-elsewhere",
        "route-zone-hints-partial",
        "route-node-without-zone",
        "route-terminating",
        "route-local-terminating",
        "route-local-nobody",
        "route-nobody",
    )
)
"""The reasons that lead away from what was asked for."""


class Fallback(NamedTuple):
    """Why connections to a port do not stay near."""

    port: PortKey
    code: str


class Fallbacks:
    """Counts the fallbacks of the services of one family."""

    def __init__(self) -> None:
        self.counts: dict[ObjectKey, Counter[Fallback]] = {}
        self._held: dict[ObjectKey, frozenset[Fallback]] = {}

    def chosen(self, key: ObjectKey, routes: Routes | None) -> None:
        """Take note of what is chosen for a service now; None when it is gone."""
        before = self._held.pop(key, frozenset())
        if routes is None:
            self.counts.pop(key, None)
            return
        after = frozenset(
            Fallback(port, code)
            for port, selection in routes.selections.items()
            for code in _codes(selection)
        )
        if after:
            self._held[key] = after
        if began := after - before:
            self.counts.setdefault(key, Counter()).update(began)


def _codes(selection: Selection) -> set[str]:
    """Return why a choice leads away; nothing where nobody asked for anything near."""
    if not _is_telling(selection):
        return set()
    return {each.code for each in selection.reasons} & FALLBACKS


def _is_telling(selection: Selection) -> bool:
    """Say whether it is worth asking for reasons: that goes through all endpoints."""
    if selection.local_used or not selection.cluster_used:
        return True
    if selection.mode in (Mode.TERMINATING, Mode.NONE):
        return True
    ready = selection.pool.facts.ready
    if selection.mode is Mode.CLUSTER:
        return any(each.source.hints for each in ready)
    if selection.mode is Mode.SAME_ZONE:
        return any(each.source.hints and each.source.hints.for_nodes for each in ready)
    return False
