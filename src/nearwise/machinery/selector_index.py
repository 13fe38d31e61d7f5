"""Which selectors pick an object with these labels, without asking each selector.

Labels must have every pair of a selector that picks them. So each selector is filed under one of
its pairs, and labels are only held against what is filed under theirs. It is filed under the pair
that has the fewest others: of ten thousand services that all select ``tier=web`` and an ``app`` of
their own, each lies under its ``app``.
"""

from __future__ import annotations

from collections.abc import Mapping

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import LabelPair
from nearwise.model.selectors import matches


class SelectorIndex:
    """Selectors of services (or of whatever has a namespace, a name and a map of labels)."""

    def __init__(self) -> None:
        self._selectors: dict[ObjectKey, Mapping[str, str]] = {}
        self._filed: dict[ObjectKey, LabelPair] = {}
        self._under: dict[LabelPair, set[ObjectKey]] = {}

    def put(self, key: ObjectKey, selector: Mapping[str, str]) -> None:
        """File a selector in place of what the key had before. An empty one picks nothing."""
        if self._selectors.get(key) == selector:
            return
        self.drop(key)
        if not selector:
            return
        pairs = sorted((key[0], *pair) for pair in selector.items())
        pair = min(pairs, key=lambda pair: len(self._under.get(pair, ())))
        self._selectors[key] = selector
        self._filed[key] = pair
        self._under.setdefault(pair, set()).add(key)

    def drop(self, key: ObjectKey) -> None:
        """Take a selector out, if it is there."""
        if self._selectors.pop(key, None) is None:
            return
        pair = self._filed.pop(key)
        self._under[pair].remove(key)
        if not self._under[pair]:
            del self._under[pair]

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[ObjectKey]:
        """Return the keys of the selectors that pick these labels, in order."""
        found = [
            key
            for pair in labels.items()
            for key in self._under.get((namespace, *pair), ())
            if matches(self._selectors[key], labels)
        ]
        return sorted(found)
