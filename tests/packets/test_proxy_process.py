"""The proxy as a process on a host of its own: real API server, real kernel, real connections."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from netns import Namespace

from nearwise.testing import KubeApi, kube_api

T = TypeVar("T")

KUBECTL = Path(sys.executable).parent / "kubectl"
CLUSTER_IP = "10.96.0.10"
NEEDED = ("table ip nearwise", "table ip6 nearwise")

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}},
    "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]},
}
SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "clusterIP": CLUSTER_IP,
        "selector": {"app": "web"},
        "ports": [{"port": 80, "targetPort": 8080}],
    },
}


def pod(number: int, *, ready: bool = True) -> dict[str, Any]:
    """Make a pod with the address 10.244.0.NUMBER."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    address = f"10.244.0.{number}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "web:1"}]},
        "status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [condition],
        },
    }


class Machine:
    """A host with an API server and pods on it, and a route for what is not."""

    def __init__(self, host: Namespace, api: KubeApi) -> None:
        self.host = host
        self.api = api

    def kubectl(self, *words: str, stdin: object = None) -> str:
        """Run kubectl."""
        return self.host.run(
            str(KUBECTL), f"--kubeconfig={self.api.kubeconfig}", *words,
            stdin=None if stdin is None else json.dumps(stdin),
        )  # fmt: skip

    def set_ready(self, number: int, ready: bool) -> None:
        """Turn a pod's readiness."""
        status = {"status": pod(number, ready=ready)["status"]}
        self.kubectl(
            "patch", "pod", f"web-{number}", "--subresource=status", "-p", json.dumps(status)
        )

    @contextmanager
    def proxy(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        """Run a proxy meanwhile, from when its rules are there."""
        process = self.host.start(
            sys.executable, "-m", "nearwise", "proxy", "--node-name=n1",
            f"--kubeconfig={self.api.kubeconfig}", *options,
        )  # fmt: skip
        try:
            eventually(lambda: "in the kernel" in self.get("10249/rules"))
            yield process
        finally:
            process.kill()
            process.communicate()

    def once(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a proxy that ends by itself."""
        words = ("ip", "netns", "exec", self.host.name, sys.executable, "-m", "nearwise", "proxy")
        return subprocess.run([*words, *options], capture_output=True, text=True, check=False)

    def get(self, path: str) -> str:
        """Read a page of the proxy; nothing while nobody is there."""
        with suppress(AssertionError):
            return self.host.run("python3", "-c", _GET, f"http://127.0.0.1:{path}")
        return ""

    def rules(self) -> str:
        return self.host.run("nft", "list", "ruleset")

    def generation(self) -> int:
        """Return the kernel's count of changes of this host's tables."""
        found = re.search(r"generation: (\d+)", self.get("10249/rules"))
        assert found
        return int(found[1])

    def connect(self) -> str:
        """Connect to the service; return which pod answered, or what went wrong."""
        with self.host.entered(), socket.socket() as client:
            client.settimeout(2)
            try:
                client.connect((CLUSTER_IP, 80))
                return client.recv(64).decode()
            except OSError as error:
                return type(error).__name__

    def who_answers(self) -> set[str]:
        """Connect often enough to hear of everybody."""
        return {self.connect() for _ in range(24)}


_GET = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
"""


def eventually(ask: Callable[[], T], fine: Callable[[T], bool] = bool) -> T:
    """Ask until the answer is fine, for half a minute."""
    until = time.monotonic() + 30
    while not fine(answer := ask()):
        assert time.monotonic() < until, answer
        time.sleep(0.05)
    return answer


@pytest.fixture
def machine(host: Callable[[], Namespace]) -> Iterator[Machine]:
    made, gateway = host(), host()
    made.ip("link add out type veth peer name in netns " + gateway.name)
    gateway.ip("link set in up")
    made.ip("addr add 192.0.2.10/24 dev out")
    made.ip("link set out up")
    made.ip("route add default via 192.0.2.1")
    servers = []
    for number in (1, 2, 3):
        made.ip(f"addr add 10.244.0.{number}/32 dev lo")
        servers.append(_serve(made, number))
    try:
        with made.entered():
            api = kube_api(objects=[NODE, SERVICE, pod(1), pod(2)])
            running = api.__enter__()
        yield Machine(made, running)
        api.__exit__(None, None, None)
    finally:
        for server in servers:
            server.close()


def _serve(host: Namespace, number: int) -> socket.socket:
    """Have a pod answer every connection with its number."""
    with host.entered():
        server = socket.create_server((f"10.244.0.{number}", 8080))

    def answer() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                client.send(b"web-%d" % number)
                client.close()

    threading.Thread(target=answer, daemon=True).start()
    return server


def test_connections_follow_the_readiness_of_pods(machine: Machine) -> None:
    assert machine.connect() in {"TimeoutError", "OSError"}
    with machine.proxy():
        assert machine.who_answers() == {"web-1", "web-2"}
        machine.set_ready(1, False)
        eventually(machine.who_answers, lambda found: found == {"web-2"})
        machine.kubectl("apply", "-f", "-", stdin=pod(3))
        machine.set_ready(3, True)
        eventually(machine.who_answers, lambda found: found == {"web-2", "web-3"})
        machine.set_ready(2, False)
        machine.set_ready(3, False)
        eventually(machine.who_answers, lambda found: found == {"ConnectionRefusedError"})
        machine.set_ready(1, True)
        eventually(machine.who_answers, lambda found: found == {"web-1"})


def test_the_end_leaves_the_rules_and_the_next_run_takes_them_over_unchanged(
    machine: Machine,
) -> None:
    with machine.proxy() as process:
        before, generation = machine.rules(), machine.generation()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "the kernel keeps the tables" in log
    assert machine.rules() == before
    assert machine.who_answers() == {"web-1", "web-2"}
    with machine.proxy():
        assert machine.generation() == generation
        assert machine.rules() == before
        machine.set_ready(1, False)
        eventually(machine.who_answers, lambda found: found == {"web-2"})


def test_a_process_that_is_killed_is_followed_by_one_that_catches_up(machine: Machine) -> None:
    with machine.proxy() as process:
        process.kill()
        process.communicate()
        machine.set_ready(2, False)
        assert machine.who_answers() == {"web-1", "web-2"}  # nobody knows better
    with machine.proxy():
        assert machine.who_answers() == {"web-1"}


def test_rules_that_are_flushed_by_hand_are_put_back(machine: Machine) -> None:  # F63
    with machine.proxy("--sync-period=1s") as process:
        before = machine.rules()
        machine.host.run("nft", "flush", "ruleset")
        eventually(machine.rules, lambda rules: rules == before)
        machine.host.run("nft", "delete", "element", "ip", "nearwise", "services",
                         f"{{ {CLUSTER_IP} . tcp . 80 }}")  # fmt: skip
        eventually(machine.rules, lambda rules: rules == before)
        assert machine.who_answers() == {"web-1", "web-2"}
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=20)
        assert log.count("IPv4: somebody changed our table; it is put right") == 2


def test_tables_of_others_are_left_alone(machine: Machine) -> None:  # F62
    machine.host.nft(
        "table ip theirs {\n set odd {\n type ipv4_addr\n flags interval\n"
        " elements = { 192.0.2.0/25 }\n }\n}\n"
    )
    theirs = machine.rules()
    with machine.proxy("--sync-period=1s"):
        machine.set_ready(1, False)
        eventually(machine.who_answers, lambda found: found == {"web-2"})
        machine.host.nft("add table ip more\n")
        time.sleep(2)
        assert machine.who_answers() == {"web-2"}
        machine.host.nft("delete table ip more\n")
    assert machine.once("--cleanup").returncode == 0
    assert machine.rules() == theirs


def test_cleanup_leaves_nothing_and_says_so(machine: Machine) -> None:
    with machine.proxy():
        assert all(table in machine.rules() for table in NEEDED)
    for said in (
        "Removed table ip nearwise and table ip6 nearwise.\n",
        "There was nothing of ours to remove.\n",
    ):
        done = machine.once("--cleanup")
        assert (done.returncode, done.stdout) == (0, said)
        assert machine.rules() == ""


@pytest.mark.parametrize("backend", ["netlink", "nft"])
def test_both_backends_write_the_same_rules(machine: Machine, backend: str) -> None:
    with machine.proxy(f"--backend={backend}"):
        assert machine.who_answers() == {"web-1", "web-2"}
        machine.set_ready(1, False)
        eventually(machine.who_answers, lambda found: found == {"web-2"})
        machine.set_ready(1, True)
        eventually(machine.who_answers, lambda found: found == {"web-1", "web-2"})
        assert f'{CLUSTER_IP} . tcp . 80 comment "default/web" : goto spread-2' in machine.rules()


def test_pages_are_where_they_are_said_to_be(machine: Machine) -> None:
    with machine.proxy():
        assert '"nodeEligible":true' in machine.get("10256/healthz")
        assert "lastUpdated" in machine.get("10256/livez")
        assert "nearwise_proxy_service_mode" in machine.get("10249/metrics")
        assert "10.244.0.1" in machine.get("10249/rules?service=default/web&family=ip")
        machine.kubectl("taint", "node", "n1", "ToBeDeletedByClusterAutoscaler=1:NoSchedule")
        eventually(lambda: machine.get("10256/healthz").strip(), lambda page: page == "503")
        assert "lastUpdated" in machine.get("10256/livez")


def test_a_second_proxy_ends_and_says_which_option_gives_it_other_addresses(
    machine: Machine,
) -> None:
    with machine.proxy():
        second = machine.once("--node-name=n1", f"--kubeconfig={machine.api.kubeconfig}")
    assert second.returncode == 2
    assert "address already in use (is another proxy running here? --healthz-address" in (
        second.stderr
    )


def test_the_health_check_port_of_a_service_tells_who_is_here(machine: Machine) -> None:
    spec = {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 32123,
    }
    machine.kubectl("patch", "service", "web", "-p", json.dumps({"spec": spec}))
    with machine.proxy():
        page = eventually(lambda: machine.get("32123/"), lambda it: "localEndpoints" in it)
        assert json.loads(page)["localEndpoints"] == 2
        machine.set_ready(1, False)
        machine.set_ready(2, False)
        eventually(lambda: machine.get("32123/").strip(), lambda it: it == "503")
        machine.kubectl("delete", "service", "web")
        eventually(lambda: machine.get("32123/"), lambda it: it == "")


def test_a_node_that_moves_to_another_zone_chooses_anew(machine: Machine) -> None:  # F66
    near = json.dumps({"spec": {"trafficDistribution": "PreferSameZone"}})
    machine.kubectl("patch", "service", "web", "-p", near)
    elsewhere = dict(NODE, metadata={"name": "n2", "labels": {"topology.kubernetes.io/zone": "b"}})
    machine.kubectl("apply", "-f", "-", stdin=elsewhere)
    other = pod(3)
    other["spec"]["nodeName"] = "n2"
    machine.kubectl("apply", "-f", "-", stdin=other)
    machine.set_ready(3, True)
    with machine.proxy():
        eventually(machine.who_answers, lambda found: found == {"web-1", "web-2"})
        machine.kubectl("label", "--overwrite", "node", "n1", "topology.kubernetes.io/zone=b")
        # Its pods are of zone b now, too; what was near to it is that which is there.
        eventually(machine.who_answers, lambda found: "web-3" in found)


def test_without_the_right_to_it_the_kernel_says_no_and_we_say_what_is_missing(
    machine: Machine,
) -> None:
    done = subprocess.run(
        ["ip", "netns", "exec", machine.host.name, "setpriv", "--bounding-set=-net_admin",
         "--inh-caps=-net_admin", "--reuid=65534", "--clear-groups",
         sys.executable, "-m", "nearwise", "proxy", "--cleanup"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "CAP_NET_ADMIN" in done.stderr
