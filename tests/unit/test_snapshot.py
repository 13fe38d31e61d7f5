"""``nearwise snapshot``: what is in it, what never is, and that it can be read back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fake_cluster import FakeCluster, serving
from nearwise.cli import cli
from nearwise.client.dump import load
from nearwise.insight.kept_objects import kept
from nearwise.model.codec import read

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = str(EXAMPLES / "shop.yaml")


def snapshot(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["snapshot", *arguments], input=stdin)


def items_of(result: Result) -> list[dict[str, Any]]:
    """Return the objects in a snapshot that was printed as JSON."""
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout)["items"])


@pytest.mark.parametrize("name", ["shop", "flag-server-1-hints-on", "flag-server-2-hints-off"])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_snapshot_reads_back_as_what_it_was_taken_of(name: str, form: str) -> None:
    path = str(EXAMPLES / f"{name}.yaml")
    taken = snapshot("-f", path, "-o", form)
    assert taken.exit_code == 0
    assert kept(read(taken.stdout_bytes)) == kept(load([path]))


def test_services_slices_and_endpoints_are_whole_and_pods_and_nodes_decide_as_before() -> None:
    before, after = load([SHOP]), read(snapshot("-f", SHOP).stdout_bytes)
    assert after.services == before.services
    assert after.slices == before.slices
    assert after.endpoints == before.endpoints
    assert after.events == before.events
    assert [pod.spec for pod in after.pods] == [pod.spec for pod in before.pods]
    assert [node.spec for node in after.nodes] == [node.spec for node in before.nodes]


def test_a_snapshot_of_a_snapshot_is_the_same() -> None:
    first = snapshot("-f", SHOP)
    assert snapshot("-f", "-", stdin=first.stdout).stdout == first.stdout


LOOSE_TALK = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "namespace": "shop",
                "annotations": {"vault": "hush-1", "kubectl.kubernetes.io/restartedAt": "hush-2"},
                "managedFields": [{"manager": "hush-3"}],
            },
            "spec": {
                "nodeName": "n",
                "containers": [
                    {
                        "name": "app",
                        "image": "hush-4",
                        "command": ["hush-5"],
                        "env": [{"name": "PASSWORD", "value": "hush-6"}],
                        "ports": [{"name": "http", "containerPort": 80}],
                    }
                ],
                "volumes": [{"name": "v", "secret": {"secretName": "hush-7"}}],
            },
            "status": {
                "podIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": "True", "message": "hush-8"}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "s",
                "namespace": "shop",
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "hush-9",
                    "service.kubernetes.io/topology-mode": "Auto",
                    "example.com/owner": "ann",
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "4", "hush-10.com/gpu": "1"}, "images": ["hush-11"]},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hush-12", "namespace": "shop"},
            "data": {"password": "aHVzaA=="},
        },
    ],
}


@pytest.mark.parametrize("options", [(), ("--strip-annotations",), ("--anonymise",)])
def test_secrets_and_what_containers_run_are_never_in_it(options: tuple[str, ...]) -> None:
    taken = snapshot("-f", "-", "-o", "json", *options, stdin=json.dumps(LOOSE_TALK))
    assert len(items_of(taken)) == 3
    assert "hush" not in taken.stdout


def test_annotations_stay_on_services_unless_stripped() -> None:
    def annotations(*options: str) -> dict[str, str]:
        taken = snapshot("-f", "-", "-o", "json", *options, stdin=json.dumps(LOOSE_TALK))
        (service,) = (item for item in items_of(taken) if item["kind"] == "Service")
        return dict(service["metadata"]["annotations"])

    deciding = {"service.kubernetes.io/topology-mode": "Auto"}
    assert annotations() == {**deciding, "example.com/owner": "ann"}
    assert annotations("--strip-annotations") == deciding


def test_one_namespace_comes_with_all_nodes() -> None:
    items = items_of(snapshot("-f", SHOP, "-n", "default", "-o", "json"))
    inside = {
        item["metadata"].get("namespace")
        for item in items
        if item["kind"] not in ("Node", "Namespace")
    }
    assert inside == {"default"}
    assert [item["metadata"]["name"] for item in items if item["kind"] == "Namespace"] == [
        "default"
    ]
    assert sum(item["kind"] == "Node" for item in items) == len(load([SHOP]).nodes)


def test_text_that_other_readers_take_for_a_number_is_quoted() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "labels": {"commit": "61e23", "mode": "0o7", "on": "yes"}},
    }
    taken = snapshot("-f", "-", stdin=json.dumps(service)).stdout
    assert "commit: '61e23'" in taken
    assert "mode: '0o7'" in taken
    assert "'on': 'yes'" in taken


def test_a_file_ending_in_gz_is_packed_and_is_read_back(tmp_path: Path) -> None:
    target = tmp_path / "shop.yaml.gz"
    taken = snapshot("-f", SHOP, "--to", str(target))
    assert taken.exit_code == 0
    assert taken.stdout == ""
    assert taken.stderr == f"90 objects written to {target} ({target.stat().st_size} bytes)\n"
    assert gzip.decompress(target.read_bytes()).decode() == snapshot("-f", SHOP).stdout
    assert kept(load([str(target)])) == kept(load([SHOP]))


def test_a_target_that_cannot_be_written_is_named() -> None:
    taken = snapshot("-f", SHOP, "--to", "/nowhere/shop.yaml")
    assert (taken.exit_code, taken.stderr) == (
        2,
        "Error: /nowhere/shop.yaml: No such file or directory\n",
    )


def test_names_are_new_each_time_unless_there_is_a_salt() -> None:
    def anonymised(*salt: str) -> str:
        return snapshot("-f", SHOP, "--anonymise", *salt).stdout

    assert anonymised() != anonymised()
    assert anonymised("--salt", "x") == anonymised("--salt", "x")
    assert anonymised("--salt", "x") != anonymised("--salt", "y")


def test_a_salt_without_anonymise_is_a_mistake() -> None:
    taken = snapshot("-f", SHOP, "--salt", "x")
    assert taken.exit_code == 2
    assert "--salt is for --anonymise" in taken.stderr


# --- Of a live cluster ----------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with serving(FakeCluster(kept(load([SHOP])))) as cluster:
        yield cluster


@pytest.fixture
def kubeconfig(cluster: FakeCluster, tmp_path: Path) -> str:
    """Write a kubeconfig for the cluster, with the namespace default."""
    path = tmp_path / "kubeconfig"
    path.write_text(
        f"current-context: test\n"
        f"clusters: [{{name: c, cluster: {{server: '{cluster.server}'}}}}]\n"
        f"contexts: [{{name: test, context: {{cluster: c, namespace: default}}}}]\n"
    )
    return str(path)


def test_a_live_cluster_gives_what_its_dump_gives(kubeconfig: str) -> None:
    taken = snapshot("--kubeconfig", kubeconfig, "-A")
    assert taken.stderr == ""
    assert taken.stdout == snapshot("-f", SHOP).stdout


def test_without_a_namespace_the_context_names_it(cluster: FakeCluster, kubeconfig: str) -> None:
    taken = snapshot("--kubeconfig", kubeconfig)
    assert taken.stdout == snapshot("-f", SHOP, "-n", "default").stdout
    paths = {request.path for request in cluster.requests}
    assert "/api/v1/namespaces/default/pods" in paths
    assert "/api/v1/nodes" in paths


def test_what_may_not_be_listed_is_left_out_and_told(cluster: FakeCluster, kubeconfig: str) -> None:
    cluster.forbidden = {"events", "nodes"}
    taken = snapshot("--kubeconfig", kubeconfig, "-A", "-o", "json")
    assert {item["kind"] for item in items_of(taken)} & {"Event", "Node"} == set()
    assert [line.split(":")[:2] for line in taken.stderr.splitlines()] == [
        ["Left out", " nodes is forbidden"],
        ["Left out", " events is forbidden"],
    ]


def test_without_services_there_is_no_answer(cluster: FakeCluster, kubeconfig: str) -> None:
    cluster.forbidden = {"services"}
    taken = snapshot("--kubeconfig", kubeconfig)
    assert taken.exit_code == 3
    assert taken.stderr.startswith("Error: services is forbidden: ")
