"""``nearwise explain --node`` against a real kernel: what somebody did with nft is found."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from netns import Namespace

from nearwise.testing import kube_api

KUBECTL = str(Path(sys.executable).parent / "kubectl")

NODES = {"n1": ("192.168.7.1", "a"), "n2": ("192.168.7.2", "b")}
POLICIES = {"externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster"}
AFFINITY = {"sessionAffinity": "ClientIP"}


def meta(name: str, **labels: str) -> dict[str, Any]:
    return {"namespace": "shop", "name": name, "labels": labels}


def objects() -> list[dict[str, Any]]:
    """Return web, a node port with three endpoints over both families, and dns, sticky by UDP."""
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        }
        for name, (address, zone) in NODES.items()
    ]
    web = {
        "type": "NodePort",
        "clusterIP": "10.96.0.10",
        "clusterIPs": ["10.96.0.10", "fd00:96::10"],
        "ipFamilies": ["IPv4", "IPv6"],
        "ipFamilyPolicy": "RequireDualStack",
        "ports": [{"name": "http", "port": 80, "nodePort": 30080, "protocol": "TCP"}],
        **POLICIES,
    }
    dns = {
        "type": "ClusterIP",
        "clusterIP": "10.96.0.53",
        "clusterIPs": ["10.96.0.53"],
        "ipFamilies": ["IPv4"],
        "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}],
        **AFFINITY,
    }
    services = [
        {"apiVersion": "v1", "kind": "Service", "metadata": meta(name), "spec": spec}
        for name, spec in (("web", web), ("dns", dns))
    ]
    slices = [
        slice_of("web", "http", 8080, "TCP", "IPv4", "10.244.0.{}"),
        slice_of("web", "http", 8080, "TCP", "IPv6", "fd00:244::{}"),
        slice_of("dns", "dns", 53, "UDP", "IPv4", "10.244.0.{}"),
    ]
    return [*nodes, *services, *slices]


def slice_of(
    service: str, port: str, number: int, protocol: str, family: str, address: str
) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta(f"{service}-{family.lower()}", **{"kubernetes.io/service-name": service}),
        "addressType": family,
        "ports": [{"name": port, "port": number, "protocol": protocol}],
        "endpoints": [
            {
                "addresses": [address.format(last)],
                "conditions": {"ready": True},
                "nodeName": f"n{1 + last % 2}",
                "targetRef": {"kind": "Pod", "namespace": "shop", "name": f"{service}-{last}"},
            }
            for last in (1, 2, 3)
        ],
    }


def live() -> list[dict[str, Any]]:
    """Return all of it, with the namespace that an API server wants first."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        *objects(),
    ]


class Machine:
    """The node n1, whose kernel has what the proxy would have written."""

    def __init__(self, host: Namespace, dump: Path) -> None:
        self.host = host
        self.dump = dump

    def nearwise(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ("ip", "netns", "exec", self.host.name, sys.executable, "-m", "nearwise")
        return subprocess.run([*command, *words], capture_output=True, text=True, check=False)

    def program(self, *options: str) -> None:
        """Have the kernel what a proxy with these options writes."""
        done = self.nearwise(
            "proxy", "--dry-run", "-f", str(self.dump), "--node-name", "n1", *options
        )
        assert done.returncode == 0, done.stderr
        self.host.nft(done.stdout)

    def explain(self, service: str = "shop/web") -> tuple[int, Any]:
        """Return how it ended, and the document."""
        done = self.nearwise("explain", service, "-f", str(self.dump), "--node", "n1", "-o", "json")
        assert done.returncode in {0, 1}, done.stderr
        return done.returncode, json.loads(done.stdout)

    def codes(self, service: str = "shop/web") -> list[str]:
        """Return what is found."""
        code, found = self.explain(service)
        codes = [why["code"] for family in found["families"] for why in family["findings"]]
        assert code == bool(codes)
        return codes


@pytest.fixture
def machine(host: Callable[[], Namespace], tmp_path: Path) -> Machine:
    made, gateway = host(), host()
    made.ip(f"link add out type veth peer name in netns {gateway.name}")
    gateway.ip("link set in up")
    made.ip("addr add 192.168.7.1/24 dev out")
    made.ip("link set out up")
    made.ip("route add default via 192.168.7.2")
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()}))
    return Machine(made, dump)


# --- in step ------------------------------------------------------------------------------------


def test_without_a_proxy_there_is_no_table_in_either_family(machine: Machine) -> None:
    assert machine.codes() == ["kernel-table-missing", "kernel-table-missing"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--cluster-cidr", "10.244.0.0/16,fd00:244::/64"),
        ("--masquerade-all", "--masquerade-bit", "3"),
        ("--nodeport-addresses", "192.168.7.0/24"),
    ],
)
def test_a_table_as_a_proxy_writes_it_agrees_whatever_its_options(
    machine: Machine, options: tuple[str, ...]
) -> None:
    machine.program(*options)
    assert machine.codes() == []
    assert machine.codes("shop/dns") == []
    _, found = machine.explain()
    (v4, v6) = found["families"]
    assert [line["frontend"] for line in v4["frontends"]] == [
        "10.96.0.10:80/TCP",
        "192.168.7.1:30080/TCP",
    ]
    assert [line["frontend"] for line in v6["frontends"]] == ["[fd00:96::10]:80/TCP"]
    (way,) = v6["frontends"][0]["ways"]
    assert [goal["name"] for goal in way["kernel"]] == ["web-1", "web-2", "web-3"]


def test_it_changes_nothing_and_reads_no_table_of_others(machine: Machine) -> None:
    machine.program()
    machine.host.nft("table ip foreign { chain mine { tcp dport 80 drop; }; }")
    before = machine.host.run("nft", "list", "ruleset")
    assert machine.codes() == []
    assert machine.host.run("nft", "list", "ruleset") == before


# --- by hand ------------------------------------------------------------------------------------


def test_an_element_deleted_by_hand_is_found_and_where_its_connections_go(
    machine: Machine,
) -> None:
    machine.program()
    machine.host.nft("delete element ip nearwise endpoints { 10.96.0.10 . tcp . 80 . 1 }")
    assert machine.codes() == ["kernel-slots-empty", "kernel-endpoints-missing"]
    _, found = machine.explain()
    (way,) = found["families"][0]["frontends"][0]["ways"]
    shares = {goal["name"] or goal["becomes"]: goal["share"] for goal in way["kernel"]}
    assert shares == {"web-1": pytest.approx(2 / 3), "web-3": pytest.approx(1 / 3)}
    machine.host.nft(
        "add element ip nearwise endpoints { 10.96.0.10 . tcp . 80 . 1 : 10.244.0.2 . 8080 }"
    )
    assert machine.codes() == []


def test_a_wrong_endpoint_is_found(machine: Machine) -> None:
    machine.program()
    machine.host.nft(
        "delete element ip nearwise endpoints { 10.96.0.10 . tcp . 80 . 0 }\n"
        "add element ip nearwise endpoints { 10.96.0.10 . tcp . 80 . 0 : 10.9.9.9 . 81 }"
    )
    assert machine.codes() == ["kernel-endpoints-unknown", "kernel-endpoints-missing"]


def test_a_frontend_that_was_made_to_drop_is_found_and_others_are_not_blamed(
    machine: Machine,
) -> None:
    machine.program()
    machine.host.nft(
        "delete element ip nearwise services { 192.168.7.1 . tcp . 30080 }\n"
        "add element ip nearwise services { 192.168.7.1 . tcp . 30080 : drop }"
    )
    assert machine.codes() == ["kernel-verdict-other"]
    assert machine.codes("shop/dns") == []


def test_a_flushed_ruleset_is_a_missing_table(machine: Machine) -> None:
    machine.program()
    machine.host.run("nft", "flush", "ruleset")
    assert machine.codes() == ["kernel-table-missing", "kernel-table-missing"]


def test_a_table_that_sleeps_is_none(machine: Machine) -> None:
    machine.program()
    machine.host.nft("add table ip6 nearwise { flags dormant; }")
    assert machine.codes() == ["kernel-table-missing"]


def test_a_rule_put_in_by_hand_is_found_with_what_it_does(machine: Machine) -> None:
    machine.program()
    machine.host.nft("insert rule ip nearwise spread-3 drop")
    assert machine.codes() == ["kernel-rules-mislead", "kernel-rules-changed"]
    _, found = machine.explain()
    (way,) = found["families"][0]["frontends"][0]["ways"]
    assert [goal["becomes"] for goal in way["kernel"]] == ["dropped"]


def test_a_rule_that_nobody_knows_is_found_and_the_answer_is_open(machine: Machine) -> None:
    machine.program()
    machine.host.nft("insert rule ip nearwise services limit rate 1/second drop")
    assert "kernel-rules-changed" in machine.codes()
    _, found = machine.explain()
    (way,) = found["families"][0]["frontends"][0]["ways"]
    assert [goal["becomes"] for goal in way["kernel"]] == ["unknown"]


# --- what the kernel remembers ------------------------------------------------------------------

_SEND = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('10.96.0.53', 53))"


def test_a_flow_and_a_pin_to_a_pod_that_is_gone_are_found(machine: Machine) -> None:
    machine.program()
    machine.host.run("python3", "-c", _SEND)
    assert machine.codes("shop/dns") == []
    items = json.loads(machine.dump.read_text())["items"]
    for each in items:  # all pods are other ones now
        for endpoint in each.get("endpoints", ()):
            endpoint["addresses"] = [
                address.replace("10.244.0.", "10.244.9.") for address in endpoint["addresses"]
            ]
    machine.dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = machine.codes("shop/dns")
    assert "kernel-flows-stale" in found
    assert "kernel-pins-stale" in found


# --- of a live cluster --------------------------------------------------------------------------


def test_beside_a_running_proxy_the_kernel_agrees_and_without_it_falls_behind(
    machine: Machine,
) -> None:
    with machine.host.entered(), kube_api(controllers=False, objects=live()) as api:
        cluster = f"--kubeconfig={api.kubeconfig}"
        proxy = machine.host.start(
            sys.executable, "-m", "nearwise", "proxy", "--node-name=n1", cluster
        )

        def found() -> list[str]:
            done = machine.nearwise("explain", "shop/web", cluster, "--node=n1", "-ojson")
            assert done.returncode in {0, 1}, done.stderr
            families = json.loads(done.stdout)["families"]
            return [why["code"] for family in families for why in family["findings"]]

        try:
            until = time.monotonic() + 30
            while told := found():
                assert time.monotonic() < until, told
        finally:
            proxy.kill()
            proxy.communicate()
        gone = json.dumps([{"op": "remove", "path": "/endpoints/0"}])
        machine.host.run(
            KUBECTL, cluster, "patch", "-n=shop", "endpointslice/web-ipv4", "--type=json",
            f"-p={gone}",
        )  # fmt: skip
        assert found() == ["kernel-endpoints-unknown"]


# --- without rights -----------------------------------------------------------------------------


def test_without_root_it_ends_with_2_and_says_what_to_do(machine: Machine) -> None:
    machine.program()
    done = subprocess.run(
        ["ip", "netns", "exec", machine.host.name, "setpriv", "--bounding-set=-all",
         "--inh-caps=-all", sys.executable, "-m", "nearwise", "explain", "shop/web", "-f",
         str(machine.dump), "--node", "n1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "run as root, or with the capability CAP_NET_ADMIN" in done.stderr
    assert "Traceback" not in done.stderr
