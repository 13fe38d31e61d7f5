"""A real Kubernetes API server for tests, in a process of its own, there in half a second.

::

    from nearwise.testing import kube_api

    with kube_api() as api:
        ...  # any client of Kubernetes, with api.kubeconfig, or with api.url, api.token and api.ca

Several can run at once. When the block ends, or this process dies, the server is gone and nothing
is left of it. With pytest there is a fixture of the same name, see docs/testing.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec


@dataclass(frozen=True)
class KubeApi:
    """A running API server, and how to get in."""

    url: str
    """``https://127.0.0.1:PORT``"""
    kubeconfig: Path
    """A file that leads there, for clients that take one."""
    ca: Path
    """The certificate authority that clients have to trust, a PEM file."""
    token: str = field(repr=False)
    """Whoever has it may do everything."""


@contextmanager
def kube_api(
    *,
    controllers: bool = True,
    max_endpoints_per_slice: int = 100,
    objects: Iterable[Mapping[str, Any]] = (),
) -> Iterator[KubeApi]:
    """Run an API server until the block ends.

    It has the objects to begin with, as they would come out of ``kubectl get -o json`` or as they
    would go into ``kubectl apply``. With ``controllers`` it writes EndpointSlices. RuntimeError,
    with what the server said, when it does not start.
    """
    with TemporaryDirectory(prefix="nearwise-") as name:
        folder = Path(name)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nearwise.lab"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            orders = {
                "controllers": controllers,
                "max_endpoints": max_endpoints_per_slice,
                "objects": list(objects),
            }
            yield _let_in(process, folder, orders)
        finally:
            _end(process)


def _let_in(process: subprocess.Popen[bytes], folder: Path, orders: dict[str, Any]) -> KubeApi:
    """Tell the server what to do, and return how to get in once it is there."""
    # The server is being imported meanwhile.
    from nearwise.server.access import new_token, write_kubeconfig
    from nearwise.server.certificates import kept

    certificates, token = kept(folder / "pki", (), datetime.now(UTC)), new_token()
    orders |= {
        "certificate": str(certificates.certificate),
        "key": str(certificates.key),
        "token": token,
        "owner": os.getpid(),
    }
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it says below why it has ended
    port = process.stdout.readline().strip()
    if not port:
        process.wait()
        why = (folder / "log").read_text().strip()
        raise RuntimeError(f"the API server did not start: {why}")
    url = f"https://127.0.0.1:{port.decode()}"
    write_kubeconfig(folder / "kubeconfig", url, certificates.authority, token)
    return KubeApi(url, folder / "kubeconfig", certificates.authority, token)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # it keeps nothing that it could lose
    process.communicate()
