"""What becomes of connections to a frontend: its elements, by the traffic policies of the service.

Law: one decision, one place. ``compile`` carries a plan out and never looks at a policy. As
recorded of Kubernetes 1.36 in nftables mode:

===================  ==============================================================================
cluster address      whom the internal policy chose
others, Cluster      whom policy Cluster chose; the answer comes back through this machine
others, Local        clients inside the cluster: whom policy Cluster chose; outside: who is here
===================  ==============================================================================

Nobody anywhere: refused. Nobody for this policy, but somebody elsewhere: dropped.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.nft.frontends import Kind
from nearwise.nft.layout import POLICY_LOCAL, REFUSE, Spread
from nearwise.nft.pools import Pools, Slots
from nearwise.nft.ruleset import Drop, Goto, Verdict
from nearwise.nft.text import comment_text

ObjectKey = tuple[str, str]
"""Namespace and name."""

_LOCAL: Final = "Local"
_DEFAULT_SECONDS: Final = 10800  # API default of sessionAffinityConfig.clientIP.timeoutSeconds
_MOST_SECONDS: Final = 86400  # a day, the most that the API takes there

_DROP: Final = Drop()
_REFUSE: Final = Goto(REFUSE)
_POLICY_LOCAL: Final = Goto(POLICY_LOCAL)


class Policies(msgspec.Struct, frozen=True, gc=False):
    """What of a service its plans go by."""

    owner: ObjectKey
    since: str
    """When the service was made."""
    internal_local: bool
    external_local: bool
    sticky: int


class Plan(msgspec.Struct, frozen=True, gc=False, eq=False):
    """All elements of a frontend, but for its key, and which service wants them so."""

    of: Policies
    kind: Kind
    verdict: Verdict | None = None
    inside: Verdict | None = None
    outside: Verdict | None = None
    endpoints: Slots = ()
    local_endpoints: Slots = ()
    spreads: tuple[Spread, ...] = ()
    """The chains that the verdicts go to."""
    sources: tuple[bytes, ...] | None = None
    """Ranges of sources that may come, first and last; None: all."""

    @property
    def rank(self) -> tuple[bool, str, ObjectKey]:
        """Who gets a frontend that several services claim: the least."""
        return (self.kind is not Kind.CLUSTER, self.of.since or "~", self.of.owner)


NOTHING: Final = Plan(Policies(("", ""), "", False, False, 0), Kind.CLUSTER)
"""The plan of what is no frontend."""


def policies(owner: ObjectKey, service: Service) -> tuple[Policies, tuple[Reason, ...]]:
    """Read the policies of a service, and tell what of them cannot be kept."""
    spec = service.spec
    sticky = 0
    told: tuple[Reason, ...] = ()
    if spec.session_affinity == "ClientIP":
        sticky, told = _seconds(service)
    made = Policies(
        owner,
        service.metadata.creation_timestamp or "",
        spec.internal_traffic_policy == _LOCAL,
        spec.external_traffic_policy == _LOCAL,
        sticky,
    )
    return made, told


def plan(kind: Kind, of: Policies, pools: Pools) -> Plan:
    """Plan a frontend; source ranges come on top (``msgspec.structs.replace``)."""
    comment = _comment(of.owner, pools.port[0])
    cluster = kind is Kind.CLUSTER
    if of.external_local and not cluster and pools.elsewhere:
        return _plan_local(kind, of, pools, comment)
    drawn = pools.local if cluster and of.internal_local else pools.cluster
    if not drawn:
        return Plan(of, kind, Verdict(_DROP if pools.elsewhere else _REFUSE, comment))
    spread, goto = _spread(len(drawn), False, not cluster, of.sticky > 0)
    return Plan(of, kind, Verdict(goto, comment), endpoints=drawn, spreads=(spread,))


def _plan_local(kind: Kind, of: Policies, pools: Pools, comment: str) -> Plan:
    """Plan what is reached from outside under policy Local, while somebody is anywhere."""
    inside = outside = Verdict(_DROP, comment)
    spreads: list[Spread] = []
    if pools.cluster:
        spread, goto = _spread(len(pools.cluster), False, False, of.sticky > 0)
        inside = Verdict(goto, comment)
        spreads.append(spread)
    if pools.local:
        spread, goto = _spread(len(pools.local), True, False, of.sticky > 0)
        outside = Verdict(goto, comment)
        spreads.append(spread)
    return Plan(
        of,
        kind,
        Verdict(_POLICY_LOCAL, comment),
        inside,
        outside,
        pools.cluster,
        pools.local,
        tuple(spreads),
    )


@cache
def _spread(count: int, local: bool, masquerade: bool, sticky: bool) -> tuple[Spread, Goto]:
    spread = Spread(count, local, masquerade, sticky)
    return spread, Goto(spread.chain)


def _comment(owner: ObjectKey, port: str) -> str:
    """Name a service port, ``namespace/name:port``, as nft takes it in a comment."""
    name = "/".join(owner)
    return comment_text(f"{name}:{port}" if port else name)


def _seconds(service: Service) -> tuple[int, tuple[Reason, ...]]:
    """Return how long a client stays with an endpoint."""
    config = service.spec.session_affinity_config
    seconds = config.client_ip.timeout_seconds if config and config.client_ip else None
    if seconds is None:
        return _DEFAULT_SECONDS, ()
    if 0 < seconds <= _MOST_SECONDS:
        return seconds, ()
    told = reason(
        "affinity-timeout-invalid", seconds=seconds, most=_MOST_SECONDS, default=_DEFAULT_SECONDS
    )
    return _DEFAULT_SECONDS, (told,)
