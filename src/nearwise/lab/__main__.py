"""An API server for one owner, in a process of its own: ``nearwise.testing`` starts it.

What it is to do comes as a line of JSON on standard input, so that the token is in no argument
and no file; the port goes out as a line on standard output. It ends when standard input does,
which is when its owner closes it or dies, however that dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nearwise.lab.control_plane import Door, control_plane
from nearwise.model.errors import InputError
from nearwise.server.serve import allow_many_connections, listening, port_of, tls
from nearwise.store import MemoryStore

if TYPE_CHECKING:
    from nearwise.controllers.process import Settings

_LOOK: Final = 1.0  # seconds between two looks whether the owner is still there


class Orders(msgspec.Struct, frozen=True):
    """What the server is to do."""

    certificate: str
    key: str
    token: str
    owner: int
    """The process for which it does it."""
    controllers: bool = True
    max_endpoints: int = 100
    objects: tuple[dict[str, Any], ...] = ()


async def _serve(orders: Orders) -> None:
    context = tls(Path(orders.certificate), Path(orders.key))
    settings = partial(_settings, orders.max_endpoints) if orders.controllers else None
    with listening("127.0.0.1", 0) as sockets:
        door = Door(sockets, context, orders.token)
        async with control_plane(MemoryStore(), door, objects=orders.objects, controllers=settings):
            sys.stdout.write(f"{port_of(sockets[0])}\n")
            sys.stdout.flush()
            await _abandoned(orders.owner)


def _settings(max_endpoints: int) -> Settings:
    from nearwise.controllers.process import Settings, SlicesSettings
    from nearwise.slices.reconcile import Rules

    return Settings(slices=SlicesSettings(rules=Rules(max_endpoints=max_endpoints)), election=None)


async def _abandoned(owner: int) -> None:
    """Wait until the owner has closed standard input, or is there no more."""
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            gone.set()

    loop.add_reader(sys.stdin.fileno(), read)
    while not gone.is_set() and os.getppid() == owner:
        try:
            async with asyncio.timeout(_LOOK):
                await gone.wait()
        except TimeoutError:
            continue  # somebody else may hold the pipe: then only the process tells


def main() -> None:
    """Read the orders, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    allow_many_connections()
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    try:
        asyncio.run(_serve(orders))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
