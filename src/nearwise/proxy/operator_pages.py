"""What an operator can read of a proxy: its metrics, and the rules it wrote.

``/rules`` is the answer to "what did the proxy do": the text of the tables as they should be, when
that got into the kernel, at which count of its changes, and what failed last. With ``family=ip6``
it is one table, with ``service=shop/web`` the elements of one service.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from nearwise.loops.serving import Answer, metrics_page, refusal
from nearwise.machinery.cache import ObjectKey
from nearwise.nft.frontends import frontends
from nearwise.nft.ruleset import Elements, Ruleset
from nearwise.nft.text import ruleset_text
from nearwise.proxy.family_state import FamilyState
from nearwise.proxy.programming import Programming

_KNOWN: Final = ("family", "service")


class OperatorPages:
    """``/metrics`` and ``/rules``."""

    def __init__(self, registry: CollectorRegistry, programming: Programming) -> None:
        self._registry = registry
        self._programming = programming

    def get(self, path: str, accept: str = "", query: str = "") -> Answer:
        """Return a page."""
        match path:
            case "/metrics":
                return metrics_page(self._registry, accept)
            case "/rules":
                return self._rules(query)
            case _:
                return refusal(HTTPStatus.NOT_FOUND, "there are /metrics and /rules")

    def _rules(self, query: str) -> Answer:
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        if unknown := sorted(asked.keys() - set(_KNOWN)):
            return refusal(HTTPStatus.BAD_REQUEST, f"{unknown[0]}: there are family and service")
        families = self._programming.families
        family = asked.get("family", "")
        if family and family not in families:
            names = " and ".join(families) or "none yet"
            return refusal(HTTPStatus.NOT_FOUND, f"there is no family {family}; there are {names}")
        service: ObjectKey | None = None
        if name := asked.get("service"):
            namespace, _, short = name.rpartition("/")
            service = (namespace or "default", short)
            if not any(service in each.routes.routes for each in families.values()):
                return refusal(HTTPStatus.NOT_FOUND, f"no service {'/'.join(service)} is served")
        lines = [
            line
            for each in families.values()
            if family in ("", each.family)
            for line in self._table(each, service)
        ]
        return Answer(HTTPStatus.OK, "\n".join((*lines, "")).encode())

    def _table(self, each: FamilyState, service: ObjectKey | None) -> Iterator[str]:
        """Write one table, and above it how it stands with it."""
        generation = self._programming.generation
        at = each.counts.last_synced
        when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds") if at else "never"
        yield f"# {each.family.api}: {'in the kernel' if each.table.certain else 'not applied'}"
        yield f"# last applied: {when}"
        yield f"# generation: {'not known' if generation is None else generation}"
        if each.trouble:
            yield f"# failing: {each.trouble}"
        if self._programming.last_failure:
            yield f"# last failure: {self._programming.last_failure}"
        ruleset = each.table.ruleset
        if ruleset is not None:
            yield ruleset_text(_part(ruleset, each, service) if service else ruleset).rstrip()


def _part(ruleset: Ruleset, each: FamilyState, service: ObjectKey) -> Ruleset:
    """Return a table with only those elements that have to do with a service."""
    routes = each.routes.routes.get(service)
    keys: tuple[bytes, ...] = ()
    if routes is not None:
        found, _ = frontends(routes.service, each.table.settings)
        keys = tuple(frontend.key for frontend in found)
    elements: dict[str, Elements] = {
        name: {key: value for key, value in some.items() if key.startswith(keys)}
        for name, some in ruleset.elements.items()
    }
    return replace(ruleset, elements=elements)
