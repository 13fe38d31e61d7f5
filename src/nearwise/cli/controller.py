"""``nearwise controller``: write EndpointSlices on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from nearwise.cli.collector import collect_rarely
from nearwise.cli.config_option import ENVIRONMENT, config_option
from nearwise.cli.durations import duration_option
from nearwise.cli.listen import Listen, listen_option
from nearwise.cli.logs import LogFormat, begin_logs, log_format_option, log_level_option

if TYPE_CHECKING:
    from nearwise.client.kubeconfig import Access
    from nearwise.controllers.process import Ending, Settings

_SLICES: Final = "endpointslice-controller"
_MIRRORING: Final = "endpointslice-mirroring-controller"


def _names(_context: click.Context, _option: click.Parameter, text: str) -> frozenset[str]:
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    unknown = sorted(names - {_SLICES, _MIRRORING})
    if unknown or not names:
        what = f"there is no controller {unknown[0]!r}" if unknown else "nothing is to run"
        raise click.BadParameter(f"{what}; there are {_SLICES} and {_MIRRORING}")
    return names


def _name(_context: click.Context, _option: click.Parameter, text: str) -> str:
    from nearwise.model.names import dns_subdomain

    if complaints := dns_subdomain(text):
        raise click.BadParameter(f"{text!r}: {complaints[0]}")
    return text


def max_endpoints_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--max-endpoints-per-slice`` to a command."""
    return click.option(
        "--max-endpoints-per-slice",
        type=click.IntRange(1, 1000),
        default=100,
        show_default=True,
        help="How many endpoints a slice holds at most.",
    )


@click.command("controller", context_settings=ENVIRONMENT)
@config_option()
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig to use.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
@click.option(
    "--controllers",
    metavar="NAMES",
    default=f"{_SLICES},{_MIRRORING}",
    show_default=True,
    callback=_names,
    help="Which to run, with commas between them.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="How many services are worked on at once.",
)
@max_endpoints_option()
@duration_option(
    "--endpointslice-updates-batch-period",
    "0s",
    "How long a change of a pod waits for others, so that they cost one write.",
)
@click.option(
    "--overload-threshold",
    type=click.FloatRange(0, 10),
    default=0.2,
    show_default=True,
    help="How much more than its fair share an endpoint may get by hints of CPU share.",
)
@click.option(
    "--mirroring-workers",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="How many Endpoints are mirrored at once.",
)
@click.option(
    "--mirroring-max-endpoints-per-subset",
    type=click.IntRange(1, 1000),
    default=1000,
    show_default=True,
    help="How many addresses of a subset are mirrored at most.",
)
@duration_option(
    "--mirroring-endpointslice-updates-batch-period",
    "0s",
    "How long somebody else's change of a mirror waits for others; a second at least.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Work only while this replica holds the lease; without it, run one replica only.",
)
@duration_option(
    "--leader-elect-lease-duration", "15s", "How long others wait for a leader that is silent."
)
@duration_option(
    "--leader-elect-renew-deadline", "10s", "How long a leader leads on without renewing."
)
@duration_option(
    "--leader-elect-retry-period", "2s", "How often the lease is renewed, and looked at."
)
@click.option(
    "--leader-elect-resource-name",
    metavar="NAME",
    default="nearwise-controller",
    show_default=True,
    callback=_name,
    help="Name of the lease.",
)
@click.option(
    "--leader-elect-resource-namespace",
    metavar="NAME",
    default="kube-system",
    show_default=True,
    callback=_name,
    help="Namespace of the lease.",
)
@listen_option("--metrics-address", "127.0.0.1:10268", "Where health and metrics are served")
@log_level_option("info")
@log_format_option
def command(
    *,
    kubeconfig: str | None,
    context: str | None,
    metrics_address: Listen | None,
    log_level: str,
    log_format: str,
    **options: Any,
) -> None:
    """Write the EndpointSlices of a cluster, in place of Kubernetes' own controllers.

    Runs until it is told to stop (SIGTERM or Ctrl-C), or until the lease is lost. Without a
    kubeconfig, in a pod, it uses the service account of the pod. Where kube-controller-manager
    does this work, turn it off there first: two who write take endpoints from each other.

    Every option can also come from an environment variable: NEARWISE_WORKERS for --workers, and
    so on. The command line wins over the environment, and the environment over --config.

    Exits with 0 when it was told to stop, and with 1 when the lease is lost: start it again.
    """
    import asyncio

    from nearwise.client.kubeconfig import find_access
    from nearwise.controllers.process import Ending

    settings = _settings(**options)
    access = find_access(kubeconfig, context)
    begin_logs(log_level, LogFormat(log_format))
    collect_rarely()
    if asyncio.run(_run(access, settings, metrics_address)) is Ending.LOST:
        raise click.ClickException("the lease is lost, and another replica may lead by now")


def _settings(
    *,
    controllers: frozenset[str],
    workers: int,
    max_endpoints_per_slice: int,
    endpointslice_updates_batch_period: float,
    overload_threshold: float,
    mirroring_workers: int,
    mirroring_max_endpoints_per_subset: int,
    mirroring_endpointslice_updates_batch_period: float,
    leader_elect: bool,
    leader_elect_lease_duration: float,
    leader_elect_renew_deadline: float,
    leader_elect_retry_period: float,
    leader_elect_resource_name: str,
    leader_elect_resource_namespace: str,
) -> Settings:
    from nearwise.controllers.process import (
        ElectionSettings,
        MirroringSettings,
        Settings,
        SlicesSettings,
    )
    from nearwise.machinery.batching import Batching
    from nearwise.machinery.election import Timing
    from nearwise.slices.reconcile import Rules

    if leader_elect_lease_duration != int(leader_elect_lease_duration):
        raise click.UsageError("--leader-elect-lease-duration: a lease has whole seconds")
    try:
        timing = Timing(
            int(leader_elect_lease_duration), leader_elect_renew_deadline, leader_elect_retry_period
        )
    except ValueError as error:
        raise click.UsageError(f"--leader-elect: {error}") from None
    slices = SlicesSettings(
        workers,
        Rules(max_endpoints_per_slice, overload_threshold),
        Batching(endpointslice_updates_batch_period),
    )
    mirroring = MirroringSettings(
        mirroring_workers,
        mirroring_max_endpoints_per_subset,
        Batching(mirroring_endpointslice_updates_batch_period),
    )
    lease = (leader_elect_resource_namespace, leader_elect_resource_name)
    return Settings(
        slices=slices if _SLICES in controllers else None,
        mirroring=mirroring if _MIRRORING in controllers else None,
        election=ElectionSettings(lease, timing) if leader_elect else None,
    )


async def _run(access: Access, settings: Settings, address: Listen | None) -> Ending:
    from contextlib import AsyncExitStack
    from urllib.parse import urlsplit

    from nearwise.cli.stopping import heed_signals
    from nearwise.client.cluster import LiveCluster
    from nearwise.controllers.process import Process
    from nearwise.loops.serving import Pages, serving
    from nearwise.loops.surroundings import real_surroundings

    stop = heed_signals()
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(LiveCluster(access))
        host = urlsplit(access.server).netloc
        process = Process(cluster, settings, real_surroundings(), host)
        if address is not None:
            pages = Pages(process.registry, process.checks)
            await stack.enter_async_context(serving(pages, address.host or None, address.port))
        return await process.run(stop)
