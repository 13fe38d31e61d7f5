"""The kernel's tables by netlink: the fast backend.

Law: what is sent is written in ``nft/netlink/messages.py``, what comes back is read in
``nft/netlink/dump.py``; here it is only carried, and what the kernel refuses is put in words.
Nothing but our own table is looked at: others may hold what nobody here understands.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from typing import Final

from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import AFFINITY
from nearwise.nft.netlink.attributes import Message
from nearwise.nft.netlink.dump import generation_of, is_in_force, pins_of, ruleset_of
from nearwise.nft.netlink.messages import (
    SUBSYSTEM,
    get_chains,
    get_elements,
    get_generation,
    get_rules,
    get_sets,
    get_table,
    messages,
    refusal,
    removal,
    unpinning,
)
from nearwise.nft.probe import probe
from nearwise.nft.ruleset import TABLE, Family, Ruleset
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netfilter_socket import NetfilterSocket, NetlinkError

NEEDED: Final = (
    "Nearwise needs Linux 5.9 or later with nf_tables, and of that nat, masq, reject, fib, ct and "
    "numgen, for each family"
)
NOT_ALLOWED: Final = (
    "not allowed to change nftables: run as root, or with the capability CAP_NET_ADMIN"
)

_READS: Final = 3
"""How often a table is read again because something changed meanwhile, maybe another table."""
_STALE: Final = (errno.ENOENT, errno.EEXIST, errno.EBUSY)
_TOO_LARGE: Final = (errno.EMSGSIZE, errno.ENOBUFS, errno.ENOMEM)


class NetlinkKernel:
    """The tables of the network namespace of the thread that makes this. One thread at a time."""

    def __init__(self) -> None:
        """Connect. Raises KernelError if the kernel has no nf_tables, or does not let us."""
        try:
            self._socket = NetfilterSocket()
        except OSError as error:
            raise _nothing("netfilter", error) from error
        try:
            self.generation()
        except KernelError:
            self._socket.close()
            raise

    def close(self) -> None:
        """Let the connection go; the tables stay."""
        self._socket.close()

    def check(self, families: Iterable[Family]) -> None:
        """Have the kernel try one of everything, without effect. Raises KernelError."""
        for family in families:
            last = refusal(family)
            try:
                self._socket.batch(SUBSYSTEM, [*messages(diff(None, probe(family))), last])
            except NetlinkError as error:
                if error.about != last.about:
                    raise _missing(family, error) from error

    def read(self, family: Family) -> Ruleset | None:
        """Return our table of a family; None if there is none, or none that is in force.

        Raises KernelError.
        """
        ruleset = None
        for _ in range(_READS):
            before = self.generation()
            try:
                ruleset = self._read(family)
            except NetlinkError as error:
                if error.errno != errno.ENOENT:  # else a part of it went while it was read
                    raise _refused(family, error) from error
            if self.generation() == before:
                break
        return ruleset

    def apply(self, change: Transaction) -> None:
        """Carry a transaction out, whole or not at all. Raises KernelError."""
        self._batch(change.family, messages(change))

    def pins(self, family: Family) -> Mapping[bytes, bytes]:
        """Return which endpoint each client got last. Raises KernelError."""
        try:
            return pins_of(self._socket.dump(get_elements(family, AFFINITY)), family)
        except NetlinkError as error:
            if error.errno == errno.ENOENT:
                return {}
            raise _refused(family, error) from error

    def unpin(self, family: Family, keys: Iterable[bytes]) -> None:
        """Forget what some clients got last, as far as it is still there. Raises KernelError."""
        wanted = list(keys)
        try:
            self._socket.batch(SUBSYSTEM, unpinning(family, wanted))
        except NetlinkError as error:
            if error.errno != errno.ENOENT:
                raise _refused(family, error) from error
            if len(wanted) > 1:  # one is gone by itself: go on with each half
                middle = len(wanted) // 2
                self.unpin(family, wanted[:middle])
                self.unpin(family, wanted[middle:])

    def generation(self) -> int:
        """Return a number that counts the changes of all tables. Raises KernelError."""
        try:
            return generation_of(self._socket.ask(get_generation()))
        except NetlinkError as error:
            if error.errno == errno.EPERM:
                raise KernelError(NOT_ALLOWED) from error
            raise _nothing("nf_tables", error) from error

    def remove(self) -> None:
        """Remove our tables of both families, and nothing else. Raises KernelError."""
        for family in Family:
            try:
                self._socket.ask(get_table(family))
            except NetlinkError as error:
                if error.errno == errno.ENOENT:
                    continue
                raise _refused(family, error) from error
            self._batch(family, removal(family))

    # --- within ---------------------------------------------------------------------------

    def _batch(self, family: Family, requests: list[Message]) -> None:
        try:
            self._socket.batch(SUBSYSTEM, requests)
        except NetlinkError as error:
            raise _refused(family, error) from error

    def _read(self, family: Family) -> Ruleset | None:
        try:
            table = self._socket.ask(get_table(family))
        except NetlinkError as error:
            if error.errno == errno.ENOENT:
                return None
            raise
        if not is_in_force(table):
            return None
        sets, chains, rules = (
            self._socket.dump(question(family)) for question in (get_sets, get_chains, get_rules)
        )
        return ruleset_of(
            family,
            sets,
            chains,
            rules,
            lambda name: self._socket.dump(get_elements(family, name)),
        )


def _nothing(what: str, error: OSError) -> KernelError:
    return KernelError(f"this kernel has no {what} ({error.strerror}): {NEEDED}")


def _refused(family: Family, error: NetlinkError) -> KernelError:
    """Put in words what the kernel does not take."""
    table = f"table {family} {TABLE}"
    what = f"{error.about} of {table}" if error.about else table
    if error.errno in (errno.EPERM, errno.EACCES):
        return KernelError(NOT_ALLOWED)
    if error.errno in _TOO_LARGE:
        return KernelError(
            f"the kernel has no room for a change of {table} ({error.strerror}): have the "
            "capability CAP_NET_ADMIN in the first user namespace, or raise net.core.wmem_max"
        )
    if error.errno in _STALE:
        return KernelError(f"{what} is not as it was when it was last read: {error.strerror}")
    if error.errno == errno.EINTR:
        return KernelError(f"{table} cannot be read: {error.strerror}")
    return KernelError(f"the kernel refuses {what}: {error.strerror}")


def _missing(family: Family, error: NetlinkError) -> KernelError:
    """Put in words what the kernel cannot do."""
    if error.errno in (errno.EPERM, errno.EACCES, *_TOO_LARGE):
        return _refused(family, error)
    what = f"{error.about} of table {family} {TABLE}" if error.about else "nf_tables"
    return KernelError(f"this kernel does not take {what} ({error.strerror}): {NEEDED}")
