"""What a proxy tells of itself: kube-proxy's metrics, where services go, and the rules it wrote."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from nearwise.model import EndpointPort
from nearwise.nft.ruleset import Family
from nearwise.proxy.process import Process
from proxy_world import HTTP, World, endpoint, node, service, settle, slice_of
from simulation.model_cluster import stamp
from virtual_time import run

V4 = {"ip_family": "IPv4"}
WEB = {"namespace": "shop", "service": "web", "port": "http", "family": "IPv4"}


class Scraped:
    """The metrics of one moment."""

    def __init__(self, process: Process) -> None:
        self.text = generate_latest(process.registry).decode()
        self.families = {
            family.name: family for family in text_string_to_metric_families(self.text)
        }

    def get(self, name: str, **labels: str) -> float:
        """Return the only sample of a name that has these labels."""
        (value,) = self.all(name, **labels)
        return value

    def all(self, name: str, **labels: str) -> list[float]:
        """Return all samples of a name that have these labels."""
        return [
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]


def shop() -> World:
    return World(node(), service(), slice_of(endpoint(1, "a"), endpoint(2, "b")))


# --- kube-proxy's ---------------------------------------------------------------------------------

NAMES = {
    "kubeproxy_conntrack_reconciler_deleted_entries_total",
    "kubeproxy_conntrack_reconciler_sync_duration_seconds",
    "kubeproxy_network_programming_duration_seconds",
    "kubeproxy_proxy_healthz_total",
    "kubeproxy_proxy_livez_total",
    "kubeproxy_sync_full_proxy_rules_duration_seconds",
    "kubeproxy_sync_partial_proxy_rules_duration_seconds",
    "kubeproxy_sync_proxy_rules_duration_seconds",
    "kubeproxy_sync_proxy_rules_endpoint_changes_pending",
    "kubeproxy_sync_proxy_rules_endpoint_changes_total",
    "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds",
    "kubeproxy_sync_proxy_rules_last_timestamp_seconds",
    "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
    "kubeproxy_sync_proxy_rules_no_local_endpoints_total",
    "kubeproxy_sync_proxy_rules_service_changes_pending",
    "kubeproxy_sync_proxy_rules_service_changes_total",
}
"""Those of kube-proxy 1.36 that are not about iptables, and one that is about chains."""


def test_kube_proxys_metrics_are_there_under_their_names() -> None:
    async def story() -> str:
        world = shop()
        async with world.running() as process:
            process.health_pages.get("/healthz")
            process.health_pages.get("/livez")
            return Scraped(process).text

    text = run(story())
    declared = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert NAMES - declared == set()


def test_openmetrics_takes_them_too() -> None:
    async def story() -> bytes:
        world = shop()
        async with world.running() as process:
            return bytes(generate_openmetrics(process.registry))  # type: ignore[no-untyped-call]

    assert run(story()).endswith(b"# EOF\n")


def test_syncs_of_everything_and_of_what_changed_are_told_apart() -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            world.cluster.put(slice_of(endpoint(3, "a")))
            await settle()
            found = Scraped(process)
            count = "kubeproxy_sync_{}proxy_rules_duration_seconds_count"
            assert found.get(count.format(""), **V4) == 2
            assert found.get(count.format("full_"), **V4) == 1
            assert found.get(count.format("partial_"), **V4) == 1

    run(story())


def test_changes_are_counted_and_pending_until_they_are_in_the_kernel() -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            name = "kubeproxy_sync_proxy_rules_endpoint_changes"
            assert Scraped(process).get(f"{name}_total") == 1
            assert Scraped(process).get(f"{name}_pending") == 0
            world.kernel.refuse = lambda change: "busy" if change else ""
            world.cluster.put(slice_of(endpoint(3)))
            await settle()
            assert Scraped(process).get(f"{name}_total") == 2
            assert Scraped(process).get(f"{name}_pending") == 1
            failures = Scraped(process).get(
                "kubeproxy_sync_proxy_rules_nftables_sync_failures_total", **V4
            )
            assert failures >= 1

    run(story())


def test_the_time_from_a_change_to_the_kernel_is_that_which_slices_tell() -> None:
    async def story() -> None:
        world = shop()
        async with world.running(settle=10) as process:
            name = "kubeproxy_network_programming_duration_seconds"
            assert Scraped(process).get(f"{name}_count", **V4) == 0
            began = stamp()
            await settle(3)
            world.cluster.put(slice_of(endpoint(3), trigger=began[:19] + "Z"))
            await settle()
            assert Scraped(process).get(f"{name}_count", **V4) == 1
            assert 3 <= Scraped(process).get(f"{name}_sum", **V4) <= 4.1
            world.cluster.put(slice_of(endpoint(4), trigger=began[:19] + "Z"))  # told already
            await settle()
            assert Scraped(process).get(f"{name}_count", **V4) == 1

    run(story())


def test_what_was_changed_before_the_proxy_began_is_not_its_delay() -> None:
    async def story() -> None:
        world = World(node(), service())
        async with world.running() as process:
            world.cluster.put(slice_of(endpoint(1), trigger="2025-12-31T23:00:00Z"))
            await settle()
            name = "kubeproxy_network_programming_duration_seconds_count"
            assert Scraped(process).get(name, **V4) == 0

    run(story())


def test_services_under_a_policy_local_with_nobody_here_are_counted() -> None:
    async def story() -> None:
        local = service("db", "10.96.0.2", internal_traffic_policy="Local")
        nobody = service("none", "10.96.0.3", internal_traffic_policy="Local")
        world = World(node(), local, slice_of(endpoint(1, on="n2"), of="db"), nobody)
        async with world.running() as process:
            name = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
            assert Scraped(process).get(name, traffic_policy="internal", **V4) == 1
            assert Scraped(process).get(name, traffic_policy="external", **V4) == 0

    run(story())


# --- ours -----------------------------------------------------------------------------------------


def test_the_mode_of_every_service_port_is_told() -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            found = Scraped(process)
            assert found.get("nearwise_proxy_service_mode", mode="same-zone", **WEB) == 1
            assert found.get("nearwise_proxy_service_endpoints", **WEB) == 1
            world.cluster.put(slice_of(endpoint(2, "b"), endpoint(3, "b")))
            await settle()
            found = Scraped(process)
            assert found.all("nearwise_proxy_service_mode", mode="same-zone", **WEB) == []
            assert found.get("nearwise_proxy_service_mode", mode="cluster", **WEB) == 1
            assert found.get("nearwise_proxy_service_endpoints", **WEB) == 2

    run(story())


def test_a_port_without_a_name_is_called_by_its_number() -> None:
    async def story() -> None:
        unnamed = service("web", "10.96.0.1", type(HTTP)("", "TCP", None, 80, 8080))
        world = World(node(), unnamed, slice_of(endpoint(1), port=EndpointPort("", "TCP", 8080)))
        async with world.running() as process:
            labels = {**WEB, "port": "80"}
            assert Scraped(process).get("nearwise_proxy_service_endpoints", **labels) == 1

    run(story())


def test_a_fallback_is_counted_when_it_begins_with_its_reason() -> None:
    async def story() -> None:
        world = shop()
        name = "nearwise_proxy_service_fallbacks_total"
        async with world.running() as process:
            assert Scraped(process).all(name) == []
            elsewhere = slice_of(endpoint(2, "b"), endpoint(3, "b"))
            partly = slice_of(endpoint(1, "a"), endpoint(2))
            near = slice_of(endpoint(1, "a"))
            for slice_ in (elsewhere, elsewhere, near, elsewhere, partly, partly):
                world.cluster.put(slice_)
                await settle()
            found = Scraped(process)
            assert found.get(name, reason="route-zone-hints-elsewhere", **WEB) == 2
            assert found.get(name, reason="route-zone-hints-partial", **WEB) == 1
            world.cluster.drop(service())
            await settle()
            assert Scraped(process).all(name) == []

    run(story())


def test_services_that_ask_for_nothing_near_never_fall_back() -> None:
    async def story() -> None:
        world = World(node(), service(), slice_of(endpoint(1), endpoint(2)))
        async with world.running() as process:
            world.cluster.put(slice_of(endpoint(3)))
            await settle()
            assert Scraped(process).all("nearwise_proxy_service_fallbacks_total") == []

    run(story())


def test_elements_repairs_and_where_it_is_are_told() -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            world.kernel.flush()
            await settle(31)
            found = Scraped(process)
            assert found.get("nearwise_proxy_elements", family="IPv4", set="endpoints") == 1
            assert found.get("nearwise_proxy_drift_repairs_total", **V4) == 1
            assert found.get("nearwise_proxy_node_info", node="n1", zone="a") == 1
            assert found.get("nearwise_proxy_kernel_duration_seconds_count", **V4) >= 1

    run(story())


def test_what_is_left_out_is_counted_by_reason() -> None:
    async def story() -> None:
        world = World(node(), service("web", "10.96.0.1", external_ips=("127.0.0.1",)))
        async with world.running() as process:
            labels = {"family": "IPv4", "reason": "frontend-address-special"}
            assert Scraped(process).get("nearwise_proxy_left_out", **labels) == 1

    run(story())


def test_what_is_left_out_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        world = World(node(), service("web", "10.96.0.1", external_ips=("127.0.0.1",)))
        async with world.running():
            for number in range(1, 10):
                world.cluster.put(slice_of(endpoint(number)))
                await settle()

    run(story())
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    (line,) = told
    assert line.startswith("IPv4 shop/web: spec.externalIPs[0]: 127.0.0.1 is ")


def test_of_very_many_that_are_left_out_some_are_logged_and_the_others_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        world = World(
            node(),
            *(
                service(f"s{number}", f"10.96.0.{number}", external_ips=("127.0.0.1",))
                for number in range(1, 101)
            ),
        )
        async with world.running():
            pass

    run(story())
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(told) == 21
    assert told[-1] == "IPv4: and 80 more that are not served as asked"


# --- rules ----------------------------------------------------------------------------------------


def page(process: Process, query: str = "") -> tuple[int, str]:
    answer = process.operator_pages.get("/rules", "", query)
    return answer.status.value, answer.body.decode()


def test_the_rules_can_be_read_with_how_they_stand() -> None:  # F81
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            status, text = page(process)
            assert status == 200
            assert "# IPv4: in the kernel\n# last applied: 2026-01-01T00:00:00." in text
            assert f"# generation: {world.kernel.count}\n" in text
            assert "table ip nearwise {" in text
            assert "table ip6 nearwise {" in text
            assert "failure" not in text

    run(story())


def test_what_failed_last_is_told_with_the_rules() -> None:  # F81
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            world.kernel.refuse = lambda change: "out of memory" if change else ""
            world.cluster.put(slice_of(endpoint(3)))
            await settle()
            _, text = page(process, "family=ip")
            assert "# IPv4: not applied\n" in text
            assert "# failing: out of memory\n" in text
            world.kernel.refuse = lambda _: ""
            await settle(31)
            _, text = page(process, "family=ip")
            assert "# failing" not in text
            assert "Z IPv4: out of memory\n" in text

    run(story())


def test_the_rules_of_one_family_or_one_service_can_be_asked_for() -> None:
    async def story() -> None:
        world = shop()
        world.cluster.put(service("db", "10.96.0.2"))
        async with world.running() as process:
            assert "table ip " not in page(process, "family=ip6")[1]
            _, text = page(process, "service=shop/web&family=ip")
            assert "10.96.0.1 . tcp . 80 . 0 : 10.0.0.1 . 8080" in text
            assert "10.96.0.2" not in text

    run(story())


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("family=bridge", 404, "there is no family bridge; there are ip and ip6"),
        ("service=shop/nobody", 404, "no service shop/nobody is served"),
        ("famly=ip", 400, "famly: there are family and service"),
    ],
)
def test_what_cannot_be_asked_for_is_said(query: str, status: int, text: str) -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            assert page(process, query) == (status, f"{text}\n")

    run(story())


def test_other_pages_are_refused_with_those_that_there_are() -> None:
    async def story() -> None:
        world = shop()
        async with world.running() as process:
            assert process.operator_pages.get("/").body == b"there are /metrics and /rules\n"
            assert process.operator_pages.get("/metrics").status == 200
            assert Family.IPV4 in process.programming.families

    run(story())
