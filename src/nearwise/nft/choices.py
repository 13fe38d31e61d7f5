"""What was chosen before: whether the kernel remembers endpoints that cannot be drawn any more.

Law: the kernel draws an endpoint once, for the first packet of a flow, and keeps to it. A TCP
connection ends by itself when its endpoint does, and may end in peace. A UDP flow never ends while
its client keeps sending, and a pin (session affinity) is renewed by every connection: these are to
be forgotten when they name somebody who cannot be drawn any more. What is said here is only what
to forget; nobody else's flows are ever named.

Kubernetes' proxy forgets UDP flows likewise, but leaves those of services that have lost their last
endpoint or are gone (as of 1.36): their clients go on sending into nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from ipaddress import ip_network
from typing import Final, NamedTuple

from nearwise.nft.diff import Transaction
from nearwise.nft.layout import (
    ENDPOINTS,
    INSIDE,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    POLICY_LOCAL,
    SERVICES,
    is_sticky,
)
from nearwise.nft.registers import pack_drawn, pack_protocol
from nearwise.nft.ruleset import Ruleset, Within

_UDP: Final = pack_protocol("UDP")
_DRAWN: Final = len(pack_drawn(0))  # bytes that a slot takes, at the end of a key


class Flow(NamedTuple):
    """A UDP flow as connection tracking has it; all packed as keys and values of maps are."""

    client: bytes
    """The address and port that its first packet came from."""
    frontend: bytes
    """The address, protocol and port that it went to."""
    endpoint: bytes
    """The address and port that answers come from: where it really goes."""
    returns: bytes = b""
    """The address and port that answers go to: the client, or this machine if masqueraded."""
    number: bytes = b""
    """The kernel's own number of it."""


def choices(ruleset: Ruleset, frontend: bytes) -> set[bytes]:
    """Return the endpoints that can now be drawn at a frontend, by any client."""
    return _drawn(ruleset, ENDPOINTS, frontend) | _drawn(ruleset, LOCAL_ENDPOINTS, frontend)


def touched(change: Transaction) -> set[bytes]:
    """Return the UDP frontends whose choices a transaction changes; none: look at nothing.

    Of a table that is made anew that is all there will be. What there was before, nobody knows.
    """
    found: set[bytes] = set()
    width = change.family.width
    for parts in (change.drop, change.put):
        for name in (SERVICES, INSIDE, OUTSIDE):
            found.update(key for key in parts.get(name, ()) if _is_udp(key, width))
        for name in (ENDPOINTS, LOCAL_ENDPOINTS):
            found.update(key[:-_DRAWN] for key in parts.get(name, ()) if _is_udp(key, width))
    return found


def touches_pins(ruleset: Ruleset, change: Transaction) -> bool:
    """Say whether somebody may have gone whom a client with a pin would be sent to."""
    if change.anew or any(is_sticky(name) for name in (*change.drop, *change.gone_sets)):
        return True
    sticky = [elements for name, elements in ruleset.elements.items() if is_sticky(name)]
    if not any(sticky):
        return False
    gone = [
        key[:-_DRAWN] for name in (ENDPOINTS, LOCAL_ENDPOINTS) for key in change.drop.get(name, ())
    ]
    gone += [key for parts in (change.drop, change.put) for key in parts.get(OUTSIDE, ())]
    return any(frontend in elements for elements in sticky for frontend in gone)


def stale_flows(
    ruleset: Ruleset, flows: Iterable[Flow], changed: Collection[bytes] = ()
) -> tuple[Flow, ...]:
    """Return the flows to our frontends that go where nobody would be sent any more.

    Frontends are those of the ruleset, and those in ``changed``, which may be gone from it. A flow
    that was never translated (it began when the service was not there or had nobody) goes to the
    frontend itself, which nobody is sent to either.
    """
    ours = ruleset.elements.get(SERVICES, {})
    drawn = cache(partial(choices, ruleset))
    return tuple(
        flow
        for flow in flows
        if (flow.frontend in ours or flow.frontend in changed)
        and flow.endpoint not in drawn(flow.frontend)
    )


def stale_pins(ruleset: Ruleset, pins: Mapping[bytes, bytes]) -> tuple[bytes, ...]:
    """Return the keys of pins whose endpoint the client cannot draw any more, in order.

    A pin is a client's address and the frontend, and the endpoint it got. Under external policy
    Local clients outside draw from endpoints on this node only, and a pin to another one, left from
    policy Cluster, would lead to answers past this node. Clients outside are those in no pod
    network; this host counts as one, for its addresses are not known here.
    """
    width = ruleset.family.width
    outside = ruleset.elements.get(OUTSIDE, {})
    is_inside = cache(_inside(ruleset))
    anybody = cache(partial(choices, ruleset))
    here = cache(partial(_drawn, ruleset, LOCAL_ENDPOINTS))
    found = []
    for key, endpoint in pins.items():
        client, frontend = key[:width], key[width:]
        drawn = here if frontend in outside and not is_inside(client) else anybody
        if endpoint not in drawn(frontend):
            found.append(key)
    return tuple(sorted(found))


def _drawn(ruleset: Ruleset, name: str, frontend: bytes) -> set[bytes]:
    """Return what a map has in the slots of a frontend: from 0 on, and without holes."""
    slots = ruleset.elements.get(name, {})
    found: list[bytes] = []
    while isinstance(endpoint := slots.get(frontend + pack_drawn(len(found))), bytes):
        found.append(endpoint)
    return set(found)


def _is_udp(key: bytes, width: int) -> bool:
    """Say whether a key that begins with a frontend is one of UDP."""
    return key.startswith(_UDP, width)


def _inside(ruleset: Ruleset) -> Callable[[bytes], bool]:
    """Return what says whether a client is in a pod network, as the rules of policy Local do."""
    networks = [
        ip_network(rule[0].network)
        for rule in ruleset.chains[POLICY_LOCAL].rules
        if isinstance(rule[0], Within)
    ]
    bounds = [(each.network_address.packed, each.broadcast_address.packed) for each in networks]
    return lambda client: any(first <= client <= last for first, last in bounds)
