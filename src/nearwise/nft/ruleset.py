"""The data plane as data: one table of nftables, its chains, rules, sets and elements.

Law: only what the kernel holds is described here, in words that nft prints and the kernel packs.
What a rule is for, and which there are, is ``layout``; which elements, ``compile``. Everything that
reads a ruleset (``text``, ``netlink``, ``trace``) does so by the types below, and by nothing else.
Whoever goes through all statements imports this module as ``nft``, and says ``nft.Goto``.

Keys and values of elements are bytes as the kernel's registers have them: every field in network
byte order, filled up to four bytes. So an element is compared, sent and looked up as it is.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

TABLE: Final = "nearwise"
"""The name of our table in every family. No other table is ever read or written."""


class Family(StrEnum):
    """An address family, as nftables calls it."""

    IPV4 = "ip"
    IPV6 = "ip6"

    @property
    def api(self) -> str:
        """Its name in the Kubernetes API (``addressType``, ``ipFamilies``)."""
        return "IPv4" if self is Family.IPV4 else "IPv6"

    @property
    def width(self) -> int:
        """Bytes of an address."""
        return 4 if self is Family.IPV4 else 16


class Field(StrEnum):
    """Something a rule reads of a packet. ``{ip}`` stands for the family."""

    SOURCE = "{ip} saddr"
    DESTINATION = "{ip} daddr"
    PROTOCOL = "meta l4proto"
    PORT = "th dport"
    FIRST_SOURCE = "ct original {ip} saddr"  # as it was before it was translated
    FIRST_DESTINATION = "ct original {ip} daddr"
    FIRST_PORT = "ct original proto-dst"


class Draw(msgspec.Struct, frozen=True, gc=False):
    """A random number from 0 up to ``modulus``."""

    modulus: int


Key = tuple[Field | Draw, ...]
"""What is looked up: some fields, one after the other."""

# --- statements ---------------------------------------------------------------------------


class Match(msgspec.Struct, frozen=True, gc=False):
    """Go on only if a key is in a set; if ``inverted``, only if it is not."""

    key: Key
    set: str
    inverted: bool = False


class Within(msgspec.Struct, frozen=True, gc=False):
    """Go on only if an address is in a network (``10.0.0.0/8``); if ``inverted``, if it is not."""

    field: Field
    network: str
    inverted: bool = False


class FromHost(msgspec.Struct, frozen=True, gc=False):
    """Go on only if the packet comes from an address of this machine."""


class HasPort(msgspec.Struct, frozen=True, gc=False):
    """Go on only if there is a port: nft wants that said before a port is translated."""


class HasTransport(msgspec.Struct, frozen=True, gc=False):
    """Go on only for TCP, UDP and SCTP: nft wants that said before a first port is read."""


class Marked(msgspec.Struct, frozen=True, gc=False):
    """Go on only if the packet carries a mark, a single bit; other bits do not matter."""

    bit: int


class SetMark(msgspec.Struct, frozen=True, gc=False):
    """Mark the packet; other bits stay."""

    bit: int


class ClearMark(msgspec.Struct, frozen=True, gc=False):
    """Take the mark off a packet that carries it; other bits stay."""

    bit: int


class Switch(msgspec.Struct, frozen=True, gc=False):
    """Do what a map says for a key; go on if it says nothing."""

    key: Key
    map: str


class Translate(msgspec.Struct, frozen=True, gc=False):
    """Send it to the address and port that a map has for a key; next rule if it has none."""

    key: Key
    map: str


class Remember(msgspec.Struct, frozen=True, gc=False):
    """Keep a key with a value in a map for some seconds, from now on if it is there already.

    The value of what is there already stays (``update`` of the nft manual).
    """

    key: Key
    value: Key
    map: str
    seconds: int


class Masquerade(msgspec.Struct, frozen=True, gc=False):
    """Let it come from this machine, by a source port drawn at random."""


class Reject(msgspec.Struct, frozen=True, gc=False):
    """Drop it, and tell the sender by ICMP that the port is unreachable."""


class Drop(msgspec.Struct, frozen=True, gc=False):
    """Drop it without a word."""


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """Something in the kernel that we never write: whoever reads it knows that it is not ours."""

    what: str


class Jump(msgspec.Struct, frozen=True, gc=False):
    """Go through another chain, and come back."""

    chain: str


class Goto(msgspec.Struct, frozen=True, gc=False):
    """Go through another chain instead of the rest of this one."""

    chain: str


Statement = (
    Match
    | Within
    | FromHost
    | HasPort
    | HasTransport
    | Marked
    | SetMark
    | ClearMark
    | Switch
    | Translate
    | Remember
    | Masquerade
    | Reject
    | Drop
    | Jump
    | Goto
    | Unknown
)

Rule = tuple[Statement, ...]
"""Statements in order; one that does not match ends the rule."""

# --- chains, sets, elements ---------------------------------------------------------------


class Hook(StrEnum):
    """Where packets come into the table; new connections only, as the type ``nat`` has it."""

    PREROUTING = "prerouting"
    INPUT = "input"
    OUTPUT = "output"
    POSTROUTING = "postrouting"

    @property
    def priority(self) -> int:
        """When, among others on the same hook: where address translation belongs."""
        return 100 if self in (Hook.INPUT, Hook.POSTROUTING) else -100


class Chain(msgspec.Struct, frozen=True):
    """Rules in order; with a hook packets come in there, else from other chains."""

    name: str
    rules: tuple[Rule, ...] = ()
    hook: Hook | None = None


class Data(StrEnum):
    """What a map has for a key."""

    NOTHING = "nothing"  # it is a set
    VERDICT = "verdict"
    ENDPOINT = "endpoint"  # address and port


ENDPOINT: Final[Key] = (Field.DESTINATION, Field.PORT)
"""The fields of an endpoint, as a map has them for a key."""


class Set(msgspec.Struct, frozen=True):
    """A set or map. ``dynamic``: rules fill it, and what is in it is not part of the ruleset.

    ``interval``: a key is two keys, the first and the last of a range, one after the other.
    """

    name: str
    key: Key
    data: Data = Data.NOTHING
    interval: bool = False
    dynamic: bool = False
    size: int = 0
    """The most elements it can have; 0 leaves that to the kernel."""


class Verdict(NamedTuple):
    """What a verdict map has for a key; ``comment`` is for people."""

    what: Goto | Drop
    comment: str = ""


Value = Verdict | bytes | None
"""What an element has: by the ``data`` of its set a verdict, an endpoint, or nothing."""

Elements = dict[bytes, Value]


class Ruleset(msgspec.Struct, frozen=True):
    """All of one table. Its parts are changed in place by ``diff.apply``, and by nothing else."""

    family: Family
    chains: dict[str, Chain] = {}
    sets: dict[str, Set] = {}
    elements: dict[str, Elements] = {}
    """The elements of every set, by its name; those of dynamic sets are left out."""
