"""What clients can connect to: the addresses, protocols and ports of a service.

Law: a frontend is left out for what is wrong with it, never for what is wrong with another. Whether
somebody answers there, and whether another service claims the same, is decided in ``compile``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.model.core import ServicePort
from nearwise.model.wellknown import HEADLESS
from nearwise.nft.addresses import is_special, parsed, parsed_for
from nearwise.nft.layout import Settings
from nearwise.nft.registers import PROTOCOLS, address_of, port_of, protocol_of
from nearwise.nft.registers import frontend as packed_frontend
from nearwise.nft.ruleset import Family
from nearwise.routing import is_routed
from nearwise.routing.backend import PortKey

OTHER_PROXY: Final = "service.kubernetes.io/service-proxy-name"
"""The label of a service that another proxy is to serve."""

_WITH_NODE_PORTS: Final = frozenset(("NodePort", "LoadBalancer"))


class Kind(StrEnum):
    """How a client came by an address."""

    CLUSTER = "cluster address"
    BALANCER = "load balancer"
    EXTERNAL = "external IP"
    NODE_PORT = "node port"


class Frontend(msgspec.Struct, frozen=True, gc=False):
    """Something that clients connect to: a packed key, and which port of the service it is."""

    key: bytes
    kind: Kind
    port: PortKey


def frontends(
    service: Service, settings: Settings
) -> tuple[tuple[Frontend, ...], tuple[Reason, ...]]:
    """Return the frontends of a service in a family, each key once, and what was left out.

    Where a service names an address twice, it is a cluster address rather than one of a load
    balancer, and that rather than another, so that source ranges are kept. A service without a
    cluster address in the family has nothing in it (recorded behaviour of Kubernetes 1.36).
    """
    told: list[Reason] = []
    addresses = _addresses(service, settings, told) if _is_ours(service, told) else ()
    if not addresses:
        return (), tuple(told)
    found: dict[bytes, Frontend] = {}
    ports = _ports(service.spec.ports, told)
    for kind, address in addresses:
        for protocol, port in ports:
            number = port.node_port if kind is Kind.NODE_PORT else port.port
            if 0 < number < 65536:
                key = packed_frontend(address, protocol, number)
                frontend = Frontend(key, kind, (port.name, protocol))
                before = found.setdefault(key, frontend)
                if before.port != frontend.port:
                    told.append(_on_two_ports(key, before.port, frontend.port))
    return tuple(found.values()), tuple(told)


def written(frontend: bytes) -> str:
    """Return the key of a frontend as people write it: ``[fd00::1]:80/TCP``."""
    address = address_of(frontend[:-8])
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port_of(frontend[-4:])}/{protocol_of(frontend[-8:-4])}"


def _is_ours(service: Service, told: list[Reason]) -> bool:
    """Say whether the service is for this proxy: its labels can give it to another."""
    if not is_routed(service):
        return False
    if labels := service.metadata.labels:
        if OTHER_PROXY in labels:
            told.append(reason("service-other-proxy", proxy=labels[OTHER_PROXY]))
            return False
        if HEADLESS in labels:
            told.append(reason("service-labelled-headless", label=HEADLESS))
            return False
    return True


def _addresses(
    service: Service, settings: Settings, told: list[Reason]
) -> list[tuple[Kind, bytes]]:
    """Return the addresses in the family; none if the service has no cluster address in it."""
    spec, family = service.spec, settings.family
    cluster = _cluster_addresses(service, family, told)
    if cluster is None:
        return []
    found = [(Kind.CLUSTER, address) for address in cluster]
    if ingress := service.status.load_balancer.ingress:
        texts = {
            f"status.loadBalancer.ingress[{index}].ip": each.ip
            for index, each in enumerate(ingress)
            if each.ip and each.ip_mode in (None, "", "VIP")
        }
        found += [(Kind.BALANCER, address) for address in _usable(texts, family, told)]
    if spec.external_ips:
        texts = {f"spec.externalIPs[{index}]": ip for index, ip in enumerate(spec.external_ips)}
        found += [(Kind.EXTERNAL, address) for address in _usable(texts, family, told)]
    if spec.type in _WITH_NODE_PORTS:
        for text in settings.node_port_addresses:
            if address := parsed_for(family, text):
                found.append((Kind.NODE_PORT, address))
    return found


def _cluster_addresses(
    service: Service, family: Family, told: list[Reason]
) -> Iterable[bytes] | None:
    """Return the cluster addresses in the family; None if the service is not in the family."""
    spec = service.spec
    texts = dict.fromkeys((*spec.cluster_ips, spec.cluster_ip))
    texts.pop("", None)
    if "None" in texts:
        return None
    found: dict[bytes, None] = {}
    in_family = False
    for text in texts:
        packed = parsed(text)
        if packed is None:
            told.append(reason("frontend-address-unreadable", field="spec.clusterIPs", value=text))
            in_family |= not spec.ip_families or family.api in spec.ip_families
        elif len(packed) == family.width:
            in_family = True
            if _is_usable(packed, "spec.clusterIPs", text, told):
                found[packed] = None
    return found if in_family else None


def _usable(texts: dict[str, str], family: Family, told: list[Reason]) -> list[bytes]:
    """Return the addresses in the family that a service can have; tell of those it cannot."""
    found = []
    for field, text in texts.items():
        packed = parsed(text)
        if packed is None:
            told.append(reason("frontend-address-unreadable", field=field, value=text))
        elif len(packed) == family.width and _is_usable(packed, field, text, told):
            found.append(packed)
    return found


def _is_usable(packed: bytes, field: str, text: str, told: list[Reason]) -> bool:
    if is_special(packed):
        told.append(reason("frontend-address-special", field=field, value=text))
        return False
    return True


def _ports(ports: tuple[ServicePort, ...], told: list[Reason]) -> list[tuple[str, ServicePort]]:
    """Return ports with their protocols, and tell of what cannot be served on them."""
    found = []
    for index, port in enumerate(ports):
        protocol = port.protocol or "TCP"
        if protocol not in PROTOCOLS:
            field = f"spec.ports[{index}].protocol"
            told.append(reason("frontend-protocol-unknown", field=field, value=protocol))
            continue
        if not 0 < port.port < 65536:
            field = f"spec.ports[{index}].port"
            told.append(reason("frontend-port-invalid", field=field, value=port.port))
        if port.node_port and not 0 < port.node_port < 65536:
            field = f"spec.ports[{index}].nodePort"
            told.append(reason("frontend-port-invalid", field=field, value=port.node_port))
        found.append((protocol, port))
    return found


def _on_two_ports(frontend: bytes, winner: PortKey, loser: PortKey) -> Reason:
    return reason(
        "frontend-on-two-ports",
        frontend=written(frontend),
        winner=winner[0] or "without name",
        loser=loser[0] or "without name",
    )
