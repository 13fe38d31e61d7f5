"""``nearwise up``: a Kubernetes API on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from nearwise.cli.collector import collect_rarely
from nearwise.cli.controller import max_endpoints_option
from nearwise.cli.logs import LogFormat, begin_logs, log_level_option
from nearwise.cli.output import print_line
from nearwise.cli.source import objects_of

if TYPE_CHECKING:
    import asyncio
    import socket

    from nearwise.controllers.process import Settings
    from nearwise.lab.dumps import Loaded
    from nearwise.store import Store

_PORT: Final = 7443  # not 6443, which other local clusters take


class _Choices(NamedTuple):
    """What the user said."""

    data: Path | None
    filenames: tuple[str, ...]
    listen: str
    port: int
    kubeconfig: Path | None
    force: bool
    networks: tuple[str, ...]
    controllers: bool
    max_endpoints: int


def _networks(
    _context: click.Context, _option: click.Parameter, networks: tuple[str, ...]
) -> tuple[str, ...]:
    from ipaddress import ip_network

    try:
        families = [ip_network(network).version for network in networks]
    except ValueError as error:
        raise click.BadParameter(f"{error}") from None
    if len(set(families)) < len(families):
        raise click.BadParameter("there can be one network of each address family")
    return networks


def _path(_context: click.Context, _option: click.Parameter, text: str | None) -> Path | None:
    if text == "":  # a variable that is not set, most of the time; it would be this very folder
        raise click.BadParameter("it is empty: name a path, or leave the option out")
    return None if text is None else Path(text)


@click.command("up")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=_path,
    help="Keep objects, certificates and kubeconfig in this folder.",
)
@click.option("--memory", is_flag=True, help="Keep nothing. This is what happens without --data.")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Begin with the objects of this dump, folder of dumps, or - for standard input. "
    "Can be repeated.",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Host name or address to listen on; 0.0.0.0 or :: for all of this machine.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen on; 0 for any that is free.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=_path,
    help="Write the kubeconfig to this file.",
)
@click.option("--force", is_flag=True, help="Replace the kubeconfig, whoever wrote it.")
@click.option(
    "--service-cidr",
    "networks",
    multiple=True,
    metavar="NETWORK",
    callback=_networks,
    help="Network of services' cluster addresses, twice for both families; without it the one "
    "that the services are in, else 10.96.0.0/16.",
)
@click.option(
    "--no-controllers", is_flag=True, help="Have nobody write EndpointSlices: serve the API only."
)
@max_endpoints_option()
@log_level_option("warning")
def command(
    *,
    data: Path | None,
    memory: bool,
    filenames: tuple[str, ...],
    listen: str,
    port: int,
    kubeconfig: Path | None,
    force: bool,
    networks: tuple[str, ...],
    no_controllers: bool,
    max_endpoints_per_slice: int,
    log_level: str,
) -> None:
    """Run a Kubernetes API on this machine, with the controllers that write EndpointSlices.

    kubectl and other clients work on it as on any cluster; nothing else is needed. Objects that
    depend on others, namespaces and services' addresses are taken care of. No containers run:
    pods are what is written about them.

    It ends with Ctrl-C or SIGTERM.
    """
    if data is not None and memory:
        raise click.UsageError("--data and --memory exclude each other")
    import asyncio

    begin_logs(log_level, LogFormat.TEXT)
    collect_rarely()
    choices = _Choices(
        data,
        filenames,
        listen,
        port,
        kubeconfig,
        force,
        networks,
        not no_controllers,
        max_endpoints_per_slice,
    )
    with _folder(data) as folder:
        asyncio.run(_run(choices, folder))


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    """Give the folder for what is kept, or one that lasts as long as the server."""
    if data is not None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield data.absolute()
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="nearwise-") as folder:
        yield Path(folder)


async def _run(choices: _Choices, folder: Path) -> None:
    """Open what is needed, serve, and close it again."""
    from nearwise.cli.stopping import heed_signals
    from nearwise.server.serve import allow_many_connections, listening
    from nearwise.store import MemoryStore, SqliteStore

    allow_many_connections()
    stop = heed_signals()
    with listening(choices.listen, choices.port) as sockets:
        store = SqliteStore(folder / "nearwise.db") if choices.data else MemoryStore()
        try:
            await _serve(choices, folder, sockets, store, stop)
        finally:
            await store.close()


async def _serve(
    choices: _Choices,
    folder: Path,
    sockets: list[socket.socket],
    store: Store,
    stop: asyncio.Event,
) -> None:
    """Serve a store until told to stop."""
    from datetime import UTC, datetime

    from nearwise.lab.control_plane import Door, control_plane
    from nearwise.server import access, serve
    from nearwise.server.certificates import kept

    kubeconfig = (choices.kubeconfig or folder / "kubeconfig").absolute()
    before = None if choices.force else access.own_token(kubeconfig)
    token = (before if choices.data else None) or access.new_token()
    names = serve.names_of(choices.listen)
    certificates = kept(folder / "pki", names, datetime.now(UTC))
    door = Door(sockets, serve.tls(certificates.certificate, certificates.key), token)
    url = serve.url_of(choices.listen, sockets)
    objects = objects_of(choices.filenames)
    access.write_kubeconfig(kubeconfig, url, certificates.authority, token)
    try:
        async with control_plane(
            store,
            door,
            objects=objects,
            networks=choices.networks,
            controllers=partial(_settings, choices) if choices.controllers else None,
        ) as loaded:
            del objects
            _greet(url, kubeconfig, choices, loaded)
            await stop.wait()
    finally:
        if choices.data is None:  # then what it leads to is gone
            access.remove_kubeconfig(kubeconfig, token)


def _settings(choices: _Choices) -> Settings:
    """Say how the controllers work."""
    from nearwise.controllers.process import Settings, SlicesSettings
    from nearwise.slices.reconcile import Rules

    slices = SlicesSettings(rules=Rules(max_endpoints=choices.max_endpoints))
    return Settings(slices=slices, election=None)


def _greet(url: str, kubeconfig: Path, choices: _Choices, loaded: Loaded) -> None:
    """Say that the server is there, and what can be done now."""
    import shlex

    where = f"kept in {choices.data}" if choices.data else "kept in memory"
    print_line(f"Kubernetes API at {url}, {where}.")
    for what, counts in (
        ("Loaded", loaded.stored),
        ("Not loaded, for they are there already", loaded.there),
        ("Left out, for their kinds are not served", loaded.left_out),
    ):
        if counts:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            print_line(f"{what}: {kinds}.")
    print_line("")
    print_line(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}", indent=2)
    print_line("kubectl get endpointslices -A -w", indent=2)
    print_line("")
    print_line("Ctrl-C stops it.")
    sys.stdout.flush()
