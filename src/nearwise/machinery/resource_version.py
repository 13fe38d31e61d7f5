"""Which of two resource versions is the later one."""

from __future__ import annotations


def is_later(version: str, than: str) -> bool:
    """Tell whether a version is later than another.

    They are numbers that rise (KEP-5504). Of a server whose versions are something else it can
    only be told whether they differ.
    """
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than
