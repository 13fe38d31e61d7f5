"""The real kubectl against the embedded server, one server for all steps.

``KUBECTL=path pytest tests/test_kubectl.py`` tries another version than the one that comes with the
development environment.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nearwise.lab.dumps import objects_in
from nearwise.testing import kube_api

KUBECTL = os.environ.get("KUBECTL", str(Path(sys.executable).parent / "kubectl"))
SHOP = Path(__file__).parent.parent / "examples" / "shop.yaml"
PATIENCE = 20  # seconds; a client that is not answered hangs


class Kubectl:
    """kubectl on a cluster, with a folder for its files."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "KUBECACHEDIR": str(folder / "cache"),
            "KUBECONFIG": str(kubeconfig),
        }

    def start(self, command: str, **environment: str) -> subprocess.Popen[str]:
        """Begin to run a command."""
        return subprocess.Popen(
            [KUBECTL, *shlex.split(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**self.environment, **environment},
        )

    def run(self, command: str, **environment: str) -> tuple[int, str, str]:
        """Run a command; return its exit code, and what it printed on both streams."""
        with self.start(command, **environment) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                pytest.fail(f"kubectl {command} hangs")
        return process.returncode, out, err

    def __call__(self, command: str, **environment: str) -> str:
        """Run a command that has to succeed; return what it printed."""
        code, out, err = self.run(command, **environment)
        assert code == 0, f"kubectl {command}\n{out}{err}"
        return out

    def fails(self, command: str, code: int = 1) -> str:
        """Run a command that has to fail; return what it complained of."""
        found, out, err = self.run(command)
        assert found == code, f"kubectl {command}\n{out}{err}"
        return err

    def get(self, what: str) -> Any:
        """Return an object."""
        return json.loads(self(f"get {what} -o json"))

    def write(self, name: str, text: str) -> None:
        """Write a file that commands name."""
        (self.folder / name).write_text(text)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with kube_api(objects=objects_in(SHOP.read_bytes(), "")) as api:
        yield Kubectl(api.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a namespace of the test's own, in which commands work."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:50].strip("-")
    kubectl(f"create namespace {name}")
    kubectl(f"config set-context --current --namespace {name}")
    yield name
    kubectl("config set-context --current --namespace default")
    kubectl(f"delete namespace {name} --wait=false")


SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app: web}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80}
  - {name: metrics, port: 9090}
"""


# --- Looking --------------------------------------------------------------------------------


def test_versions_and_health(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36" in kubectl("version")
    assert "Kubernetes control plane is running at https://127" in kubectl("cluster-info")
    assert kubectl("get --raw /readyz") == "ok"


def test_discovery(kubectl: Kubectl) -> None:
    assert kubectl("api-versions").split() == [
        "apps/v1",
        "coordination.k8s.io/v1",
        "discovery.k8s.io/v1",
        "events.k8s.io/v1",
        "v1",
    ]
    resources = [line.split() for line in kubectl("api-resources --no-headers").splitlines()]
    assert ["services", "svc", "v1", "true", "Service"] in resources
    assert ["endpointslices", "discovery.k8s.io/v1", "true", "EndpointSlice"] in resources
    wide = kubectl("api-resources --verbs=list,watch --namespaced -o name").split()
    assert "deployments.apps" in wide
    assert "nodes" not in wide


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ("", r"NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nweb +NodePort +10\.96\."),
        ("-o wide", r"SELECTOR\n.* app=web\n"),
        ("-o name", r"^service/web\n$"),
        ("-o yaml", r"\n  name: web\n"),
        ("-o json", r'"name": "web"'),
        ("-o jsonpath={.spec.ports[0].port}", r"^80$"),
        ("-o go-template={{.spec.type}}", r"^NodePort$"),
        ("-o custom-columns=N:.metadata.name,T:.spec.type", r"^N +T\nweb +NodePort\n$"),
        ("--no-headers", r"^web +NodePort"),
        ("--show-kind", r"service/web +NodePort"),
        ("--show-labels", r"LABELS\n"),
        ("-L app", r"APP\n"),
    ],
)
def test_get_in_every_form(kubectl: Kubectl, options: str, printed: str) -> None:
    assert re.search(printed, kubectl(f"get service web -n shop {options}"))


def test_get_many(kubectl: Kubectl) -> None:
    assert len(kubectl("get pods -A --no-headers").splitlines()) == 42
    assert len(kubectl("get pods -A --no-headers --chunk-size 5").splitlines()) == 42
    by_name = kubectl("get pods -A -o name --sort-by .metadata.name").split()
    assert by_name == sorted(by_name)
    found = kubectl(
        "get pods -A --field-selector spec.nodeName=worker-1,status.phase=Running -o name"
    )
    assert "pod/db-0" in found.split()
    assert len(kubectl("get pods -n shop -l 'app in (search,web)' -o name").split()) == 13
    several = kubectl("get services,endpointslices,nodes -A -o name").split()
    assert {"service/web", "endpointslice.discovery.k8s.io/web-c727d", "node/worker-1"} <= {
        *several
    }
    assert "pod/web-0" in kubectl("get all -n shop -o name")


def test_what_is_not_there_is_told(kubectl: Kubectl) -> None:
    assert 'services "none" not found' in kubectl.fails("get service none")
    assert kubectl("get service none --ignore-not-found") == ""
    assert "doesn't have a resource type" in kubectl.fails("get ingress")
    assert (
        "No resources found in kube-public namespace." in kubectl.run("get pods -n kube-public")[2]
    )


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("service web -n shop", ["Type:  +NodePort", r"Endpoints: +10\.244\.0\.16:8080"]),
        ("node worker-1", ["topology.kubernetes.io/zone=zone-a", r"shop +search-0", "cpu"]),
        ("pod web-0 -n shop", ["Node: +worker-", "Status: +Running", r"IP: +10\.244\.0\.16"]),
        ("endpointslice web-c727d -n shop", ["AddressType: +IPv4", "TargetRef: +Pod/web-0"]),
        ("namespace shop", ["Status: +Active"]),
        ("service search -n shop", ["TopologyAwareHintsDisabled"]),
    ],
)
def test_describe(kubectl: Kubectl, what: str, told: list[str]) -> None:
    text = kubectl(f"describe {what}")
    assert [each for each in told if not re.search(each, text)] == []


def test_events(kubectl: Kubectl) -> None:
    assert "service/search" in kubectl("get events -n shop")
    assert "TopologyAwareHintsEnabled" in kubectl("events -n shop")
    only = kubectl("events -n shop --for service/recommend --no-headers").splitlines()
    assert only
    assert all("Service/recommend" in line for line in only)
    warned = kubectl("events -A --types Warning --no-headers")
    assert "Normal" not in warned


def test_explain(kubectl: Kubectl) -> None:
    assert "FIELD: trafficDistribution <string>" in kubectl(
        "explain service.spec.trafficDistribution"
    )
    assert "forZones" in kubectl("explain endpointslice --recursive")
    assert "does not exist" in kubectl.fails("explain service.spec.nothing")


# --- Creating and changing ------------------------------------------------------------------


def test_create_in_its_many_ways(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create deployment web --image=nginx --replicas=2")
    kubectl("create configmap settings --from-literal=a=b")
    kubectl("create serviceaccount me")
    kubectl("create service clusterip by-hand --tcp=80:8080")
    kubectl("create service externalname outside --external-name example.com")
    kubectl("run one --image=nginx --labels=app=web")
    kubectl("expose deployment web --port=80 --target-port=8080")
    assert kubectl("get deployment web -o jsonpath={.spec.replicas}") == "2"
    assert kubectl("get configmap settings -o jsonpath={.data.a}") == "b"
    assert kubectl("get service outside -o jsonpath={.spec.externalName}") == "example.com"
    assert kubectl("get service web -o jsonpath={.spec.ports[0].targetPort}") == "8080"
    assert kubectl("get pod one -o jsonpath={.status.phase}") == "Pending"
    assert "already exists" in kubectl.fails("create serviceaccount me")


def test_create_from_files(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    assert kubectl("create -f service.yaml --dry-run=server") == (
        "service/web created (server dry run)\n"
    )
    assert "not found" in kubectl.fails("get service web")
    assert kubectl("create -f service.yaml") == "service/web created\n"
    assert "already exists" in kubectl.fails("create -f service.yaml")
    kubectl.write("wrong.yaml", SERVICE.replace("port: 80", "prot: 80").replace("web", "wrong"))
    assert 'unknown field "spec.ports[0].prot"' in kubectl.fails("create -f wrong.yaml")
    kubectl.write("bad.yaml", SERVICE.replace("port: 80", "port: 0").replace("web", "bad"))
    assert "spec.ports[0].port: Invalid value: 0" in kubectl.fails("create -f bad.yaml")


def test_apply(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    assert kubectl("apply -f service.yaml") == "service/web created\n"
    assert kubectl("apply -f service.yaml") == "service/web unchanged\n"
    address = kubectl("get service web -o jsonpath={.spec.clusterIP}")

    less = SERVICE.replace("  - {name: metrics, port: 9090}\n", "").replace("port: 80", "port: 81")
    kubectl.write("service.yaml", less)
    code, difference, _ = kubectl.run("diff -f service.yaml")
    assert code == 1
    assert re.search(r"^-.*port: 9090$", difference, re.MULTILINE)
    assert kubectl("apply -f service.yaml") == "service/web configured\n"
    spec = kubectl.get("service web")["spec"]
    assert [(port["name"], port["port"]) for port in spec["ports"]] == [("http", 81)]
    assert spec["clusterIP"] == address
    assert kubectl.run("diff -f service.yaml")[:2] == (0, "")
    assert "port: 81" in kubectl("apply view-last-applied service web")
    assert (
        kubectl("delete -f service.yaml") == f'service "web" deleted from {namespace} namespace\n'
    )


def test_apply_on_the_server(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    command = "apply --server-side -f service.yaml"
    assert kubectl(command) == "service/web serverside-applied\n"
    kubectl('patch service web -p \'{"spec": {"selector": {"app": "other"}}}\'')
    conflict = kubectl.fails(command)
    assert ".spec.selector" in conflict
    assert '"kubectl-patch"' in conflict
    assert kubectl(f"{command} --force-conflicts") == "service/web serverside-applied\n"
    assert kubectl("get service web -o jsonpath={.spec.selector.app}") == "web"
    managers = kubectl.get("service web --show-managed-fields")["metadata"]["managedFields"]
    assert {"kubectl"} == {one["manager"] for one in managers}


@pytest.mark.parametrize("changed", [True, False])
def test_edit_with_a_scripted_editor(kubectl: Kubectl, namespace: str, changed: bool) -> None:
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    editor = "sed -i s/9090/9091/" if changed else "true"
    printed = kubectl("edit service web", EDITOR=editor)
    assert printed == ("service/web edited\n" if changed else "")
    ports = kubectl("get service web -o jsonpath={.spec.ports[*].port}")
    assert ports == ("80 9091" if changed else "80 9090")


def test_edit_tells_what_cannot_be_saved(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    kubectl.write("editor.sh", '#!/bin/sh\nsed -i "s/port: 9090/port: 0/" "$1"\n')
    (kubectl.folder / "editor.sh").chmod(0o755)
    code, _, err = kubectl.run("edit service web", EDITOR=str(kubectl.folder / "editor.sh"))
    assert code == 1
    assert 'error: services "web" is invalid' in err
    copies = [copy.read_text() for copy in kubectl.folder.glob("kubectl-edit-*")]
    assert any("# * spec.ports[1].port: Invalid value: 0: must be bet" in one for one in copies)


def test_patch_of_every_kind(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    kubectl("""patch service web -p '{"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}'""")
    assert kubectl("get service web -o jsonpath={.spec.ports[*].targetPort}") == "8080 9090"
    kubectl("""patch service web --type merge -p '{"metadata": {"labels": {"a": "b"}}}'""")
    kubectl("""patch service web --type json -p '[{"op": "remove", "path": "/spec/ports/1"}]'""")
    assert kubectl("get service web -o jsonpath={.metadata.labels.a},{.spec.ports[*].port}") == (
        "b,80"
    )
    assert kubectl("""patch service web -p '{"metadata": {"labels": {"a": "b"}}}'""") == (
        "service/web patched (no change)\n"
    )
    wrong = """patch service web --type json -p '[{"op": "test", "path": "/spec", "value": 1}]'"""
    assert "the server rejected our request" in kubectl.fails(wrong)


def test_patch_of_a_status(kubectl: Kubectl, namespace: str) -> None:
    kubectl("run one --image=nginx")
    kubectl("""patch pod one --subresource=status -p '{"status": {"phase": "Running"}}'""")
    assert kubectl("get pod one --subresource=status -o jsonpath={.status.phase}") == "Running"


def test_label_annotate_and_set(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    kubectl("create deployment web --image=nginx")
    assert kubectl("label service web tier=front") == "service/web labeled\n"
    assert "already has a value" in kubectl.fails("label service web tier=back")
    assert kubectl("label service web tier=back --overwrite") == "service/web labeled\n"
    assert kubectl("label service web tier-") == "service/web unlabeled\n"
    assert kubectl("annotate service web service.kubernetes.io/topology-mode=Auto") == (
        "service/web annotated\n"
    )
    assert kubectl("set selector service web app=other") == "service/web selector updated\n"
    assert kubectl("set image deployment/web nginx=nginx:2") == (
        "deployment.apps/web image updated\n"
    )
    assert kubectl("set env deployment/web A=B") == "deployment.apps/web env updated\n"
    assert kubectl("get service web -o jsonpath={.spec.selector.app}") == "other"


def test_scale(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create deployment web --image=nginx")
    assert kubectl("scale deployment web --replicas=3") == "deployment.apps/web scaled\n"
    assert "Expected replicas to be 2" in kubectl.fails(
        "scale deployment web --current-replicas=2 --replicas=4"
    )
    assert kubectl("get deployment web -o jsonpath={.spec.replicas}") == "3"
    assert "could not find the requested resource" in kubectl.fails(
        "scale node worker-1 --replicas=2"
    )


def test_replace(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}")
    assert "not found" in kubectl.fails("replace -f map.yaml")
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    kubectl.write("service.yaml", SERVICE.replace("9090", "9091"))
    assert kubectl("replace -f service.yaml") == "service/web replaced\n"
    uid = kubectl("get service web -o jsonpath={.metadata.uid}")
    assert "service/web replaced" in kubectl("replace --force -f service.yaml")
    assert kubectl("get service web -o jsonpath={.metadata.uid}") != uid


def test_nodes_are_cordoned_tainted_and_drained(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: spare}}")
    kubectl("create -f node.yaml")
    assert kubectl("cordon spare") == "node/spare cordoned\n"
    assert "SchedulingDisabled" in kubectl("get node spare")
    assert kubectl("uncordon spare") == "node/spare uncordoned\n"
    assert kubectl("taint node spare a=b:NoSchedule") == "node/spare tainted\n"
    assert kubectl("taint node spare a-") == "node/spare untainted\n"
    kubectl('run one --image=nginx --overrides \'{"spec": {"nodeName": "spare"}}\'')
    drained = kubectl("drain spare --force --grace-period=1 --timeout=15s")
    assert "pod/one" in drained
    assert "node/spare drained" in drained
    assert "not found" in kubectl.fails("get pod one")


# --- Watching and waiting -------------------------------------------------------------------


@contextmanager
def watching(kubectl: Kubectl, command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command that goes on, until the block ends."""
    process = kubectl.start(command)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def lines_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """Read lines up to the one that matches."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if re.search(wanted, line):
            return lines
    raise AssertionError("".join(lines))


def test_watch(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    with watching(kubectl, "get services -w --output-watch-events") as process:
        kubectl("create -f service.yaml")
        lines_until(process, r"^ADDED +web +ClusterIP")
        kubectl("""patch service web -p '{"spec": {"type": "NodePort"}}'""")
        lines_until(process, r"^MODIFIED +web +NodePort")
        kubectl("delete service web")
        lines_until(process, r"^DELETED +web ")


def test_watch_of_slices_that_the_controllers_write(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    with watching(kubectl, "get endpointslices -w") as process:
        kubectl("create -f service.yaml")
        lines_until(process, r"^web-\w+ +IPv4 +<unset> +<unset>")
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web-0", "labels": {"app": "web"}},
            "spec": {"nodeName": "worker-1", "containers": [{"name": "main", "image": "nginx"}]},
        }
        kubectl.write("pod.json", json.dumps(pod))
        kubectl("create -f pod.json")
        kubectl.write(
            "status.json",
            '{"status": {"phase": "Running", "podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}], '
            '"conditions": [{"type": "Ready", "status": "True"}]}}',
        )
        kubectl("patch pod web-0 --subresource=status --patch-file status.json")
        lines_until(process, r"^web-\w+ +IPv4 +80,9090 +10\.9\.9\.9")


def test_wait(kubectl: Kubectl, namespace: str) -> None:
    kubectl.write("service.yaml", SERVICE)
    kubectl("create -f service.yaml")
    kubectl("run one --image=nginx")
    kubectl("wait --for=jsonpath={.spec.type}=ClusterIP service/web --timeout=10s")
    assert "timed out" in kubectl.fails("wait --for=condition=Ready pod/one --timeout=1s")
    with kubectl.start("wait --for=condition=Ready pod/one --timeout=15s") as ready:
        condition = '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}'
        kubectl(f"patch pod one --subresource=status -p '{condition}'")
        assert ready.wait(PATIENCE) == 0
    with kubectl.start("wait --for=delete service/web --timeout=15s") as gone:
        kubectl("delete service web")
        assert gone.wait(PATIENCE) == 0
    with kubectl.start("wait --for=create service/web --timeout=15s") as there:
        kubectl("create -f service.yaml")
        assert there.wait(PATIENCE) == 0


def test_rollout_status_follows_what_somebody_writes(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create deployment web --image=nginx --replicas=2")
    with kubectl.start("rollout status deployment web --timeout=15s") as rollout:
        status = {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
        }
        kubectl(f"patch deployment web --subresource=status -p '{json.dumps({'status': status})}'")
        assert rollout.wait(PATIENCE) == 0
    assert kubectl("rollout restart deployment web") == "deployment.apps/web restarted\n"
    assert kubectl("rollout pause deployment web") == "deployment.apps/web paused\n"


# --- Deleting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cascade", "left"), [("background", False), ("foreground", False), ("orphan", True)]
)
def test_delete_with_what_an_owner_has(
    kubectl: Kubectl, namespace: str, cascade: str, left: bool
) -> None:
    kubectl("create configmap owner")
    uid = kubectl("get configmap owner -o jsonpath={.metadata.uid}")
    owned = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "owned",
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "owner",
                    "uid": uid,
                    "blockOwnerDeletion": True,
                }
            ],
        },
    }
    kubectl.write("owned.json", json.dumps(owned))
    kubectl("create -f owned.json")
    kubectl(f"delete configmap owner --cascade={cascade}")
    if left:
        time.sleep(0.5)
        assert kubectl("get configmaps -o name") == "configmap/owned\n"
        assert "ownerReferences" not in kubectl.get("configmap owned")["metadata"]
    else:
        kubectl("wait --for=delete configmap/owned --timeout=10s")


def test_delete_of_pods(kubectl: Kubectl, namespace: str) -> None:
    kubectl("run free --image=nginx")
    kubectl(
        "run bound --image=nginx --overrides "
        """'{"spec": {"nodeName": "worker-1", "terminationGracePeriodSeconds": 30}}'"""
    )
    assert 'pod "free" deleted' in kubectl("delete pod free")
    kubectl("delete pod bound --wait=false")
    assert "Terminating" in kubectl("get pod bound")
    kubectl("delete pod bound --grace-period=1")
    assert "not found" in kubectl.fails("get pod bound")
    kubectl('run quick --image=nginx --overrides \'{"spec": {"nodeName": "worker-1"}}\'')
    assert 'pod "quick" force deleted' in kubectl("delete pod quick --force")


def test_delete_of_many(kubectl: Kubectl, namespace: str) -> None:
    for name in ("a", "b", "c"):
        kubectl(f"create configmap {name}")
    kubectl("label configmap a b keep=no")
    assert len(kubectl("delete configmaps -l keep=no").splitlines()) == 2
    assert 'configmap "c" deleted' in kubectl("delete configmaps --all")
    assert "not found" in kubectl.fails("delete configmap c")
    assert kubectl("delete configmap c --ignore-not-found") == ""


def test_a_namespace_is_deleted_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    kubectl("create namespace full")
    kubectl("create deployment web --image=nginx -n full")
    kubectl("create configmap settings -n full")
    kubectl("run one --image=nginx -n full")
    assert kubectl("delete namespace full") == 'namespace "full" deleted\n'
    assert "not found" in kubectl.fails("get namespace full")


# --- What cannot be done --------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "logs web-0 -n shop",
        "exec web-0 -n shop -- ls",
        "attach web-0 -n shop",
        "cp shop/web-0:/x x",
        "create secret generic s --from-literal=a=b",
        "create job j --image=x",
        "create token default",
        "auth can-i get pods",
        "top node",
        "autoscale deployment none --max=3",
    ],
)
def test_what_is_not_served_is_refused_at_once(kubectl: Kubectl, command: str) -> None:
    assert kubectl.fails(command)


def test_port_forward_is_refused(kubectl: Kubectl) -> None:
    with kubectl.start("port-forward -n shop pod/web-0 :80") as process:
        assert process.wait(PATIENCE) == 1


# --- Through kubectl's proxy ----------------------------------------------------------------


def test_proxy(kubectl: Kubectl) -> None:
    with watching(kubectl, "proxy --port=0") as process:
        (line,) = lines_until(process, r"Starting to serve on 127\.0\.0\.1:\d+")
        url = f"http://127.0.0.1:{line.rpartition(':')[2].strip()}"
        with urllib.request.urlopen(f"{url}/api/v1/namespaces/shop/services/web") as answer:
            assert json.load(answer)["kind"] == "Service"
