"""Servers that are killed, controllers that take over: everything goes on, and nothing twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from e2e_cluster import Cluster, RefusedError, cluster_of, eventually, up
from e2e_shop import NOT_READY, READY, TOPOLOGY_MODE, Nodes, Shop, pod, service

pytestmark = pytest.mark.alone

ON = ("Normal", "TopologyAwareHintsEnabled", 1)


def begun(cluster: Cluster) -> tuple[Shop, Nodes]:
    """Begin with two nodes in each of two zones."""
    nodes = Nodes(cluster, "node")
    for name in ("a1", "a2", "b1", "b2"):
        nodes.add(name, zone=name[0])
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    return Shop(cluster, "shop"), nodes


def serve(shop: Shop, nodes: Nodes, *names: str) -> None:
    """Have services with eight ready pods and hints by CPU share, which seven have too."""
    shop.apply(*map(service, names))
    for number, name in enumerate(names):
        shop.run_many(
            (pod(f"{name}-{host}", name), nodes.full(place), f"10.{number}.0.{host}")
            for host, place in enumerate(("a1", "a2", "b1", "b2") * 2)
        )
        shop.await_number(name, 8)
    shop.kubectl("annotate", "service", *names, f"{TOPOLOGY_MODE}=Auto")
    eventually(lambda: [len(set(shop.hints(name).values())) for name in names], [2] * len(names))
    eventually(lambda: [shop.events(name) for name in names], [[ON]] * len(names))


def versions(shop: Shop) -> dict[str, str]:
    """Return the versions of all slices."""
    items = [one["metadata"] for one in shop.cluster.get(shop.slices_path)["items"]]
    return {each["name"]: each["resourceVersion"] for each in items}


class Writers:
    """Those who write all the time, and remember what they were told."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._over = threading.Event()
        self.told: dict[str, str] = {}  # object to version
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(4)]

    def __enter__(self) -> Writers:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for each in self._threads:
            each.join()

    def await_more(self) -> None:
        """Wait until ten more writes were made."""
        wanted = len(self.told) + 10
        eventually(lambda: len(self.told) >= wanted)

    def _write(self, who: int) -> None:
        turn = 0
        while not self._over.is_set():
            turn += 1
            body = {"metadata": {"name": f"writer-{who}-{turn}"}}
            try:
                path = f"{self._shop.path}/configmaps"
                made = self._shop.cluster.ask("POST", path, body)["metadata"]
            except (RefusedError, OSError, HTTPException):
                time.sleep(0.02)  # the server is away
            else:
                self.told[made["name"]] = made["resourceVersion"]


def test_a_server_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    with (
        up(tmp_path, "--data", str(tmp_path / "data")) as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
    ):
        shop, nodes = begun(cluster)
        serve(shop, nodes, "web", "api")
        with Writers(shop) as writers:
            for _ in range(3):
                before = versions(shop)
                writers.await_more()

                server.kill()
                server.start()

                assert versions(shop) == before
                shop.set_ready("api-0", False)
                shop.await_endpoint("api", "10.1.0.0", NOT_READY)
                shop.set_ready("api-0", True)
                shop.await_endpoint("api", "10.1.0.0", READY)
        there = {
            one["metadata"]["name"]: one["metadata"]["resourceVersion"]
            for one in cluster.get(f"{shop.path}/configmaps")["items"]
        }

        assert {name: there.get(name) for name in writers.told} == writers.told
        assert len(versions(shop)) == 2
        assert shop.slices("web")[0]["metadata"]["resourceVersion"] in before.values()
        assert shop.events("web") == [ON]


def test_a_watch_goes_on_after_the_server_was_killed_and_misses_nothing(tmp_path: Path) -> None:
    with (
        up(tmp_path, "--data", str(tmp_path / "data")) as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
    ):
        shop, nodes = begun(cluster)
        serve(shop, nodes, "web")
        with shop.watching() as before:
            shop.set_ready("web-0", False)
            eventually(lambda: len(before.events), 1)
            server.kill()
        seen = before.of("MODIFIED")[-1]["metadata"]["resourceVersion"]
        server.start()
        shop.set_ready("web-0", True)
        shop.await_endpoint("web", "10.0.0.0", READY)

        with shop.watching(seen) as after:
            shop.set_ready("web-1", False)
            eventually(lambda: len(after.events), 2)

        assert [event["type"] for event in after.events] == ["MODIFIED", "MODIFIED"]


def test_what_was_being_deleted_when_the_server_was_killed_is_deleted(tmp_path: Path) -> None:
    with (
        up(tmp_path, "--data", str(tmp_path / "data")) as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
    ):
        shop, nodes = begun(cluster)
        serve(shop, nodes, "web")
        cluster.kubectl("delete", "namespace", "shop", "--wait=false")
        server.kill()
        server.start()
        eventually(lambda: cluster.is_there(shop.path), False)
        assert versions(shop) == {}


# --- Controllers of their own -----------------------------------------------------------------


@contextmanager
def controller(server_kubeconfig: Path, *options: str) -> Iterator[subprocess.Popen[Any]]:
    command = [sys.executable, "-m", "nearwise", "controller", "--metrics-address", "off"]
    command += ["--kubeconfig", str(server_kubeconfig), *options]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


QUICK = (
    *("--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s"),
    *("--leader-elect-retry-period", "250ms"),
)


def holder(cluster: Cluster) -> str:
    with suppress(RefusedError):
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/nearwise-controller"
        return str(cluster.get(path)["spec"]["holderIdentity"])
    return ""


@pytest.mark.parametrize("kept", [False, True], ids=["memory", "sqlite"])
def test_of_two_controllers_one_writes_and_the_other_takes_over_without_a_write_too_many(
    tmp_path: Path, kept: bool
) -> None:
    options = ["--data", str(tmp_path / "data")] if kept else []
    with (
        up(tmp_path, "--no-controllers", *options) as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
    ):
        shop, nodes = begun(cluster)
        with controller(server.kubeconfig, *QUICK) as first:
            serve(shop, nodes, "web")
            eventually(lambda: shop.events("web"), [ON])
            with shop.watching() as seen:
                with controller(server.kubeconfig, *QUICK) as second:
                    first.kill()
                    shop.set_ready("web-0", False)
                    shop.await_endpoint("web", "10.0.0.0", NOT_READY)
                    with controller(server.kubeconfig, *QUICK) as third:
                        second.terminate()
                        assert second.wait(20) == 0
                        shop.set_ready("web-0", True)
                        shop.await_endpoint("web", "10.0.0.0", READY)
                        third.terminate()
                        assert third.wait(20) == 0
                eventually(lambda: len(seen.events), 2)

        assert [event["type"] for event in seen.events] == ["MODIFIED", "MODIFIED"]
        assert shop.events("web") == [ON]
        assert holder(cluster) == ""


def test_a_leader_that_slept_writes_no_more_when_it_wakes_up(tmp_path: Path) -> None:
    """A laptop that was closed, a virtual machine that was held."""
    with (
        up(tmp_path, "--no-controllers") as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
        controller(server.kubeconfig, *QUICK) as first,
    ):
        shop, nodes = begun(cluster)
        serve(shop, nodes, "web")
        with controller(server.kubeconfig, *QUICK) as second, shop.watching() as seen:
            first.send_signal(signal.SIGSTOP)
            for ready, state in ((False, NOT_READY), (True, READY)):
                shop.set_ready("web-0", ready)
                shop.await_endpoint("web", "10.0.0.0", state)
            first.send_signal(signal.SIGCONT)
            assert first.wait(20) == 1  # the lease is lost, and whoever runs it starts it again
            shop.set_ready("web-0", False)
            eventually(lambda: len(seen.events), 3)
            second.terminate()
            assert second.wait(20) == 0

        assert [event["type"] for event in seen.events] == ["MODIFIED"] * 3


def test_controllers_wait_for_a_server_that_was_killed_and_find_nothing_to_do(
    tmp_path: Path,
) -> None:
    with (
        up(tmp_path, "--no-controllers", "--data", str(tmp_path / "data")) as server,
        cluster_of(server.kubeconfig, tmp_path) as cluster,
        controller(server.kubeconfig) as ours,
    ):
        shop, nodes = begun(cluster)
        serve(shop, nodes, "web", "api")
        before = versions(shop)
        server.kill()
        server.start()
        shop.set_ready("api-0", False)
        shop.await_endpoint("api", "10.1.0.0", NOT_READY)

        web = shop.slices("web")[0]["metadata"]
        assert before[web["name"]] == web["resourceVersion"]
        assert versions(shop).keys() == before.keys()
        assert shop.events("web") == [ON]
        ours.terminate()
        assert ours.wait(20) == 0
