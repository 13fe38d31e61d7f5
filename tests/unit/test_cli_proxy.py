"""``nearwise proxy``: its options, the dry run, and what it says when it cannot work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from nearwise.cli import Exit, cli
from nearwise.cli import proxy as module
from nearwise.nft.listing import listed
from nearwise.nft.ruleset import Family
from nearwise.proxy.backends import open_kernel
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.node import Options
from nearwise.testing import kube_api

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"

KUBECONFIG = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


@pytest.fixture(autouse=True)
def _no_node_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


class Captured:
    """What a run was begun with, in place of the run."""

    def __init__(self) -> None:
        self.options = Options()
        self.serve: Any = None
        self.backend = ""
        self.fails: KernelError | None = None

    async def run(self, _access: object, _machine: object, options: Options, serve: object) -> None:
        self.options, self.serve = options, serve
        if self.fails:
            raise self.fails

    def machine(self, backend: str) -> None:
        self.backend = backend


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> Captured:
    captured = Captured()
    monkeypatch.setattr(module, "_run", captured.run)
    monkeypatch.setattr(module, "_machine", captured.machine)
    monkeypatch.setattr(module, "begin_logs", lambda *_: None)
    return captured


def invoke(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(cli, ["proxy", *map(str, arguments)], env=environment)


# --- options --------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_kube_proxy_but_for_the_wait(
    captured: Captured, kubeconfig: Path
) -> None:
    assert invoke("--kubeconfig", kubeconfig, "--node-name", "n1").exit_code == Exit.FINE
    assert captured.options == Options(
        node="n1",
        zone="",
        min_sync_period=0.0,
        sync_period=30.0,
        node_port_addresses=("primary",),
        pod_networks=(),
        masquerade_all=False,
        masquerade_bit=14,
    )
    assert captured.serve == (("0.0.0.0", 10256), ("127.0.0.1", 10249))
    assert captured.backend == "auto"


def test_every_option_reaches_its_setting(captured: Captured, kubeconfig: Path) -> None:
    done = invoke(
        *("--kubeconfig", kubeconfig, "--node", "n2", "--min-sync-period", "500ms"),
        *("--sync-period", "1m", "--nodeport-addresses", "192.0.2.0/24, fd00::/64,primary"),
        *("--cluster-cidr", "10.244.0.0/16,fd00:244::/48"),
        *("--masquerade-all", "--masquerade-bit", 7, "--healthz-address", "off"),
        *("--metrics-address", ":9000", "--backend", "nft"),
    )
    assert done.exit_code == Exit.FINE, done.stderr
    assert captured.options == Options(
        node="n2",
        min_sync_period=0.5,
        sync_period=60.0,
        node_port_addresses=("192.0.2.0/24", "fd00::/64", "primary"),
        pod_networks=("10.244.0.0/16", "fd00:244::/48"),
        masquerade_all=True,
        masquerade_bit=7,
    )
    assert captured.serve == (None, ("", 9000))
    assert captured.backend == "nft"


def test_a_machine_that_is_no_node_has_a_zone_and_no_name(
    captured: Captured, kubeconfig: Path
) -> None:
    done = invoke("--kubeconfig", kubeconfig, "--as-client", "--zone", "a", NODE_NAME="n9")
    assert done.exit_code == Exit.FINE
    assert captured.options == Options(node="", zone="a")


def test_where_the_name_of_the_node_comes_from(
    captured: Captured, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Worker-9")
    for arguments, environment, name in (
        (("--node-name", "n1"), {"NEARWISE_NODE_NAME": "n2", "NODE_NAME": "n3"}, "n1"),
        ((), {"NEARWISE_NODE_NAME": "n2", "NODE_NAME": "n3"}, "n2"),
        ((), {"NODE_NAME": "n3"}, "n3"),
        ((), {}, "worker-9"),
    ):
        done = invoke("--kubeconfig", kubeconfig, *arguments, **environment)
        assert done.exit_code == Exit.FINE
        assert captured.options.node == name


def test_options_come_from_a_file_too(captured: Captured, kubeconfig: Path, tmp_path: Path) -> None:
    config = tmp_path / "proxy.yaml"
    config.write_text(
        f"kubeconfig: {kubeconfig}\nnode-name: n7\ncluster-cidr: 10.0.0.0/8,fd00::/8\n"
        "sync-period: 10s\nmasquerade-all: true\n"
    )
    assert invoke("--config", config).exit_code == Exit.FINE
    assert captured.options == Options(
        node="n7",
        sync_period=10.0,
        pod_networks=("10.0.0.0/8", "fd00::/8"),
        masquerade_all=True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--zone", "a"), "--zone is for --as-client: a node's zone is on its label"),
        (("--as-client", "--node-name", "n1"), "is for a machine that is no node"),
        (("--sync-period", "0s"), "it must be longer than nothing"),
        (("--min-sync-period", "soon"), "'soon' is not a duration such as 500ms, 15s or 1m30s"),
        (("--cluster-cidr", "10.0.0.0"), "'10.0.0.0' is not a network such as 10.0.0.0/8"),
        (("--cluster-cidr", "primary"), "'primary' is not a network"),
        (("--nodeport-addresses", "secondary"), "'secondary' is not a network"),
        (("--masquerade-bit", "32"), "32 is not in the range 0<=x<=31"),
        (("--healthz-address", "10256"), "'10256' is not an address such as 127.0.0.1:10256"),
        (("--backend", "iptables"), "'iptables' is not one of 'auto', 'netlink', 'nft'"),
        (("-f", "x.yaml"), "-f is for --dry-run"),
        (("--dry-run", "-f", "x", "--context", "c"), "-f reads files; --kubeconfig and --context"),
        (("--dry-run", "--cleanup"), "--cleanup and --dry-run exclude each other"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(
    captured: Captured, kubeconfig: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = invoke(*arguments, KUBECONFIG=str(kubeconfig))
    assert done.exit_code == Exit.INPUT
    assert message in re.sub(r"\s+", " ", done.stderr)


# --- how it ends ----------------------------------------------------------------------------------


def test_a_kernel_that_will_not_do_is_said_in_words(captured: Captured, kubeconfig: Path) -> None:
    captured.fails = KernelError("run this as root, or with CAP_NET_ADMIN")
    done = invoke("--kubeconfig", kubeconfig, "--node-name", "n1")
    assert done.exit_code == Exit.INPUT
    assert done.stderr == "Error: run this as root, or with CAP_NET_ADMIN\n"


def test_without_a_cluster_it_says_so(captured: Captured, tmp_path: Path) -> None:
    done = invoke(KUBECONFIG=str(tmp_path / "none"), HOME=str(tmp_path))
    assert done.exit_code == Exit.CLUSTER
    assert "no cluster to talk to" in done.stderr


class _Kernel:
    """Refuses, or not."""

    refuses = ""

    def __init__(self) -> None:
        if self.refuses:
            raise KernelError(self.refuses)


def backends(monkeypatch: pytest.MonkeyPatch, netlink: str, nft: str) -> dict[str, type]:
    """Have the backends refuse with these words, or not (empty)."""
    made = {
        "NetlinkKernel": type("Netlink", (_Kernel,), {"refuses": netlink}),
        "ProgramKernel": type("Program", (_Kernel,), {"refuses": nft}),
    }
    monkeypatch.setattr("nearwise.proxy.backends.NetlinkKernel", made["NetlinkKernel"])
    monkeypatch.setattr("nearwise.proxy.backends.ProgramKernel", made["ProgramKernel"])
    return made


@pytest.mark.parametrize(
    ("backend", "netlink", "expected"),
    [
        ("auto", "", "NetlinkKernel"),
        ("auto", "a filter forbids it", "ProgramKernel"),
        ("netlink", "", "NetlinkKernel"),
        ("nft", "", "ProgramKernel"),
    ],
)
def test_the_program_is_used_where_netlink_is_refused_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    backend: str,
    netlink: str,
    expected: str,
) -> None:
    made = backends(monkeypatch, netlink, "")
    assert type(open_kernel(backend)) is made[expected]
    told = [each.getMessage() for each in caplog.records]
    assert told == [f"netlink is refused ({netlink}): the nft program is used"] * bool(netlink)


def test_when_neither_works_the_reason_is_that_of_netlink(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backends(monkeypatch, "a filter forbids it", "there is no program nft")
    with pytest.raises(KernelError, match="a filter forbids it; and there is no program nft"):
        open_kernel("auto")
    with pytest.raises(KernelError, match=r"^a filter forbids it$"):
        open_kernel("netlink")


# --- the dry run ----------------------------------------------------------------------------------


def dry(*arguments: object) -> Result:
    return invoke("--dry-run", "-f", SHOP, *arguments)


def test_the_dry_run_prints_what_nft_loads_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    done = dry("--node-name", "worker-1")
    assert (done.exit_code, done.stderr) == (Exit.FINE, "")
    for family in Family:
        at = done.stdout.index(f"table {family} nearwise {{")
        table = done.stdout[at:].partition("\n}\n")[0] + "\n}\n"
        ruleset = listed(table, family)
        assert ruleset is not None
        assert {"services", "endpoints"} <= ruleset.sets.keys()
    assert 'comment "shop/recommend:http" : goto spread-2' in done.stdout


def test_the_dry_run_differs_from_node_to_node(request: pytest.FixtureRequest) -> None:
    one, other = (dry("--node-name", name).stdout for name in ("worker-1", "worker-4"))
    assert one != other


def test_the_dry_run_of_a_machine_that_is_no_node_has_no_node_ports() -> None:
    done = dry("--as-client", "--zone", "zone-a")
    assert done.exit_code == Exit.FINE
    assert " . 30088 " not in done.stdout
    assert " . 30088 " in dry("--node-name", "worker-1").stdout


def test_a_node_that_is_not_in_the_dump_is_named_with_those_that_are() -> None:
    done = dry("--node-name", "worker-9")
    assert done.exit_code == Exit.INPUT
    assert done.stderr.startswith(
        "Error: there is no node worker-9 (--node-name says which; there are control-1, worker-1,"
    )


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_document_has_rules_and_what_was_chosen(form: str, read: Callable[[str], Any]) -> None:
    done = dry("--node-name", "worker-1", "-o", form)
    document = read(done.stdout)
    assert (document["apiVersion"], document["kind"]) == ("nearwise/v1", "NodeTables")
    assert (document["node"], document["zone"]) == ("worker-1", "zone-a")
    v4, v6 = document["tables"]
    assert (v4["family"], v6["family"]) == ("ip", "ip6")
    services = {each["service"]: each for each in v4["services"]}
    (port,) = services["shop/orders"]["ports"]
    assert port["protocol"] == "TCP"
    assert port["mode"] in {"same-zone", "cluster", "same-node"}
    assert port["endpoints"]
    assert {"code", "level", "text", "facts"} == port["reasons"][0].keys()
    sets = {each["name"]: each for each in v4["sets"]}
    assert all(" : goto " in each or " : drop" in each for each in sets["services"]["elements"])
    chains = {each["name"]: each for each in v4["chains"]}
    assert chains["prerouting"]["hook"] == "prerouting"
    assert chains["prerouting"]["rules"] == ["jump services"]


def test_what_is_left_out_is_told_beside_the_rules(tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "clusterIP": "10.96.0.1",
            "externalIPs": ["127.0.0.1"],
            "ports": [{"port": 80, "protocol": "TCP"}],
        },
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    dump.write_text(yaml.safe_dump_all([service, node]))
    done = invoke("--dry-run", "-f", dump, "--node-name", "n1")
    assert done.exit_code == Exit.FINE
    assert done.stderr.startswith("Note: shop/web: spec.externalIPs[0]: 127.0.0.1 is a loopback")


def test_the_dry_run_reads_a_live_cluster_without_dumps(tmp_path: Path) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]},
    }
    with kube_api(objects=[node, service]) as api:
        done = invoke("--dry-run", "--kubeconfig", api.kubeconfig, "--node-name", "n1")
    assert done.exit_code == Exit.FINE, done.stderr
    assert '192.0.2.1 . tcp . 30080 comment "default/web" : goto refuse' in done.stdout


def test_the_dry_run_needs_neither_kernel_nor_network_libraries() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-m", "nearwise", "proxy", "--dry-run"),
            *("-f", str(SHOP), "--node-name", "worker-1"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert imported & {"aiohttp", "prometheus_client", "nearwise.proxy.netlink"} == set()
