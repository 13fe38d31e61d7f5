"""Labs from files: manifests, and dumps that are rebuilt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab_commands import ROOT, lab

EXAMPLES = ROOT / "examples"
KUBECTL = Path(sys.executable).parent / "kubectl"


def test_a_dump_is_rebuilt_with_its_hints_and_they_go_as_they_went() -> None:
    """Two of four pods get every connection, as in the incident that the dump is of."""
    with lab("f", "-f", EXAMPLES / "flag-server-1-hints-on.yaml") as it:
        service = "platform/feature-flags"
        got = it.json("curl", "ingress/ingress-proxy-0", service, "-n", 60)["result"]["pods"]
        assert len(got) == 2
        assert {each["zone"] for each in got} == {"ap-northeast-2c"}
        flags = it.json("status")["services"][1]
        assert (flags["name"], flags["ready"], flags["hinted"]) == (service, 4, 4)
        # With a node more in the zone of the clients hints go, and all four share.
        it.run("add", "node", "ip-10-0-1-13", "--zone", "ap-northeast-2a", "--cpu", "10280m")
        got = it.json("curl", "ingress/ingress-proxy-0", service, "-n", 100)["result"]["pods"]
        assert len(got) == 4


def test_the_example_runs_and_both_families_are_there() -> None:
    with lab("e", "-f", EXAMPLES / "lab/two-zones.yaml", "--dual-stack") as it:
        assert it.answers("small-1", "cache", "-n", 5) == {"cache-small-1": 5}
        status = it.json("status")
        assert status["nodes"][0]["addresses"] == ["10.89.1.1", "fd89::1:1"]
        kubeconfig = str(it.folder / "kubeconfig")
        change = ["patch", "svc", "cache", "-p", '{"spec":{"ipFamilyPolicy":"PreferDualStack"}}']
        command = [str(KUBECTL), "--kubeconfig", kubeconfig]
        it.run("kill", "node", "small-1", "--wait")
        it.run("start", "node", "small-1")
        nodes = ["get", "node", "small-1", "-o", "jsonpath={.status.addresses[*].address}"]
        told = subprocess.run([*command, *nodes], check=True, capture_output=True, text=True)
        assert told.stdout == "10.89.2.1 fd89::2:1 small-1"
        subprocess.run([*command, *change], check=True, capture_output=True)
        it.run("fail", "cache-big-1")  # waits until everybody knows of the service, too
        assert it.answers("big-1", "cache", "--ipv6", "-n", 5) == {"cache-big-2": 5}
        assert it.answers("small-1", "cache", "--ipv6", "-n", 5) == {"cache-small-1": 5}
        # kubectl drives the lab as well as its own commands do.
        mark = ["annotate", "pod", "cache-big-1", "nearwise.dev/ready-"]
        subprocess.run([*command, *mark], check=True, capture_output=True)
        wait = ["wait", "--for=condition=Ready", "pod/cache-big-1", "--timeout=10s"]
        subprocess.run([*command, *wait], check=True, capture_output=True)


def test_the_pod_of_kube_proxy_in_a_dump_leaves_its_port_to_the_proxy(tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text("""
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-proxy-n1, namespace: kube-system}
spec:
  nodeName: n1
  hostNetwork: true
  containers:
    - {name: kube-proxy, image: kube-proxy, ports: [{containerPort: 10249}, {containerPort: 10256}]}
""")
    with lab("k", "-f", dump) as it:
        node = it.json("status")["nodes"][0]
        assert (node["readyPods"], node["proxy"]) == (1, "in step")
