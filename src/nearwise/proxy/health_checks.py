"""The health checks of services under external policy Local (API field ``healthCheckNodePort``).

Law: here is who is asked about, on which port, and what the answer is, as kube-proxy gives it: the
form of page, codes and header is what cloud load balancers go by. Opening the ports is
``health_ports``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from nearwise.loops.serving import Answer, Readable
from nearwise.machinery.cache import ObjectKey
from nearwise.model import Service
from nearwise.nft.addresses import parsed
from nearwise.nft.compile import Routes
from nearwise.nft.ruleset import Family
from nearwise.proxy.health import Health
from nearwise.proxy.routes import Changes

_JSON: Final = "application/json"


class ServicePages:
    """The health check of one service under external policy Local: who of it is on this node."""

    def __init__(self, namespace: str, name: str, health: Health) -> None:
        self.endpoints = 0
        """How many ready endpoints of the service are on this node."""
        self._service = {"namespace": namespace, "name": name}
        self._health = health

    def get(self, _path: str = "/", _accept: str = "", _query: str = "") -> Answer:
        """Return whether a load balancer is to send connections here, whatever the path."""
        count, working = self.endpoints, self._health.is_working
        body = {
            "service": self._service,
            "localEndpoints": count,
            "serviceProxyHealthy": working,
        }
        return Answer(
            HTTPStatus.OK if count and working else HTTPStatus.SERVICE_UNAVAILABLE,
            msgspec.json.encode(body),
            _JSON,
            (f"X-Load-Balancing-Endpoint-Weight: {count}",),
        )


class _Asked(NamedTuple):
    """A service that is asked about."""

    family: Family
    port: int
    pages: ServicePages


class HealthChecks:
    """The health checks of services under external policy Local."""

    def __init__(self, health: Health, want: Callable[[Mapping[int, Readable]], None]) -> None:
        """Begin with none; ``want`` is told of the pages of every port whenever ports change."""
        self._health = health
        self._want = want
        self._asked: dict[ObjectKey, _Asked] = {}

    def changed(self, family: Family, changes: Changes) -> None:
        """Take in what is chosen for services now.

        A service of both families has one port, and its first family tells who is here.
        """
        before = dict(self._asked)
        for key, routes in changes.items():
            held = self._asked.get(key)
            if routes is None:
                if held is not None and held.family is family:
                    del self._asked[key]
            elif family is _first_family(routes.service):
                port = _port(routes.service)
                if port == 0:
                    self._asked.pop(key, None)
                    continue
                if held is None or held.port != port:
                    pages = ServicePages(*key, self._health)
                    held = self._asked[key] = _Asked(family, port, pages)
                held.pages.endpoints = local_endpoints(routes)
        if self._asked != before:
            self._want({each.port: each.pages for _, each in sorted(self._asked.items())})


def local_endpoints(routes: Routes) -> int:
    """Count the ready endpoints of a service on this node: pods, so each address once."""
    return len(
        {
            backend.address
            for selection in routes.selections.values()
            if selection.healthy
            for backend in selection.local
        }
    )


def _port(service: Service) -> int:
    """Return the port on which a service is asked about; 0 if it is not."""
    spec = service.spec
    local = spec.external_traffic_policy == "Local" and spec.type == "LoadBalancer"
    return spec.health_check_node_port if local else 0


def _first_family(service: Service) -> Family:
    first = parsed(next(iter(service.spec.cluster_ips or (service.spec.cluster_ip,)), ""))
    return Family.IPV6 if first is not None and len(first) == 16 else Family.IPV4
