"""Waiting until something is so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 30.0
"""Seconds until what should happen has to have happened."""

_LOOK: Final = 0.02  # seconds between two looks


Told = Callable[[str], None]
"""Told in a few words what is being done."""


def wait(
    not_yet: Callable[[], str], patience: float = PATIENCE, told: Told = lambda _: None
) -> None:
    """Look until nothing is missing; raises TimeoutError with what still is.

    What is missing is ``told`` meanwhile.
    """
    until = time.monotonic() + patience
    while why := not_yet():
        told(f"waiting: {why}")
        if time.monotonic() > until:
            raise TimeoutError(f"after {patience:g} s: {why}")
        time.sleep(_LOOK)
