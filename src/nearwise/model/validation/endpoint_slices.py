"""What a valid EndpointSlice is (``discovery.k8s.io/v1``, as recorded of Kubernetes 1.36)."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final

from nearwise.model import names
from nearwise.model.discovery import Endpoint, EndpointHints, EndpointPort, EndpointSlice
from nearwise.model.names import Check
from nearwise.model.validation.addresses import host_name, is_ipv6, strict_ip, usable_ip
from nearwise.model.validation.fields import (
    Errors,
    checked,
    duplicate,
    invalid,
    not_supported,
    one_of,
    required,
    too_many,
)
from nearwise.model.validation.metadata import (
    immutable,
    validate_metadata,
    validate_metadata_update,
)

_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")

_MAX_ENDPOINTS: Final = 1000
_MAX_ADDRESSES: Final = 100
_MAX_PORTS: Final = 20000
_MAX_HINTS: Final = 8


def validate_endpoint_slice(new: EndpointSlice) -> Errors:
    """Check a slice, defaults filled in, before it is created."""
    return [*validate_metadata(new.metadata, names.dns_subdomain), *_content(new, frozenset())]


def validate_endpoint_slice_update(new: EndpointSlice, old: EndpointSlice) -> Errors:
    """Check a slice, defaults filled in, that is to replace another.

    Addresses that the old one has are not looked at again: what was stored under earlier rules
    stays good.
    """
    known = frozenset(address for one in old.endpoints for address in one.addresses)
    return [
        *validate_metadata_update(new.metadata, old.metadata),
        *_content(new, known),
        *immutable("addressType", new.address_type, old.address_type),
    ]


def _content(new: EndpointSlice, known: Set[str]) -> Errors:
    errors = one_of("addressType", new.address_type, _ADDRESS_TYPES)
    if len(new.endpoints) > _MAX_ENDPOINTS:
        errors.append(too_many("endpoints", len(new.endpoints), _MAX_ENDPOINTS))
    else:
        for place, endpoint in enumerate(new.endpoints):
            errors += _endpoint(f"endpoints[{place}]", endpoint, new.address_type, known)
    if len(new.ports) > _MAX_PORTS:
        return [*errors, too_many("ports", len(new.ports), _MAX_PORTS)]
    seen: set[str] = set()
    for place, port in enumerate(new.ports):
        errors += _port(f"ports[{place}]", port, seen)
    return errors


def _endpoint(path: str, endpoint: Endpoint, address_type: str, known: Set[str]) -> Errors:
    errors: Errors = []
    addresses = f"{path}.addresses"
    if not endpoint.addresses:
        errors.append(required(addresses, "must contain at least 1 address"))
    elif len(endpoint.addresses) > _MAX_ADDRESSES:
        errors.append(too_many(addresses, len(endpoint.addresses), _MAX_ADDRESSES))
    check = _ADDRESS_CHECKS.get(address_type)
    for place, address in enumerate(endpoint.addresses):
        if check and address not in known:
            errors += check(addresses, place, address)
    if endpoint.node_name is not None:
        errors += checked(f"{path}.nodeName", endpoint.node_name, names.dns_subdomain)
    if endpoint.hostname is not None:
        errors += checked(f"{path}.hostname", endpoint.hostname, names.dns_label)
    if endpoint.hints:
        errors += _hints(f"{path}.hints", endpoint.hints)
    return errors


def _ip(family: str) -> Callable[[str, int, str], Errors]:
    def check(path: str, place: int, address: str) -> Errors:
        errors = strict_ip(f"{path}[{place}]", address)
        if errors:
            return errors
        if is_ipv6(address) != (family == "IPv6"):
            errors.append(invalid(path, address, f"must be an {family} address"))
        return [*errors, *usable_ip(f"{path}[{place}]", address)]

    return check


def _name(path: str, place: int, address: str) -> Errors:
    return host_name(f"{path}[{place}]", address)


_ADDRESS_CHECKS: Final = {"IPv4": _ip("IPv4"), "IPv6": _ip("IPv6"), "FQDN": _name}


def _hints(path: str, hints: EndpointHints) -> Errors:
    zones = tuple(zone.name for zone in hints.for_zones)
    nodes = tuple(node.name for node in hints.for_nodes)
    return [
        *_hint_names(f"{path}.forZones", zones, names.label_value),
        *_hint_names(f"{path}.forNodes", nodes, names.dns_subdomain),
    ]


def _hint_names(path: str, given: tuple[str, ...], check: Check) -> Errors:
    if len(given) > _MAX_HINTS:
        return [too_many(path, len(given), _MAX_HINTS)]
    errors: Errors = []
    for place, name in enumerate(given):
        if name in given[:place]:
            errors.append(duplicate(f"{path}[{place}].name", name))
        errors += checked(f"{path}[{place}].name", name, check)
    return errors


def _port(path: str, port: EndpointPort, seen: set[str]) -> Errors:
    errors: Errors = []
    name = port.name or ""
    if name:
        errors += checked(f"{path}.name", name, names.dns_label)
    if name in seen:
        errors.append(duplicate(f"{path}.name", name))
    seen.add(name)
    if port.protocol not in PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", port.protocol or "", PROTOCOLS))
    if port.app_protocol is not None:
        errors += checked(f"{path}.appProtocol", port.app_protocol, names.qualified_name)
    return errors
