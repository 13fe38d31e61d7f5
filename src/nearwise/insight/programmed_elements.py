"""A frontend as it should be and as a kernel has it, element by element.

Law: by what elements do, not by which they are: who is in which slot is no difference, and of two
that follow from one another only the first is told. Texts are in the catalogue; what differs
alike at several frontends is put together by ``programmed``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from nearwise.insight.programmed_rules import seconds_at
from nearwise.nft.layout import (
    ALLOWED,
    ENDPOINTS,
    FENCED,
    INSIDE,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    SERVICES,
    spread_of,
)
from nearwise.nft.registers import address_of, drawn_of, pack_drawn
from nearwise.nft.ruleset import Drop, Goto, Ruleset, Verdict

_DRAWN: Final = len(pack_drawn(0))

Listed = tuple[str, ...]


class Difference(NamedTuple):
    """What is other at a frontend: the code of a reason and its facts, but for the frontend.

    Endpoints are packed: who they are is told later.
    """

    code: str
    facts: tuple[tuple[str, str | int | Listed], ...] = ()
    endpoints: tuple[bytes, ...] = ()


class Slots(NamedTuple):
    """The endpoints of frontends in a table: by map, frontend and slot."""

    by_map: Mapping[str, Mapping[bytes, Mapping[int, bytes]]]

    @classmethod
    def of(cls, table: Ruleset, frontends: Collection[bytes]) -> Slots:
        """Collect those of some frontends."""
        by_map: dict[str, dict[bytes, dict[int, bytes]]] = {}
        for name in (ENDPOINTS, LOCAL_ENDPOINTS):
            found = by_map[name] = {each: {} for each in frontends}
            for key, value in table.elements.get(name, {}).items():
                slots = found.get(key[:-_DRAWN])
                if slots is not None and isinstance(value, bytes):
                    slots[drawn_of(key[-_DRAWN:])] = value
        return cls(by_map)


class Compared(NamedTuple):
    """Two tables, and the endpoints in them."""

    should: Ruleset
    has: Ruleset
    slots: Slots
    slots_there: Slots
    listed: frozenset[bytes]
    """The endpoints that the slices of the service list."""


def differences(compared: Compared, frontend: bytes, name: str) -> list[Difference]:
    """Return what is other at a frontend of the service of a name (``shop/web``)."""
    should, has = compared.should, compared.has
    there = _verdict(has, SERVICES, frontend)
    if there is None:
        return [Difference("kernel-frontends-missing")]
    if there.comment and not _is_of(there, name):
        return [Difference("kernel-frontends-of-other", (("owner", there.comment),))]
    found = []
    for map_ in (SERVICES, INSIDE, OUTSIDE):
        words, words_there = (_words(_verdict(table, map_, frontend)) for table in (should, has))
        if words != words_there:
            verdicts = (("map", map_), ("should", words), ("has", words_there))
            found.append(Difference("kernel-verdict-other", verdicts))
    for map_ in (ENDPOINTS, LOCAL_ENDPOINTS):
        found += _endpoints(compared, map_, frontend)
    found += _fence(should, has, frontend)
    seconds, seconds_there = (_texts(seconds_at(table, frontend)) for table in (should, has))
    if seconds != seconds_there:
        facts = (("should", seconds), ("has", seconds_there))
        found.append(Difference("kernel-affinity-other", facts))
    return found


def left_over(has: Ruleset, known: Collection[bytes], name: str) -> tuple[bytes, ...]:
    """Return the frontends that a table has for a service of that name and should not."""
    return tuple(
        sorted(
            key
            for key, verdict in has.elements.get(SERVICES, {}).items()
            if key not in known and isinstance(verdict, Verdict) and _is_of(verdict, name)
        )
    )


def _is_of(verdict: Verdict, name: str) -> bool:
    """Say whether a verdict was made for the service of a name."""
    return verdict.comment == name or verdict.comment.startswith(f"{name}:")


# --- verdicts -------------------------------------------------------------------------------


def _verdict(table: Ruleset, name: str, frontend: bytes) -> Verdict | None:
    found = table.elements.get(name, {}).get(frontend)
    return found if isinstance(found, Verdict) else None


def _words(verdict: Verdict | None) -> str:
    """Say what a verdict does, without the number of endpoints."""
    if verdict is None:
        return "nothing"
    if isinstance(verdict.what, Drop):
        return "drop"
    chain = verdict.what.chain
    spread = spread_of(chain)
    return chain.replace(f"-{spread.count}", "") if spread else chain


def _count(table: Ruleset, name: str, frontend: bytes) -> int:
    """Return over how many slots of a map connections to a frontend are spread."""
    for map_ in (OUTSIDE,) if name == LOCAL_ENDPOINTS else (SERVICES, INSIDE):
        verdict = _verdict(table, map_, frontend)
        chain = verdict.what.chain if verdict and isinstance(verdict.what, Goto) else ""
        if spread := spread_of(chain):
            return spread.count
    return 0


# --- endpoints ------------------------------------------------------------------------------


def _endpoints(compared: Compared, name: str, frontend: bytes) -> Iterator[Difference]:
    should = set(compared.slots.by_map[name][frontend].values())
    slots = compared.slots_there.by_map[name][frontend]
    count = _count(compared.has, name, frontend)
    drawn = Counter(endpoint for slot, endpoint in slots.items() if slot < count)
    if count and (missing := should - drawn.keys()):
        yield Difference("kernel-endpoints-missing", endpoints=_sorted(missing))
    wrong = drawn.keys() - should
    if unknown := wrong - compared.listed:
        yield Difference("kernel-endpoints-unknown", endpoints=_sorted(unknown))
    if not_chosen := wrong & compared.listed:
        yield Difference("kernel-endpoints-not-chosen", endpoints=_sorted(not_chosen))
    if empty := count - drawn.total():
        yield Difference("kernel-slots-empty", (("empty", empty), ("slots", count)))
    beyond = {endpoint for slot, endpoint in slots.items() if slot >= count}
    if undrawn := beyond - should:  # else it is missing, which is told, or is drawn as well
        yield Difference("kernel-slots-undrawn", (("map", name),), _sorted(undrawn))
    if twice := {endpoint for endpoint, times in drawn.items() if times > 1}:
        yield Difference("kernel-endpoints-twice", endpoints=_sorted(twice))


def _sorted(endpoints: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(endpoints))


# --- source ranges, affinity ----------------------------------------------------------------


def _fence(should: Ruleset, has: Ruleset, frontend: bytes) -> Iterator[Difference]:
    fenced, fenced_there = (frontend in table.elements.get(FENCED, ()) for table in (should, has))
    if fenced and not fenced_there:
        yield Difference("kernel-fence-missing")
    if fenced_there and not fenced:
        yield Difference("kernel-fence-left")
    if not (fenced and fenced_there):
        return
    ranges, ranges_there = (_ranges(table, frontend) for table in (should, has))
    if missing := ranges - ranges_there:
        yield Difference("kernel-sources-missing", (("sources", tuple(sorted(missing))),))
    if left := ranges_there - ranges:
        yield Difference("kernel-sources-left", (("sources", tuple(sorted(left))),))


def _ranges(table: Ruleset, frontend: bytes) -> set[str]:
    width = table.family.width
    size = len(frontend)
    return {
        f"{address_of(key[size : size + width])}-{address_of(key[-width:])}"
        for key in table.elements.get(ALLOWED, ())
        if key.startswith(frontend)
    }


def _texts(numbers: Iterable[int]) -> Listed:
    return tuple(map(str, numbers))
