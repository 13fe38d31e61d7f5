"""Hints by ``trafficDistribution``: each ready endpoint is for its own place.

Law: nothing is weighed or counted here; an endpoint's hints follow from that endpoint alone. The
rules are KEP-2433 (PreferClose), KEP-3015 (PreferSameZone, PreferSameNode) and the recorded
behaviour of Kubernetes 1.36.
"""

from __future__ import annotations

from nearwise.model import Endpoint, EndpointHints, ForNode, ForZone
from nearwise.model.wellknown import PREFER_CLOSE, PREFER_SAME_NODE, PREFER_SAME_ZONE


def is_known(distribution: str | None) -> bool:
    """Tell whether the value of trafficDistribution leads to hints."""
    return distribution in {PREFER_CLOSE, PREFER_SAME_ZONE, PREFER_SAME_NODE}


def hints_for(endpoint: Endpoint, distribution: str | None) -> EndpointHints | None:
    """Return the hints that the endpoint should carry under this trafficDistribution.

    An endpoint that is not ready gets none, nor does one without a place: PreferSameNode for a
    pod on a node without a zone gives a node hint alone.
    """
    if endpoint.conditions.ready is not True or not is_known(distribution):
        return None
    zones = (ForZone(endpoint.zone),) if endpoint.zone else ()
    nodes: tuple[ForNode, ...] = ()
    if distribution == PREFER_SAME_NODE and endpoint.node_name:
        nodes = (ForNode(endpoint.node_name),)
    return EndpointHints(zones, nodes) if zones or nodes else None


def fits(endpoint: Endpoint, distribution: str | None) -> bool:
    """Tell whether the hints of an endpoint in an otherwise unchanged slice may stay.

    With a known value only ready endpoints are looked at: a stale hint on one that is not ready
    hurts nobody, since readers ignore it. With any other value no endpoint may carry hints.
    """
    if not is_known(distribution):
        return endpoint.hints is None
    if endpoint.conditions.ready is not True:
        return True
    return (endpoint.hints or EndpointHints()) == (
        hints_for(endpoint, distribution) or EndpointHints()
    )
