"""``nearwise lab status`` and ``nearwise lab curl``: what is in a lab, and where connections go."""

from __future__ import annotations

import click

from nearwise.cli.durations import duration_option
from nearwise.cli.lab_options import name_option, running
from nearwise.cli.output import Format, output_option, print_document

_MOST = 1_000_000  # connections
_LONGEST = 3600  # seconds to wait


@click.command("status", short_help="Show nodes, services and pods.")
@output_option(Format.TABLE, Format.WIDE, Format.JSON, Format.YAML)
@name_option
def status(*, output: Format, name: str) -> None:
    """Show nodes, services and pods of a lab, and how services are chosen on its nodes.

    PROXY says whether what is in the kernel of a node is what the slices say. With -o wide the
    endpoints that are used from each node.
    """
    with running(name) as lab:
        seen = lab.status()
    if output.is_document:
        print_document(output, "LabStatus", seen)
        return
    from nearwise.cli.lab_screen import print_status

    print_status(seen, wide=output is Format.WIDE)


@click.command("curl", short_help="Open connections, and show who answered.")
@click.argument("place", metavar="FROM")
@click.argument("service", metavar="SERVICE")
@click.option(
    "-n",
    "--connections",
    type=click.IntRange(1, _MOST),
    default=1,
    show_default=True,
    help="How many connections to open, one after the other.",
)
@click.option(
    "--node-port",
    metavar="NODE",
    default="",
    help="Connect to the node port on this node, not to the cluster address.",
)
@click.option("--ipv6", is_flag=True, help="By IPv6, in a lab that has it.")
@duration_option("--timeout", "2s", "How long to wait for an answer.")
@output_option(Format.TABLE, Format.JSON, Format.YAML)
@name_option
@click.pass_context
def curl(
    context: click.Context,
    *,
    place: str,
    service: str,
    connections: int,
    node_port: str,
    ipv6: bool,
    timeout: float,
    output: Format,
    name: str,
) -> None:
    """Open connections FROM a place to a SERVICE, and show who answered.

    FROM is a node, a pod ([NAMESPACE/]NAME), zone=NAME for the first node of a zone, or outside
    for a client that is on no node. SERVICE is [NAMESPACE/]NAME[:PORT], the port by name or number,
    the first without. Over TCP a connection is one HTTP request, over UDP one datagram.

    \b
    Examples:
      nearwise lab curl a1 web -n 200
      nearwise lab curl web-1 dns:53 -n 50
      nearwise lab curl outside web --node-port b1 -n 50

    Exits with 1 when any of them failed.
    """
    if not 0 < timeout <= _LONGEST:
        raise click.UsageError("--timeout is more than 0s, and at most 1h")
    from nearwise.cli import Exit
    from nearwise.cli.lab_screen import print_tally
    from nearwise.lab.tally import tally

    with running(name, f"connecting to {service}") as lab:
        target = lab.route(place, service, node_port=node_port, ipv6=ipv6)
        found = tally(lab.ask(target, connections, timeout))
    asked = {
        "from": place,
        "service": service,
        "address": target.target.address,
        "port": target.target.port,
        "protocol": target.target.protocol,
    }
    if output.is_document:
        print_document(output, "LabConnections", {**asked, "result": found})
    else:
        print_tally(place, service, target.target, found)
    if found.failures:
        context.exit(Exit.FINDINGS)
