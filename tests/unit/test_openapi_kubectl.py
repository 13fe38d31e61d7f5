"""What the real kubectl makes of our OpenAPI, on a server that has little else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearwise.server.openapi.documents import V2
from nearwise.server.resources import RESOURCES, Resource
from static_api import StaticAPI, serving

KUBECTL = Path(sys.executable).parent / "kubectl"

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(before: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the server has it after kubectl applied it."""
    notes = {LAST_APPLIED: json.dumps(before)}
    metadata = {**before["metadata"], "annotations": notes, "uid": "u", "resourceVersion": "1"}
    return {**before, "metadata": metadata}


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "default", "annotations": {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


WEB = "/api/v1/namespaces/default/services/web"


@pytest.fixture(scope="module")
def api() -> Iterator[StaticAPI]:
    with serving(StaticAPI({WEB: applied(service({"port": 80}, {"port": 81, "name": "b"}))})) as on:
        yield on


def kubectl(api: StaticAPI, home: Path, *words: str, stdin: Any = "") -> str:
    """Run kubectl, which must succeed without asking for what is not there."""
    api.asked.clear()
    api.writes.clear()
    done = subprocess.run(
        [KUBECTL, "--server", api.server, *words],
        env={**os.environ, "HOME": str(home), "KUBECONFIG": ""},
        input=stdin if isinstance(stdin, str) else json.dumps(stdin),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert V2 not in api.asked
    return done.stdout


def test_kubectl_explains_a_field(api: StaticAPI, tmp_path: Path) -> None:
    told = kubectl(api, tmp_path, "explain", "service.spec.trafficDistribution")
    assert "FIELD: trafficDistribution <string>" in told
    assert "PreferSameNode: those on its node" in " ".join(told.split())


def test_kubectl_explains_an_enum_and_what_is_required(api: StaticAPI, tmp_path: Path) -> None:
    told = kubectl(api, tmp_path, "explain", "endpointslices")
    assert "GROUP:      discovery.k8s.io" in told
    assert "addressType\t<string> -required-" in told
    assert "FQDN, IPv4, IPv6" in told


def test_kubectl_explains_pods_to_the_last_field(api: StaticAPI, tmp_path: Path) -> None:
    told = kubectl(api, tmp_path, "explain", "pods", "--recursive")
    assert "              fieldPath\t<string> -required-" in told
    assert "containerPort\t<integer> -required-" in told
    assert "lastState\t<ContainerState>" in told


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.full_name)
def test_kubectl_explains_every_kind(api: StaticAPI, tmp_path: Path, resource: Resource) -> None:
    version = f"--api-version={resource.api_version}"
    told = kubectl(api, tmp_path, "explain", resource.plural, version, "--recursive")
    assert f"KIND:       {resource.kind}\n" in told


def test_kubectl_leaves_validation_to_the_server(api: StaticAPI, tmp_path: Path) -> None:
    odd = service({"port": 80, "prot": "UDP"})
    kubectl(api, tmp_path, "create", "-f", "-", "--validate=true", stdin=odd)
    (write,) = api.writes
    assert "fieldValidation=Strict" in write.query


def test_kubectl_leaves_dry_runs_to_the_server(api: StaticAPI, tmp_path: Path) -> None:
    told = kubectl(api, tmp_path, "create", "-f", "-", "--dry-run=server", stdin=service())
    (write,) = api.writes
    assert "dryRun=All" in write.query
    assert told == "service/web created (server dry run)\n"


def test_kubectl_apply_merges_lists_by_their_keys(api: StaticAPI, tmp_path: Path) -> None:
    kubectl(api, tmp_path, "apply", "-f", "-", stdin=service({"port": 80, "name": "a"}))
    (write,) = api.writes
    assert write.media == "application/strategic-merge-patch+json"
    assert write.body["spec"] == {
        "$setElementOrder/ports": [{"port": 80}],
        "ports": [{"port": 80, "name": "a"}, {"port": 81, "$patch": "delete"}],
    }


def test_kubectl_diff_asks_what_an_apply_would_make(api: StaticAPI, tmp_path: Path) -> None:
    kubectl(api, tmp_path, "diff", "-f", "-", stdin=service({"port": 80}))
    (write,) = api.writes
    assert (write.method, write.path) == ("PATCH", WEB)
    assert "dryRun=All" in write.query


def test_kubectl_apply_on_the_server_names_its_manager(api: StaticAPI, tmp_path: Path) -> None:
    kubectl(
        api, tmp_path, "apply", "--server-side", "--validate=strict", "-f", "-", stdin=service()
    )
    write = api.writes[0]
    assert write.media == "application/apply-patch+yaml"
    assert "fieldManager=kubectl" in write.query
