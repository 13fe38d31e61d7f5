"""The process of a lab: its API server, controllers and kubelets; ``starting`` starts it.

Law: it is in the control namespace of the lab, so that who takes the lab down finds it there. The
socket for this machine is made before, outside, and handed over open. Orders come as a line of
JSON on standard input, so that the token is in no argument and no file but the kubeconfig. On
standard output it says who it is, for it goes on as nobody's child, and later ``ready``; then only
the log is left. Its argument is the name of the lab, for those who look at processes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nearwise.lab import namespaces, network
from nearwise.lab.addresses import API, Plan, pod_networks
from nearwise.lab.control_plane import Door, control_plane
from nearwise.lab.machine import Machine
from nearwise.lab.state import Place
from nearwise.model.errors import InputError
from nearwise.server.serve import allow_many_connections, listening, tls
from nearwise.store import MemoryStore

if TYPE_CHECKING:
    from nearwise.controllers.process import Settings

PORT: Final = 6443
"""Where the API server answers inside the lab."""


class Orders(msgspec.Struct, frozen=True):
    """What lab to be."""

    lab: str
    plan: Plan
    certificate: str
    key: str
    token: str
    door: int
    """The file number of the socket for this machine."""
    networks: tuple[str, ...]
    """Of cluster addresses."""
    proxies: bool = True
    objects: tuple[dict[str, Any], ...] = ()


async def _serve(orders: Orders) -> None:
    place = Place(orders.lab)
    context = tls(Path(orders.certificate), Path(orders.key))
    machine = partial(
        Machine,
        place=place,
        plan=orders.plan,
        proxy=partial(_proxy, place, orders.plan) if orders.proxies else None,
    )
    with socket.socket(fileno=orders.door) as outer, listening(API, PORT) as inner:
        door = Door([outer, *inner], context, orders.token)
        async with control_plane(
            MemoryStore(),
            door,
            objects=orders.objects,
            networks=orders.networks,
            controllers=_settings,
            beside=[machine],
        ) as loaded:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(loaded.left_out.items()))
            _say(f"ready {kinds}".strip())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # who waited waits no more
            await asyncio.Event().wait()


def _settings() -> Settings:
    from nearwise.controllers.process import Settings

    return Settings(election=None)


def _proxy(place: Place, plan: Plan, node: str) -> list[str]:
    """Return the command that is the proxy of a node."""
    return [
        *(sys.executable, "-P", "-m", "nearwise", "proxy"),
        *("--kubeconfig", str(place.inner_kubeconfig)),
        *("--node", node),
        *(word for each in pod_networks(plan.versions) for word in ("--cluster-cidr", each)),
    ]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the orders, and be the lab."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    allow_many_connections()
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    if os.fork():
        os._exit(0)
    _say(str(os.getpid()))
    try:
        network.build(network.control(orders.lab, orders.plan.versions))
        namespaces.enter(namespaces.of_control(orders.lab))
        asyncio.run(_serve(orders))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
