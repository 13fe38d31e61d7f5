"""Rulesets made by hand: the layout, and elements for some services."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import strategies as st

from nearwise.nft.layout import (
    ALLOWED,
    CLUSTER_ADDRESSES,
    ENDPOINTS,
    FENCED,
    INSIDE,
    OUTSIDE,
    OWN_ENDPOINTS,
    POLICY_LOCAL,
    REFUSE,
    SERVICES,
    Settings,
    Spread,
    fixed_chains,
    fixed_sets,
    remember_chain,
    spread_chain,
    sticky_set,
)
from nearwise.nft.registers import endpoint, frontend, pack_drawn
from nearwise.nft.ruleset import Drop, Elements, Family, Goto, Ruleset, Verdict
from nearwise.nft.text import comment_text

_NETWORKS = {
    Family.IPV4: ("10.0.0.0/8", "172.16.128.0/18"),
    Family.IPV6: ("fd00::/16", "2001:db8:4000::/34"),
}


class Sample(NamedTuple):
    """A service with one port; its address is by its number."""

    number: int
    protocol: str = "TCP"
    port: int = 80
    endpoints: int = 2
    seconds: int = 0
    masquerade: bool = False
    is_local: bool = False
    sources: tuple[int, ...] = ()
    comment: str = "default/web:http"


def address(family: Family, network: int, number: int) -> bytes:
    """Return an address of a network of 65,536: 10.96.0.0 for 96, fd00:60:: for IPv6."""
    if family is Family.IPV4:
        return bytes((10, network)) + number.to_bytes(2, "big")
    return b"\xfd\0\0" + bytes((network,)) + number.to_bytes(12, "big")


def frontend_of(family: Family, service: Sample) -> bytes:
    return frontend(address(family, 96, service.number), service.protocol, service.port)


def endpoint_of(family: Family, number: int) -> bytes:
    return endpoint(address(family, 97, number), 8080)


def built(family: Family, services: Iterable[Sample] = ()) -> Ruleset:
    """Build a ruleset."""
    services = list(services)
    settings = Settings(family, pod_networks=_NETWORKS[family])
    timeouts = sorted({each.seconds for each in services if each.seconds})
    sets = {each.name: each for each in (*fixed_sets(), *map(sticky_set, timeouts))}
    chains = {each.name: each for each in fixed_chains(settings)}
    chains["remember"] = remember_chain(tuple(timeouts))
    elements: dict[str, Elements] = {name: {} for name in sets}
    for each in services:
        spread = Spread(each.endpoints, masquerade=each.masquerade, sticky=bool(each.seconds))
        if each.endpoints:
            chains[spread.chain] = spread_chain(spread, settings)
        _add(elements, family, each, spread)
    full = {name: some for name, some in elements.items() if some}
    return Ruleset(family, chains, sets, full)


def _add(elements: dict[str, Elements], family: Family, each: Sample, spread: Spread) -> None:
    key = frontend_of(family, each)
    target = Goto(spread.chain) if each.endpoints else Goto(REFUSE)
    verdict = Verdict(target, each.comment)
    if each.is_local:
        elements[SERVICES][key] = Verdict(Goto(POLICY_LOCAL), each.comment)
        elements[INSIDE][key] = verdict
        elements[OUTSIDE][key] = Verdict(Drop())
    else:
        elements[SERVICES][key] = verdict
    elements[CLUSTER_ADDRESSES][address(family, 96, each.number)] = None
    for slot in range(each.endpoints):
        value = endpoint_of(family, 8 * each.number + slot)
        elements[ENDPOINTS][key + pack_drawn(slot)] = value
        elements[OWN_ENDPOINTS][value[: family.width] * 2] = None
    if each.seconds:
        elements[f"sticky-{each.seconds}"][key] = None
    if each.sources:
        elements[FENCED][key] = None
    for source in each.sources:  # a network, or some of its addresses
        first = bytes((64 + source,)) + bytes(family.width - 1)
        last = first[:1] + (b"\xff" if source % 2 else b"\x05") * (family.width - 1)
        elements[ALLOWED][key + first + key + last] = None


@st.composite
def rulesets(draw: st.DrawFn, family: Family, *, sticky: bool = True) -> Ruleset:
    """Draw rulesets of some services, with any comments."""
    samples = st.builds(
        Sample,
        number=st.integers(0, 40),
        protocol=st.sampled_from(["TCP", "UDP", "SCTP"]),
        port=st.integers(1, 65535),
        endpoints=st.integers(0, 4),
        seconds=st.sampled_from([0, 0, 1, 60, 10800, 86400] if sticky else [0]),
        masquerade=st.booleans(),
        is_local=st.booleans(),
        sources=st.sets(st.integers(0, 9), max_size=3).map(lambda found: tuple(sorted(found))),
        comment=st.text(max_size=140).map(comment_text),
    )
    unique = st.lists(
        samples, max_size=12, unique_by=lambda each: (each.number, each.protocol, each.port)
    )
    return built(family, draw(unique))
