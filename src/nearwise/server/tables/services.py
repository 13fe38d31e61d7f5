"""Services, Endpoints and EndpointSlices as tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from nearwise.server.patch.values import Json, Object
from nearwise.server.tables import descriptions
from nearwise.server.tables.columns import AGE, NAME, Column, Layout, age_of, name_of, wide
from nearwise.server.tables.reading import (
    labels_text,
    number,
    or_none,
    part,
    parts,
    some_of,
    text,
    texts,
)

# --- Services -----------------------------------------------------------------------------


def _service(service: Object, now: datetime) -> list[Json]:
    spec = part(service, "spec")
    return [
        name_of(service),
        text(spec, "type"),
        or_none(next(iter(texts(spec, "clusterIPs")), "")),
        _external(spec, part(service, "status", "loadBalancer")),
        or_none(",".join(map(_service_port, parts(spec, "ports")))),
        age_of(service, now),
        labels_text(part(spec, "selector")),
    ]


def _external(spec: Object, balancer: Object) -> str:
    """Show where a service is reached from outside."""
    external = texts(spec, "externalIPs")
    match text(spec, "type"):
        case "ExternalName":
            return text(spec, "externalName")
        case "LoadBalancer":
            ingress = {text(each, "ip", "hostname") for each in parts(balancer, "ingress")}
            return ",".join([*sorted(ingress - {""}), *external]) or "<pending>"
        case "ClusterIP" | "NodePort":
            return or_none(",".join(external))
    return "<unknown>"


def _service_port(port: Object) -> str:
    node_port = number(port, "nodePort")
    numbers = f"{number(port, 'port')}{f':{node_port}' if node_port > 0 else ''}"
    return f"{numbers}/{text(port, 'protocol')}"


SERVICES: Final = Layout(
    (
        NAME,
        Column("Type", descriptions.SERVICE_TYPE),
        Column("Cluster-IP", descriptions.CLUSTER_IP),
        Column("External-IP", descriptions.EXTERNAL_IPS),
        Column("Port(s)", descriptions.SERVICE_PORTS),
        AGE,
        wide("Selector", descriptions.SERVICE_SELECTOR),
    ),
    _service,
)

# --- Endpoints ----------------------------------------------------------------------------


def _endpoints(endpoints: Object, now: datetime) -> list[Json]:
    subsets = parts(endpoints, "subsets")
    shown = some_of(place for subset in subsets for place in _places(subset))
    return [name_of(endpoints), shown if subsets else "<none>", age_of(endpoints, now)]


def _places(subset: Object) -> Iterator[str]:
    """Show the ready addresses of a subset, with each of its ports."""
    addresses = [text(each, "ip") for each in parts(subset, "addresses")]
    ports = parts(subset, "ports")
    if not ports:
        yield from addresses
    for port in ports:
        for address in addresses:
            host = f"[{address}]" if ":" in address else address
            yield f"{host}:{number(port, 'port')}"


ENDPOINTS: Final = Layout((NAME, Column("Endpoints", descriptions.SUBSETS), AGE), _endpoints)

# --- EndpointSlices -----------------------------------------------------------------------


def _slice(endpoint_slice: Object, now: datetime) -> list[Json]:
    endpoints = parts(endpoint_slice, "endpoints")
    addresses = some_of(address for each in endpoints for address in texts(each, "addresses"))
    ports = some_of(map(_slice_port, parts(endpoint_slice, "ports")))
    return [
        name_of(endpoint_slice),
        text(endpoint_slice, "addressType"),
        ports or "<unset>",
        addresses or "<unset>",
        age_of(endpoint_slice, now),
    ]


def _slice_port(port: Object) -> str:
    """Show the number of a port; without one its name, and ``*`` for a port without either."""
    if port.get("port") is not None:
        return str(number(port, "port"))
    name = port.get("name")
    return name if isinstance(name, str) else "*"


ENDPOINT_SLICES: Final = Layout(
    (
        NAME,
        Column("AddressType", descriptions.ADDRESS_TYPE),
        Column("Ports", descriptions.SLICE_PORTS),
        Column("Endpoints", descriptions.SLICE_ENDPOINTS),
        AGE,
    ),
    _slice,
)
