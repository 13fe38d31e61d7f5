"""What is deployed on a cluster: it builds, has no right that is not used, and fits the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from cluster import node, pod, service
from nearwise import __version__
from nearwise.cli import cli
from nearwise.controllers.process import Settings
from nearwise.loops.serving import Pages
from nearwise.model import Endpoints, ObjectMeta
from nearwise.model.core import EndpointsAddress, EndpointsSubset
from nearwise.model.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    SERVICES,
    Resource,
)
from simulation.model_cluster import ModelCluster
from simulation.replica import running, settle, slices_of
from virtual_time import run

ROOT = Path(__file__).parents[2]
KUBECTL = Path(sys.executable).parent / "kubectl"

_KINDS: tuple[Resource[Any], ...] = (
    *(NODES, PODS, SERVICES, ENDPOINTS, ENDPOINT_SLICES, EVENTS, LEASES),
)
GROUPS = {each.plural: each.api_version.rpartition("/")[0] for each in _KINDS}


def built(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Build a folder as ``kubectl apply -k`` does; return the objects by kind."""
    done = subprocess.run(
        [KUBECTL, "kustomize", folder], capture_output=True, text=True, check=True
    )
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in yaml.safe_load_all(done.stdout):
        found[document["kind"]].append(document)
    return found


@pytest.fixture(scope="module")
def deployed() -> dict[str, list[dict[str, Any]]]:
    return built(ROOT / "deploy" / "controller")


def pod_spec(deployed: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    (deployment,) = deployed["Deployment"]
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def container(deployed: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    (only,) = pod_spec(deployed)["containers"]
    found: dict[str, Any] = only
    return found


# --- rights ---------------------------------------------------------------------------------


def rights(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return what a role allows: verb, group and resource."""
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def used() -> set[tuple[str, str, str]]:
    """Have the controllers do everything they ever do; return what they asked for."""

    async def live(*, streams: bool) -> set[tuple[str, str, str]]:
        cluster = ModelCluster(streams=streams)
        db = service(name="db")
        listed = (EndpointsSubset((EndpointsAddress("192.0.2.1"), EndpointsAddress("nonsense"))),)
        mirrored = Endpoints(metadata=ObjectMeta(name="db", namespace="shop"), subsets=listed)
        cluster.put(node("n0"), service(), replace(db, spec=replace(db.spec, selector={})))
        cluster.put(mirrored, pod("web-1"), pod("web-2", "ghost"))
        async with running(cluster, Settings()):
            await settle(20)
            cluster.put(pod("web-3"), replace(mirrored, subsets=()))
            await settle(20)
            assert slices_of(cluster, "db") == []
        return {(each.verb, GROUPS[each.plural], each.plural) for each in cluster.requests}

    return run(live(streams=True)) | run(live(streams=False))


def test_they_may_do_what_they_do_and_nothing_else(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    (cluster_role,), (role,) = deployed["ClusterRole"], deployed["Role"]
    for_owners = {("update", "", "services/finalizers"), ("update", "", "endpoints/finalizers")}
    assert rights(cluster_role) | rights(role) == used() | for_owners
    assert {resource for _, _, resource in rights(role)} == {"leases"}


def test_of_leases_they_may_touch_their_own_alone(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    (role,) = deployed["Role"]
    lease = option("leader_elect_resource_name").default
    named = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert [rule["resourceNames"] for rule in named] == [[lease]]


def test_the_rights_are_given_to_the_account_that_runs(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    (account,) = deployed["ServiceAccount"]
    name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    for binding in (*deployed["RoleBinding"], *deployed["ClusterRoleBinding"]):
        assert binding["subjects"] == [subject]
    assert pod_spec(deployed)["serviceAccountName"] == name


def test_another_namespace_is_one_line_of_an_overlay(tmp_path: Path) -> None:
    base = os.path.relpath(ROOT / "deploy" / "controller", tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(f"namespace: infra\nresources: [{base}]\n")
    moved = built(tmp_path)
    assert [each["metadata"]["name"] for each in moved.pop("Namespace")] == ["infra"]
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        for each in moved.pop(kind):
            assert {subject["namespace"] for subject in each.get("subjects", ())} <= {"infra"}
    for each in (each for found in moved.values() for each in found):
        assert each["metadata"]["namespace"] == "infra"


# --- pods -----------------------------------------------------------------------------------


def test_pods_are_as_the_restricted_standard_wants_them(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    (namespace,) = deployed["Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    inside = container(deployed)["securityContext"]
    assert inside == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    outside = pod_spec(deployed)["securityContext"]
    assert outside["runAsNonRoot"] is True
    assert outside["runAsUser"] > 0
    assert outside["seccompProfile"] == {"type": "RuntimeDefault"}


def test_there_are_two_replicas_and_one_stays_when_nodes_are_drained(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    (deployment,), (budget,) = deployed["Deployment"], deployed["PodDisruptionBudget"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in (
        deployment["spec"]["selector"],
        budget["spec"]["selector"],
        *(each["labelSelector"] for each in pod_spec(deployed)["topologySpreadConstraints"]),
    ):
        assert selector["matchLabels"].items() <= labels.items()


def test_probes_ask_for_pages_that_there_are(deployed: dict[str, list[dict[str, Any]]]) -> None:
    pages = Pages(CollectorRegistry(), lambda: {"pods": ""})
    only = container(deployed)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = only[probe]["httpGet"]
        assert pages.get(asked["path"]).status == 200
        assert asked["port"] in {port["name"] for port in only["ports"]}


# --- the command ----------------------------------------------------------------------------


def options() -> list[click.Option]:
    top = cli.make_context("nearwise", [], resilient_parsing=True)
    context = cli.commands["controller"].make_context("controller", [], top, resilient_parsing=True)
    return [each for each in context.command.params if isinstance(each, click.Option)]


def option(name: str) -> click.Option:
    (found,) = [each for each in options() if each.name == name]
    return found


def test_what_the_container_is_told_are_options_of_the_command(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    only = container(deployed)
    assert only["args"] == ["controller"]
    known = {f"NEARWISE_{str(each.name).upper()}" for each in options()}
    told = {each["name"]: each for each in only["env"]}
    assert told.keys() <= known
    assert told["NEARWISE_METRICS_ADDRESS"]["value"] == f":{only['ports'][0]['containerPort']}"
    source = told["NEARWISE_LEADER_ELECT_RESOURCE_NAMESPACE"]["valueFrom"]["fieldRef"]
    assert source == {"fieldPath": "metadata.namespace"}


def test_the_image_is_of_this_version(deployed: dict[str, list[dict[str, Any]]]) -> None:
    assert container(deployed)["image"] == f"nearwise:{__version__}"


def test_the_dockerfile_copies_what_there_is_and_runs_as_the_same_user(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text().splitlines()
    copied = [
        name
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    user = pod_spec(deployed)["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in lines
    assert lines[-1] == 'ENTRYPOINT ["nearwise"]'


# --- the pages about it ---------------------------------------------------------------------


def test_every_option_is_explained_with_its_default() -> None:
    page = (ROOT / "docs" / "controller.md").read_text()
    rows = dict(re.findall(r"^\| `(--[a-z-]+)`[^|]*\| ([^|]*) \|", page, flags=re.MULTILINE))
    assert rows.keys() == {each.opts[0] for each in options()} - {"--help"}
    for each in options():
        if isinstance(each.default, (str, int, float)) and not isinstance(each.default, bool):
            shown = rows[each.opts[0]].strip("`")
            assert shown in {str(each.default), "both"}, each.name


def test_the_way_back_and_forth_names_what_the_base_has(
    deployed: dict[str, list[dict[str, Any]]],
) -> None:
    page = (ROOT / "docs" / "take-over.md").read_text()
    (namespace,), (deployment,) = deployed["Namespace"], deployed["Deployment"]
    lease = option("leader_elect_resource_name").default
    held = f"metadata: {{name: {lease}, namespace: {namespace['metadata']['name']}}}"
    assert held in page
    assert f"deployment/{deployment['metadata']['name']}" in page
