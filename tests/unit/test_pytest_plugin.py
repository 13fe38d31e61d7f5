"""A server for tests: the fixture, the context manager, and what is left of them: nothing."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from nearwise.client.kubeconfig import find_access
from nearwise.client.live import read
from nearwise.testing import KubeApi, kube_api


def ask(api: KubeApi, path: str, body: object = None) -> Any:
    """Send a request with nothing but what Python has."""
    request = urllib.request.Request(
        api.url + path,
        json.dumps(body).encode() if body is not None else None,
        {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=api.ca)
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        return json.load(answer)


def names(api: KubeApi, path: str) -> list[str]:
    return [one["metadata"]["name"] for one in ask(api, path)["items"]]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


NAMESPACES = "/api/v1/namespaces"
DEFAULT = f"{NAMESPACES}/default"
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


# --- The fixture ----------------------------------------------------------------------------


def test_a_test_gets_a_server_of_its_own(kube_api: KubeApi) -> None:
    ask(kube_api, f"{DEFAULT}/services", SERVICE)
    assert names(kube_api, f"{DEFAULT}/services") == ["web"]


def test_and_the_next_one_another(kube_api: KubeApi) -> None:
    assert names(kube_api, f"{DEFAULT}/services") == []


def test_the_kubeconfig_leads_there(kube_api: KubeApi) -> None:
    objects, refusals = read(find_access(str(kube_api.kubeconfig)), None)
    assert "default" in [one.metadata.name for one in objects.namespaces]
    assert refusals == []


def test_pytest_finds_the_fixture_by_itself() -> None:
    (entry,) = entry_points(group="pytest11", name="nearwise")
    assert entry.value == "nearwise.pytest_plugin"


def test_who_does_not_use_it_does_not_pay_for_it() -> None:
    script = "import sys, nearwise.pytest_plugin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("nearwise")}
    assert ours == {"nearwise", "nearwise.pytest_plugin"}


# --- The context manager --------------------------------------------------------------------


def test_several_run_at_once() -> None:
    with kube_api() as one, kube_api() as two, kube_api() as three:
        ask(two, f"{DEFAULT}/services", SERVICE)
        lists = [names(each, f"{DEFAULT}/services") for each in (one, two, three)]
        assert lists == [[], ["web"], []]


def test_it_begins_with_objects_from_a_cluster_or_new_ones() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-0", "uid": "as-it-was"},
        "spec": {"containers": [{"name": "main", "image": "image"}]},
    }
    with kube_api(objects=[SERVICE, pod]) as api:
        assert ask(api, f"{DEFAULT}/services/web")["spec"]["clusterIP"].startswith("10.96.")
        assert ask(api, f"{DEFAULT}/pods/web-0")["metadata"]["uid"] == "as-it-was"


def test_controllers_write_slices_unless_they_are_not_wanted() -> None:
    with (
        kube_api(objects=[SERVICE]) as with_them,
        kube_api(objects=[SERVICE], controllers=False) as without,
    ):
        eventually(lambda: len(ask(with_them, SLICES)["items"]) == 1)
        assert ask(without, SLICES)["items"] == []


def test_objects_that_it_cannot_take_are_named() -> None:
    wrong = {**SERVICE, "spec": {"ports": [{"port": 0}]}}
    with (
        pytest.raises(RuntimeError, match=r"^the API server did not start: Service default/web: "),
        kube_api(objects=[wrong]),
    ):
        pass


def test_the_token_is_not_shown() -> None:
    with kube_api() as api:
        assert api.token not in repr(api)
        assert api.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert not [
            path
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if api.token.encode() in contents(path)
        ]


def contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_nothing_is_left_afterwards() -> None:
    with kube_api() as api:
        folder = api.kubeconfig.parent
        (server,) = children(os.getpid())
    assert not folder.exists()
    assert not Path(f"/proc/{server}").exists()


def test_nothing_is_left_after_an_error_either() -> None:
    with pytest.raises(ZeroDivisionError), kube_api():
        raise ZeroDivisionError
    assert children(os.getpid()) == []


def children(process: int) -> list[int]:
    """Return the servers that a process runs."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [
        int(each) for each in found if b"nearwise.lab" in contents(Path(f"/proc/{each}/cmdline"))
    ]


OWNER = """
import os, signal, sys, time
from nearwise.testing import kube_api

with kube_api():
    print(open(f"/proc/self/task/{os.getpid()}/children").read(), flush=True)
    if "heir" in sys.argv and os.fork() == 0:
        time.sleep(60)  # has the owner's end of the pipe too
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("options", [[], ["heir"]], ids=["alone", "with a child"])
def test_the_server_dies_with_its_owner_however_that_dies(
    options: list[str], tmp_path: Path
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *options],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        assert owner.wait(10) == -signal.SIGKILL
        try:
            eventually(lambda: b"nearwise.lab" not in contents(Path(f"/proc/{server}/cmdline")))
        finally:
            if options:
                os.killpg(owner.pid, signal.SIGKILL)


def test_ctrl_c_is_for_the_owner() -> None:
    with kube_api() as api:
        (server,) = children(os.getpid())
        os.kill(server, signal.SIGINT)
        assert names(api, NAMESPACES)
