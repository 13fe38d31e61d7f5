"""What the machines answer when there is nothing to do yet."""

from __future__ import annotations

import msgspec


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Ask again after this many seconds, or as soon as something was put in.

    Infinity means that time alone brings nothing.
    """

    seconds: float
