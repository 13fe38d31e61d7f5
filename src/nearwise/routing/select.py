"""Which backends a client's connections go to, and why.

Law: one decision, one place. Every data plane, every screen and every simulation asks ``select``;
what differs between data planes is their order of preferences (``profiles``). The reasons are not
a second way to decide: they tell, when asked, what the facts were that the choice was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.routing.backend import Backend
from nearwise.routing.pool import NOBODY, Pool
from nearwise.routing.preferences import NODE_HINTS, ZONE_HINTS, Client, Mode
from nearwise.routing.profiles import KUBE_PROXY, Profile

_Choice = tuple[tuple[Backend, ...], Mode]

_LOCAL: Final = "Local"
_NONE: Final[_Choice] = ((), Mode.NONE)
_WHY_HERE: Final = {
    Mode.SAME_NODE: "route-local",
    Mode.TERMINATING: "route-local-terminating",
    Mode.NONE: "route-local-nobody",
}


class Fate(StrEnum):
    """What becomes of a new connection."""

    FORWARD = "forward"
    REJECT = "reject"  # there is nobody anywhere: say so at once
    DROP = "drop"  # nobody here, but elsewhere: whoever sent it here may be about to know


class Selection(msgspec.Struct, frozen=True, gc=False, eq=False):
    """The answer for one client and service port.

    ``cluster`` is for traffic under policy Cluster, ``local`` for traffic under policy Local, each
    empty when the service has no such traffic (``cluster_used``, ``local_used``); ``all`` is both.
    ``has_any``: somebody in the cluster could answer. All are in order of address and port.
    """

    cluster: tuple[Backend, ...]
    local: tuple[Backend, ...]
    all: tuple[Backend, ...]
    mode: Mode
    local_mode: Mode
    cluster_used: bool
    local_used: bool
    has_any: bool
    service: Service
    pool: Pool
    client: Client
    profile: Profile

    @property
    def healthy(self) -> int:
        """Ready endpoints on the node: what its health check port tells a load balancer."""
        return len(self.local) if self.local_mode is Mode.SAME_NODE else 0

    def fate(self, *, local: bool) -> Fate:
        """Say what becomes of a new connection under policy Local, or Cluster."""
        if self.local if local else self.cluster:
            return Fate.FORWARD
        return Fate.DROP if self.has_any else Fate.REJECT

    def why(self, *, local: bool) -> tuple[Reason, ...]:
        """Say why it came out so under policy Local, or Cluster, in the order it was decided.

        There is nothing to say of a policy under which the service has no traffic.
        """
        if not (self.local_used if local else self.cluster_used):
            return ()
        return tuple(_why_here(self) if local else _why_near(self))

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it came out so, under policy Local first where the service has both."""
        if not is_routed(self.service):
            return (_why_not_routed(self.service),)
        local = self.why(local=True)
        return local + tuple([why for why in self.why(local=False) if why not in local])


def select(
    service: Service, backends: Iterable[Backend], client: Client, profile: Profile = KUBE_PROXY
) -> Selection:
    """Choose for a client among the backends of one port of the service.

    Any collection of backends will do; with the pool of a merged view nothing is looked at twice,
    whoever asks. The rules are those recorded of Kubernetes 1.36.
    """
    if is_routed(service):
        pool = backends if isinstance(backends, Pool) else Pool.of(backends)
        cluster_used, local_used = _policies(service)
    else:
        pool, cluster_used, local_used = NOBODY, False, False
    cluster, mode = _near(service, pool, client, profile) if cluster_used else _NONE
    local, local_mode = _here(pool, client) if local_used else _NONE
    return Selection(
        cluster,
        local,
        _both(cluster, local) if local_used else cluster,
        mode,
        local_mode,
        cluster_used,
        local_used,
        bool(pool.facts.ready or pool.draining),
        service,
        pool,
        client,
        profile,
    )


def is_routed(service: Service) -> bool:
    """Say whether proxies do anything for the service: not when headless or ExternalName."""
    spec = service.spec
    return spec.cluster_ip != "None" and spec.type != "ExternalName"


def _policies(service: Service) -> tuple[bool, bool]:
    """Say whether traffic under policy Cluster and under policy Local can occur.

    External traffic from a pod of this cluster is answered as under Cluster even when the policy
    is Local; so whoever can be reached from outside has traffic under Cluster.
    """
    spec = service.spec
    internal = spec.internal_traffic_policy == _LOCAL
    external = spec.external_traffic_policy == _LOCAL
    if not (internal or external):
        return (True, False)
    reachable = bool(
        spec.external_ips
        or any(port.node_port for port in spec.ports)
        or any(at.ip and at.ip_mode != "Proxy" for at in service.status.load_balancer.ingress)
    )
    return (reachable or not internal, internal or (external and reachable))


def _near(service: Service, pool: Pool, client: Client, profile: Profile) -> _Choice:
    """Choose under policy Cluster: the nearest that the data plane looks for, else all."""
    facts = pool.facts
    for preference in profile.preferences(service):
        near = preference.find(facts, client)
        if near:
            return (tuple(near), preference.mode)
    if facts.ready:
        return (tuple(facts.ready), Mode.CLUSTER)
    if draining := pool.draining:
        return (tuple(draining), Mode.TERMINATING)
    return _NONE


def _here(pool: Pool, client: Client) -> _Choice:
    """Choose under policy Local: what runs on the client's node."""
    if ready := _on_node(pool.facts.ready, client.node):
        return (ready, Mode.SAME_NODE)
    if draining := _on_node(pool.draining, client.node):
        return (draining, Mode.TERMINATING)
    return _NONE


def _on_node(backends: Iterable[Backend], node: str) -> tuple[Backend, ...]:
    return tuple([backend for backend in backends if node and backend.node_name == node])


def _both(cluster: tuple[Backend, ...], local: tuple[Backend, ...]) -> tuple[Backend, ...]:
    if not (cluster and local):
        return cluster or local
    places = {(backend.address, backend.port): backend for backend in (*cluster, *local)}
    return tuple([places[place] for place in sorted(places)])


def _why_not_routed(service: Service) -> Reason:
    headless = service.spec.type != "ExternalName"
    name = "/".join(filter(None, service.metadata.key))
    return reason("service-headless" if headless else "service-external-name", service=name)


def _why_near(chosen: Selection) -> Iterator[Reason]:
    facts, mode = chosen.pool.facts, chosen.mode
    ready = len(facts.ready)
    if not ready:
        if mode is Mode.TERMINATING:
            yield reason("route-terminating", draining=len(chosen.cluster))
        else:
            yield reason("route-nobody")
        return
    preferences = chosen.profile.preferences(chosen.service)
    unread = [
        kind
        for kind, preference, bare in (
            ("node", NODE_HINTS, facts.bare.node),
            ("zone", ZONE_HINTS, facts.bare.zone),
        )
        if preference not in preferences and len(bare) < ready
    ]
    if unread:
        yield reason("route-hints-not-read", profile=chosen.profile.name, kinds=unread)
    silent = not unread
    for preference in preferences:
        if why := preference.why(facts, chosen.client):
            yield why
            silent = False
        if preference.mode is mode:
            return
    yield reason("route-unhinted" if silent else "route-all", ready=ready)


def _why_here(chosen: Selection) -> Iterator[Reason]:
    if not chosen.has_any:
        yield reason("route-nobody")
        return
    spec = chosen.service.spec
    fields = {
        "internalTrafficPolicy": spec.internal_traffic_policy,
        "externalTrafficPolicy": spec.external_traffic_policy,
    }
    yield reason(
        _WHY_HERE[chosen.local_mode],
        policies=[field for field, policy in fields.items() if policy == _LOCAL],
        node=chosen.client.node,
        chosen=len(chosen.local),
        ready=len(chosen.pool.facts.ready),
    )
