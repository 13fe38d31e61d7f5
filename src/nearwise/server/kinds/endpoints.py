"""Endpoints: the older list of a service's addresses (core/v1 ``ValidateEndpoints``)."""

from __future__ import annotations

from nearwise.model import names
from nearwise.model.codec import from_dict
from nearwise.model.core import Endpoints, EndpointsAddress, EndpointsPort, EndpointsSubset
from nearwise.model.validation.addresses import legacy_ip, usable_ip
from nearwise.model.validation.endpoint_slices import PROTOCOLS
from nearwise.model.validation.fields import Errors, checked, invalid, one_of, required
from nearwise.server.kinds.plain import each, filled
from nearwise.server.objects.stored import Decoded


def with_defaults(endpoints: Decoded) -> Decoded:
    """Return the Endpoints with the protocol of each port."""
    return each(
        endpoints,
        "subsets",
        lambda subset: each(subset, "ports", lambda port: filled(port, protocol="TCP")),
    )


def errors(endpoints: Decoded, old: Decoded | None) -> Errors:
    """Check the subsets; those of the object that is replaced are not looked at again."""
    now = from_dict(endpoints, Endpoints).subsets
    if old is not None and from_dict(old, Endpoints).subsets == now:
        return []
    return [
        error for place, subset in enumerate(now) for error in _subset(f"subsets[{place}]", subset)
    ]


def _subset(path: str, subset: EndpointsSubset) -> Errors:
    found: Errors = []
    if not (subset.addresses or subset.not_ready_addresses):
        found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
    for field, addresses in [
        ("addresses", subset.addresses),
        ("notReadyAddresses", subset.not_ready_addresses),
    ]:
        for place, address in enumerate(addresses):
            found += _address(f"{path}.{field}[{place}]", address)
    for place, port in enumerate(subset.ports):
        found += _port(f"{path}.ports[{place}]", port, needs_name=len(subset.ports) > 1)
    return found


def _address(path: str, address: EndpointsAddress) -> Errors:
    found = legacy_ip(f"{path}.ip", address.ip) or usable_ip(f"{path}.ip", address.ip)
    if address.hostname:
        found += checked(f"{path}.hostname", address.hostname, names.dns_label)
    if address.node_name is not None:
        found += checked(f"{path}.nodeName", address.node_name, names.dns_subdomain)
    return found


def _port(path: str, port: EndpointsPort, *, needs_name: bool) -> Errors:
    found: Errors = []
    if port.name:
        found += checked(f"{path}.name", port.name, names.dns_label)
    elif needs_name:
        found.append(required(f"{path}.name"))
    if not 1 <= port.port <= 65535:
        found.append(invalid(f"{path}.port", port.port, "must be between 1 and 65535, inclusive"))
    found += one_of(f"{path}.protocol", port.protocol, PROTOCOLS)
    if port.app_protocol is not None:
        found += checked(f"{path}.appProtocol", port.app_protocol, names.qualified_name)
    return found
