"""A table with one of everything that tables of ours can have, to try what a kernel takes."""

from __future__ import annotations

from nearwise.nft.layout import (
    ALLOWED,
    ENDPOINTS,
    FENCED,
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
from nearwise.nft.ruleset import Elements, Family, Goto, Ruleset, Verdict

_SECONDS = 10800


def probe(family: Family) -> Ruleset:
    """Return the table. Its addresses are all zero, so that no packet is meant by any."""
    networks = ("192.0.2.0/24",) if family is Family.IPV4 else ("2001:db8::/32",)
    settings = Settings(family, pod_networks=networks)
    spread = Spread(1, masquerade=True, sticky=True)
    address = bytes(family.width)
    nobody = frontend(address, "TCP", 0)
    sticky = sticky_set(_SECONDS)
    chains = (*fixed_chains(settings), remember_chain((_SECONDS,)), spread_chain(spread, settings))
    elements: dict[str, Elements] = {
        SERVICES: {nobody: Verdict(Goto(spread.chain), "probe")},
        ENDPOINTS: {nobody + pack_drawn(0): endpoint(address, 0)},
        FENCED: {nobody: None},
        ALLOWED: {(nobody + address) * 2: None},
        sticky.name: {nobody: None},
    }
    return Ruleset(
        family,
        {each.name: each for each in chains},
        {each.name: each for each in (*fixed_sets(), sticky)},
        elements,
    )
