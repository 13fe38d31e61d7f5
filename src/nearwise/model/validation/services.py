"""What a valid Service is (``v1``, recorded behaviour of Kubernetes 1.36).

Law: the order of the checks is the API server's, for it is the order of the causes. A service
comes here with defaults and addresses filled in, so nothing that those fill is missed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from nearwise.model import names
from nearwise.model.core import Service, ServicePort, ServiceSpec
from nearwise.model.defaults import is_reached_from_outside
from nearwise.model.names import Complaints
from nearwise.model.validation.addresses import legacy_cidr, legacy_ip, usable_ip
from nearwise.model.validation.cluster_ips import (
    is_headless,
    validate_cluster_ips,
    validate_cluster_ips_update,
)
from nearwise.model.validation.endpoint_slices import PROTOCOLS
from nearwise.model.validation.fields import (
    Errors,
    checked,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
)
from nearwise.model.validation.metadata import (
    labels,
    validate_metadata,
    validate_metadata_update,
)
from nearwise.model.wellknown import (
    PREFER_CLOSE,
    PREFER_SAME_NODE,
    PREFER_SAME_ZONE,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
)

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = (PREFER_CLOSE, PREFER_SAME_ZONE, PREFER_SAME_NODE)
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_MAX_AFFINITY_SECONDS: Final = 86400
_ONLY_LOAD_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"


def validate_service(new: Service) -> Errors:
    """Check a service, defaults and addresses filled in, before it is created."""
    return [*validate_metadata(new.metadata, names.dns_label), *_content(new, None)]


def validate_service_update(new: Service, old: Service) -> Errors:
    """Check a service, defaults and addresses filled in, that is to replace another.

    Addresses and ranges that the old one has are not looked at again.
    """
    errors = validate_metadata_update(new.metadata, old.metadata)
    errors += validate_cluster_ips_update(new.spec, old.spec)
    both_balanced = new.spec.type == old.spec.type == "LoadBalancer"
    if both_balanced and new.spec.load_balancer_class != old.spec.load_balancer_class:
        path = "spec.loadBalancerClass"
        errors.append(invalid(path, new.spec.load_balancer_class, "may not change once set"))
    both_checked = needs_health_check(new.spec) and needs_health_check(old.spec)
    if both_checked and new.spec.health_check_node_port != old.spec.health_check_node_port:
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return [*errors, *_content(new, old)]


def needs_health_check(spec: ServiceSpec) -> bool:
    """Tell whether load balancers must be able to ask a node whether it has endpoints."""
    return spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"


def _content(new: Service, old: Service | None) -> Errors:
    spec = new.spec
    before = old.spec if old else ServiceSpec()
    return [
        *_topology_annotations(new),
        *_by_type(spec),
        *_ports(spec),
        *labels("spec.selector", spec.selector),
        *_affinity(spec),
        *validate_cluster_ips(spec, before),
        *_external_ips(spec, before),
        *one_of("spec.type", spec.type, _TYPES),
        *_node_ports(spec),
        *_repeated_ports(spec),
        *_source_ranges(new, old),
        *_load_balancer(spec),
        *_external_policy(spec),
        *_internal_policy(spec),
        *_distribution(spec),
    ]


def _topology_annotations(new: Service) -> Errors:
    """Check that the two names of one annotation say the same."""
    mode = new.metadata.annotations.get(TOPOLOGY_MODE)
    hints = new.metadata.annotations.get(TOPOLOGY_AWARE_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    path = f"metadata.annotations[{TOPOLOGY_MODE}]"
    detail = f"must match annotations[{TOPOLOGY_AWARE_HINTS}] when both are specified"
    return [invalid(path, mode, detail)]


def _by_type(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    if not spec.ports and not is_headless(spec) and spec.type != "ExternalName":
        errors.append(required("spec.ports"))
    if spec.type in ("LoadBalancer", "NodePort") and is_headless(spec):
        detail = f"may not be set to 'None' for {spec.type} services"
        errors.append(invalid("spec.clusterIPs[0]", spec.cluster_ips[0], detail))
    if spec.type == "ExternalName":
        given = [
            ("clusterIPs", spec.cluster_ips),
            ("ipFamilies", spec.ip_families),
            ("ipFamilyPolicy", spec.ip_family_policy),
        ]
        errors += [
            forbidden(f"spec.{field}", "may not be set for ExternalName services")
            for field, value in given
            if value
        ]
        name = spec.external_name.removesuffix(".")
        path = "spec.externalName"
        errors += checked(path, name, names.dns_subdomain) if name else [required(path)]
    return errors


def _ports(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for place, port in enumerate(spec.ports):
        path = f"spec.ports[{place}]"
        if port.name:
            errors += checked(f"{path}.name", port.name, names.dns_label)
            if port.name in seen:
                errors.append(duplicate(f"{path}.name", port.name))
            seen.add(port.name)
        elif len(spec.ports) > 1:
            errors.append(required(f"{path}.name"))
        errors += _number(f"{path}.port", port.port)
        errors += one_of(f"{path}.protocol", port.protocol, PROTOCOLS)
        errors += _target(f"{path}.targetPort", port)
        if port.app_protocol is not None:
            errors += checked(f"{path}.appProtocol", port.app_protocol, names.qualified_name)
    return errors


def _number(path: str, port: int) -> Errors:
    detail = "must be between 1 and 65535, inclusive"
    return [] if 1 <= port <= 65535 else [invalid(path, port, detail)]


def _target(path: str, port: ServicePort) -> Errors:
    target = port.target_port
    return _number(path, target) if isinstance(target, int) else checked(path, target, _port_name)


def _port_name(text: str) -> Complaints:
    """Return what keeps a text from being the name of a container port (RFC 6335)."""
    refused = [
        (len(text.encode(errors="replace")) > 15, "must be no more than 15 characters"),
        (
            not re.fullmatch("[-a-z0-9]+", text),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        ("--" in text, "must not contain consecutive hyphens"),
        (text.startswith("-") or text.endswith("-"), "must not begin or end with a hyphen"),
    ]
    return [complaint for applies, complaint in refused if applies]


def _affinity(spec: ServiceSpec) -> Errors:
    errors = one_of("spec.sessionAffinity", spec.session_affinity, _AFFINITIES)
    config = spec.session_affinity_config
    if spec.session_affinity == "ClientIP" and config and config.client_ip:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        seconds = config.client_ip.timeout_seconds or 0
        if not 0 < seconds <= _MAX_AFFINITY_SECONDS:
            detail = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
            errors.append(invalid(path, seconds, detail))
    return errors


def _external_ips(spec: ServiceSpec, before: ServiceSpec) -> Errors:
    errors: Errors = []
    for place, address in enumerate(spec.external_ips):
        path = f"spec.externalIPs[{place}]"
        if address not in before.external_ips:
            errors += legacy_ip(path, address) or usable_ip(path, address)
    return errors


def _node_ports(spec: ServiceSpec) -> Errors:
    if spec.type != "ClusterIP":
        return []
    detail = "may not be used when `type` is 'ClusterIP'"
    return [
        forbidden(f"spec.ports[{place}].nodePort", detail)
        for place, port in enumerate(spec.ports)
        if port.node_port
    ]


def _repeated_ports(spec: ServiceSpec) -> Errors:
    node_ports = [(port.protocol, port.node_port) for port in spec.ports]
    ports = [(port.protocol, port.port) for port in spec.ports]
    return [
        *[
            duplicate(f"spec.ports[{place}].nodePort", node_ports[place][1])
            for place in _repeats(node_ports)
            if node_ports[place][1]
        ],
        *[duplicate(f"spec.ports[{place}]", _port_key(*ports[place])) for place in _repeats(ports)],
    ]


def _repeats(values: Sequence[tuple[str, int]]) -> list[int]:
    """Return the places of values that were there before."""
    first = {value: place for place, value in reversed(list(enumerate(values)))}
    return [place for place, value in enumerate(values) if first[value] != place]


def _port_key(protocol: str, port: int) -> dict[str, object]:
    """Write what makes a port unique as the API server shows it: its internal struct."""
    return {
        "Name": "",
        "Protocol": protocol,
        "AppProtocol": None,
        "Port": port,
        "TargetPort": 0,
        "NodePort": 0,
    }


def _source_ranges(new: Service, old: Service | None) -> Errors:
    """Check the ranges in the field, or else in the annotation that came before it."""
    annotated = new.metadata.annotations.get(_SOURCE_RANGES)
    wrong_type = new.spec.type != "LoadBalancer"
    if new.spec.load_balancer_source_ranges:
        path = "spec.LoadBalancerSourceRanges"  # spelled like that by the API server
        known = {one.strip() for one in old.spec.load_balancer_source_ranges} if old else set()
        errors = [forbidden(path, _ONLY_LOAD_BALANCER)] if wrong_type else []
        for place, given in enumerate(new.spec.load_balancer_source_ranges):
            if given.strip() not in known:
                errors += legacy_cidr(f"{path}[{place}]", given.strip())
        return errors
    if annotated is None:
        return []
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = [forbidden(path, _ONLY_LOAD_BALANCER)] if wrong_type else []
    unchanged = old is not None and old.metadata.annotations.get(_SOURCE_RANGES) == annotated
    if not unchanged and annotated.strip():
        for given in annotated.strip().split(","):
            errors += legacy_cidr(path, given.strip())
    return errors


def _load_balancer(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    balanced = spec.type == "LoadBalancer"
    if spec.allocate_load_balancer_node_ports is not None and not balanced:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    if spec.load_balancer_class is not None:
        path = "spec.loadBalancerClass"
        if balanced:
            errors += checked(path, spec.load_balancer_class, names.qualified_name)
        else:
            errors.append(forbidden(path, _ONLY_LOAD_BALANCER))
    return errors


def _external_policy(spec: ServiceSpec) -> Errors:
    path, policy = "spec.externalTrafficPolicy", spec.external_traffic_policy
    errors: Errors = []
    if is_reached_from_outside(spec):
        errors += one_of(path, policy, _POLICIES)
    elif policy:
        detail = "may only be set for externally-accessible services"
        errors.append(invalid(path, policy, detail))
    path, port = "spec.healthCheckNodePort", spec.health_check_node_port
    if needs_health_check(spec):
        errors += _number(path, port)
    elif port:
        detail = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        errors.append(invalid(path, port, detail))
    return errors


def _internal_policy(spec: ServiceSpec) -> Errors:
    policy = spec.internal_traffic_policy
    if policy is None or policy in _POLICIES:
        return []
    return [not_supported("spec.internalTrafficPolicy", policy, _POLICIES)]


def _distribution(spec: ServiceSpec) -> Errors:
    asked = spec.traffic_distribution
    if asked is None or asked in _DISTRIBUTIONS:
        return []
    return [not_supported("spec.trafficDistribution", asked, _DISTRIBUTIONS)]
