"""The backends of one service port, in order, and what choosing asks of them.

Law: a pool is a value. It never changes; ``changed`` makes another one that shares with it every
run of neighbours that the change does not touch. So a change costs what it changes, an old view
stays true, and what was sorted by hint once is not sorted again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from nearwise.model import EndpointHints, ForNode, ForZone
from nearwise.routing.backend import Backend

_RUN: Final = 64
"""Claims in a run of a large pool: few enough to do one over quickly, enough to have few runs."""

_address = attrgetter("address")
_slice_name = attrgetter("slice_name")
_place = attrgetter("address", "port")
_place_and_slice = attrgetter("address", "port", "slice_name")
_zones = attrgetter("for_zones")
_nodes = attrgetter("for_nodes")

Hinted = Mapping[str, Sequence[Backend]]
"""Ready backends by the zone or node that a hint gives them to."""


class Bare(msgspec.Struct, frozen=True, gc=False):
    """The ready backends that lack a hint of a kind."""

    zone: Sequence[Backend]
    node: Sequence[Backend]


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What choosing asks of backends.

    ``by_zone`` and ``by_node`` are None when a ready one has no such hint, for then nobody's
    count (KEP-2433, KEP-3015).
    """

    ready: Sequence[Backend]
    by_zone: Hinted | None
    by_node: Hinted | None
    known: Bare | None = None

    @property
    def bare(self) -> Bare:
        """Who lacks a hint, found out when first asked for: to choose it is not needed."""
        bare = self.known
        if bare is None:
            bare = Bare(
                () if self.by_zone is not None else [b for b in self.ready if not b.zones],
                () if self.by_node is not None else [b for b in self.ready if not b.nodes],
            )
            force_setattr(self, "known", bare)
        return bare


class _Run(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Neighbours in a pool: all who claim an address and port, and who of them gets it."""

    claims: Sequence[Backend]
    winners: Sequence[Backend]
    known: Facts | None = None

    @property
    def facts(self) -> Facts:
        """What choosing asks of the winners, found out when first asked for."""
        facts = self.known
        if facts is None:
            facts = _facts(self.winners)
            force_setattr(self, "known", facts)
        return facts


class Pool(msgspec.Struct, frozen=True, gc=False, eq=False):
    """The backends of one service port in order of address and port."""

    runs: tuple[_Run, ...] = ()
    known: Facts | None = None

    @classmethod
    def of(cls, backends: Iterable[Backend]) -> Pool:
        """Make a pool of backends in any order."""
        return cls(_runs(list(backends)))

    @property
    def facts(self) -> Facts:
        """What choosing asks of the backends, found out when first asked for."""
        facts = self.known
        if facts is None:
            runs = self.runs
            facts = runs[0].facts if len(runs) == 1 else _joined([run.facts for run in runs])
            force_setattr(self, "known", facts)
        return facts

    @property
    def draining(self) -> list[Backend]:
        """Those that are not ready, but terminating and still serving."""
        if len(self.facts.ready) == len(self):
            return []
        return [backend for backend in self if backend.draining]

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

    def changed(self, removed: Sequence[Backend], added: list[Backend]) -> Pool:
        """Return the pool after some slices changed; it takes over the list ``added``.

        ``removed`` is all that these slices claimed until now, ``added`` what they claim now.
        """
        stale = set(map(_slice_name, removed))
        if len(self.runs) < 2:
            for run in self.runs:
                added.extend([old for old in run.claims if old.slice_name not in stale])
            return Pool(_runs(added))
        touched: dict[int, list[Backend]] = {self._run_of(backend): [] for backend in removed}
        for backend in added:
            touched.setdefault(self._run_of(backend), []).append(backend)
        runs = list(self.runs)
        for index, claims in sorted(touched.items(), reverse=True):
            claims.extend([old for old in runs[index].claims if old.slice_name not in stale])
            after = index + 1
            while len(claims) < _RUN // 2 and after < len(runs):
                claims.extend(runs[after].claims)
                after += 1
            runs[index:after] = _runs(claims)
        return Pool(tuple(runs))

    def _run_of(self, backend: Backend) -> int:
        """Find the run that the backend belongs to: the last that does not begin after it."""
        begun = bisect_right(self.runs, backend.address, key=_first_address)
        return max(begun - 1, 0)


NOBODY: Final = Pool()
"""The pool without backends."""


def _first_address(run: _Run) -> str:
    return run.claims[0].address


def _runs(claims: list[Backend]) -> tuple[_Run, ...]:
    """Bring claims into order and cut them into runs, never within an address."""
    if not claims:
        return ()
    claims.sort(key=_address)
    if len(claims) <= 2 * _RUN:
        return (_run(claims),)
    runs = []
    start = 0
    while start < len(claims):
        end = min(start + _RUN, len(claims))
        while end < len(claims) and claims[end].address == claims[end - 1].address:
            end += 1
        runs.append(_run(claims[start:end]))
        start = end
    return tuple(runs)


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


def _facts(backends: Iterable[Backend]) -> Facts:
    # Not Backend.ready: this goes through all backends, and a call for each would be felt.
    ready = tuple([b for b in backends if b.source.conditions.ready is not False])
    return Facts(ready, _hinted(ready, _zones), _hinted(ready, _nodes))


def _hinted(
    ready: Iterable[Backend], which: Callable[[EndpointHints], Iterable[ForZone | ForNode]]
) -> Hinted | None:
    """Sort ready backends by a kind of hint; None as soon as one has no such hint."""
    by_name: dict[str, list[Backend]] = {}
    for backend in ready:
        hints = backend.source.hints
        places = which(hints) if hints else ()
        if not places:
            return None
        for place in places:
            name = place.name
            if name in by_name:
                by_name[name].append(backend)
            else:
                by_name[name] = [backend]
    return {name: tuple(hinted) for name, hinted in by_name.items()}


def _joined(parts: Sequence[Facts]) -> Facts:
    """Put together what is known of several runs, without going through their backends."""
    return Facts(
        _Chain([part.ready for part in parts]),
        _all_or_none([part.by_zone for part in parts]),
        _all_or_none([part.by_node for part in parts]),
    )


def _all_or_none(parts: list[Hinted | None]) -> Hinted | None:
    known = [part for part in parts if part is not None]
    return _Chains(known) if len(known) == len(parts) else None


class _Chain(Sequence[Backend]):
    """Several lists, one after the other."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Sequence[Backend]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Backend]:
        return chain.from_iterable(self._parts)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]


class _Chains(Mapping[str, Sequence[Backend]]):
    """Several mappings of lists as one: under each name the lists of all, one after the other."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Hinted]) -> None:
        self._parts = parts

    def __getitem__(self, name: str) -> Sequence[Backend]:
        found = [part[name] for part in self._parts if name in part]
        if not found:
            raise KeyError(name)
        return _Chain(found)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(self._parts)))

    def __len__(self) -> int:
        return len(set(chain.from_iterable(self._parts)))
