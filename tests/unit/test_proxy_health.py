"""Health of a proxy, its node and its services: what load balancers are told, and where."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nearwise.loops.serving import Readable
from nearwise.model.core import ServicePort
from nearwise.nft.compile import Routes
from nearwise.nft.ruleset import Family
from nearwise.proxy import health_ports as module
from nearwise.proxy.health import Health, HealthPages
from nearwise.proxy.health_checks import HealthChecks, ServicePages, local_endpoints
from nearwise.proxy.health_ports import HealthPorts
from nearwise.proxy.routes import routes_of
from nearwise.routing import Client, merge
from proxy_world import HTTP, World, endpoint, node, service, settle, slice_of
from simulation.model_cluster import surroundings
from virtual_time import run

KEY = ("shop", "web")


def said(pages: Readable, path: str = "/healthz") -> tuple[int, Any]:
    answer = pages.get(path)
    assert answer.content_type == "application/json"
    return answer.status.value, json.loads(answer.body)


# --- the proxy and the node -----------------------------------------------------------------------


def test_a_proxy_is_well_while_it_begins_and_while_all_it_heard_is_in_the_kernel() -> None:
    async def story() -> None:
        world = World(node(), service(), slice_of(endpoint(1)))
        async with world.running(settle=0) as process:
            assert said(process.health_pages)[0] == 200
            await settle(600)
            status, body = said(process.health_pages)
            assert status == 200
            assert body["nodeEligible"] is True
            assert body["lastUpdated"] == body["currentTime"]

    run(story())


def test_a_change_that_does_not_get_into_the_kernel_makes_it_unwell_after_two_periods() -> None:
    async def story() -> None:
        world = World(node(), service(), slice_of(endpoint(1)))
        async with world.running(sync_period=10.0) as process:
            world.kernel.refuse = lambda change: "broken" if change else ""
            world.cluster.put(slice_of(endpoint(2)))
            await settle(19)
            assert said(process.health_pages, "/livez")[0] == 200
            await settle(3)
            status, body = said(process.health_pages, "/livez")
            assert status == 503
            assert body["lastUpdated"] < body["currentTime"]
            assert "nodeEligible" not in body
            world.kernel.refuse = lambda _: ""
            await settle(31)
            assert said(process.health_pages, "/livez")[0] == 200

    run(story())


def test_a_node_that_is_about_to_go_is_not_to_be_sent_to_though_the_proxy_lives() -> None:
    async def story() -> None:
        world = World(node(deletion_timestamp="2026-01-01T00:00:00Z"))
        async with world.running() as process:
            status, body = said(process.health_pages)
            assert (status, body["nodeEligible"]) == (503, False)
            assert said(process.health_pages, "/livez")[0] == 200
            world.cluster.put(node(deletion_timestamp=None))
            await settle()
            assert said(process.health_pages)[0] == 200

    run(story())


def test_answers_are_counted_by_page_and_code() -> None:
    async def story() -> Mapping[tuple[str, int], int]:
        health = Health(surroundings(), 60.0)
        pages = HealthPages(health)
        pages.get("/livez")
        pages.get("/healthz")
        health.is_staying = False
        pages.get("/healthz")
        assert pages.get("/other").status == 404
        return pages.answers

    assert run(story()) == {("/livez", 200): 1, ("/healthz", 200): 1, ("/healthz", 503): 1}


# --- services -------------------------------------------------------------------------------------


def balanced(**spec: Any) -> Routes:
    """Make what is chosen for a service under external policy Local with endpoints here."""
    ports = (HTTP, ServicePort("admin", "TCP", None, 81, 8081))
    made = service(
        "web",
        "10.96.0.1",
        *ports,
        **{
            "type": "LoadBalancer",
            "external_traffic_policy": "Local",
            "health_check_node_port": 32000,
            "external_ips": ("203.0.113.1",),
            **spec,
        },
    )
    here = [endpoint(1, on="n1"), endpoint(2, on="n1"), endpoint(3, on="n2")]
    slices = [slice_of(*here, endpoint(4, on="n1", ready=False, serving=True))]
    return routes_of(merge(made, slices, "IPv4"), Client("n1", "a"))


def test_ready_endpoints_on_this_node_are_counted_each_pod_once() -> None:
    assert local_endpoints(balanced()) == 2


def test_a_service_without_anybody_here_counts_none() -> None:
    routes = balanced()
    elsewhere = routes_of(
        merge(routes.service, [slice_of(endpoint(4, on="n1", ready=False, serving=True))], "IPv4"),
        Client("n1", "a"),
    )
    assert local_endpoints(elsewhere) == 0


def test_the_answer_is_that_of_kube_proxy() -> None:
    async def story() -> None:
        pages = ServicePages("shop", "web", Health(surroundings(), 60.0))
        pages.endpoints = 2
        answer = pages.get("/healthz")
        assert json.loads(answer.body) == {
            "service": {"namespace": "shop", "name": "web"},
            "localEndpoints": 2,
            "serviceProxyHealthy": True,
        }
        assert answer.status == 200
        assert b"\r\nX-Load-Balancing-Endpoint-Weight: 2\r\n" in answer.to_bytes()
        pages.endpoints = 0
        assert said(pages)[0] == 503

    run(story())


def test_a_proxy_that_does_not_work_takes_no_connections_for_any_service() -> None:
    async def story() -> None:
        health = Health(surroundings(), 60.0)
        pages = ServicePages("shop", "web", health)
        pages.endpoints = 2
        health.queued()
        await settle(61)
        status, body = said(pages)
        assert (status, body["serviceProxyHealthy"]) == (503, False)

    run(story())


class Wanted:
    """Remembers which ports are wanted."""

    def __init__(self) -> None:
        self.pages: Mapping[int, Readable] = {}
        self.told = 0

    def __call__(self, pages: Mapping[int, Readable]) -> None:
        self.pages = pages
        self.told += 1


def test_ports_come_and_go_with_services() -> None:
    async def story() -> None:
        wanted = Wanted()
        local = HealthChecks(Health(surroundings(), 60.0), wanted)
        local.changed(Family.IPV4, {KEY: balanced()})
        local.changed(Family.IPV6, {KEY: None})  # it is not of that family
        assert list(wanted.pages) == [32000]
        assert said(wanted.pages[32000])[1]["localEndpoints"] == 2

        local.changed(Family.IPV4, {KEY: balanced(health_check_node_port=32001)})
        assert list(wanted.pages) == [32001]
        local.changed(Family.IPV4, {KEY: None})
        assert list(wanted.pages) == []

    run(story())


def test_ports_stay_as_they_are_when_only_endpoints_change() -> None:
    async def story() -> None:
        wanted = Wanted()
        local = HealthChecks(Health(surroundings(), 60.0), wanted)
        local.changed(Family.IPV4, {KEY: balanced()})
        pages = wanted.pages[32000]
        routes = balanced()
        nobody = routes_of(merge(routes.service, [], "IPv4"), Client("n1", "a"))
        local.changed(Family.IPV4, {KEY: nobody})
        assert wanted.told == 1
        assert said(pages)[0] == 503

    run(story())


@pytest.mark.parametrize(
    "spec",
    [
        {"external_traffic_policy": "Cluster"},
        {"type": "NodePort"},
        {"health_check_node_port": 0},
    ],
)
def test_other_services_are_not_asked_about(spec: dict[str, Any]) -> None:
    async def story() -> None:
        wanted = Wanted()
        local = HealthChecks(Health(surroundings(), 60.0), wanted)
        local.changed(Family.IPV4, {KEY: balanced(**spec)})
        assert wanted.told == 0

    run(story())


def test_a_service_of_both_families_is_asked_about_by_its_first() -> None:
    async def story() -> None:
        wanted = Wanted()
        local = HealthChecks(Health(surroundings(), 60.0), wanted)
        both = balanced(cluster_ip="fd96::1", cluster_ips=("fd96::1", "10.96.0.1"))
        local.changed(Family.IPV4, {KEY: both})
        assert wanted.told == 0
        local.changed(Family.IPV6, {KEY: both})
        assert list(wanted.pages) == [32000]
        local.changed(Family.IPV4, {KEY: None})
        assert list(wanted.pages) == [32000]

    run(story())


# --- ports, for real ------------------------------------------------------------------------------


async def asked(port: int, host: str = "127.0.0.1") -> bytes:
    """Ask on a port; nothing while nobody is there."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return b""
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


def ports(story: Callable[[HealthPorts, ServicePages, int], Any]) -> None:
    """Run a story about one port that is free."""

    async def main() -> None:
        with socket.create_server(("", 0)) as free:
            port = free.getsockname()[1]
        pages = ServicePages("shop", "web", Health(surroundings(), 60.0))
        pages.endpoints = 1
        served = HealthPorts()
        task = asyncio.create_task(served.run())
        try:
            await story(served, pages, port)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert await asked(port) == b""

    asyncio.run(main())


async def eventually(fine: Callable[[], bool]) -> None:
    while not fine():
        await asyncio.sleep(0.01)


def test_a_port_is_open_while_it_is_wanted() -> None:
    async def story(served: HealthPorts, pages: ServicePages, port: int) -> None:
        served.want({port: pages})
        await eventually(lambda: served.ports == [port])
        assert b"200 OK" in await asked(port)
        served.want({})
        await eventually(lambda: served.ports == [])
        assert await asked(port) == b""

    ports(story)


def test_a_port_that_gets_another_service_answers_for_that() -> None:
    async def story(served: HealthPorts, pages: ServicePages, port: int) -> None:
        served.want({port: pages})
        await eventually(lambda: served.ports == [port])
        other = ServicePages("shop", "db", Health(surroundings(), 60.0))
        served.want({port: other})
        await asyncio.sleep(0.01)
        assert b'"name":"db"' in await asked(port)

    ports(story)


def test_a_port_that_is_taken_is_told_once_and_tried_until_it_is_free(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(module, "_AGAIN", 0.01)

    async def story(served: HealthPorts, pages: ServicePages, port: int) -> None:
        with socket.create_server(("", port)):
            served.want({port: pages})
            await asyncio.sleep(0.2)
            assert served.ports == []
        await eventually(lambda: served.ports == [port])

    ports(story)
    told = [each.getMessage() for each in caplog.records if "port" in each.getMessage()]
    assert len(told) == 2
    assert "cannot be opened: " in told[0]
    assert told[1].endswith("is open now")
