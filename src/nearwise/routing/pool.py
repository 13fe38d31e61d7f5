"""The backends of one service port, in order, with what choosing asks of them.

Law: a pool is a value. It never changes; ``changed`` makes another one that shares with it every
run of neighbours that the change does not touch. So a change costs what it changes, an old view
stays true, and what was counted once is not counted again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

import msgspec

from nearwise.routing.backend import Backend

_SPLIT: Final = 128
"""Claims at which a run is cut into halves; it bounds what one change has to go through."""

_address = attrgetter("address")
_place = attrgetter("address", "port")
_place_and_slice = attrgetter("address", "port", "slice_name")


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What choosing asks of some backends: counts, and the ready ones by the hints they carry."""

    ready: Sequence[Backend]
    draining: Sequence[Backend]
    by_zone: dict[str, list[Backend]]
    by_node: dict[str, list[Backend]]
    without_zone: int  # ready ones without a zone hint
    without_node: int  # ready ones without a node hint


class _Run(msgspec.Struct, gc=False, eq=False):
    """Neighbours in a pool. ``facts`` are counted when first asked for."""

    claims: list[Backend]  # everyone that names an address and port
    winners: list[Backend]  # the one of them that gets it
    facts: Facts | None = None


class Pool(msgspec.Struct, frozen=True, gc=False, eq=False):
    """The backends of one service port, in order of address and port."""

    runs: tuple[_Run, ...] = ()
    _facts: tuple[Facts, ...] = ()

    @classmethod
    def of(cls, backends: Iterable[Backend]) -> Pool:
        """Make a pool of backends in any order."""
        return cls(tuple(_runs(list(backends))))

    def __iter__(self) -> Iterator[Backend]:
        return chain.from_iterable([run.winners for run in self.runs])

    def __len__(self) -> int:
        return sum([len(run.winners) for run in self.runs])
