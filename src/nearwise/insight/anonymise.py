"""The same cluster under other names, for people who want to show it to somebody.

Law: a name becomes a prefix that says what it is and a hash of the text with the salt, so that
the same thing has the same new name wherever it stands, and in every snapshot with that salt.
Whatever is equal before is equal after, and the other way round; what Kubernetes or Nearwise
gives a meaning stays. The tables at the end name every field that goes into the result and what
becomes of it: a field that is not there is left out.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nearwise.insight.keep import DECIDING_ANNOTATIONS
from nearwise.model.wellknown import (
    CONTROL_PLANE,
    HEADLESS,
    HOSTNAME,
    MANAGED_BY,
    MASTER,
    MIRRORING_CONTROLLER,
    SERVICE_NAME,
    SKIP_MIRROR,
    SLICE_CONTROLLER,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
    ZONE,
)

_DIGITS: Final = 8  # of the hash: more when two names would become one
_SYSTEM_NAMES: Final = frozenset(
    ["", "default", "kube-system", "kube-public", "kube-node-lease", "kubernetes", "kube-dns"]
)
# What the API server appends to a generated name; it says nothing, and keeps the order of slices.
_GENERATED: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}")
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?")
_EVENT_SOURCES: Final = frozenset(
    ["endpoint-slice-controller", "endpoint-slice-mirroring-controller", "endpoint-controller"]
)
_KNOWN_VALUES: Final[Mapping[str, frozenset[str]]] = {
    MANAGED_BY: frozenset([SLICE_CONTROLLER, MIRRORING_CONTROLLER]),
    TOPOLOGY_MODE: frozenset(["Auto", "auto", "Disabled", "disabled"]),
    TOPOLOGY_AWARE_HINTS: frozenset(["Auto", "auto", "Disabled", "disabled"]),
}
_PLAIN_LABELS: Final = frozenset(
    [
        CONTROL_PLANE,
        MASTER,
        HEADLESS,
        SKIP_MIRROR,
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "service.kubernetes.io/service-proxy-name",
        "endpoints.kubernetes.io/managed-by",
    ]
)
_TAINTS: Final = ("node.kubernetes.io/", "node-role.kubernetes.io/")

Rule = Callable[[Any], Any] | dict[str, Any] | list[Any]


def anonymise(items: Iterable[Mapping[str, Any]], salt: str) -> list[dict[str, Any]]:
    """Return these objects (plain dicts) under other names, in the same order.

    Events are kept as far as the controllers of endpoints told them: the words of others may say
    anything.
    """
    names = _Names(salt)
    rules = _rules(names)
    told, silent = [], []
    for place, item in enumerate(items):
        (told if item["kind"] == "Event" else silent).append((place, item))
    # Events come last: their messages are searched for the names of everything else.
    renamed = [
        (place, _renamed(item, rules[item["kind"]]))
        for place, item in [*silent, *told]
        if item["kind"] != "Event" or item.get("source", {}).get("component") in _EVENT_SOURCES
    ]
    return [item for _, item in sorted(renamed, key=lambda each: each[0])]


def _renamed(value: Any, rule: Rule) -> Any:
    """Apply a table to a value: what the table does not name is left out."""
    if isinstance(rule, dict):
        return {key: _renamed(each, rule[key]) for key, each in value.items() if key in rule}
    if isinstance(rule, list):
        return [_renamed(each, rule[0]) for each in value]
    return rule(value)


class _Names:
    """New names for old ones."""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self._codes: dict[str, str] = {}
        self._texts: dict[str, str] = {}  # the other way round
        self._said: dict[str, str] = {}  # what a name in a message becomes
        self._addresses: dict[str, str] = {}
        self._given: set[str] = set()

    def kind(self, prefix: str) -> Callable[[str], str]:
        """Return the function that renames things of one kind."""

        def rename(text: str) -> str:
            if text in _SYSTEM_NAMES:
                return text
            new = f"{prefix}-{self._code(text)}"
            self._said.setdefault(text, new)
            return new

        return rename

    def _code(self, text: str) -> str:
        code = self._codes.get(text)
        if code is None:
            digest = self._digest(text)
            length = _DIGITS
            while digest[:length] in self._texts:
                length += 1
            code = self._codes[text] = digest[:length]
            self._texts[code] = text
        return code

    def _digest(self, text: str, turn: int = 0) -> str:
        return hashlib.sha256(f"{self._salt}\0{turn}\0{text}".encode()).hexdigest()
