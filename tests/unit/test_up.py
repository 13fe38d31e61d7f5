"""``nearwise up``: what it says, what it does, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner

from nearwise.cli import Exit, cli
from nearwise.client.kubeconfig import find_access
from nearwise.lab.dumps import objects_in

SHOP = Path(__file__).parent.parent.parent / "examples" / "shop.yaml"
LAST_LINE = "Ctrl-C stops it.\n"

SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
NAMESPACES = "/api/v1/namespaces"
DEFAULT = f"{NAMESPACES}/default"


class Up:
    """A running ``nearwise up``."""

    def __init__(self, process: subprocess.Popen[str], said: str) -> None:
        self.process = process
        self.said = said
        self.kubeconfig = Path(found(r"export KUBECONFIG=(.+)", said))
        self.url = found(r"at (https://\S+),", said)
        self.token = found(r"token: (\w+)", self.kubeconfig.read_text())
        authority = find_access(str(self.kubeconfig)).authority
        assert authority is not None
        self.authority = authority

    def open(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "GET",
        media: str = "application/json",
        token: str | None = None,
    ) -> Any:
        """Send a request; return the response."""
        token = self.token if token is None else token
        request = urllib.request.Request(
            self.url + path,
            json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}", "Content-Type": media},
            method=method,
        )
        context = ssl.create_default_context(cadata=self.authority)
        return urllib.request.urlopen(request, context=context, timeout=10)

    def get(self, path: str) -> Any:
        with self.open(path) as answer:
            return json.load(answer)

    def create(self, path: str, body: object) -> Any:
        with self.open(path, body, method="POST") as answer:
            return json.load(answer)

    def patch(self, path: str, body: object) -> None:
        media = "application/merge-patch+json"
        self.open(path, body, method="PATCH", media=media).close()

    def delete(self, path: str) -> None:
        self.open(path, method="DELETE").close()

    def slices(self) -> list[Any]:
        return self.get(SLICES)["items"]  # type: ignore[no-any-return]

    def stop(self, with_: int = signal.SIGINT) -> int:
        """Tell it to stop; return its exit code."""
        self.process.send_signal(with_)
        return self.process.wait(10)


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]


@contextmanager
def up(*options: object, port: int = 0) -> Iterator[Up]:
    command = [sys.executable, "-m", "nearwise", "up", "--port", str(port), *map(str, options)]
    with TemporaryDirectory() as scratch:  # it may be killed, and then leaves its folder
        environment = {**os.environ, "TMPDIR": scratch}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while LAST_LINE not in lines:
                line = process.stdout.readline()
                assert line, f"it ended: {lines}"
                lines.append(line)
            yield Up(process, "".join(lines))
        finally:
            process.kill()
            process.communicate()


def refused(*options: object) -> str:
    """Run a command that does not get as far as to serve; return why not."""
    result = CliRunner().invoke(cli, ["up", *map(str, options)])
    assert result.exit_code == Exit.INPUT, result.output
    return result.output.splitlines()[-1]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- What it says and leaves ----------------------------------------------------------------


def test_it_says_where_it_is_and_what_to_do_next() -> None:
    with up() as here:
        assert re.fullmatch(
            r"Kubernetes API at https://127\.0\.0\.1:\d+, kept in memory\.\n"
            r"\n"
            r"  export KUBECONFIG=/\S+/kubeconfig\n"
            r"  kubectl get endpointslices -A -w\n"
            r"\n"
            r"Ctrl-C stops it\.\n",
            here.said,
        )
        names = [one["metadata"]["name"] for one in here.get(NAMESPACES)["items"]]
        assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_only_who_has_the_token_gets_in_and_nothing_shows_it() -> None:
    with up() as here:
        assert here.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert len(here.token) == 64
        assert here.token not in here.said
        for place in ("cmdline", "environ"):
            assert here.token not in Path(f"/proc/{here.process.pid}/{place}").read_text()
        for token in ("", "wrong", here.token[:-1]):
            with pytest.raises(urllib.error.HTTPError) as refusal:
                here.open(NAMESPACES, token=token)
            assert refusal.value.code == 401
            refusal.value.close()


@pytest.mark.parametrize("with_", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_ends_well_and_leaves_nothing(with_: int) -> None:
    with up() as here:
        folder = here.kubeconfig.parent
        assert here.stop(with_) == Exit.FINE
        assert not folder.exists()


def test_it_stops_although_watches_are_open() -> None:
    with up() as here:
        watches = [here.open(f"{SLICES}?watch=1") for _ in range(5)]
        assert here.stop() == Exit.FINE
        assert [watch.read() for watch in watches] == [b""] * 5


def test_a_kubeconfig_elsewhere_is_gone_too_when_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    with up("--kubeconfig", path) as here:
        assert here.kubeconfig == path
        here.stop()
    assert not path.exists()


def test_a_kubeconfig_that_another_server_has_written_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with up("--kubeconfig", path) as one, up("--kubeconfig", path) as two:
        one.stop()
        assert two.url in path.read_text()


def test_two_stand_side_by_side() -> None:
    with up() as one, up() as two:
        assert one.url != two.url
        assert one.token != two.token
        foreign = ssl.create_default_context(cadata=one.authority)
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(two.url, context=foreign)


# --- What it does ---------------------------------------------------------------------------

SERVICE: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


def add_pod(here: Up, name: str, address: str, namespace: str = DEFAULT) -> None:
    """Have a ready pod of the service."""
    pod = {
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "image"}]},
    }
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    here.create(f"{namespace}/pods", pod)
    here.patch(f"{namespace}/pods/{name}/status", {"status": status})


def test_services_have_slices_which_go_with_them() -> None:
    with up() as here:
        here.create(f"{DEFAULT}/services", SERVICE)
        eventually(lambda: len(here.slices()) == 1)
        here.delete(f"{DEFAULT}/services/web")
        eventually(lambda: not here.slices())


def test_slices_are_as_large_as_it_is_told() -> None:
    with up("--max-endpoints-per-slice", 1) as here:
        here.create("/api/v1/nodes", {"metadata": {"name": "n1"}})
        here.create(f"{DEFAULT}/services", SERVICE)
        for number in range(3):
            add_pod(here, f"web-{number}", f"10.0.0.{number + 1}")
        eventually(lambda: [len(one["endpoints"]) for one in here.slices()] == [1, 1, 1])


def test_without_controllers_services_have_no_slices_but_namespaces_still_go() -> None:
    with up("--no-controllers") as here:
        here.create(NAMESPACES, {"metadata": {"name": "shop"}})
        here.create(f"{NAMESPACES}/shop/services", SERVICE)
        here.delete(f"{NAMESPACES}/shop")
        eventually(lambda: len(here.get(NAMESPACES)["items"]) == 4)
        assert here.slices() == []


def test_services_get_addresses_of_the_networks_that_it_is_told() -> None:
    networks = ("--service-cidr", "172.30.0.0/24", "--service-cidr", "fd00:1::/112")
    with up(*networks) as here:
        dual = {**SERVICE, "spec": {**SERVICE["spec"], "ipFamilyPolicy": "RequireDualStack"}}
        ips = here.create(f"{DEFAULT}/services", dual)["spec"]["clusterIPs"]
        assert re.fullmatch(r"172\.30\.0\.\d+ fd00:1::\w+", " ".join(ips))


# --- Beginning with a dump ------------------------------------------------------------------


def test_it_begins_with_a_dump_and_the_controllers_find_nothing_to_change() -> None:
    dumped = {
        one["metadata"]["name"]: one
        for one in objects_in(SHOP.read_bytes(), "")
        if one["kind"] == "EndpointSlice"
    }
    with up("-f", SHOP) as here:
        assert (
            "\nLoaded: 12 EndpointSlice, 1 Endpoints, 8 Event, 7 Namespace, 7 Node, " in here.said
        )
        before = {one["metadata"]["name"]: one for one in here.slices()}
        assert before.keys() == dumped.keys()

        here.create("/api/v1/nodes", {"metadata": {"name": "n1"}})
        here.create(f"{DEFAULT}/services", SERVICE)
        add_pod(here, "web-0", "10.0.0.1")  # by then all services have been looked at
        eventually(lambda: any(one.get("endpoints") for one in here.slices() if is_new(one)))
        after = {one["metadata"]["name"]: one for one in here.slices() if not is_new(one)}
        assert after == before
        for name, slice_ in dumped.items():
            assert after[name]["endpoints"] == slice_["endpoints"]


def is_new(slice_: Any) -> bool:
    return bool(slice_["metadata"]["namespace"] == "default")


def test_what_was_there_and_what_is_not_served_is_told(tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text(
        "{kind: Secret, apiVersion: v1, metadata: {name: s}}\n---\n"
        "{kind: Namespace, apiVersion: v1, metadata: {name: shop}}\n"
    )
    with up("--data", tmp_path / "data", "-f", dump) as here:
        assert "Loaded: 1 Namespace.\n" in here.said
        assert "Left out, for their kinds are not served: 1 Secret.\n" in here.said
        here.stop()
    with up("--data", tmp_path / "data", "-f", dump) as here:
        assert "Not loaded, for they are there already: 1 Namespace.\n" in here.said


# --- Keeping --------------------------------------------------------------------------------


@pytest.mark.parametrize("with_", [signal.SIGTERM, signal.SIGKILL])
def test_with_a_folder_all_is_there_the_next_time(tmp_path: Path, with_: int) -> None:
    data = tmp_path / "data"
    with up("--data", data) as here:
        assert f"kept in {data}.\n" in here.said
        assert here.kubeconfig == data / "kubeconfig"
        here.create(f"{DEFAULT}/services", SERVICE)
        eventually(lambda: len(here.slices()) == 1)
        before, identity = here.slices(), (here.token, here.authority)
        here.stop(with_)
    assert data.stat().st_mode & 0o777 == 0o700
    with up("--data", data, port=int(here.url.rpartition(":")[2])) as again:
        assert again.slices() == before
        assert (again.token, again.authority) == identity
        assert again.url == here.url


def test_a_folder_belongs_to_one_server(tmp_path: Path) -> None:
    with up("--data", tmp_path) as here:
        why = refused("--data", tmp_path, "--port", 0)
        assert f"is in use by process {here.process.pid}" in why
        assert here.get(NAMESPACES)["items"]


# --- What it refuses ------------------------------------------------------------------------


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert refused("--port", port) == (
            f"Error: 127.0.0.1:{port}: is in use (stop what listens there, or choose another "
            "port with --port (0: any free one))"
        )


FOREIGN = "clusters: [{name: production, cluster: {server: https://x}}]\nusers: [{name: admin}]\n"


@pytest.mark.parametrize("text", [FOREIGN, "junk", "[", "", "clusters: []\nusers: []\n"])
def test_a_kubeconfig_that_somebody_else_wrote_is_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    assert refused("--port", 0, "--kubeconfig", path) == (
        f"Error: {path}: is there already, and Nearwise did not write it (choose another file "
        "with --kubeconfig, or replace this one with --force)"
    )
    assert path.read_text() == text


def test_a_kubeconfig_is_replaced_when_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(FOREIGN)
    with up("--kubeconfig", path, "--force") as here:
        assert here.get(NAMESPACES)["items"]


def test_a_kubeconfig_of_ours_is_used_again_though_kubectl_changed_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up("--data", data) as here:
        here.stop()
    text = here.kubeconfig.read_text()
    here.kubeconfig.write_text(text.replace("    user: nearwise\n", "    namespace: shop\n", 1))
    with up("--data", data) as again:
        assert again.token == here.token


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--data", "x", "--memory"], "Error: --data and --memory exclude each other"),
        (["--data", ""], "'--data': it is empty: name a path, or leave the option out"),
        (["--kubeconfig", ""], "'--kubeconfig': it is empty"),
        (["-f", "absent.yaml"], "Error: absent.yaml: cannot be read: there is no such file"),
        (["--listen", "192.0.2.1"], "Error: 192.0.2.1:0: is not an address of this machine"),
        (["--service-cidr", "10.0.0.0/99"], "does not appear to be an IPv4 or IPv6 network"),
        (["--service-cidr", "10.0.0.1/16"], "10.0.0.1/16 has host bits set"),
        (
            ["--service-cidr", "10.0.0.0/16", "--service-cidr", "10.1.0.0/16"],
            "there can be one network of each address family",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_refused(
    options: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert why in refused("--port", 0, *options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: [", "dump.yaml, document 1, line "),
        (
            "{kind: Service, apiVersion: v1, metadata: {name: web}, spec: {ports: [{port: 0}]}}",
            "Error: Service default/web: ",
        ),
    ],
)
def test_a_dump_that_cannot_be_stored_is_named(tmp_path: Path, text: str, why: str) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text(text)
    assert why in refused("--port", 0, "-f", dump)
