"""``nearwise lab``: a whole cluster on this machine, in which packets really flow."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import click

from nearwise.cli.lab_change import CHANGES
from nearwise.cli.lab_look import curl, status
from nearwise.cli.lab_options import name_option, running
from nearwise.cli.output import print_line, print_note, print_table, progress
from nearwise.cli.source import objects_of

if TYPE_CHECKING:
    from nearwise.lab.status import LabStatus

_PATIENCE: Final = 30.0  # seconds until all is ready
_PATIENCE_FOR_NODE: Final = 3.0  # more for each node: its proxy takes a while to start
_SOME: Final = 3  # complaints of processes that are told


@click.group("lab")
def command() -> None:
    """Run a whole cluster on this machine, and see hints move real connections.

    A lab has an API server with the controllers that write EndpointSlices, nodes in zones, each a
    network namespace with a proxy of its own, and pods that answer who they are. It is driven by
    these commands and by kubectl alike, and goes on in the background until "lab down", after
    which nothing of it is left. Nothing outside its namespaces is touched.

    It needs Linux, root, and the program ip (iproute2).

    \b
    Examples:
      sudo nearwise lab up
      sudo nearwise lab curl a1 web -n 200
      sudo nearwise lab fail web-1
      sudo nearwise lab down
    """


@command.command("up")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Nodes, services and pods: manifests, or a dump of a cluster to rebuild. Can be repeated.",
)
@click.option(
    "--zones",
    type=click.IntRange(1, 15),
    default=3,
    show_default=True,
    help="How many zones; they are called zone-a, zone-b and so on.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 20),
    default=2,
    show_default=True,
    help="How many nodes in each zone; in zone-a they are called a1, a2 and so on.",
)
@click.option(
    "--service",
    multiple=True,
    metavar="NAME=PODS[,WAY]",
    help="A service with so many pods, or daemon for one on every node; WAY is a "
    "trafficDistribution, or Auto for hints by CPU share. Can be repeated; without it there are "
    "web=6,PreferSameZone and dns=daemon,PreferSameNode.",
)
@click.option("--dual-stack", is_flag=True, help="IPv6 beside IPv4.")
@click.option(
    "--no-proxies", is_flag=True, help="Have nobody serve cluster addresses: run your own proxies."
)
@name_option
@click.pass_context
def up(
    context: click.Context,
    *,
    filenames: tuple[str, ...],
    zones: int,
    nodes: int,
    service: tuple[str, ...],
    dual_stack: bool,
    no_proxies: bool,
    name: str,
) -> None:
    """Start a lab, and return when all of it is ready.

    Objects of a dump keep their names, labels, zones, cluster addresses and hints; nodes and pods
    get addresses of the lab. A pod or node that was not ready stays so.

    \b
    Examples:
      nearwise lab up
      nearwise lab up --zones 2 --nodes 1 --service api=4,Auto
      nearwise lab up -f examples/shop.yaml
    """
    from nearwise.lab import namespaces, starting
    from nearwise.lab.state import Place
    from nearwise.lab.topology import DEMO, demo, topology, wanted
    from nearwise.model.errors import InputError

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing is left
    namespaces.check_means()
    namespaces.check_name(name)
    if filenames:
        _check_alone(context, "zones", "nodes", "service")
        objects = objects_of(filenames)
    else:
        objects = demo(zones, nodes, [wanted(each) for each in service] or DEMO)
    chosen = topology(objects, dual_stack=dual_stack)
    with progress("starting") as told:
        left_out = starting.start(name, chosen, proxies=not no_proxies, told=told)
    try:
        with running(name, "waiting until all is ready") as lab:
            try:
                lab.settle(_PATIENCE + _PATIENCE_FOR_NODE * len(chosen.plan.nodes))
            except TimeoutError as error:
                why = "; ".join(Place(name).complaints()[:_SOME])  # the logs go with the lab
                raise InputError(f"the lab did not get there: {error}", hint=why) from None
            seen = lab.status()
    except BaseException:
        starting.stop(name)
        raise
    if left_out:
        print_note(f"Left out, for their kinds are not served: {left_out}.")
    _greet(seen)


@command.command("down")
@name_option
def down(*, name: str) -> None:
    """Take a lab away: its processes, namespaces and files.

    Also what is left of one that broke down or was not finished. Where there is nothing, nothing
    is done.
    """
    from nearwise.lab import namespaces, starting

    namespaces.check_means()
    namespaces.check_name(name)
    with progress(f"taking the lab {name} down"):
        found = starting.stop(name)
    print_line(f"The lab {name} is gone." if found else f"There is no lab {name}.")


def _check_alone(context: click.Context, *options: str) -> None:
    """Refuse options that say what is in the files."""
    for each in options:
        if context.get_parameter_source(each) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"-f says what there is: leave --{each} out")


def _greet(seen: LabStatus) -> None:
    """Say what there is, and what can be done now."""
    from nearwise.cli.lab_screen import print_nodes, print_services
    from nearwise.lab.state import named

    print_nodes(seen)
    print_line("")
    print_services(seen)
    node = next((each.name for each in seen.nodes if each.state == "ready"), "NODE")
    used = [each for each in seen.services if each.ready and each.ways]
    service = used[-1].name.removeprefix("default/") if used else "SERVICE"
    pod = used[-1].ways[0].endpoints[0] if used and used[-1].ways[0].endpoints else "POD"
    here = named(seen.name)
    rows = [
        (f"nearwise lab curl {node} {service} -n 200{here}", f"who answers clients on {node}"),
        (f"nearwise lab fail {pod}{here}", "a pod fails its readiness probe (heal)"),
        (f"nearwise lab kill node {node}{here}", "a node is lost (start node)"),
        (f"nearwise lab rollout {service}{here}", "new pods for old ones"),
        (f"nearwise lab status{here}", "how all of it is"),
        (f"nearwise lab down{here}", "nothing is left"),
        (f"export KUBECONFIG={seen.kubeconfig}", "for kubectl"),
    ]
    print_line("")
    print_line("What to try now:")
    print_table((), rows, indent=2)


for _each in (status, curl, *CHANGES):
    command.add_command(_each)
