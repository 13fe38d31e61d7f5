"""The shape of the table: the same for ten services and for ten thousand.

Law: nothing in here knows a service. All that differs between services is in elements::

    prerouting, output --> services        (address . protocol . port)
                              |-- spread-3      one of three endpoints
                              |-- masquerade-3  the same, and the answer comes back through here
                              |-- policy-local  inside or outside? then one of
                              |                 spread-N for clients inside, local-N for others
                              |-- refuse        nobody is there
    input, postrouting --> remember        which endpoint a client got, for session affinity
           postrouting                     masquerade what is marked, and who calls itself

There is a chain for each number of endpoints that some service has or had, never for a service or
an endpoint; the endpoints are in one map, by address, protocol, port and a number that is drawn. So
a change is a change of elements, and costs the same whatever else there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from nearwise.nft import ruleset as nft
from nearwise.nft.ruleset import ENDPOINT, Chain, Data, Draw, Family, Field, Hook, Key, Rule, Set

SERVICES: Final = "services"
"""What becomes of a new connection to an address, protocol and port."""
INSIDE: Final = "inside"
"""The same for services under external policy Local, for clients of this cluster."""
OUTSIDE: Final = "outside"
"""And for all other clients."""
ENDPOINTS: Final = "endpoints"
"""Who can be drawn under policy Cluster (and for cluster addresses, under their own policy)."""
LOCAL_ENDPOINTS: Final = "local-endpoints"
"""Who can be drawn by clients outside under external policy Local."""
AFFINITY: Final = "affinity"
"""Which endpoint a client got last, kept by the kernel."""
CLUSTER_ADDRESSES: Final = "cluster-addresses"
"""The cluster addresses of all services: nothing else of them answers."""
OWN_ENDPOINTS: Final = "own-endpoints"
"""Addresses of pods that may call themselves by way of this machine, twice each."""
FENCED: Final = "fenced"
"""Where only some sources may go (``loadBalancerSourceRanges``)."""
ALLOWED: Final = "allowed"
"""Which sources these are."""

REFUSE: Final = "refuse"
POLICY_LOCAL: Final = "policy-local"
REMEMBER: Final = "remember"
_STICKY: Final = "sticky-"

FRONTEND: Final[Key] = (Field.DESTINATION, Field.PROTOCOL, Field.PORT)
"""What a client connects to."""
_CLIENT: Final[Key] = (Field.SOURCE, *FRONTEND)
_FIRST_FRONTEND: Final[Key] = (Field.FIRST_DESTINATION, Field.PROTOCOL, Field.FIRST_PORT)
_FIRST_CLIENT: Final[Key] = (Field.FIRST_SOURCE, *_FIRST_FRONTEND)

MOST_CLIENTS: Final = 1 << 20
"""Clients whose endpoint is remembered at a time; others get any (kube-proxy: 65,536 each)."""


class Settings(msgspec.Struct, frozen=True):
    """What an operator chooses for the table of one family."""

    family: Family
    pod_networks: tuple[str, ...] = ()
    """Where pods of this cluster have their addresses; empty when that is not known."""
    masquerade_all: bool = False
    """Masquerade whatever goes to a cluster address."""
    masquerade_bit: int = 14
    """Which bit of the packet mark says that it is to be masqueraded (kube-proxy's, too)."""
    node_port_addresses: tuple[str, ...] = ()
    """Addresses of this machine on which node ports answer."""
    node_addresses: tuple[str, ...] = ()
    """All addresses of this machine."""


def fixed_sets() -> tuple[Set, ...]:
    """Return the sets and maps that are always there."""
    drawn = (*FRONTEND, Draw(65536))  # the number is a place holder: it stands for the type
    return (
        Set(SERVICES, FRONTEND, Data.VERDICT),
        Set(INSIDE, FRONTEND, Data.VERDICT),
        Set(OUTSIDE, FRONTEND, Data.VERDICT),
        Set(ENDPOINTS, drawn, Data.ENDPOINT),
        Set(LOCAL_ENDPOINTS, drawn, Data.ENDPOINT),
        Set(AFFINITY, _CLIENT, Data.ENDPOINT, dynamic=True, size=MOST_CLIENTS),
        Set(CLUSTER_ADDRESSES, (Field.DESTINATION,)),
        Set(OWN_ENDPOINTS, (Field.SOURCE, Field.DESTINATION)),
        Set(FENCED, FRONTEND),
        Set(ALLOWED, (*FRONTEND, Field.SOURCE), interval=True),
    )


_FIXED_SETS: Final = {each.name: each for each in fixed_sets()}


def fixed_chains(settings: Settings) -> tuple[Chain, ...]:
    """Return the chains that are always there, but for ``remember``."""
    bit = settings.masquerade_bit
    return (
        Chain("prerouting", ((nft.Jump(SERVICES),),), Hook.PREROUTING),
        Chain("output", ((nft.Jump(SERVICES),),), Hook.OUTPUT),
        Chain("input", ((nft.Jump(REMEMBER),),), Hook.INPUT),
        Chain(
            "postrouting",
            (
                (nft.Jump(REMEMBER),),
                (nft.Marked(bit), nft.ClearMark(bit), nft.Masquerade()),
                (nft.Match((Field.SOURCE, Field.DESTINATION), OWN_ENDPOINTS), nft.Masquerade()),
            ),
            Hook.POSTROUTING,
        ),
        _services(settings),
        _policy_local(settings),
        Chain(REFUSE, ((nft.Reject(),),)),
    )


def _services(settings: Settings) -> Chain:
    """Return the chain that decides everything about a new connection."""
    return Chain(
        SERVICES,
        (
            (
                nft.Match(FRONTEND, FENCED),
                nft.Match((*FRONTEND, Field.SOURCE), ALLOWED, inverted=True),
                nft.Drop(),
            ),
            *_marking(settings),
            (nft.Switch(FRONTEND, SERVICES),),
            (nft.Match((Field.DESTINATION,), CLUSTER_ADDRESSES), nft.Goto(REFUSE)),
        ),
    )


def _policy_local(settings: Settings) -> Chain:
    """Return the chain that parts clients inside from clients outside (policy Local).

    Inside are pods, as far as it is known where they are, and this machine, whose address would be
    of no use to an endpoint elsewhere (``externalTrafficPolicy``, core/v1, as kube-proxy has it).
    """
    bit = settings.masquerade_bit
    pods: list[Rule] = [
        (nft.Within(Field.SOURCE, network), nft.Switch(FRONTEND, INSIDE))
        for network in settings.pod_networks
    ]
    return Chain(
        POLICY_LOCAL,
        (
            *pods,
            (nft.FromHost(), nft.SetMark(bit), nft.Switch(FRONTEND, INSIDE)),
            (nft.Switch(FRONTEND, OUTSIDE),),
        ),
    )


def _marking(settings: Settings) -> tuple[Rule, ...]:
    """Mark what goes to cluster addresses from where no pod of this cluster is."""
    to_cluster = nft.Match((Field.DESTINATION,), CLUSTER_ADDRESSES)
    if settings.masquerade_all:
        return ((to_cluster, nft.SetMark(settings.masquerade_bit)),)
    if not settings.pod_networks:
        return ()
    strangers = [nft.Within(Field.SOURCE, each, inverted=True) for each in settings.pod_networks]
    return ((to_cluster, *strangers, nft.SetMark(settings.masquerade_bit)),)


# --- chains by number of endpoints ----------------------------------------------------------


_SPREAD: Final = re.compile("(spread|masquerade|local)-([1-9][0-9]*)(-sticky)?")


class Spread(msgspec.Struct, frozen=True, gc=False):
    """How connections are spread: over how many endpoints, of which map, and what goes with it."""

    count: int
    local: bool = False
    """Draw from ``local-endpoints``: clients outside under external policy Local."""
    masquerade: bool = False
    """Answers come back through here: clients outside under policy Cluster."""
    sticky: bool = False
    """A client that was here gets the endpoint it had (session affinity)."""

    @property
    def chain(self) -> str:
        """The name of its chain: ``spread-3``, ``masquerade-3-sticky``."""
        kind = "local" if self.local else "masquerade" if self.masquerade else "spread"
        return f"{kind}-{self.count}{'-sticky' if self.sticky else ''}"


def spread_of(chain: str) -> Spread | None:
    """Return what a chain of this name spreads over; None if it is another kind of chain."""
    if (found := _SPREAD.fullmatch(chain)) is None:
        return None
    kind, count, sticky = found.groups()
    return Spread(int(count), kind == "local", kind == "masquerade", sticky is not None)


def spread_chain(spread: Spread, settings: Settings) -> Chain:
    """Return the chain that spreads connections so.

    A transaction may come between two looks of one packet: the verdict of before leads to a number
    that is no longer there. The first endpoint is, as long as there is any.
    """
    rules: list[Rule] = []
    if spread.masquerade:
        rules.append((nft.SetMark(settings.masquerade_bit),))
    if spread.sticky:
        rules.append((nft.HasPort(), nft.Translate(_CLIENT, AFFINITY)))
    endpoints = LOCAL_ENDPOINTS if spread.local else ENDPOINTS
    for count in dict.fromkeys((spread.count, 1)):
        rules.append((nft.HasPort(), nft.Translate((*FRONTEND, Draw(count)), endpoints)))
    return Chain(spread.chain, tuple(rules))


# --- sets by their name ---------------------------------------------------------------------


def set_named(name: str, sets: Iterable[Set] = ()) -> Set:
    """Return the set of a name: one of those given, else one that is there already.

    A transaction names sets, and brings only the new ones. Raises KeyError for any other name.
    """
    for each in sets:
        if each.name == name:
            return each
    return sticky_set(int(name.removeprefix(_STICKY))) if is_sticky(name) else _FIXED_SETS[name]


# --- session affinity -----------------------------------------------------------------------


def sticky_set(seconds: int) -> Set:
    """Return the set of where clients are remembered for so long."""
    return Set(f"{_STICKY}{seconds}", FRONTEND)


def is_sticky(name: str) -> bool:
    """Say whether a set of this name is one of where clients are remembered."""
    return name.startswith(_STICKY)


def remember_chain(timeouts: tuple[int, ...]) -> Chain:
    """Return the chain that remembers which endpoint was drawn; a rule for each timeout.

    It runs after the translation, so the endpoint is where the packet goes now, and the client's
    view of it is what connection tracking has as the original.
    """
    return Chain(
        REMEMBER,
        tuple(
            (
                nft.HasTransport(),
                nft.Match(_FIRST_FRONTEND, sticky_set(seconds).name),
                nft.Remember(_FIRST_CLIENT, ENDPOINT, AFFINITY, seconds),
            )
            for seconds in sorted(timeouts)
        ),
    )
