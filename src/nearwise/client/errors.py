"""What can go wrong between us and a cluster."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster was not reached, or refused. The text says what to do about it."""


class ForbiddenError(ClusterError):
    """The cluster knows us, and does not let us do this (403)."""
