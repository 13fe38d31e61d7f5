"""Hints, service by service: what is asked for, what the slices carry, and what is wrong with it.

Law: an overview, put together. What a service asks for is ``slices.asked``, what its slices carry
is ``carried``, how near the thresholds are is ``slices.thresholds``, and what is to be said about
it is in ``hint_findings``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from nearwise.insight import hint_findings
from nearwise.insight.carried import Carried, carried
from nearwise.insight.since import Since, since
from nearwise.insight.world import Key, World
from nearwise.model import Reason, Service
from nearwise.model.reasons import Level
from nearwise.slices.asked import Asked, Mode, asked
from nearwise.slices.endpoints import families_of
from nearwise.slices.nodes import Nodes
from nearwise.slices.thresholds import Nearness, nearness


class LastEvent(msgspec.Struct, frozen=True):
    """What Kubernetes last told about the hints of a family, such as TopologyAwareHintsDisabled."""

    time: str
    event: str
    message: str
    count: int


class FamilyHints(msgspec.Struct, frozen=True, rename="camel"):
    """The hints of one address family of a service.

    ``zones`` and ``nodes`` count the hints of ready endpoints, ``lent`` has, by address, the zone
    that an endpoint serves though it is in another. ``thresholds`` is None unless CPU shares
    decide. ``since`` says since when they have given hints, or refused them; None if no event
    tells.
    """

    family: str
    ready: int
    hinted: int
    zones: Mapping[str, int]
    nodes: Mapping[str, int]
    lent: Mapping[str, str]
    thresholds: Nearness | None
    last_event: LastEvent | None
    since: Since | None
    findings: tuple[Reason, ...]
    reasons: tuple[Reason, ...]


class ServiceHints(msgspec.Struct, frozen=True, rename="camel"):
    """The hints of a service, ``namespace/name``.

    ``mode`` is what it asks for, ``by`` the annotation or field that decides, with its ``value``;
    ``traffic_distribution`` is that field, whether it decides or not. ``findings`` and
    ``reasons`` are those of the service as a whole.
    """

    service: str
    mode: str
    by: str
    value: str
    traffic_distribution: str
    families: tuple[FamilyHints, ...]
    findings: tuple[Reason, ...]
    reasons: tuple[Reason, ...]

    @property
    def by_shares(self) -> bool:
        """Whether it asks for hints by CPU share."""
        return self.mode == Mode.SHARES

    @property
    def has_zone_hints(self) -> bool:
        """Whether its ready endpoints carry hints for zones."""
        return any(each.zones for each in self.families)

    @property
    def concerned(self) -> bool:
        """Whether it asks for hints, carries some, or has a finding about them."""
        carries = any(each.hinted or each.findings for each in self.families)
        return self.mode != Mode.NONE or bool(self.findings) or carries

    @property
    def alarms(self) -> int:
        """How many findings are warnings or errors."""
        found = [*self.findings, *(each for family in self.families for each in family.findings)]
        return sum(each.level is not Level.INFO for each in found)


def hints_of(world: World, nodes: Nodes, key: Key, now: datetime | None = None) -> ServiceHints:
    """Say what hints a service of the world has. ``nodes`` are those of the world.

    ``now`` is the present, where the world is of the present.
    """
    service = world.services[key]
    wish = asked(service)
    families = () if service.spec.type == "ExternalName" else families_of(service)
    found = [carried(world, service, family, wish) for family in families]
    findings, reasons = _parted(wish.reasons, hint_findings.of_service(service, wish, found))
    return ServiceHints(
        "/".join(key),
        str(wish.mode),
        wish.by,
        wish.value,
        service.spec.traffic_distribution or "",
        tuple(_family(world, nodes, service, wish, each, now=now) for each in found),
        findings,
        reasons,
    )


def _family(
    world: World,
    nodes: Nodes,
    service: Service,
    wish: Asked,
    found: Carried,
    *,
    now: datetime | None,
) -> FamilyHints:
    near = nearness(nodes.shares, found.ready) if wish.mode is Mode.SHARES else None
    beside = list(hint_findings.of_family(world, nodes, service, wish, found))
    reasons = [*found.outline, *found.reasons]
    if near is not None:
        reasons += hint_findings.of_thresholds(nodes.shares, near)
        if not near.granted:
            beside += near.reasons
    findings, rest = _parted(reasons, (*found.findings, *beside))
    last = [each.facts for each in found.reasons if each.code == "hints-last-event"]
    return FamilyHints(
        found.family,
        found.ready,
        found.hinted,
        found.zones,
        _nodes(world, service, found.family),
        found.lent,
        near,
        msgspec.convert(last[0], LastEvent) if last else None,
        since(world, service, found.family, hinted=found.hinted > 0, now=now) if last else None,
        findings,
        rest,
    )


def _parted(
    reasons: Iterable[Reason], findings: Iterable[Reason]
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Put warnings among the reasons to the findings; return both, each reason once."""
    reasons = list(reasons)
    told = [*(each for each in reasons if each.level is not Level.INFO), *findings]
    known = set(told)
    return tuple(told), tuple(each for each in reasons if each not in known)


def _nodes(world: World, service: Service, family: str) -> dict[str, int]:
    """Count the node hints of ready endpoints."""
    found = Counter(
        node.name
        for slice_ in world.slices_of(service.metadata.key)
        if slice_.address_type == family
        for endpoint in slice_.endpoints
        if endpoint.hints is not None and endpoint.ready
        for node in endpoint.hints.for_nodes
    )
    return dict(sorted(found.items()))
