"""The backends of one service port, in order, and what choosing asks of them.

Law: a pool is a value. It never changes; ``changed`` makes another one that shares with it every
run of neighbours that the change does not touch. So a change costs what it changes, an old view
stays true, and what was counted once is not counted again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from nearwise.model import EndpointHints
from nearwise.routing.backend import Backend

_NO_HINTS: Final = EndpointHints()

_RUN: Final = 64
"""Claims in a run of a large pool: few enough to do one over quickly, enough to have few runs."""

_address = attrgetter("address")
_place = attrgetter("address", "port")
_place_and_slice = attrgetter("address", "port", "slice_name")


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What choosing asks of backends: the ready ones by hint, and how many have none."""

    ready: Sequence[Backend]
    draining: Sequence[Backend]
    by_zone: dict[str, list[Backend]]
    by_node: dict[str, list[Backend]]
    without_zone: int  # ready ones that have no zone hint
    without_node: int  # ready ones that have no node hint


class _Run(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Neighbours in a pool: all who claim an address and port, and who of them gets it."""

    claims: Sequence[Backend]
    winners: Sequence[Backend]
    counted: Facts | None = None

    @property
    def facts(self) -> Facts:
        """What is known of the winners, counted when first asked for."""
        facts = self.counted
        if facts is None:
            facts = _count(self.winners)
            force_setattr(self, "counted", facts)
        return facts


class Pool(msgspec.Struct, frozen=True, gc=False, eq=False):
    """The backends of one service port in order of address and port."""

    runs: tuple[_Run, ...] = ()
    counted: Facts | None = None

    @classmethod
    def of(cls, backends: Iterable[Backend]) -> Pool:
        """Make a pool of backends in any order."""
        return cls(tuple(_runs(list(backends))))

    @property
    def facts(self) -> Facts:
        """What choosing asks of the backends, counted when first asked for."""
        facts = self.counted
        if facts is None:
            facts = _joined([run.facts for run in self.runs])
            force_setattr(self, "counted", facts)
        return facts

    @property
    def contests(self) -> Iterator[tuple[Backend, list[Backend]]]:
        """Who gets an address and port that several claim, and all who claim it."""
        for run in self.runs:
            if len(run.claims) > len(run.winners):
                for rivals in _rivals(run.claims):
                    if len(rivals) > 1:
                        yield _winner(rivals), rivals

    def __iter__(self) -> Iterator[Backend]:
        return chain.from_iterable([run.winners for run in self.runs])

    def __len__(self) -> int:
        return sum([len(run.winners) for run in self.runs])

    def changed(
        self, slices: Collection[str], removed: Iterable[Backend], added: Iterable[Backend]
    ) -> Pool:
        """Return the pool with all claims of the named slices replaced.

        ``removed`` is what these slices claimed until now, ``added`` what they claim from now on.
        """
        if not self.runs:
            return Pool.of(added)
        touched: dict[int, list[Backend]] = {}
        for backend in removed:
            touched.setdefault(self._run_of(backend), [])
        for backend in added:
            touched.setdefault(self._run_of(backend), []).append(backend)
        runs = list(self.runs)
        for index, claims in sorted(touched.items(), reverse=True):
            after = index
            while after < len(runs) and (after == index or len(claims) < _RUN // 2):
                claims += [old for old in runs[after].claims if old.slice_name not in slices]
                after += 1
            runs[index:after] = _runs(claims)
        return Pool(tuple(runs))

    def _run_of(self, backend: Backend) -> int:
        """Find the run that the backend belongs to: the last that does not begin after it."""
        begun = bisect_right(self.runs, _place(backend), key=_first_place)
        return max(begun - 1, 0)


def _first_place(run: _Run) -> tuple[str, int]:
    first = run.claims[0]
    return (first.address, first.port)


def _runs(claims: list[Backend]) -> Iterator[_Run]:
    """Bring claims into order and cut them into runs, never between rivals."""
    claims.sort(key=_address)
    if len(claims) <= 2 * _RUN:
        if claims:
            yield _run(claims)
        return
    claims.sort(key=_place)
    start = 0
    while start < len(claims):
        end = min(start + _RUN, len(claims))
        while end < len(claims) and _place(claims[end]) == _place(claims[end - 1]):
            end += 1
        yield _run(claims[start:end])
        start = end


def _run(claims: list[Backend]) -> _Run:
    """Give each address and port to one of those who claim it; ``claims`` are in order."""
    if len(set(map(_address, claims))) == len(claims):
        return _Run(claims, claims)
    claims.sort(key=_place_and_slice)
    return _Run(claims, [_winner(rivals) for rivals in _rivals(claims)])


def _rivals(claims: Iterable[Backend]) -> Iterator[list[Backend]]:
    return (list(rivals) for _, rivals in groupby(claims, key=_place))


def _winner(rivals: list[Backend]) -> Backend:
    """Return who of these gets their address and port.

    A pod that runs beats one that terminates: an address is given out again before the old pod is
    gone. Kubernetes leaves open which of two that run gets it; here it is the last by the name of
    its slice and its position in it.
    """
    running = [backend for backend in rivals if not backend.terminating]
    return running[-1] if running else rivals[0]


def _count(backends: Iterable[Backend]) -> Facts:
    """Walk over the backends once, and note what choosing will ask for."""
    ready: list[Backend] = []
    draining: list[Backend] = []
    by_zone: dict[str, list[Backend]] = {}
    by_node: dict[str, list[Backend]] = {}
    without_zone = without_node = 0
    for backend in backends:
        source = backend.source
        if source.conditions.ready is False:  # not Backend.ready: a call for each would be felt
            if backend.draining:
                draining.append(backend)
            continue
        ready.append(backend)
        hints = source.hints or _NO_HINTS
        if not hints.for_zones:
            without_zone += 1
        for zone in hints.for_zones:
            by_zone.setdefault(zone.name, []).append(backend)
        if not hints.for_nodes:
            without_node += 1
        for node in hints.for_nodes:
            by_node.setdefault(node.name, []).append(backend)
    return Facts(ready, draining, by_zone, by_node, without_zone, without_node)


def _joined(parts: list[Facts]) -> Facts:
    """Put together what is known of several runs."""
    if len(parts) == 1:
        return parts[0]
    by_zone: dict[str, list[Backend]] = {}
    by_node: dict[str, list[Backend]] = {}
    for part in parts:
        for zone, backends in part.by_zone.items():
            by_zone.setdefault(zone, []).extend(backends)
        for node, backends in part.by_node.items():
            by_node.setdefault(node, []).extend(backends)
    return Facts(
        list(chain.from_iterable([part.ready for part in parts])),
        list(chain.from_iterable([part.draining for part in parts])),
        by_zone,
        by_node,
        sum([part.without_zone for part in parts]),
        sum([part.without_node for part in parts]),
    )
