"""Services and selections to a ruleset, from nothing or as they change.

Law: what is in the table follows from the services that are there, never from how they came: a
history of changes ends where compiling from nothing would, but for who has which slot, and for
chains by number of endpoints that nobody needs any more. A change touches the frontends of the
services it names and nothing else. For each of these frontends it is settled first who gets it,
then the plan in force is compared with the plan wanted, once; so an element is dropped or put at
most once in a transaction, and nothing is that stays as it is. What many frontends share (timeouts,
addresses) is counted, and comes with the first that needs it and goes with the last.

Chains by number of endpoints stay: for each new one the kernel goes through all endpoints of all
services, 4 ms for 100,000 (and nft 1.0.6 has to load the whole table), and a pod that goes comes
back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.nft.addresses import parsed_for
from nearwise.nft.diff import Transaction, apply
from nearwise.nft.frontends import Frontend, Kind, frontends, written
from nearwise.nft.layout import (
    ALLOWED,
    CLUSTER_ADDRESSES,
    ENDPOINTS,
    FENCED,
    INSIDE,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    OWN_ENDPOINTS,
    SERVICES,
    Settings,
    Spread,
    fixed_chains,
    fixed_sets,
    remember_chain,
    spread_chain,
    spread_of,
    sticky_set,
)
from nearwise.nft.plans import NOTHING, ObjectKey, Plan, Policies, plan, policies
from nearwise.nft.pools import Pools, Slots, pools, pools_before
from nearwise.nft.refcounts import RefCounts
from nearwise.nft.registers import pack_drawn
from nearwise.nft.ruleset import Elements, Ruleset, Value
from nearwise.nft.sources import Sources, sources
from nearwise.routing import Selection
from nearwise.routing.backend import PortKey


class Routes(msgspec.Struct, frozen=True, gc=False):
    """A service, and who was selected for each of its ports in the family of the table."""

    service: Service
    selections: Mapping[PortKey, Selection]


class _Held(msgspec.Struct, frozen=True, gc=False):
    """What is remembered of a service."""

    plans: tuple[tuple[bytes, Plan], ...] = ()
    """Its frontends, those included that another service got."""
    pools: tuple[Pools, ...] = ()
    cluster_addresses: tuple[bytes, ...] = ()
    own_endpoints: tuple[bytes, ...] = ()


_NOT_THERE: Final = _Held()


def compiled(settings: Settings, services: Mapping[ObjectKey, Routes]) -> Ruleset:
    """Return the ruleset for services, from nothing."""
    compiler = Compiler(settings)
    compiler.change(services)
    return compiler.ruleset


class Compiler:
    """The ruleset of one family as services change.

    ``before`` is what a kernel has already. From it come chains by number of endpoints, for they
    stay, and with the first change who had which slot; that is all.
    """

    def __init__(self, settings: Settings, before: Ruleset | None = None) -> None:
        sets = {each.name: each for each in fixed_sets()}
        chains = {each.name: each for each in (*fixed_chains(settings), remember_chain(()))}
        for spread in map(spread_of, before.chains if before else ()):
            if spread:
                chains[spread.chain] = spread_chain(spread, settings)
        elements: dict[str, Elements] = {
            name: {} for name, each in sets.items() if not each.dynamic
        }
        self.ruleset: Final = Ruleset(settings.family, chains, sets, elements)
        """What should be in the kernel."""
        self.left_out: Final[dict[ObjectKey, tuple[Reason, ...]]] = {}
        """What of each service is not there, or not as it is asked for, and why."""
        self._settings = settings
        self._before = before
        self._held: dict[ObjectKey, _Held] = {}
        self._told: dict[ObjectKey, tuple[Reason, ...]] = {}
        self._placed: dict[bytes, Plan] = {}
        """Who has each frontend."""
        self._rivals: dict[bytes, list[Plan]] = {}
        """Who claims it as well."""
        self._lost: dict[ObjectKey, dict[bytes, ObjectKey]] = {}
        """The same by service: which frontends it did not get, and who did."""
        self._numbers: list[bytes] = []
        self._timeouts = RefCounts[int]()
        self._cluster_addresses = RefCounts[bytes]()
        self._own_endpoints = RefCounts[bytes]()
        addresses = [parsed_for(settings.family, each) for each in settings.node_addresses]
        self._this_machine = frozenset([each * 2 for each in addresses if each])
        """Its addresses as own endpoints: what it sends itself is to be left as it is."""

    def change(self, services: Mapping[ObjectKey, Routes | None]) -> Transaction:
        """Take in services that came, changed, or went (None).

        Returns what changes in the table; ``ruleset`` has it already.
        """
        wanted = [(key, *self._planned(key, services[key])) for key in sorted(services)]
        self._before = None
        claims: dict[bytes, list[Plan]] = {}
        for key, new, told in wanted:
            old = self._held.pop(key, _NOT_THERE)
            if new.plans:
                self._held[key] = new
            if told:
                self._told[key] = told
            else:
                self._told.pop(key, None)
            self._cluster_addresses.change(old.cluster_addresses, new.cluster_addresses)
            self._own_endpoints.change(old.own_endpoints, new.own_endpoints)
            for frontend, claim in old.plans:
                self._claims(claims, frontend).remove(claim)
            for frontend, claim in new.plans:
                self._claims(claims, frontend).append(claim)
        draft = _Draft()
        concerned = set(services)
        for frontend, claimants in claims.items():
            if len(claimants) > 1 or frontend in self._rivals:
                concerned |= self._contest(frontend, claimants)
            self._place(draft, frontend, claimants[0] if claimants else None)
        self._tell(concerned)
        done = self._finished(draft)
        apply(self.ruleset, done)
        return done

    # --- One service --------------------------------------------------------------------------

    def _planned(self, key: ObjectKey, routes: Routes | None) -> tuple[_Held, tuple[Reason, ...]]:
        """Plan all that a service wants; nothing is changed yet."""
        if routes is None:
            return _NOT_THERE, ()
        service, settings = routes.service, self._settings
        width = settings.family.width
        found, told = frontends(service, settings)
        if not found:
            return _NOT_THERE, told
        old = self._held.get(key, _NOT_THERE)
        of, why = policies(key, service)
        told += why
        fence = None
        if any(each.kind is Kind.BALANCER for each in found):
            fence, why = sources(service, settings)
            told += why
        on_ports: dict[PortKey, Pools] = {}
        own: dict[bytes, None] = {}
        for frontend in found:
            if (port := frontend.port) not in on_ports:
                before = self._pools_before(port, old, found, of)
                selection = routes.selections.get(port)
                on_ports[port], here, why = pools(port, selection, before, settings.family)
                own |= here
                told += why
        plans, inside = _plans(found, of, on_ports, fence, width)
        own |= {each[:width] * 2: None for each in inside}
        addresses = {each.key[:width]: None for each in found if each.kind is Kind.CLUSTER}
        pods = tuple([each for each in own if each not in self._this_machine])
        held = _Held(plans, tuple(on_ports.values()), tuple(addresses), pods)
        return held, told

    def _pools_before(
        self, port: PortKey, old: _Held, found: Iterable[Frontend], of: Policies
    ) -> Pools:
        """Return who was in which slot of a port: as we put it, else as the kernel has it."""
        for each in old.pools:
            if each.port == port:
                return each
        if self._before is None:
            return Pools(port)
        return pools_before(self._before, port, found, internal_local=of.internal_local)

    # --- One frontend -------------------------------------------------------------------------

    def _claims(self, claims: dict[bytes, list[Plan]], frontend: bytes) -> list[Plan]:
        """Return who claims a frontend as far as is known in this change, to be changed."""
        known = claims.get(frontend)
        if known is None:
            placed = self._placed.get(frontend)
            known = [placed, *self._rivals.get(frontend, ())] if placed else []
            claims[frontend] = known
        return known

    def _contest(self, frontend: bytes, claimants: list[Plan]) -> set[ObjectKey]:
        """Settle who gets a frontend, the first of ``claimants`` then; return whom it concerns."""
        claimants.sort(key=_rank)
        before, rivals = self._rivals.pop(frontend, []), claimants[1:]
        for each in before:
            del self._lost[each.of.owner][frontend]
        for each in rivals:
            self._lost.setdefault(each.of.owner, {})[frontend] = claimants[0].of.owner
        if rivals:
            self._rivals[frontend] = rivals
        return {each.of.owner for each in (*before, *rivals)}

    def _place(self, draft: _Draft, frontend: bytes, wanted: Plan | None) -> None:
        """Put the elements of a frontend in place."""
        old, new = self._placed.get(frontend, NOTHING), wanted or NOTHING
        if wanted:
            self._placed[frontend] = wanted
        else:
            self._placed.pop(frontend, None)
        if old.verdict != new.verdict:
            draft.change(SERVICES, frontend, old.verdict, new.verdict)
        if old.inside != new.inside:
            draft.change(INSIDE, frontend, old.inside, new.inside)
        if old.outside != new.outside:
            draft.change(OUTSIDE, frontend, old.outside, new.outside)
        if old.endpoints is not new.endpoints:
            self._place_slots(draft, ENDPOINTS, frontend, old.endpoints, new.endpoints)
        if old.local_endpoints is not new.local_endpoints:
            self._place_slots(
                draft, LOCAL_ENDPOINTS, frontend, old.local_endpoints, new.local_endpoints
            )
        if old.spreads != new.spreads:
            draft.spreads.update(new.spreads)
        if old.of.sticky != new.of.sticky:
            for seconds, elements in ((old.of.sticky, draft.drop), (new.of.sticky, draft.put)):
                if seconds:
                    elements[sticky_set(seconds).name][frontend] = None
            self._timeouts.change(_some(old.of.sticky), _some(new.of.sticky))
        if old.sources != new.sources:
            _place_sources(draft, frontend, old.sources, new.sources)

    def _place_slots(
        self, draft: _Draft, name: str, frontend: bytes, old: Slots, new: Slots
    ) -> None:
        """Put endpoints into the slots of a frontend, in place of those that are there."""
        numbers, most = self._numbers, max(len(old), len(new))
        while len(numbers) < most:
            numbers.append(pack_drawn(len(numbers)))
        if not old:  # as at the start, for all services there are
            draft.put[name].update(zip(map(frontend.__add__, numbers[:most]), new, strict=True))
            return
        for number, was, is_ in zip(numbers, old, new, strict=False):
            if was != is_:
                draft.change(name, frontend + number, was, is_)
        for number, was in zip(numbers[len(new) : len(old)], old[len(new) :], strict=True):
            draft.drop[name][frontend + number] = was
        for number, is_ in zip(numbers[len(old) : len(new)], new[len(old) :], strict=True):
            draft.put[name][frontend + number] = is_

    # --- What is shared, and what is told -----------------------------------------------------

    def _finished(self, draft: _Draft) -> Transaction:
        """Add what the services share, and make it a transaction."""
        for name, counts in (
            (CLUSTER_ADDRESSES, self._cluster_addresses),
            (OWN_ENDPOINTS, self._own_endpoints),
        ):
            came, gone = counts.settle()
            if came:
                draft.put[name].update(dict.fromkeys(came))
            if gone:
                draft.drop[name].update(dict.fromkeys(gone))
        chains = [
            spread_chain(each, self._settings)
            for each in draft.spreads
            if each.chain not in self.ruleset.chains
        ]
        timeouts, former_timeouts = self._timeouts.settle()
        if timeouts or former_timeouts:
            chains.append(remember_chain(tuple(self._timeouts)))
        gone_sets = sorted(sticky_set(each).name for each in former_timeouts)
        for each in gone_sets:  # its elements go with it
            draft.drop.pop(each, None)
        return Transaction(
            self._settings.family,
            sets=tuple([sticky_set(each) for each in sorted(timeouts)]),
            chains=tuple(sorted(chains, key=_name)),
            drop=dict(draft.drop),
            put=dict(draft.put),
            gone_sets=tuple(gone_sets),
        )

    def _tell(self, concerned: Iterable[ObjectKey]) -> None:
        """Say of services what of them is left out."""
        for key in concerned:
            told = self._told.get(key, ())
            if lost := self._lost.get(key):
                told += tuple(_contested(lost))
            else:
                self._lost.pop(key, None)
            if told:
                self.left_out[key] = told
            else:
                self.left_out.pop(key, None)


class _Draft:
    """Elements to drop and to put, by the name of their set, and chains that verdicts go to."""

    def __init__(self) -> None:
        self.spreads: set[Spread] = set()
        self.drop: defaultdict[str, Elements] = defaultdict(dict)
        self.put: defaultdict[str, Elements] = defaultdict(dict)

    def change(self, name: str, key: bytes, old: Value, new: Value) -> None:
        """Have a map say something else for a key; None: say nothing, as before or from now on."""
        if old is not None:
            self.drop[name][key] = old
        if new is not None:
            self.put[name][key] = new


_rank = attrgetter("rank")
_name = attrgetter("name")


def _plans(
    found: Iterable[Frontend],
    of: Policies,
    on_ports: Mapping[PortKey, Pools],
    fence: Sources | None,
    width: int,
) -> tuple[tuple[tuple[bytes, Plan], ...], list[bytes]]:
    """Plan all frontends of a service; those of one kind and port are alike but for sources.

    Returns as well whom clients inside can get: a pod elsewhere may get itself by way of this
    machine.
    """
    alike: dict[tuple[PortKey, Kind], Plan] = {}
    inside: list[bytes] = []
    plans = []
    for frontend in found:
        port, kind = frontend.port, frontend.kind
        planned = alike.get((port, kind))
        if planned is None:
            planned = alike[port, kind] = plan(kind, of, on_ports[port])
            if planned.inside:
                inside += planned.endpoints
        if fence and kind is Kind.BALANCER:
            ranges = fence.ranges(frontend.key[:width])
            planned = msgspec.structs.replace(planned, sources=ranges)
        plans.append((frontend.key, planned))
    return tuple(plans), inside


def _some(seconds: int) -> tuple[int, ...]:
    return (seconds,) if seconds else ()


def _place_sources(
    draft: _Draft, frontend: bytes, old: tuple[bytes, ...] | None, new: tuple[bytes, ...] | None
) -> None:
    """Fence a frontend for all but some sources; None: it is not fenced."""
    if old is None:
        draft.put[FENCED][frontend] = None
    if new is None:
        draft.drop[FENCED][frontend] = None
    half = len(frontend) - 8  # a range is two addresses
    for ranges, others, elements in ((old, new, draft.drop), (new, old, draft.put)):
        for each in ranges or ():
            if each not in (others or ()):
                elements[ALLOWED][frontend + each[:half] + frontend + each[half:]] = None


def _contested(lost: Mapping[bytes, ObjectKey]) -> Iterator[Reason]:
    """Tell which frontends of a service went to others."""
    by_winner: dict[ObjectKey, list[bytes]] = {}
    for frontend in sorted(lost):
        by_winner.setdefault(lost[frontend], []).append(frontend)
    for winner in sorted(by_winner):
        yield reason(
            "frontend-contested",
            frontends=[written(each) for each in by_winner[winner]],
            winner="/".join(winner),
        )
