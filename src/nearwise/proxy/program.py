"""The kernel's tables by the nft program: what it is told, everybody can read.

Law: what it is told is written in ``nft/text.py``, what it lists is read in ``nft/listing.py``;
here it is only run, and what goes wrong is put in words. Nothing but our own table is listed:
programs crash on what newer ones wrote.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from nearwise.nft.diff import Transaction, apply, diff
from nearwise.nft.layout import AFFINITY, REMEMBER, set_named
from nearwise.nft.listing import elements_as_listed, listed, listed_elements
from nearwise.nft.probe import probe
from nearwise.nft.ruleset import TABLE, Chain, Family, Ruleset
from nearwise.nft.text import as_they_are, script, unpinning
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netlink import NOT_ALLOWED, NetlinkKernel

_OLDEST: Final = (1, 0, 6)
"""The oldest program that all of this was tried with."""
_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_ABSENT: Final = "No such file or directory"
_REFUSED: Final = "Operation not permitted"
_FORGETFUL: Final = "conflicting protocols specified"
"""What nft says of a rule that translates by a map which is in the kernel already: of a port in the
data of a map it forgets, there, that it is one of any protocol (seen in 1.0.6)."""
_STICKY_OVER_IPV6: Final = ": ip6 daddr . th dport }"
_ERROR: Final = re.compile(r"(?:/dev/stdin:(?P<line>\d+):\S+ )?Error: (?P<said>[^\n]*)")
_LONGEST_LINE: Final = 100
_UNPINNINGS: Final = 5


class ProgramKernel:
    """The tables of the network namespace of the thread that calls."""

    def __init__(self) -> None:
        """Look for the program. Raises KernelError if it is missing, too old, or not let do."""
        self._require_version()
        self._counter: NetlinkKernel | None = None
        with suppress(KernelError):  # then the program may be let do what we are not
            self._counter = NetlinkKernel()

    def close(self) -> None:
        """Let the connection go; the tables stay."""
        if self._counter is not None:
            self._counter.close()

    def check(self, families: Iterable[Family]) -> None:
        """Have the program and the kernel try one of everything, without effect.

        Raises KernelError.
        """
        for family in families:
            wanted = probe(family)
            if family is Family.IPV6:  # see ``apply``
                wanted.chains[REMEMBER] = Chain(REMEMBER)
            self._run("-c", "-f", "-", stdin=script(diff(None, wanted)))

    def read(self, family: Family) -> Ruleset | None:
        """Return our table of a family; None if there is none, or none that is in force.

        Raises KernelError.
        """
        text = self._list("table", family)
        return None if text is None else listed(text, family)

    def apply(self, change: Transaction) -> None:
        """Carry a transaction out, whole or not at all. Raises KernelError.

        nft 1.0.6 cannot add a rule that translates by a map which is there already: then all of
        the table is made anew, in one piece. And it cannot write session affinity over IPv6: key
        and value do not fit into the registers as it deals them out.
        """
        try:
            self._load(script(change))
        except _ForgetfulError:
            if change.anew:
                raise
            self._load(self._anew(change))

    def pins(self, family: Family) -> Mapping[bytes, bytes]:
        """Return which endpoint each client got last. Raises KernelError."""
        text = self._list("map", family, AFFINITY) or ""
        found = listed_elements(text, set_named(AFFINITY), family)
        return {key: value for key, value in found.items() if isinstance(value, bytes)}

    def unpin(self, family: Family, keys: Iterable[bytes]) -> None:
        """Forget what some clients got last, as far as it is still there. Raises KernelError."""
        wanted = set(keys)
        for attempt in range(_UNPINNINGS):
            there = sorted(wanted & self.pins(family).keys())
            if not there:
                return
            try:
                self._load(unpinning(family, there))
                return
            except KernelError:  # one of them is gone by itself
                if attempt == _UNPINNINGS - 1:
                    raise

    def generation(self) -> int:
        """Return a number that counts the changes of all tables, by netlink: nft does not tell.

        Raises KernelError.
        """
        if self._counter is None:
            raise KernelError("nft does not tell how often tables changed")
        return self._counter.generation()

    def remove(self) -> None:
        """Remove our tables of both families, and nothing else. Raises KernelError."""
        for family in Family:
            if self._list("table", family) is not None:
                self._load(f"add table {family} {TABLE}\ndelete table {family} {TABLE}\n")

    # --- within ---------------------------------------------------------------------------

    def _anew(self, change: Transaction) -> str:
        """Write the table as it is after a transaction, with what clients got last."""
        ruleset = self.read(change.family)
        pins = self._list("map", change.family, AFFINITY)
        if ruleset is None or pins is None:
            raise KernelError(f"table {change.family} {TABLE} is gone")
        try:
            apply(ruleset, change)
            text = script(diff(None, ruleset))
        except (KeyError, ValueError) as error:  # others changed it
            raise KernelError(
                f"table {change.family} {TABLE} is not as it was when it was last read"
            ) from error
        return text + as_they_are(change.family, AFFINITY, elements_as_listed(pins))

    def _list(self, what: str, family: Family, *name: str) -> str | None:
        """List something of our table; None if it is not there."""
        try:
            return self._run("list", what, str(family), TABLE, *name)
        except _AbsentError:
            return None

    def _load(self, text: str) -> None:
        self._run("-f", "-", stdin=text)

    def _run(self, *options: str, stdin: str = "") -> str:
        try:
            done = subprocess.run(
                ["nft", *options], input=stdin, capture_output=True, text=True, check=False
            )
        except FileNotFoundError as error:
            wanted = ".".join(map(str, _OLDEST))
            raise KernelError(
                f"the program nft is not installed: install nftables {wanted} or later, or let "
                "Nearwise speak netlink"
            ) from error
        except OSError as error:
            raise KernelError(f"the program nft cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            raise _failed(done.returncode, done.stderr, stdin)
        return done.stdout

    def _require_version(self) -> None:
        found = _VERSION.search(self._run("--version"))
        version = tuple(map(int, found.groups())) if found else ()
        if version < _OLDEST:
            has, wanted = (".".join(map(str, each)) for each in (version, _OLDEST))
            raise KernelError(
                f"the program nft is version {has or 'unknown'}, {wanted} or later is needed: "
                "install a newer nftables, or let Nearwise speak netlink"
            )


class _AbsentError(KernelError):
    """What the program was asked for is not there."""


class _ForgetfulError(KernelError):
    """The program cannot add a rule that translates by a map which is there already."""


def _failed(status: int, stderr: str, stdin: str) -> KernelError:
    """Put in words what the program said."""
    if status < 0:
        why = ": it cannot write session affinity over IPv6" if _STICKY_OVER_IPV6 in stdin else ""
        return KernelError(f"the program nft crashed{why}; let Nearwise speak netlink")
    if _REFUSED in stderr:
        return KernelError(NOT_ALLOWED)
    found = _ERROR.search(stderr)
    said = found["said"] if found else stderr.strip() or f"status {status}"
    line = stdin.splitlines()[int(found["line"]) - 1] if found and found["line"] else ""
    words = f"nft refuses {line.strip()[:_LONGEST_LINE]!r}: {said}" if line else f"nft: {said}"
    if _ABSENT in said and not stdin:
        return _AbsentError(words)
    return _ForgetfulError(words) if _FORGETFUL in stderr else KernelError(words)
