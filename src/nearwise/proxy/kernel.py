"""The kernel's tables as a proxy uses them, and what can go wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from nearwise.nft.diff import Transaction
from nearwise.nft.ruleset import Family, Ruleset


class KernelError(Exception):
    """The kernel, or our rights in it, will not do. The text says what is missing."""


class Kernel(Protocol):
    """The tables of a network namespace. Calls block, and all raise KernelError."""

    def check(self, families: Iterable[Family]) -> None:
        """Have the kernel try one of everything that is ever written, without effect.

        The error says what is missing.
        """
        ...

    def read(self, family: Family) -> Ruleset | None:
        """Return our table of a family; None if there is none."""
        ...

    def apply(self, change: Transaction) -> None:
        """Carry a transaction out, whole or not at all."""
        ...

    def pins(self, family: Family) -> Mapping[bytes, bytes]:
        """Return which endpoint each client got last (session affinity)."""
        ...

    def unpin(self, family: Family, keys: Iterable[bytes]) -> None:
        """Forget what some clients got last."""
        ...

    def generation(self) -> int:
        """Return a number that counts the changes of all tables of the namespace."""
        ...

    def remove(self) -> None:
        """Remove our tables of both families, and nothing else."""
        ...
