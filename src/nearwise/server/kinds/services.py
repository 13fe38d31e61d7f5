"""Services: what their author is warned of, though nothing is wrong with them."""

from __future__ import annotations

from nearwise.model.wellknown import (
    PREFER_CLOSE,
    PREFER_SAME_ZONE,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded


def warnings(service: Decoded) -> tuple[str, ...]:
    """Return what Kubernetes 1.36 warns of, in its words."""
    spec = at(service, "spec") or {}
    is_external = spec.get("type") == "ExternalName"
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    external_ips = bool(spec.get("externalIPs"))
    told = [
        (
            TOPOLOGY_AWARE_HINTS in (at(service, "metadata", "annotations") or {}),
            f"annotation {TOPOLOGY_AWARE_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead",
        ),
        (
            is_headless and bool(spec.get("loadBalancerIP")),
            "spec.loadBalancerIP is ignored for headless services",
        ),
        (is_headless and external_ips, "spec.externalIPs is ignored for headless services"),
        (
            is_headless and spec.get("sessionAffinity") != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
        (
            external_ips and not is_headless and not is_external,
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
        (
            external_ips and is_external,
            'spec.externalIPs is ignored when spec.type is "ExternalName"',
        ),
        (
            bool(spec.get("externalName")) and not is_external,
            'spec.externalName is ignored when spec.type is not "ExternalName"',
        ),
        (
            spec.get("trafficDistribution") == PREFER_CLOSE,
            f'spec.trafficDistribution: "{PREFER_CLOSE}" is deprecated; use "{PREFER_SAME_ZONE}"',
        ),
    ]
    return tuple(words for applies, words in told if applies)
