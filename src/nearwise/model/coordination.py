"""Lease (``coordination.k8s.io/v1``)."""

from __future__ import annotations

from nearwise.model.meta import Object, ObjectMeta


class LeaseSpec(Object, frozen=True):
    """Who holds the lease and until when. Times are RFC 3339 with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True):
    """A lock with a time limit, used for leader election."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
