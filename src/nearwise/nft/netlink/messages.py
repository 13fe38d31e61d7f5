"""Transactions as netlink messages.

Law: the messages of one transaction are one batch, which the kernel takes whole or not at all, in
the order of the transaction's fields. Each says what it is about, for when it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final

from nearwise.nft.diff import Transaction
from nearwise.nft.layout import AFFINITY, set_named
from nearwise.nft.netlink.attributes import Message, nest, pack_number, pack_text
from nearwise.nft.netlink.declarations import declaration, transports
from nearwise.nft.netlink.elements import packed, packed_keys, packed_protocols
from nearwise.nft.netlink.expressions import ANONYMOUS, PROTOCOL_FAMILIES, expressions
from nearwise.nft.ruleset import TABLE, Chain, Family, HasTransport, Hook, Rule

SUBSYSTEM: Final = 10
"""nf_tables among the parts of netfilter (``NFNL_SUBSYS_NFTABLES``)."""
_KIND: Final = SUBSYSTEM << 8
_NEW_TABLE, _GET_TABLE, _DELETE_TABLE = _KIND, _KIND | 1, _KIND | 2
_NEW_CHAIN, _GET_CHAIN, _DELETE_CHAIN = _KIND | 3, _KIND | 4, _KIND | 5
_NEW_RULE, _GET_RULE, _DELETE_RULE = _KIND | 6, _KIND | 7, _KIND | 8
_NEW_SET, _GET_SET, _DELETE_SET = _KIND | 9, _KIND | 10, _KIND | 11
_NEW_ELEMENTS, _GET_ELEMENTS, _DELETE_ELEMENTS = _KIND | 12, _KIND | 13, _KIND | 14
_GET_GENERATION: Final = _KIND | 16

_CREATE, _APPEND = 0x400, 0x800

TABLE_NAME, TABLE_FLAGS = 1, 2
CHAIN_NAME, CHAIN_HOOK, CHAIN_POLICY, CHAIN_TYPE = 3, 4, 5, 7
HOOK_NUMBER, HOOK_PRIORITY, ACCEPT = 1, 2, 1
RULE_CHAIN, RULE_EXPRESSIONS = 2, 4
_SET_NAME: Final = 2
_ELEMENTS_SET, ELEMENTS_LIST, _ELEMENTS_SET_ID = 2, 3, 4

HOOKS: Final = {Hook.PREROUTING: 0, Hook.INPUT: 1, Hook.OUTPUT: 3, Hook.POSTROUTING: 4}
"""Hooks as netfilter numbers them (``NF_INET_PRE_ROUTING`` and so on)."""

_OURS: Final = pack_text(TABLE_NAME, TABLE)


def messages(change: Transaction) -> list[Message]:
    """Return a transaction as messages, for one batch."""
    return list(_Writer(change.family).transaction(change))


def removal(family: Family) -> list[Message]:
    """Return what takes our table away, whether it is there or not."""
    return list(_Writer(family).empty())


def unpinning(family: Family, keys: Iterable[bytes]) -> list[Message]:
    """Return what takes elements out of the map that the kernel fills."""
    gone = dict.fromkeys(keys)
    lists = packed_keys(set_named(AFFINITY), gone, family)
    return list(_Writer(family).elements(_DELETE_ELEMENTS, AFFINITY, lists))


def refusal(family: Family) -> Message:
    """Return what no kernel takes: at the end of a batch, nothing of that has any effect."""
    payload = _OURS + pack_text(CHAIN_NAME, "never")
    return Message(_DELETE_CHAIN, PROTOCOL_FAMILIES[family], payload, about="chain never")


# --- questions ------------------------------------------------------------------------------


def get_generation() -> Message:
    """Ask for the number that grows whenever anybody changes any table."""
    return Message(_GET_GENERATION, 0)


def get_table(family: Family) -> Message:
    """Ask for our table."""
    return _question(_GET_TABLE, family)


def get_chains(family: Family) -> Message:
    """Ask for chains; those of all tables of the family are told."""
    return _question(_GET_CHAIN, family)


def get_rules(family: Family) -> Message:
    """Ask for the rules of our table, in order."""
    return _question(_GET_RULE, family)


def get_sets(family: Family) -> Message:
    """Ask for the sets of our table."""
    return _question(_GET_SET, family)


def get_elements(family: Family, name: str) -> Message:
    """Ask for the elements of a set of ours."""
    return _question(_GET_ELEMENTS, family, pack_text(_ELEMENTS_SET, name))


def _question(kind: int, family: Family, payload: bytes = b"") -> Message:
    return Message(
        kind, PROTOCOL_FAMILIES[family], _OURS + payload, about=f"table {family} {TABLE}"
    )


# --- writing --------------------------------------------------------------------------------


class _Writer:
    """Writes the messages of one batch."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._number = PROTOCOL_FAMILIES[family]
        self._identities = count(1)

    def transaction(self, change: Transaction) -> Iterator[Message]:
        """Write a transaction in the order of its fields."""
        if change.anew:
            yield from self.empty()
            yield self._table(_NEW_TABLE, _CREATE)
        for set_ in change.sets:
            payload = declaration(set_, self._family, next(self._identities))
            yield self._message(_NEW_SET, payload, f"set {set_.name}", _CREATE)
        for chain in change.chains:
            yield self._chain(chain)
        for chain in change.chains:
            yield from self._rules(chain, is_new=change.anew)
        for name, gone in change.drop.items():
            lists = packed_keys(set_named(name, change.sets), gone, self._family)
            yield from self.elements(_DELETE_ELEMENTS, name, lists)
        for name, came in change.put.items():
            lists = packed(set_named(name, change.sets), came, self._family)
            yield from self.elements(_NEW_ELEMENTS, name, lists)
        for name in change.gone_chains:
            yield self._flush(name)
        for name in change.gone_chains:
            yield self._message(_DELETE_CHAIN, pack_text(CHAIN_NAME, name), f"chain {name}")
        for name in change.gone_sets:
            yield self._message(_DELETE_SET, pack_text(_SET_NAME, name), f"set {name}")

    def empty(self) -> Iterator[Message]:
        """Make sure that there is a table, and delete it: that works whether there was one."""
        yield self._table(_NEW_TABLE, _CREATE)
        yield self._table(_DELETE_TABLE)

    def _table(self, kind: int, flags: int = 0) -> Message:
        return self._message(kind, b"", "the table itself", flags)

    def _chain(self, chain: Chain) -> Message:
        payload = pack_text(CHAIN_NAME, chain.name)
        if chain.hook is not None:
            payload += nest(
                CHAIN_HOOK,
                pack_number(HOOK_NUMBER, HOOKS[chain.hook]),
                pack_number(HOOK_PRIORITY, chain.hook.priority & 0xFFFFFFFF),
            )
            payload += pack_number(CHAIN_POLICY, ACCEPT) + pack_text(CHAIN_TYPE, "nat")
        return self._message(_NEW_CHAIN, payload, f"chain {chain.name}", _CREATE)

    def _rules(self, chain: Chain, *, is_new: bool) -> Iterator[Message]:
        """Put the rules of a chain in place of those it has."""
        if not is_new:
            yield self._flush(chain.name)
        for rule in chain.rules:
            yield from self._rule(chain.name, rule)

    def _rule(self, chain: str, rule: Rule) -> Iterator[Message]:
        about = f"a rule of chain {chain}"
        identity = next(self._identities)
        if any(isinstance(each, HasTransport) for each in rule):
            yield self._message(_NEW_SET, transports(identity), about, _CREATE)
            payload = pack_text(_ELEMENTS_SET, ANONYMOUS) + nest(ELEMENTS_LIST, packed_protocols())
            payload += pack_number(_ELEMENTS_SET_ID, identity)
            yield self._message(_NEW_ELEMENTS, payload, about, _CREATE)
        payload = pack_text(RULE_CHAIN, chain)
        payload += nest(RULE_EXPRESSIONS, expressions(rule, self._family, identity))
        yield self._message(_NEW_RULE, payload, about, _CREATE | _APPEND)

    def _flush(self, chain: str) -> Message:
        return self._message(_DELETE_RULE, pack_text(RULE_CHAIN, chain), f"chain {chain}")

    def elements(self, kind: int, name: str, lists: Iterable[bytes]) -> Iterator[Message]:
        """Put lists of elements in a set, or take them out."""
        flags = _CREATE if kind == _NEW_ELEMENTS else 0
        head = pack_text(_ELEMENTS_SET, name)
        for each in lists:
            payload = head + nest(ELEMENTS_LIST, each)
            yield self._message(kind, payload, f"elements of {name}", flags)

    def _message(self, kind: int, payload: bytes, about: str, flags: int = 0) -> Message:
        return Message(kind, self._number, _OURS + payload, flags, about=about)
