"""``nearwise explain``: where traffic to a service goes, from each place, and why."""

from __future__ import annotations

import click
from click.core import ParameterSource

from nearwise.cli.output import Format, output_option, print_document
from nearwise.cli.source import Source, load, source_options


@click.command("explain")
@click.argument("service", metavar="[NAMESPACE/]SERVICE")
@source_options
@click.option(
    "--from",
    "origin",
    default="",
    metavar="PLACE",
    help="Only clients there: a node, a pod ([NAMESPACE/]NAME), or a zone (or zone=NAME).",
)
@click.option(
    "--clients",
    default="nodes",
    show_default=True,
    metavar="WHO",
    help="Who sends how much: nodes (the same from each that runs other pods), cpu, pods, or the "
    "label selector of the client pods.",
)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    help="As this data plane reads hints, such as kube-proxy-1.33. Can be repeated.",
)
@click.option(
    "--node",
    default="",
    metavar="NAME",
    help="On that node, as root: what this machine's kernel should have, what it has, and where "
    "new connections go.",
)
@click.option(
    "-w",
    "--watch",
    "watched",
    is_flag=True,
    help="Then follow the cluster: a line whenever an answer changes, and why. Ctrl-C ends it.",
)
@output_option(Format.TABLE, Format.WIDE, Format.JSON, Format.YAML)
@click.pass_context
def command(
    context: click.Context,
    *,
    service: str,
    source: Source,
    origin: str,
    clients: str,
    profiles: tuple[str, ...],
    node: str,
    watched: bool,
    output: Format,
) -> None:
    """Say where traffic to SERVICE goes, from each place, and why.

    First the answer in a sentence, with what every endpoint gets; then who goes where, the
    reasons, and what is wrong. How much each client sends is an assumption: see --clients.

    \b
    Examples:
      nearwise explain shop/orders -f cluster.yaml
      nearwise explain orders -n shop --from worker-3
      nearwise explain orders -n shop --watch
      nearwise explain flags -f cluster.yaml --clients app=ingress
      nearwise explain agent -f cluster.yaml --profile kube-proxy-1.33 --profile kube-proxy
      nearwise explain orders -n shop --node "$(hostname)"

    Exits with 0 when there is an answer, whatever it is; with --node, with 1 when the kernel does
    not have what it should.
    """
    from nearwise.cli.explain_screen import print_explanation
    from nearwise.cli.services import reaching, the_one
    from nearwise.insight.explain import explain
    from nearwise.insight.world import World

    source = reaching(source, [service])
    if node:
        _on_node(context, source, service, node, output)
        return
    if watched:
        _watch(source, service, origin, clients, profiles, output)
        return
    world = World(load(source, all_pods=True))
    key = the_one(source, service, {*world.services, *world.sliced})
    found = explain(world, key, origin=origin, clients=clients, profiles=profiles)
    if output.is_document:
        print_document(output, "Explanation", found)
    else:
        print_explanation(found, wide=output is Format.WIDE)


def _on_node(
    context: click.Context, source: Source, service: str, node: str, output: Format
) -> None:
    from nearwise.cli import Exit
    from nearwise.cli.explain_node import explain_node
    from nearwise.cli.explain_node_screen import print_node_explanation

    for option in ("origin", "clients", "profiles", "watched"):
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                "--node is about one machine as it is now: --from, --clients, --profile and "
                "--watch do not go with it"
            )
    found = explain_node(source, service, node)
    if output.is_document:
        print_document(output, "NodeExplanation", found)
    else:
        print_node_explanation(found, wide=output is Format.WIDE)
    if not found.agrees:
        context.exit(Exit.FINDINGS)


def _watch(
    source: Source,
    service: str,
    origin: str,
    clients: str,
    profiles: tuple[str, ...],
    output: Format,
) -> None:
    if source.filenames:
        raise click.UsageError("--watch follows a live cluster, and what -f reads does not change")
    if output is Format.YAML:
        raise click.UsageError("--watch prints a line a change, and YAML has no such: use -o json")
    from nearwise.cli.follow import Manner
    from nearwise.cli.watch import watch

    watch(source, service, Manner(origin, clients, profiles), output)
