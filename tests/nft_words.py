"""Services as short as they can be written down, and what a table has of them in words."""

from __future__ import annotations

from typing import Any

import msgspec

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    ObjectMeta,
    Service,
)
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.nft.compile import Routes
from nearwise.nft.frontends import written
from nearwise.nft.layout import (
    ALLOWED,
    CLUSTER_ADDRESSES,
    ENDPOINTS,
    FENCED,
    LOCAL_ENDPOINTS,
    OWN_ENDPOINTS,
    Settings,
)
from nearwise.nft.registers import address_of, drawn_of, port_of
from nearwise.nft.ruleset import Drop, Elements, Family, Ruleset, Value, Verdict
from nearwise.routing import Client, merge, select

HERE = Client("n1", "a")
V4 = Settings(
    Family.IPV4,
    pod_networks=("10.244.0.0/16",),
    node_port_addresses=("192.168.1.1",),
    node_addresses=("192.168.1.1", "172.17.0.1"),
)
V6 = Settings(
    Family.IPV6,
    pod_networks=("fd00:244::/32",),
    node_port_addresses=("2001:db8::1",),
    node_addresses=("2001:db8::1",),
)


def service(
    name: str = "web",
    *,
    made: str = "2026-01-01T00:00:00Z",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    ingress: tuple[Any, ...] = (),
    **spec: Any,
) -> Service:
    """Make a service of the namespace shop; ``spec`` as the API has it.

    It has the cluster address 10.96.0.1 and the port ``http``, 80, unless told otherwise; ingress
    points are addresses, or dicts as the API has them.
    """
    points = [{"ip": each} if isinstance(each, str) else each for each in ingress]
    spec = {"clusterIP": "10.96.0.1", "ports": [{"name": "http", "port": 80}], **spec}
    body = {
        "metadata": {
            "namespace": "shop",
            "name": name,
            "creationTimestamp": made,
            "labels": labels or {},
            "annotations": annotations or {},
        },
        "spec": spec,
        "status": {"loadBalancer": {"ingress": points}},
    }
    return msgspec.convert(body, Service)


def pod(address: str, node: str | None = "n2", **conditions: bool) -> Endpoint:
    """Make an endpoint on another node than this one, n1, unless told otherwise."""
    return Endpoint((address,), EndpointConditions(**conditions), node_name=node, zone="a")


def routes(of: Service, *pods: Endpoint, family: Family = Family.IPV4, port: int = 8080) -> Routes:
    """Choose for n1 among endpoints that listen on ``port`` for every port of the service."""
    slice_ = EndpointSlice(
        metadata=ObjectMeta(
            name=f"{of.metadata.name}-1",
            namespace=of.metadata.namespace,
            labels={SERVICE_NAME: of.metadata.name},
        ),
        address_type=family.api,
        endpoints=pods,
        ports=tuple(
            EndpointPort(each.name, each.protocol or "TCP", port) for each in of.spec.ports
        ),
    )
    view = merge(of, [slice_], family.api)
    return Routes(of, {key: select(of, pool, HERE) for key, pool in view.backends.items()})


def words(ruleset: Ruleset) -> dict[str, dict[str, str]]:
    """Return what is in the sets and maps of a table, those left out that are empty."""
    return {
        name: element_words(name, ruleset.family, elements)
        for name, elements in ruleset.elements.items()
        if elements
    }


def element_words(name: str, family: Family, elements: Elements) -> dict[str, str]:
    """Return elements of a set: ``10.96.0.1:80/TCP #0`` -> ``10.244.0.1:8080``."""
    return {
        _key(name, family, key): _value(elements[key])
        for key in sorted(elements, key=lambda each: (each[:-4], each[-4:][::-1]))
    }


def _key(name: str, family: Family, key: bytes) -> str:
    width = family.width
    frontend = key[: width + 8]
    if name in (CLUSTER_ADDRESSES, OWN_ENDPOINTS):
        return address_of(key[:width])
    if name == ALLOWED:
        assert key[len(key) // 2 :].startswith(frontend)
        first, last = key[: len(key) // 2][-width:], key[-width:]
        return f"{written(frontend)} from {address_of(first)} to {address_of(last)}"
    if name in (ENDPOINTS, LOCAL_ENDPOINTS):
        return f"{written(frontend)} #{drawn_of(key[-4:])}"
    assert name == FENCED or key == frontend
    return written(key)


def _value(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, Verdict):
        return "drop" if isinstance(value.what, Drop) else value.what.chain
    return f"{address_of(value[:-4])}:{port_of(value[-4:])}"
