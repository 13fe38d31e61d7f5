"""A cluster as its users have it: the real kubectl, and the API behind ``kubectl proxy``.

Whoever deploys, and whoever is the kubelet of pods, is played by the test. Everything goes through
kubectl, so any kubeconfig that kubectl takes will do.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

T = TypeVar("T")
Json = dict[str, Any]

EMPTY: Mapping[int, int] = MappingProxyType({})
KUBECTL = Path(sys.executable).parent / "kubectl"
MERGE = "application/merge-patch+json"

_PATIENCE = 30.0  # seconds until what should happen has to have happened


def eventually(look: Callable[[], T], wanted: object = True) -> T:
    """Look until it is as wanted: equal to it, or when it is a function, so that it says yes."""
    until = time.monotonic() + _PATIENCE
    while not (wanted(seen := look()) if callable(wanted) else (seen := look()) == wanted):
        assert time.monotonic() < until, f"still {seen!r}, not {wanted!r}"
        time.sleep(0.02)
    return seen


class RefusedError(Exception):
    """The API server refused a request."""

    def __init__(self, status: Json) -> None:
        super().__init__(status.get("message"))
        self.code: int = status.get("code", 0)


class Watching:
    """A watch that is read in a thread of its own: all events so far."""

    def __init__(self, place: str, path: str) -> None:
        self.events: list[Json] = []
        self._connection = HTTPConnection(place, timeout=60)
        self._connection.request("GET", path)
        self._answer = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def of(self, kind: str) -> list[Json]:
        """Return the objects of the events of one type."""
        return [event["object"] for event in tuple(self.events) if event["type"] == kind]

    def hang_up(self) -> None:
        """End it."""
        with suppress(OSError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join(_PATIENCE)
        assert not self._thread.is_alive()
        self._connection.close()

    def _read(self) -> None:
        with suppress(OSError, HTTPException, ValueError):  # broken off
            for line in self._answer:
                self.events.append(json.loads(line))


class Cluster:
    """A cluster that a kubeconfig leads to."""

    def __init__(self, kubeconfig: Path, home: Path, proxy: str) -> None:
        """Use a kubeconfig; ``proxy`` is where a proxy to the cluster listens."""
        self.kubeconfig = kubeconfig
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}
        self._proxy = proxy

    def kubectl(self, *words: str, stdin: object = None) -> str:
        """Run kubectl; what it says on standard output, or else why it failed."""
        done = subprocess.run(
            [KUBECTL, *words],
            env=self._environment,
            input=None if stdin is None else json.dumps(stdin),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def nearwise(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of our own commands."""
        return subprocess.run(
            [sys.executable, "-m", "nearwise", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def ask(self, method: str, path: str, body: object = None, media: str = "") -> Json:
        """Send a request. Raises RefusedError."""
        headers = {"Content-Type": media or "application/json"} if body is not None else {}
        data = json.dumps(body).encode() if body is not None else None
        url = f"http://{self._proxy}{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                return json.load(answer)  # type: ignore[no-any-return]
        except urllib.error.HTTPError as error:
            with error:
                text = error.read()
            status = json.loads(text) if text[:1] == b"{" else {"code": error.code}
            raise RefusedError(status) from None

    def get(self, path: str) -> Json:
        """Read something."""
        return self.ask("GET", path)

    def patch(self, path: str, change: object, media: str = MERGE) -> Json:
        """Patch an object."""
        return self.ask("PATCH", path, change, media)

    def is_there(self, path: str) -> bool:
        """Tell whether there is an object."""
        try:
            self.get(path)
        except RefusedError as refused:
            if refused.code == 404:
                return False
            raise
        return True

    @contextmanager
    def watching(self, path: str, version: str = "") -> Iterator[Watching]:
        """Watch a collection from a version, or from now on, until the block ends."""
        version = version or self.get(f"{path}?limit=1")["metadata"]["resourceVersion"]
        watching = Watching(self._proxy, f"{path}?watch=1&resourceVersion={version}")
        try:
            yield watching
        finally:
            watching.hang_up()


@contextmanager
def cluster_of(kubeconfig: Path, home: Path) -> Iterator[Cluster]:
    """Give the cluster that a kubeconfig leads to."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}
    command = [str(KUBECTL), "proxy", "--port=0"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        address = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert address is not None
        yield Cluster(kubeconfig, home, address[0])
    finally:
        process.kill()
        process.communicate()


def limited(limits: Mapping[int, int], *words: str) -> list[str]:
    """Return a command that runs Python within limits of the system (``setrlimit``)."""
    lines = [
        f"resource.setrlimit({which}, ({soft}, resource.getrlimit({which})[1]))"
        for which, soft in limits.items()
    ]
    run = "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    script = "; ".join(["import os, resource, sys", *lines, run])
    return [sys.executable, "-c", script, *words]


class Up:
    """A ``nearwise up`` in a process of its own, which can be killed and started again."""

    def __init__(self, folder: Path, *options: str, limits: Mapping[int, int] = EMPTY) -> None:
        """Keep its files in a folder; for ``limits`` see ``limited``."""
        self.kubeconfig = folder / "kubeconfig"
        self.log = folder / "log"
        self.port = 0
        self.limits = limits
        self._options = options

    def start(self) -> None:
        """Start it, on the port that it had."""
        command = ["-m", "nearwise", "up", "--kubeconfig", str(self.kubeconfig)]
        command = limited(self.limits, *command, "--port", str(self.port), *self._options)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        said = iter(self.process.stdout.readline, b"")
        lines = []
        for line in said:
            lines.append(line.decode())
            if line.startswith(b"Ctrl-C"):
                break
        found = re.search(r"https://127\.0\.0\.1:(\d+)", "".join(lines))
        assert found is not None, self.log.read_text()
        self.port = int(found[1])

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit code."""
        self.process.send_signal(how)
        self.process.communicate(timeout=20)
        return self.process.returncode

    def kill(self) -> None:
        """End it as a crash does."""
        self.end(signal.SIGKILL)


@contextmanager
def up(folder: Path, *options: str, limits: Mapping[int, int] = EMPTY) -> Iterator[Up]:
    """Run a server until the block ends, which has to end well and to have had no mistakes."""
    server = Up(folder, *options, limits=limits)
    server.start()
    try:
        yield server
        assert server.end() == 0
        assert "Traceback" not in server.log.read_text()
    finally:
        server.kill()
