"""The shape of a set by its name: a transaction names sets that are there already.

Law: only sets of ``layout``, and those a transaction brings itself, ever have elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nearwise.nft.layout import fixed_sets, sticky_set
from nearwise.nft.ruleset import Set

_FIXED: Final = {each.name: each for each in fixed_sets()}
_STICKY: Final = "sticky-"


def shape(name: str, sets: Iterable[Set] = ()) -> Set:
    """Return the set of a name: one of those given, or of the layout. Raises KeyError."""
    for each in sets:
        if each.name == name:
            return each
    if name.startswith(_STICKY):
        return sticky_set(int(name.removeprefix(_STICKY)))
    return _FIXED[name]
