"""``nearwise controller``: its options, where they come from, and whole runs on a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result

from nearwise.cli import Exit, cli
from nearwise.cli import controller as module
from nearwise.cli.logs import LogFormat, begin_logs
from nearwise.client.cluster import LiveCluster
from nearwise.client.kubeconfig import find_access
from nearwise.controllers.process import (
    ElectionSettings,
    Ending,
    MirroringSettings,
    Settings,
    SlicesSettings,
)
from nearwise.machinery.batching import Batching
from nearwise.machinery.election import Timing
from nearwise.model import EndpointSlice, Lease
from nearwise.model.resources import ENDPOINT_SLICES, LEASES
from nearwise.slices.reconcile import Rules
from nearwise.testing import KubeApi, kube_api

T = TypeVar("T")

KUBECONFIG = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


class Captured:
    """What a run was begun with, in place of the run."""

    def __init__(self, ending: Ending = Ending.STOPPED) -> None:
        self.ending = ending
        self.settings = Settings()
        self.address: object = None

    async def run(self, _access: object, settings: Settings, address: object) -> Ending:
        self.settings, self.address = settings, address
        return self.ending


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> Captured:
    captured = Captured()
    monkeypatch.setattr(module, "_run", captured.run)
    monkeypatch.setattr(module, "begin_logs", lambda *_: None)
    return captured


def invoke(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(cli, ["controller", *map(str, arguments)], env=environment)


# --- options --------------------------------------------------------------------------------


def test_the_defaults_are_those_of_kube_controller_manager(
    captured: Captured, kubeconfig: Path
) -> None:
    assert invoke("--kubeconfig", kubeconfig).exit_code == Exit.FINE
    assert captured.settings == Settings(
        slices=SlicesSettings(5, Rules(100, 0.2), Batching(0.0)),
        mirroring=MirroringSettings(5, 1000, Batching(0.0)),
        election=ElectionSettings(("kube-system", "nearwise-controller"), Timing(15, 10.0, 2.0)),
    )
    assert captured.address == ("127.0.0.1", 10268)


def test_every_option_reaches_its_setting(captured: Captured, kubeconfig: Path) -> None:
    done = invoke(
        *("--kubeconfig", kubeconfig, "--workers", 7, "--max-endpoints-per-slice", 10),
        *("--endpointslice-updates-batch-period", "500ms", "--overload-threshold", 0.5),
        *("--mirroring-workers", 3, "--mirroring-max-endpoints-per-subset", 500),
        *("--mirroring-endpointslice-updates-batch-period", "1m30s"),
        *("--leader-elect-lease-duration", "1m", "--leader-elect-renew-deadline", "40"),
        *("--leader-elect-retry-period", "5.5s", "--leader-elect-resource-name", "mine"),
        *("--leader-elect-resource-namespace", "infra", "--metrics-address", "[::1]:9000"),
    )
    assert done.exit_code == Exit.FINE
    assert captured.settings == Settings(
        slices=SlicesSettings(7, Rules(10, 0.5), Batching(0.5)),
        mirroring=MirroringSettings(3, 500, Batching(90.0)),
        election=ElectionSettings(("infra", "mine"), Timing(60, 40.0, 5.5)),
    )
    assert captured.address == ("::1", 9000)


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ((), (True, True, True)),
        (("--controllers", "endpointslice-controller"), (True, False, True)),
        (("--controllers", " endpointslice-mirroring-controller ,"), (False, True, True)),
        (("--no-leader-elect",), (True, True, False)),
    ],
)
def test_parts_can_be_left_out(
    captured: Captured, kubeconfig: Path, arguments: tuple[str, ...], runs: tuple[bool, ...]
) -> None:
    assert invoke("--kubeconfig", kubeconfig, *arguments).exit_code == Exit.FINE
    parts = (captured.settings.slices, captured.settings.mirroring, captured.settings.election)
    assert tuple(part is not None for part in parts) == runs


@pytest.mark.parametrize(
    ("text", "address"), [("off", None), (":8080", ("", 8080)), ("localhost:0", ("localhost", 0))]
)
def test_the_address_for_metrics(
    captured: Captured, kubeconfig: Path, text: str, address: object
) -> None:
    assert invoke("--kubeconfig", kubeconfig, "--metrics-address", text).exit_code == Exit.FINE
    assert captured.address == address


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", "0"), "0 is not in the range 1<=x<=50"),
        (("--max-endpoints-per-slice", "1001"), "1001 is not in the range 1<=x<=1000"),
        (("--overload-threshold", "-0.1"), "-0.1 is not in the range 0<=x<=10"),
        (
            ("--controllers", "endpointslice"),
            "there is no controller 'endpointslice'; there are endpointslice-controller and "
            "endpointslice-mirroring-controller",
        ),
        (("--controllers", ","), "nothing is to run"),
        (
            ("--endpointslice-updates-batch-period", "half a second"),
            "'half a second' is not a duration such as 500ms, 15s or 1m30s",
        ),
        (("--leader-elect-retry-period", "2s!"), "'2s!' is not a duration"),
        (
            ("--leader-elect-lease-duration", "10s"),
            "the lease duration must be longer than the renew deadline",
        ),
        (
            ("--leader-elect-retry-period", "9s"),
            "the renew deadline must be longer than 1.2 times the retry period",
        ),
        (("--leader-elect-lease-duration", "15.5s"), "a lease has whole seconds"),
        (("--leader-elect-resource-name", "Mine!"), "a lowercase RFC 1123 subdomain must"),
        (("--metrics-address", "10268"), "'10268' is not an address such as 127.0.0.1:10268"),
        (("--metrics-address", "localhost:70000"), "is not an address"),
        (("--log-level", "loud"), "'loud' is not one of 'debug', 'info', 'warning', 'error'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(
    captured: Captured, kubeconfig: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = invoke("--kubeconfig", kubeconfig, *arguments)
    assert done.exit_code == Exit.INPUT
    told = re.sub(r"\s+", " ", done.stderr)
    assert message in told
    assert arguments[0].removeprefix("--").partition("-")[0] in told


def test_without_a_cluster_it_says_so(captured: Captured, tmp_path: Path) -> None:
    done = invoke(KUBECONFIG=str(tmp_path / "none"), HOME=str(tmp_path))
    assert done.exit_code == Exit.CLUSTER
    assert "no cluster to talk to" in done.stderr
    assert done.stderr.endswith("name a kubeconfig with --kubeconfig\n")  # there is no -f here


# --- where options come from ----------------------------------------------------------------


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    captured: Captured, kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "controller.yaml"
    config.write_text(
        f"kubeconfig: {kubeconfig}\n"
        "workers: 11\nmirroring-workers: 12\nmax-endpoints-per-slice: 13\nleader-elect: false\n"
        "endpointslice-updates-batch-period: 2s\noverload-threshold: 0.3\n"
    )
    done = invoke(
        *("--config", config, "--workers", 31),
        NEARWISE_WORKERS="21",
        NEARWISE_MIRRORING_WORKERS="22",
        NEARWISE_METRICS_ADDRESS="off",
    )
    assert done.exit_code == Exit.FINE
    assert captured.settings == Settings(
        slices=SlicesSettings(31, Rules(13, 0.3), Batching(2.0)),
        mirroring=MirroringSettings(22),
        election=None,
    )
    assert captured.address is None


def test_the_file_can_be_named_by_the_environment(
    captured: Captured, kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "controller.yaml"
    config.write_text("workers: 11\n")
    done = invoke(NEARWISE_CONFIG=str(config), NEARWISE_KUBECONFIG=str(kubeconfig))
    assert done.exit_code == Exit.FINE
    assert captured.settings.slices == SlicesSettings(11)


def test_an_environment_that_makes_no_sense_is_refused_too(
    captured: Captured, kubeconfig: Path
) -> None:
    done = invoke("--kubeconfig", kubeconfig, NEARWISE_WORKERS="many")
    assert done.exit_code == Exit.INPUT
    assert "'many' is not a valid integer range" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker: 5", "there is no option --worker"),
        ("workers: [5]", "workers is not one value"),
        ("workers: 0", "0 is not in the range 1<=x<=50"),
        ("- workers", "not one mapping of options"),
        ("a: 1\n---\nb: 2", "not one mapping of options"),
        ("a: [", "broken YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    captured: Captured, kubeconfig: Path, tmp_path: Path, text: str, message: str
) -> None:
    config = tmp_path / "controller.yaml"
    config.write_text(text)
    done = invoke("--kubeconfig", kubeconfig, "--config", config)
    assert done.exit_code == Exit.INPUT
    assert message in done.stderr


def test_an_empty_file_changes_nothing(
    captured: Captured, kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "controller.yaml"
    config.write_text("# nothing yet\n")
    assert invoke("--kubeconfig", kubeconfig, "--config", config).exit_code == Exit.FINE
    assert captured.settings == Settings()


# --- how it ends ----------------------------------------------------------------------------


def test_a_lost_lease_is_an_exit_code_for_the_supervisor(
    captured: Captured, kubeconfig: Path
) -> None:
    captured.ending = Ending.LOST
    done = invoke("--kubeconfig", kubeconfig)
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: the lease is lost, and another replica may lead by now\n",
    )


# --- logs -----------------------------------------------------------------------------------


@pytest.fixture
def logs() -> Iterator[None]:
    """Put the logs back as they were."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.mark.usefixtures("logs")
def test_a_record_is_one_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    begin_logs("info", LogFormat.TEXT)
    logging.getLogger("nearwise.controllers.x").warning("two\nlines of \x1b[31m%s", "red")
    logging.getLogger("nearwise.controllers.x").debug("not told")
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING controllers\.x: "
        r"two\\nlines of \\x1b\[31mred",
        line,
    )


@pytest.mark.usefixtures("logs")
def test_a_record_as_json_has_its_traceback_in_the_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_logs("debug", LogFormat.JSON)
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        logging.getLogger("nearwise.x").exception("a mistake of ours")
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert record.keys() == {"time", "level", "logger", "message"}
    assert (record["level"], record["logger"]) == ("error", "x")
    assert record["message"].startswith("a mistake of ours\nTraceback")


# --- whole runs -----------------------------------------------------------------------------

OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}},
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n0", "containers": [{"name": "c", "image": "web:1"}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
]


class Run:
    """A controller in a process of its own."""

    def __init__(self, kubeconfig: Path, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "nearwise", "controller", "--kubeconfig", str(kubeconfig)),
                *("--metrics-address", f"127.0.0.1:{self.port}", *arguments),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )

    def get(self, path: str) -> tuple[int, str]:
        """Ask for a page; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it; return its exit code and its log."""
        self.process.send_signal(how)
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log


@contextmanager
def controller(kubeconfig: Path, *arguments: str) -> Iterator[Run]:
    run = Run(kubeconfig, *arguments)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.communicate()


def eventually(ask: Callable[[], T], fine: Callable[[T], bool] = bool) -> T:
    """Ask until the answer is fine, for half a minute."""
    until = time.monotonic() + 30
    while not fine(answer := ask()):
        assert time.monotonic() < until, answer
        time.sleep(0.05)
    return answer


def slices(api: KubeApi) -> list[EndpointSlice]:
    async def story() -> list[EndpointSlice]:
        async with LiveCluster(find_access(str(api.kubeconfig))) as cluster:
            items, _ = await cluster.page(ENDPOINT_SLICES, {}, "default")
            return [each for each in items if each.metadata.name.startswith("web-")]

    return asyncio.run(story())


def lease(api: KubeApi) -> Lease:
    async def story() -> Lease:
        async with LiveCluster(find_access(str(api.kubeconfig))) as cluster:
            return await cluster.get(LEASES, "kube-system", "nearwise-controller")

    return asyncio.run(story())


def test_it_writes_slices_answers_and_stops_in_good_order() -> None:
    with kube_api(controllers=False, objects=OBJECTS) as api, controller(api.kubeconfig) as run:
        (slice_,) = eventually(lambda: slices(api))
        assert [each.addresses for each in slice_.endpoints] == [("10.0.0.1",)]
        assert run.get("/livez") == (200, "ok")
        assert run.get("/readyz")[0] == 200
        _, metrics = run.get("/metrics")
        assert 'endpoint_slice_controller_changes{operation="create"} 1.0' in metrics
        host = api.url.removeprefix("https://")
        assert f'rest_client_requests_total{{code="201",host="{host}",method="POST"}}' in metrics
        assert lease(api).spec.holder_identity

        code, log = run.end()

        assert (code, lease(api).spec.holder_identity) == (0, "")
        assert f"create slice default/{slice_.metadata.name}" in log
        assert log.splitlines()[-1].endswith("INFO controllers.process: ended: stopped")
        assert api.token not in log


def test_the_second_replica_goes_on_where_the_first_ended() -> None:
    with (
        kube_api(controllers=False, objects=OBJECTS) as api,
        controller(api.kubeconfig, "--log-format", "json") as first,
    ):
        (slice_,) = eventually(lambda: slices(api))
        with controller(api.kubeconfig, "--leader-elect-retry-period", "500ms") as second:
            eventually(lambda: second.get("/readyz"), lambda answer: answer[0] == 200)
            code, log = first.end(signal.SIGINT)
            assert code == 0
            assert all(json.loads(line)["level"] == "info" for line in log.splitlines())
            leads = 'leader_election_master_status{name="nearwise-controller"} 1.0'
            eventually(lambda: leads in second.get("/metrics")[1])
            assert second.end()[0] == 0
        assert slices(api) == [slice_]
        assert lease(api).spec.lease_transitions == 1


def test_a_server_that_is_not_there_is_waited_for(kubeconfig: Path) -> None:
    with controller(kubeconfig) as run:
        status, text = eventually(
            lambda: run.get("/readyz"), lambda answer: "cannot reach" in answer[1]
        )
        assert status == 503
        assert run.get("/livez") == (200, "ok")
        assert run.end()[0] == 0
    assert "services failed" in text


def test_an_address_that_is_taken_ends_it_at_once(kubeconfig: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "nearwise", "controller", "--kubeconfig", str(kubeconfig)),
                *("--metrics-address", f"127.0.0.1:{taken.getsockname()[1]}"),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        )
    assert done.returncode == Exit.INPUT
    assert "address already in use" in done.stderr
    assert "Traceback" not in done.stderr
