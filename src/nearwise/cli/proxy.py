"""``nearwise proxy``: what kube-proxy is on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from nearwise.cli.collector import collect_after, collect_rarely
from nearwise.cli.config_option import ENVIRONMENT, config_option
from nearwise.cli.durations import duration_option
from nearwise.cli.listen import Listen, listen_option
from nearwise.cli.logs import LogFormat, begin_logs, log_format_option, log_level_option
from nearwise.cli.output import print_line

if TYPE_CHECKING:
    from nearwise.client.kubeconfig import Access
    from nearwise.proxy.conntrack import Flows
    from nearwise.proxy.node import Options
    from nearwise.proxy.process import Machine

_PRIMARY: Final = "primary"
_BACKENDS: Final = ("auto", "netlink", "nft")
_MOST_BIT: Final = 31


class _Serve(NamedTuple):
    """Where pages are served; None: nowhere."""

    health: Listen | None
    metrics: Listen | None


def _networks(
    _context: click.Context, option: click.Parameter, text: str | None
) -> tuple[str, ...]:
    """Read networks with commas between them."""
    from nearwise.nft.addresses import parsed_network

    found = []
    for each in filter(None, (part.strip() for part in (text or "").split(","))):
        if each == _PRIMARY and option.name == "nodeport_addresses":
            found.append(each)
        elif (network := parsed_network(each)) is not None:
            found.append(str(network))
        else:
            raise click.BadParameter(f"{each!r} is not a network such as 10.0.0.0/8 or fd00::/64")
    return tuple(found)


@click.command("proxy", context_settings=ENVIRONMENT)
@config_option()
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig to use.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
@click.option(
    "--node-name",
    "--node",
    metavar="NAME",
    help="Name of the node object of this machine; without it NODE_NAME of the environment, else "
    "the host name.",
)
@click.option("--as-client", is_flag=True, help="This machine is no node, but uses the services.")
@click.option("--zone", metavar="NAME", help="With --as-client: the zone of this machine.")
@duration_option("--min-sync-period", "0s", "How long at least between two changes of the kernel.")
@duration_option(
    "--sync-period", "30s", "How often to look whether somebody else changed our tables."
)
@click.option(
    "--nodeport-addresses",
    metavar="NETWORKS",
    default=_PRIMARY,
    show_default=True,
    callback=_networks,
    help="On which addresses of this machine node ports answer: those in these networks, or "
    "primary for the one by which the cluster knows the node.",
)
@click.option(
    "--cluster-cidr",
    "pod_networks",
    metavar="NETWORKS",
    callback=_networks,
    help="Where pods have their addresses. What goes to cluster addresses from elsewhere is then "
    "masqueraded, and pods count as inside for external policy Local.",
)
@click.option(
    "--masquerade-all", is_flag=True, help="Masquerade whatever goes to a cluster address."
)
@click.option(
    "--masquerade-bit",
    type=click.IntRange(0, _MOST_BIT),
    default=14,
    show_default=True,
    help="Which bit of the packet mark says that a packet is to be masqueraded.",
)
@listen_option("--healthz-address", "0.0.0.0:10256", "Where /healthz and /livez are served")
@listen_option("--metrics-address", "127.0.0.1:10249", "Where /metrics and /rules are served")
@click.option(
    "--backend",
    type=click.Choice(_BACKENDS),
    default=_BACKENDS[0],
    show_default=True,
    help="How the kernel is told: by netlink, or by the nft program where that is refused.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print what the kernel would be told, and tell it nothing."
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="With --dry-run: read this dump, folder of dumps, or - for standard input. Can be "
    "repeated.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(("nft", "json", "yaml")),
    default="nft",
    show_default=True,
    help="With --dry-run: how to print it.",
)
@click.option("--cleanup", is_flag=True, help="Remove our tables from the kernel, and end.")
@log_level_option("info")
@log_format_option
def command(
    *,
    kubeconfig: str | None,
    context: str | None,
    backend: str,
    dry_run: bool,
    cleanup: bool,
    filenames: tuple[str, ...],
    output: str,
    healthz_address: Listen | None,
    metrics_address: Listen | None,
    log_level: str,
    log_format: str,
    **options: Any,
) -> None:
    """Send connections to services to near endpoints, on this node: what kube-proxy does.

    Watches services and EndpointSlices, and keeps one table of nftables for each address family as
    they want it. Runs until it is told to stop (SIGTERM or Ctrl-C), and leaves the tables: the
    kernel goes on with them, and the next run takes them over. Do not run it beside kube-proxy.

    \b
    Examples:
      nearwise proxy --node-name worker-1
      nearwise proxy --as-client --zone eu-1a --kubeconfig shop.conf
      nearwise proxy --dry-run -f cluster.yaml --node-name worker-1
      nearwise proxy --cleanup

    Every option can also come from an environment variable: NEARWISE_NODE_NAME for --node-name,
    and so on. The command line wins over the environment, and the environment over --config.

    Exits with 0 when it was told to stop, and with 2 when the kernel, or our rights in it, will
    not do; then it says what is missing.
    """
    if filenames and not dry_run:
        raise click.UsageError("-f is for --dry-run")
    if filenames and (kubeconfig or context):
        raise click.UsageError("-f reads files; --kubeconfig and --context a live cluster")
    if cleanup:
        if dry_run:
            raise click.UsageError("--cleanup and --dry-run exclude each other")
        _clean_up(backend)
        return
    chosen = _options(**options)
    if dry_run:
        from nearwise.cli.proxy_dry_run import print_dry_run

        print_dry_run(filenames, kubeconfig, context, chosen, output)
        return
    _serve(
        kubeconfig,
        context,
        backend,
        chosen,
        _Serve(healthz_address, metrics_address),
        (log_level, LogFormat(log_format)),
    )


def _options(
    *,
    node_name: str | None,
    as_client: bool,
    zone: str | None,
    min_sync_period: float,
    sync_period: float,
    nodeport_addresses: tuple[str, ...],
    pod_networks: tuple[str, ...],
    masquerade_all: bool,
    masquerade_bit: int,
) -> Options:
    import os
    import socket

    from nearwise.proxy.node import Options

    if zone and not as_client:
        raise click.UsageError("--zone is for --as-client: a node's zone is on its label")
    if as_client and node_name:
        raise click.UsageError("--as-client is for a machine that is no node, so without a name")
    if sync_period <= 0:
        raise click.UsageError("--sync-period: it must be longer than nothing")
    name = node_name or os.environ.get("NODE_NAME") or socket.gethostname().lower()
    return Options(
        node="" if as_client else name,
        zone=zone or "",
        min_sync_period=min_sync_period,
        sync_period=sync_period,
        node_port_addresses=nodeport_addresses,
        pod_networks=pod_networks,
        masquerade_all=masquerade_all,
        masquerade_bit=masquerade_bit,
    )


def _serve(
    kubeconfig: str | None,
    context: str | None,
    backend: str,
    options: Options,
    serve: _Serve,
    logs: tuple[str, LogFormat],
) -> None:
    """Run until stopped."""
    import asyncio

    from nearwise.client.kubeconfig import find_access
    from nearwise.model.errors import InputError
    from nearwise.proxy.kernel import KernelError

    access = find_access(kubeconfig, context)
    begin_logs(*logs)
    collect_rarely()
    try:
        asyncio.run(_run(access, _machine(backend), options, serve))
    except KernelError as error:
        raise InputError(str(error)) from None


async def _run(access: Access, machine: Machine, options: Options, serve: _Serve) -> None:
    import asyncio
    from contextlib import AsyncExitStack
    from urllib.parse import urlsplit

    from nearwise.cli.stopping import heed_signals
    from nearwise.client.cluster import LiveCluster
    from nearwise.loops.serving import serving
    from nearwise.loops.surroundings import real_surroundings
    from nearwise.model.errors import InputError
    from nearwise.proxy.process import Process

    stop = heed_signals()
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(LiveCluster(access))
        host = urlsplit(access.server).netloc
        process = Process(cluster, machine, options, real_surroundings(), host)
        for option, address, pages in (
            ("--healthz-address", serve.health, process.health_pages),
            ("--metrics-address", serve.metrics, process.operator_pages),
        ):
            if address is None:
                continue
            try:
                await stack.enter_async_context(serving(pages, address.host or None, address.port))
            except OSError as error:
                hint = f"is another proxy running here? {option} takes another address, or off"
                raise InputError(error.strerror or str(error), hint=hint) from None
        collecting = asyncio.create_task(collect_after(process.agent.settled))
        try:
            await process.run(stop)
        finally:
            collecting.cancel()


def _machine(backend: str) -> Machine:
    """Open what a proxy needs of this machine. Raises KernelError."""
    from nearwise.proxy.addresses import machine_addresses
    from nearwise.proxy.backends import open_kernel
    from nearwise.proxy.process import Machine

    return Machine(open_kernel(backend), _flows(), machine_addresses)


def _clean_up(backend: str) -> None:
    from nearwise.model.errors import InputError
    from nearwise.nft.ruleset import TABLE, Family
    from nearwise.proxy.backends import open_kernel
    from nearwise.proxy.kernel import KernelError

    try:
        kernel = open_kernel(backend)
        there = [family for family in Family if kernel.read(family) is not None]
        kernel.remove()
    except KernelError as error:
        raise InputError(str(error)) from None
    names = " and ".join(f"table {family} {TABLE}" for family in there)
    print_line(f"Removed {names}." if names else "There was nothing of ours to remove.")


def _flows() -> Flows | None:
    """Open the kernel's flows; None where there are none to be had, which is told."""
    import logging

    from nearwise.proxy.conntrack import KernelFlows
    from nearwise.proxy.kernel import KernelError

    try:
        return KernelFlows()
    except KernelError as error:
        log = logging.getLogger("nearwise.proxy")
        log.warning("UDP flows of endpoints that are gone will not be forgotten: %s", error)
        return None
