"""How data planes read hints: for each, its order of preferences and where that is written.

Law: a profile says what its source says, and what its source leaves open stands in ``unknown``.
What all have in common here, and what is recorded of kube-proxy only, is the rest of ``select``:
the fallback to all endpoints, then to terminating ones, and traffic policy Local.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from nearwise.model import Node, Service
from nearwise.model.wellknown import (
    ASKING,
    NOT_ASKING,
    PREFER_CLOSE,
    PREFER_SAME_NODE,
    PREFER_SAME_ZONE,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)
from nearwise.routing.preferences import NODE_HINTS, OWN_NODE, OWN_ZONE, ZONE_HINTS, Preference

Preferences = tuple[Preference, ...]


class Profile(msgspec.Struct, frozen=True):
    """A data plane. ``preferences`` are what it tries in turn for a service."""

    name: str
    rule: str
    source: str
    preferences: Callable[[Service], Preferences]
    unknown: str = ""

    @property
    def describe(self) -> str:
        """What it does, where that is written, and what is not known."""
        unknown = f" Not known: {self.unknown}" if self.unknown else ""
        return f"{self.name}: {self.rule} Source: {self.source}.{unknown}"


_NODE_THEN_ZONE: Final[Preferences] = (NODE_HINTS, ZONE_HINTS)
_ZONE: Final[Preferences] = (ZONE_HINTS,)
_NEVER: Final[Preferences] = ()


def _if_auto(service: Service) -> Preferences:
    value = service.metadata.annotations.get(TOPOLOGY_AWARE_HINTS)
    return _ZONE if value in ASKING else _NEVER


def _if_annotated(service: Service) -> Preferences:
    annotations = service.metadata.annotations
    value = annotations.get(TOPOLOGY_AWARE_HINTS, annotations.get(TOPOLOGY_MODE, ""))
    return _NEVER if value in {"", *NOT_ASKING} else _ZONE


_MESH_ANNOTATION: Final = "networking.istio.io/traffic-distribution"
_MESH_ORDER: Final[dict[str | None, Preferences]] = {
    PREFER_CLOSE: (OWN_ZONE,),
    PREFER_SAME_ZONE: (OWN_ZONE,),
    PREFER_SAME_NODE: (OWN_NODE,),
}


def _by_wish(service: Service) -> Preferences:
    wish = service.spec.traffic_distribution or service.metadata.annotations.get(_MESH_ANNOTATION)
    return _MESH_ORDER.get(wish, _NEVER)


def _zone_if_any_wish(service: Service) -> Preferences:
    return (OWN_ZONE,) if service.spec.traffic_distribution else _NEVER


KUBE_PROXY: Final = Profile(
    "kube-proxy",
    "Node hints, then zone hints, each only when every ready endpoint has one (1.34 and newer).",
    "KEP-3015 PreferSameZone and PreferSameNode Traffic Distribution; recorded from 1.36",
    lambda _: _NODE_THEN_ZONE,
)

KUBE_PROXY_ZONES_ONLY: Final = Profile(
    "kube-proxy-1.33",
    "Zone hints, when every ready endpoint has one, whatever the service says; knows no node "
    "hints (1.31 to 1.33; in 1.33 the gate PreferSameTrafficDistribution makes it as 1.34).",
    "KEP-4444 Traffic Distribution for Services, Changes within kube-proxy; KEP-3015, Version "
    "Skew Strategy",
    lambda _: _ZONE,
)

KUBE_PROXY_ANNOTATED: Final = Profile(
    "kube-proxy-1.30",
    "Zone hints, only for services with a topology annotation that is not empty and not "
    "Disabled; the older annotation hides the newer one (1.27 to 1.30).",
    "Kubernetes 1.27 release notes (kubernetes/kubernetes#116522); KEP-4444, Changes within "
    "kube-proxy",
    _if_annotated,
    "what the gate ServiceTrafficDistribution does in 1.30: taken as off, its default.",
)

KUBE_PROXY_AUTO: Final = Profile(
    "kube-proxy-1.26",
    "Zone hints, only for services with the annotation topology-aware-hints: Auto (1.24 to 1.26).",
    "KEP-2433 Topology Aware Hints, Kube-Proxy; Kubernetes 1.27 release notes",
    _if_auto,
)

NO_HINTS: Final = Profile(
    "no-hints",
    "Spreads over all ready endpoints: kube-proxy before 1.24, and data planes that do not read "
    "hints or where it is switched off.",
    "KEP-2433 Topology Aware Hints: on by default since 1.24",
    lambda _: _NEVER,
)

CILIUM: Final = Profile(
    "cilium",
    "Zone hints, with loadBalancer.serviceTopology=true (without it: no-hints).",
    "docs.cilium.io, Kubernetes Without kube-proxy, Traffic Distribution and Topology Aware "
    "Hints; all endpoints where a hint is missing or none names the zone: release notes of 1.18.2 "
    "(cilium/cilium#41024)",
    lambda _: _ZONE,
    "node hints: the documentation speaks of zones only. Releases before that fix left a zone "
    "without endpoints when no hint named it; later ones treat PreferSameNode by the node an "
    "endpoint runs on (cilium/cilium#44771).",
)

LINKERD: Final = Profile(
    "linkerd",
    "Zone hints, applied by the destination controller for meshed clients.",
    "linkerd.io, Enabling Topology Aware Routing; all endpoints where one has no hint or none "
    "names the zone: linkerd/website#2097",
    lambda _: _ZONE,
    "node hints; which endpoints are used when none is ready.",
)

ISTIO: Final = Profile(
    "istio",
    "trafficDistribution, else the annotation networking.istio.io/traffic-distribution: the "
    "client's zone or node by where the endpoints run; hints are not read.",
    "istio.io, Ambient mode, Traffic Distribution",
    _by_wish,
    "network, region and subzone are not looked at here, nor the annotation of a namespace; the "
    "source does not say what follows when the node has no endpoint. Sidecars also follow "
    "locality settings and outlier detection of DestinationRules.",
)

ENVOY_GATEWAY: Final = Profile(
    "envoy-gateway",
    "Any value of trafficDistribution means the gateway pod's own zone by where the endpoints "
    "run, PreferSameNode too; hints are not read.",
    "gateway.envoyproxy.io, Zone Aware Routing; envoyproxy/gateway#9537",
    _zone_if_any_wish,
    "services with topology-mode: Auto get a share of local traffic that depends on how many "
    "gateway pods each zone has; taken as all endpoints. A BackendTrafficPolicy wins over it all.",
)

PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        KUBE_PROXY,
        KUBE_PROXY_ZONES_ONLY,
        KUBE_PROXY_ANNOTATED,
        KUBE_PROXY_AUTO,
        NO_HINTS,
        CILIUM,
        LINKERD,
        ISTIO,
        ENVOY_GATEWAY,
    )
}
"""Every profile by its name."""

_SINCE: Final = (
    ((1, 34), KUBE_PROXY),
    ((1, 31), KUBE_PROXY_ZONES_ONLY),
    ((1, 27), KUBE_PROXY_ANNOTATED),
    ((1, 24), KUBE_PROXY_AUTO),
)


def profile_for(node: Node) -> Profile:
    """Return the kube-proxy profile of the node, by the version that it reports.

    The kubelet's version counts, for what is reported as kube-proxy's is the kubelet's too and is
    empty since 1.33 (KEP-4004). A node that reports none is taken as new.
    """
    info = node.status.node_info
    version = re.match(r"v?(\d+)\.(\d+)", info.kubelet_version or info.kube_proxy_version)
    if version is None:
        return KUBE_PROXY
    found = (int(version[1]), int(version[2]))
    return next((profile for since, profile in _SINCE if found >= since), NO_HINTS)
