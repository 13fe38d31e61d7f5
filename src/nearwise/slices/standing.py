"""Hints by CPU share over the slices of one family: which slices keep theirs, which are rewritten.

Law: the arithmetic is ``allocation``'s; here is only which slices take part. A slice that is not
written anyway keeps its hints as long as they fit the allocations, and how many hints lie in such
slices is counted as they change, so that a plan need not go through them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec

from nearwise.model import Endpoint
from nearwise.slices.allocation import Allocations


class _Count(msgspec.Struct):
    zones: dict[str, int]  # hints of ready endpoints by zone
    unhinted: bool  # a ready endpoint has none
    any: bool  # some endpoint has hints


class Standing:
    """The hints that lie in the stored slices of a family, counted by slice and by zone."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}
        self._total: Counter[str] = Counter()
        self._unhinted: set[str] = set()
        self._hinted: set[str] = set()

    def put(self, name: str, endpoints: Iterable[Endpoint]) -> None:
        """Count a slice as it is stored now."""
        self.drop(name)
        count = _count(endpoints)
        self._counts[name] = count
        self._total.update(count.zones)
        if count.unhinted:
            self._unhinted.add(name)
        if count.any:
            self._hinted.add(name)

    def drop(self, name: str) -> None:
        """Forget a slice that is gone."""
        count = self._counts.pop(name, None)
        if count is not None:
            self._total.subtract(count.zones)
            self._unhinted.discard(name)
            self._hinted.discard(name)

    @property
    def zones(self) -> dict[str, int]:
        """All hints by zone."""
        return {zone: hints for zone, hints in sorted(self._total.items()) if hints}

    def hinted(self, but: Collection[str]) -> list[str]:
        """Return the slices with hints, by name, ``but`` those named."""
        return sorted(self._hinted.difference(but))

    def keep(
        self, allocations: Allocations, but: Collection[str]
    ) -> tuple[dict[str, int], list[str]]:
        """Say which slices may keep their hints: the hints by zone in those that do, and the rest.

        ``but`` names slices that are written or deleted anyway. A slice must be rewritten when a
        ready endpoint in it has no hint, when a hint names a zone without an allocation, or when
        its hints, on top of those in the slices before it, exceed what a zone may have at most.
        Slices with few hints come first: so most of them can stay as they are.
        """
        kept: Counter[str] = Counter(self._total)
        for name in but:
            if name in self._counts:
                kept.subtract(self._counts[name].zones)
        kept = +kept
        if not self._unhinted.difference(but) and _fit(kept, allocations):
            return dict(kept), []

        kept.clear()
        rewritten = []
        for name, count in sorted(self._counts.items(), key=lambda item: (_size(item[1]), item[0])):
            if name in but:
                continue
            on_top = {zone: hints + kept[zone] for zone, hints in count.zones.items()}
            if count.unhinted or not _fit(on_top, allocations):
                rewritten.append(name)
            else:
                kept.update(count.zones)
        return dict(kept), sorted(rewritten)


def _size(count: _Count) -> int:
    return sum(count.zones.values())


def _fit(hints: Mapping[str, int], allocations: Allocations) -> bool:
    return all(
        zone in allocations.zones and count <= allocations.zones[zone].maximum
        for zone, count in hints.items()
    )


def _count(endpoints: Iterable[Endpoint]) -> _Count:
    zones: dict[str, int] = {}
    unhinted = some = False
    for endpoint in endpoints:
        hints = endpoint.hints
        some = some or hints is not None
        if not endpoint.conditions.ready:
            continue
        if hints is None or not hints.for_zones:
            unhinted = True
        else:
            for zone in hints.for_zones:
                zones[zone.name] = zones.get(zone.name, 0) + 1
    return _Count(zones, unhinted, some)
