"""A lab begins and ends.

Law: whatever is left of a lab is found by its name, and taking it away twice is as good as once.
A lab that did not get as far as to be ready is taken away by whoever wanted it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from nearwise.lab import namespaces
from nearwise.lab.addresses import API
from nearwise.lab.process import PORT, Orders
from nearwise.lab.state import Place, known, named
from nearwise.lab.topology import Topology
from nearwise.lab.waiting import Told
from nearwise.model.errors import InputError
from nearwise.server.access import new_token, write_kubeconfig
from nearwise.server.certificates import kept
from nearwise.server.serve import listening, url_of

_GONE: Final = 5.0  # seconds until processes that were killed are gone


def start(
    lab: str, topology: Topology, *, proxies: bool = True, told: Told = lambda _: None
) -> str:
    """Start a lab in the background, and return which kinds of objects it left out.

    InputError when it is there already, or cannot be; what is left of one that broke down is taken
    away before.
    """
    namespaces.check_means()
    namespaces.check_name(lab)
    place = Place(lab)
    with place.alone():
        return _begin(place, topology, proxies=proxies, told=told)


def _begin(place: Place, topology: Topology, *, proxies: bool, told: Told) -> str:
    lab = place.lab
    if place.is_running():
        hint = f"nearwise lab down{named(lab)} takes it down; --name makes another one beside it"
        raise InputError(f"there is a lab called {lab} already", hint=hint)
    if lab in known():
        told(f"taking away what is left of an earlier lab {lab}")
        stop(lab)
    place.make()
    try:
        return _start(place, topology, proxies=proxies, told=told)
    except BaseException:
        stop(lab)
        raise


def _start(place: Place, topology: Topology, *, proxies: bool, told: Told) -> str:
    told("starting the control plane")
    command = [sys.executable, "-P", "-m", "nearwise.lab.process", place.lab]
    with listening("127.0.0.1", 0) as doors, place.log("lab").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            pass_fds=[doors[0].fileno()],
            start_new_session=True,
        )
        with process:
            # It is being imported meanwhile.
            orders = _orders(place, topology, doors, proxies=proxies)
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError), process.stdin:  # it says below why it has ended
                process.stdin.write(msgspec.json.encode(orders) + b"\n")
            lasting = process.stdout.readline().decode().strip()
            try:
                said = process.stdout.readline().decode().split(maxsplit=1)
            except BaseException:
                os.kill(int(lasting), signal.SIGKILL)
                raise
    if not said:
        why = place.last_words("lab")
        raise InputError(f"the lab did not start: {why or 'its process was ended'}")
    return said[1].strip() if len(said) > 1 else ""


def _orders(
    place: Place, topology: Topology, doors: list[socket.socket], *, proxies: bool
) -> Orders:
    """Write how to get in, and return what the process of the lab is to be."""
    token = new_token()
    certificates = kept(place.folder / "pki", [API], datetime.now(UTC))
    url = url_of("127.0.0.1", doors)
    write_kubeconfig(place.kubeconfig, url, certificates.authority, token)
    inner = f"https://{API}:{PORT}"
    write_kubeconfig(place.inner_kubeconfig, inner, certificates.authority, token)
    return Orders(
        lab=place.lab,
        plan=topology.plan,
        certificate=str(certificates.certificate),
        key=str(certificates.key),
        token=token,
        door=doors[0].fileno(),
        networks=topology.networks,
        proxies=proxies,
        objects=topology.objects,
    )


def stop(lab: str) -> bool:
    """Take a lab down, whatever is left of it; tell whether there was anything."""
    place, there = Place(lab), namespaces.all_of(lab)
    found = bool(there) or place.folder.exists()
    deadline = time.monotonic() + _GONE
    while any(inside := namespaces.processes(there).values()):
        for process in {process for each in inside for process in each}:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise InputError(f"processes of the lab {lab} do not end: {sorted(inside)}")
        time.sleep(0.02)
        there = namespaces.all_of(lab)  # its process may have been making one
    namespaces.remove(there)
    place.remove()
    return found
