"""The proxy as it is deployed: it builds, has no right that is not used, and fits the code."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections import defaultdict
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from nearwise import __version__
from nearwise.cli import cli
from nearwise.loops.surroundings import Surroundings
from nearwise.proxy.health import Health, HealthPages
from nearwise.testing import kube_api
from proxy_world import World, endpoint, node, service, settle, slice_of
from virtual_time import run

ROOT = Path(__file__).parents[2]
KUBECTL = Path(sys.executable).parent / "kubectl"
GROUPS = {"services": "", "nodes": "", "endpointslices": "discovery.k8s.io"}

Objects = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def deployed() -> Objects:
    done = subprocess.run(
        [KUBECTL, "kustomize", ROOT / "deploy" / "proxy"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: Objects = defaultdict(list)
    for document in yaml.safe_load_all(done.stdout):
        found[document["kind"]].append(document)
    return found


def pod_spec(deployed: Objects) -> dict[str, Any]:
    (daemon_set,) = deployed["DaemonSet"]
    spec: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return spec


def container(deployed: Objects) -> dict[str, Any]:
    (only,) = pod_spec(deployed)["containers"]
    found: dict[str, Any] = only
    return found


# --- rights ---------------------------------------------------------------------------------------


def used() -> set[tuple[str, str, str]]:
    """Have a proxy do everything it ever does; return what it asked for."""

    async def live(*, streams: bool) -> set[tuple[str, str, str]]:
        world = World(node(), service(), slice_of(endpoint(1)))
        world.cluster._streams = streams
        async with world.running(settle=20):
            world.cluster.put(node("b"), slice_of(endpoint(2)))
            await settle(700)
        return {(each.verb, GROUPS[each.plural], each.plural) for each in world.cluster.requests}

    return run(live(streams=True)) | run(live(streams=False))


def test_it_may_do_what_it_does_and_nothing_else(deployed: Objects) -> None:
    (role,) = deployed["ClusterRole"]
    rights = {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert rights == used()
    assert "Role" not in deployed


def test_the_rights_are_given_to_the_account_that_runs(deployed: Objects) -> None:
    (account,), (binding,) = deployed["ServiceAccount"], deployed["ClusterRoleBinding"]
    meta = account["metadata"]
    subject = {"kind": "ServiceAccount", "name": meta["name"], "namespace": meta["namespace"]}
    assert binding["subjects"] == [subject]
    assert pod_spec(deployed)["serviceAccountName"] == meta["name"]


def test_a_real_kubectl_applies_it_to_a_server(deployed: Objects) -> None:
    """All of it but RBAC, of which the embedded server has no objects."""
    kinds = [kind for kind in deployed if not kind.startswith("ClusterRole")]
    with kube_api(controllers=False) as api:
        done = subprocess.run(
            [KUBECTL, f"--kubeconfig={api.kubeconfig}", "apply", "-f", "-"],
            input=yaml.safe_dump_all([each for kind in kinds for each in deployed[kind]]),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "namespace/nearwise-proxy created",
        "serviceaccount/nearwise-proxy created",
        "daemonset.apps/nearwise-proxy created",
    ]


# --- pods -----------------------------------------------------------------------------------------


def test_it_runs_on_every_node_in_its_network_before_everything_else(deployed: Objects) -> None:
    spec = pod_spec(deployed)
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["priorityClassName"] == "system-node-critical"
    assert spec["hostNetwork"] is True
    assert spec["dnsPolicy"] == "Default"
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_it_has_one_capability_and_is_not_privileged(deployed: Objects) -> None:
    (namespace,) = deployed["Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert container(deployed)["securityContext"] == {
        "runAsUser": 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    }
    assert not any(key in pod_spec(deployed) for key in ("volumes", "hostPID"))


def test_probes_ask_for_pages_that_there_are(deployed: Objects) -> None:
    pages = HealthPages(Health(Surroundings(lambda: 0.0, lambda: "now", lambda: 0.5), 60.0))
    only = container(deployed)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = only[probe]["httpGet"]
        assert pages.get(asked["path"]).status == 200
        assert asked["port"] in {port["name"] for port in only["ports"]}


# --- the command ----------------------------------------------------------------------------------


def options() -> list[click.Option]:
    top = cli.make_context("nearwise", [], resilient_parsing=True)
    context = cli.commands["proxy"].make_context("proxy", [], top, resilient_parsing=True)
    return [each for each in context.command.params if isinstance(each, click.Option)]


def test_what_the_container_is_told_are_options_of_the_command(deployed: Objects) -> None:
    only = container(deployed)
    assert only["args"] == ["proxy"]
    known = {f"NEARWISE_{str(each.name).upper()}" for each in options()}
    told = {each["name"]: each for each in only["env"]}
    assert told.keys() <= known
    source = told["NEARWISE_NODE_NAME"]["valueFrom"]["fieldRef"]
    assert source["fieldPath"] == "spec.nodeName"
    (health,) = [each.default for each in options() if each.name == "healthz_address"]
    assert str(health).endswith(f":{only['ports'][0]['containerPort']}")


def test_the_image_is_of_this_version(deployed: Objects) -> None:
    assert container(deployed)["image"] == f"nearwise:{__version__}"


# --- the page about it ----------------------------------------------------------------------------

PAGE = ROOT / "docs" / "proxy.md"


def test_every_option_is_explained_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(--?[a-z-]+)`[^|]*\| ([^|]*) \|", PAGE.read_text(), re.MULTILINE))
    assert rows.keys() == {each.opts[0] for each in options()} - {"--help"}
    for each in options():
        if isinstance(each.default, (str, int, float)) and not isinstance(each.default, bool):
            assert rows[each.opts[0]].strip("`") == str(each.default), each.name


def test_every_metric_is_explained() -> None:
    async def story() -> set[str]:
        world = World(node(), service(), slice_of(endpoint(1)))
        async with world.running() as process:
            await asyncio.sleep(0)
            return {family.name for family in process.registry.collect()}

    told = re.findall(
        r"^\| `((?:kubeproxy|nearwise_proxy|rest_client)_[a-z_]+)`", PAGE.read_text(), re.MULTILINE
    )
    names = {
        name.removesuffix("_total") for name in run(story()) if not name.startswith("process_")
    }
    assert sorted(name.removesuffix("_total") for name in told) == sorted(names)


# --- on a machine that is no node -----------------------------------------------------------------


def test_the_unit_for_systemd_runs_a_proxy_that_is_no_node_with_one_capability() -> None:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "deploy" / "client" / "nearwise-proxy.service")
    service = unit["Service"]
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == "nearwise"
    assert arguments[0] == "proxy"
    known = {name for each in options() for name in each.opts}
    assert {each for each in arguments if each.startswith("--")} <= known
    assert "--as-client" in arguments
    assert service["AmbientCapabilities"] == service["CapabilityBoundingSet"] == "CAP_NET_ADMIN"
