"""What many need: it comes with the first and goes with the last."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class RefCounts(Generic[T]):
    """How many need each thing, and which came and went since that was last asked."""

    def __init__(self) -> None:
        self._counts: dict[T, int] = {}
        self._before: dict[T, int] = {}
        """The counts, when last asked, of what has changed since."""

    def __iter__(self) -> Iterator[T]:
        return iter(self._counts)

    def change(self, old: Iterable[T], new: Iterable[T]) -> None:
        """Have somebody need ``new`` who needed ``old``."""
        counts, before = self._counts, self._before
        for each in old:
            count = counts[each]
            before.setdefault(each, count)
            if count == 1:
                del counts[each]
            else:
                counts[each] = count - 1
        for each in new:
            count = counts.get(each, 0)
            before.setdefault(each, count)
            counts[each] = count + 1

    def settle(self) -> tuple[list[T], list[T]]:
        """Return what came and what went, each in the order in which it was first needed."""
        changed, self._before = self._before, {}
        counts = self._counts
        came = [each for each, count in changed.items() if not count and each in counts]
        gone = [each for each, count in changed.items() if count and each not in counts]
        return came, gone
