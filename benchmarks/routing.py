"""Merging slices and choosing for a node: against the plainest Python that does the job.

The plain way makes a dict for every endpoint and goes through all of them for every answer; a
change means to merge all slices of the service again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import cycle
from random import Random
from typing import Any

import msgspec

from benchmarks.timing import Case
from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForZone,
    ObjectMeta,
    ObjectReference,
    Service,
)
from nearwise.model.core import ServicePort, ServiceSpec
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.routing import Client, ServiceView, merge, select

SLICES, ENDPOINTS, ZONES = 10_000, 10, 3
HTTP = ("http", "TCP")
CLIENT = Client("node-7", "zone-1")

Plain = list[dict[str, Any]]


def cases() -> Iterator[Case]:
    """Yield the comparisons."""
    size = f"{SLICES:,} slices of {ENDPOINTS}"
    services = [_service(number) for number in range(SLICES)]
    slices = [_slice(number, of=number) for number in range(SLICES)]
    pairs = [(service, (each,)) for service, each in zip(services, slices, strict=True)]

    gc.freeze()  # what is prepared is no work for the collector, which stays on
    yield Case(
        f"merge {size}, one a service",
        "plain dicts",
        lambda: [_merged_plainly(service, each) for service, each in pairs],
        lambda: [merge(service, each, "IPv4") for service, each in pairs],
    )
    views = [(service, merge(service, each, "IPv4").backends[HTTP]) for service, each in pairs]
    plain = [_merged_plainly(service, each) for service, each in pairs]
    gc.freeze()
    yield Case(
        f"choose for one node, {SLICES:,} services of {ENDPOINTS}",
        "plain scans",
        lambda: [_chosen_plainly(backends, CLIENT) for backends in plain],
        lambda: [select(service, pool, CLIENT) for service, pool in views],
    )
    yield Case(
        f"merge {size}, one a service, and choose for the first node",
        "plain dicts and scans",
        lambda: [_chosen_plainly(_merged_plainly(*pair), CLIENT) for pair in pairs],
        lambda: [
            select(service, merge(service, each, "IPv4").backends[HTTP], CLIENT)
            for service, each in pairs
        ],
    )
    one = services[0]
    all_of_one = [_slice(number, of=0) for number in range(SLICES)]
    yield Case(
        f"merge {size}, all of one service",
        "plain dicts",
        lambda: _merged_plainly(one, all_of_one),
        lambda: merge(one, all_of_one, "IPv4"),
    )
    for count in (100, SLICES):
        some = all_of_one[:count]
        view = merge(one, some, "IPv4")
        yield Case(
            f"one slice of {count:,} of a service changes",
            "merge again",
            lambda some=some: merge(one, some, "IPv4"),  # type: ignore[misc]
            _Changes(view, some),
            rounds=51,
        )
        yield Case(
            f"one slice of {count:,} of a service changes, and choose",
            "merge again and choose",
            lambda some=some: select(  # type: ignore[misc]
                one, merge(one, some, "IPv4").backends[HTTP], CLIENT
            ),
            _Changes(view, some, choose=True),
            rounds=51,
        )


class _Changes:
    """One slice after another loses its first endpoint and gets it back."""

    def __init__(
        self, view: ServiceView, slices: Iterable[EndpointSlice], *, choose: bool = False
    ) -> None:
        self._view = view
        self._choose = choose
        self._changes = cycle(
            [
                each
                for whole in slices
                for each in (msgspec.structs.replace(whole, endpoints=whole.endpoints[1:]), whole)
            ]
        )

    def __call__(self) -> None:
        self._view = self._view.changed(put=[next(self._changes)])
        if self._choose:
            select(self._view.service, self._view.backends[HTTP], CLIENT)


def _service(number: int) -> Service:
    return Service(
        metadata=ObjectMeta(name=f"web-{number}", namespace="shop"),
        spec=ServiceSpec(
            ports=(ServicePort("http", "TCP", None, 80, 8080),),
            cluster_ip="10.96.0.1",
            type="ClusterIP",
            internal_traffic_policy="Cluster",
        ),
    )


def _slice(number: int, *, of: int) -> EndpointSlice:
    """Make a slice of ready endpoints, all with a zone hint, at addresses in no order."""
    random = Random(number)
    return EndpointSlice(
        metadata=ObjectMeta(
            name=f"web-{of}-{number}", namespace="shop", labels={SERVICE_NAME: f"web-{of}"}
        ),
        address_type="IPv4",
        endpoints=tuple(
            Endpoint(
                (".".join(["10", *(str(random.randrange(256)) for _ in range(3))]),),
                EndpointConditions(True, True, False),
                target_ref=ObjectReference("Pod", "shop", f"web-{of}-{number}-{i}"),
                node_name=f"node-{i}",
                zone=f"zone-{i % ZONES}",
                hints=EndpointHints((ForZone(f"zone-{i % ZONES}"),)),
            )
            for i in range(ENDPOINTS)
        ),
        ports=(EndpointPort("http", "TCP", 8080),),
    )


def _merged_plainly(service: Service, slices: Iterable[EndpointSlice]) -> Plain:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    wanted = {(port.name, port.protocol) for port in service.spec.ports}
    for each in slices:
        if each.metadata.labels.get(SERVICE_NAME) != service.metadata.name:
            continue
        for port in each.ports:
            if (port.name, port.protocol) not in wanted or port.port is None:
                continue
            for endpoint in each.endpoints:
                hints = endpoint.hints
                backend = {
                    "address": endpoint.addresses[0],
                    "port": port.port,
                    "ready": endpoint.conditions.ready is not False,
                    "serving": endpoint.conditions.serving is not False,
                    "terminating": endpoint.conditions.terminating is True,
                    "zones": {zone.name for zone in hints.for_zones} if hints else set(),
                    "nodes": {node.name for node in hints.for_nodes} if hints else set(),
                    "node": endpoint.node_name,
                }
                key = (endpoint.addresses[0], port.port)
                if key not in found or not backend["terminating"]:
                    found[key] = backend
    return [found[key] for key in sorted(found)]


def _chosen_plainly(backends: Plain, client: Client) -> Plain:
    ready = [backend for backend in backends if backend["ready"]]
    if ready and all(backend["nodes"] for backend in ready):
        near = [backend for backend in ready if client.node in backend["nodes"]]
        if near:
            return near
    if ready and all(backend["zones"] for backend in ready):
        near = [backend for backend in ready if client.zone in backend["zones"]]
        if near:
            return near
    return ready or [b for b in backends if b["serving"] and b["terminating"]]
