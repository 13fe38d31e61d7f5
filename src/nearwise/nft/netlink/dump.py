"""A ruleset from what the kernel tells of our table.

Law: whatever is not exactly what ``messages`` writes comes out as something that is not ours, as in
``listing``: a rule as ``Unknown``, a set without a key. Parts of other tables are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from nearwise.nft.layout import AFFINITY, set_named
from nearwise.nft.netlink.attributes import number_of, text_of, unpack
from nearwise.nft.netlink.declarations import Declared, declared, is_anonymous
from nearwise.nft.netlink.decoding import rule_of
from nearwise.nft.netlink.elements import unpacked, unpacked_protocols
from nearwise.nft.netlink.messages import (
    ACCEPT,
    CHAIN_HOOK,
    CHAIN_NAME,
    CHAIN_POLICY,
    CHAIN_TYPE,
    ELEMENTS_LIST,
    HOOK_NUMBER,
    HOOK_PRIORITY,
    HOOKS,
    RULE_CHAIN,
    RULE_EXPRESSIONS,
    TABLE_FLAGS,
    TABLE_NAME,
)
from nearwise.nft.registers import PROTOCOLS
from nearwise.nft.ruleset import (
    TABLE,
    Chain,
    Elements,
    Family,
    Hook,
    Rule,
    Ruleset,
    Set,
    Unknown,
    Value,
)

Dump = Iterable[bytes]
"""The attributes of everything of a kind, as the kernel tells them."""

_TRIES: Final = 3
_GENERATION: Final = 1  # NFTA_GEN_ID
_AFFINITY: Final = set_named(AFFINITY)
_HOOKS: Final = {number: hook for hook, number in HOOKS.items()}


def is_in_force(table: bytes) -> bool:
    """Say whether a table is as ours are: neither switched off, nor owned by a single program."""
    return number_of(unpack(table).get(TABLE_FLAGS, b"")) == 0


def ruleset_of(
    family: Family, sets: Dump, chains: Dump, rules: Dump, elements: Callable[[str], Dump]
) -> Ruleset:
    """Put a ruleset together; ``elements`` asks for those of a set.

    A set that grows while it is read can be told in part. So where the kernel also tells how many
    elements there are, and it is another number, they are asked for again.
    """
    ruleset = Ruleset(family, {}, {}, {})
    transports: list[str] = []
    for attributes in _ours(sets):
        name = text_of(attributes.get(Declared.NAME, b""))
        if is_anonymous(attributes):
            if _is_transports(elements(name)):
                transports.append(name)
            continue
        set_, found = declared(attributes, name, family), dict[bytes, Value]()
        if set_.key and not set_.dynamic:
            set_, found = _elements(set_, attributes, elements, family)
        ruleset.sets[name] = set_
        if found:
            ruleset.elements[name] = found
    told: dict[str, list[Rule]] = {}
    for attributes in _ours(rules):
        chain = text_of(attributes.get(RULE_CHAIN, b""))
        expressions = attributes.get(RULE_EXPRESSIONS, b"")
        told.setdefault(chain, []).append(rule_of(expressions, family, transports))
    for attributes in _ours(chains):
        name = text_of(attributes.get(CHAIN_NAME, b""))
        ruleset.chains[name] = _chain(name, attributes, tuple(told.get(name, ())))
    return ruleset


def pins_of(told: Dump, family: Family) -> dict[bytes, bytes]:
    """Read what the kernel remembers of clients; what is not as ours is left out."""
    found: dict[bytes, bytes] = {}
    for attributes in _ours(told):
        try:
            some = unpacked(_AFFINITY, attributes.get(ELEMENTS_LIST, b""), family)
        except ValueError:
            continue
        found.update((key, value) for key, value in some.items() if isinstance(value, bytes))
    return found


def generation_of(told: bytes) -> int:
    """Read the number of changes of all tables."""
    return number_of(unpack(told).get(_GENERATION, b""))


def elements_of(set_: Set, told: Dump, family: Family) -> Elements:
    """Read the elements of a set. Raises ValueError if one is not as ours are."""
    found: Elements = {}
    for attributes in _ours(told):
        found.update(unpacked(set_, attributes.get(ELEMENTS_LIST, b""), family))
    return found


def _ours(told: Dump) -> Iterator[dict[int, bytes]]:
    """Go through what is of our table."""
    for each in told:
        attributes = unpack(each)
        if text_of(attributes.get(TABLE_NAME, b"")) == TABLE:
            yield attributes


def _elements(
    set_: Set, attributes: dict[int, bytes], elements: Callable[[str], Dump], family: Family
) -> tuple[Set, Elements]:
    """Read the elements of a set; one with an element that is not ours has no key."""
    found: Elements = {}
    count = attributes.get(Declared.COUNT)  # since Linux 6.16
    try:
        for _ in range(_TRIES):
            found = elements_of(set_, elements(set_.name), family)
            if count is None or len(found) == number_of(count):
                break
    except ValueError:
        return Set(set_.name, ()), {}
    return set_, found


def _is_transports(told: Dump) -> bool:
    """Say whether the elements of a set are the protocols that services have."""
    found: set[int] = set()
    for attributes in _ours(told):
        found |= unpacked_protocols(attributes.get(ELEMENTS_LIST, b""))
    return found == set(PROTOCOLS.values())


def _chain(name: str, attributes: dict[int, bytes], rules: tuple[Rule, ...]) -> Chain:
    """Put a chain together; one that is hooked in as ours are not has a rule that says so."""
    if CHAIN_HOOK not in attributes:
        return Chain(name, rules)
    place = unpack(attributes[CHAIN_HOOK])
    hook: Hook | None = _HOOKS.get(number_of(place.get(HOOK_NUMBER, b"\xff")))
    is_ours = (
        hook is not None
        and number_of(place.get(HOOK_PRIORITY, b"")) == hook.priority & 0xFFFFFFFF
        and text_of(attributes.get(CHAIN_TYPE, b"")) == "nat"
        and number_of(attributes.get(CHAIN_POLICY, b"")) == ACCEPT
    )
    if not is_ours:
        return Chain(name, ((Unknown("hook"),), *rules))
    return Chain(name, rules, hook)
