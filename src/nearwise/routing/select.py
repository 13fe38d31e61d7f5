"""Which backends a client's connections go to, and why.

Law: one decision, one place. Every data plane, every screen and every simulation asks ``select``;
what differs between data planes is their order of preferences (``profiles``). The reasons are not
a second way to decide: they tell, when asked, what the facts were that the choice was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.routing.backend import Backend
from nearwise.routing.near import Client, Mode
from nearwise.routing.pool import Facts, Pool
from nearwise.routing.profiles import KUBE_PROXY, Profile

_LOCAL: Final = "Local"
_NO_FACTS: Final = Facts((), (), {}, {}, 0, 0)


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
    facts: Facts
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

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it came out so, in the order in which it was decided."""
        return tuple(_reasons(self))


def select(
    service: Service, backends: Iterable[Backend], client: Client, profile: Profile = KUBE_PROXY
) -> Selection:
    """Choose for a client among the backends of one port of the service.

    ``backends`` should be the pool of a merged view, of which everything is counted already; any
    other collection is counted first. The rules are those recorded of Kubernetes 1.36.
    """
    spec = service.spec
    if spec.cluster_ip == "None" or spec.type == "ExternalName":
        return _nobody(service, client, profile)
    facts = (backends if isinstance(backends, Pool) else Pool.of(backends)).facts
    ready = facts.ready
    has_any = bool(ready or facts.draining)

    cluster_used, local_used = _policies(service)
    cluster: tuple[Backend, ...] = ()
    mode = Mode.NONE
    if cluster_used:
        for preference in profile.preferences(service):
            near = preference.find(facts, client)
            if near:
                cluster, mode = tuple(near), preference.mode
                break
        else:
            if ready:
                cluster, mode = tuple(ready), Mode.CLUSTER
            elif facts.draining:
                cluster, mode = tuple(facts.draining), Mode.TERMINATING
    ...
