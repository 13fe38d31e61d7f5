"""``nearwise hints``: what hints each service asks for, has, and is near to losing."""

from __future__ import annotations

import click

from nearwise.cli.output import Format, output_option, print_document, print_note
from nearwise.cli.source import Source, load, source_options


@click.command("hints")
@click.argument("services", nargs=-1, metavar="[[NAMESPACE/]SERVICE]...")
@source_options
@click.option("--all", "everyone", is_flag=True, help="Also services that ask for no hints.")
@output_option(Format.TABLE, Format.WIDE, Format.JSON, Format.YAML)
@click.pass_context
def command(
    context: click.Context,
    *,
    services: tuple[str, ...],
    source: Source,
    everyone: bool,
    output: Format,
) -> None:
    """Show what hints SERVICEs, or all, ask for, what their slices carry, and what is wrong.

    One line a service and address family: what is asked for and by what, how many of the ready
    endpoints have hints and for where, since when CPU shares have given or refused them, and the
    last event about them. Then the findings, and how near hints by CPU share are to being lost.
    With -o wide all reasons.

    \b
    Examples:
      nearwise hints -f cluster.yaml
      nearwise hints shop/search -f cluster.yaml -o wide
      nearwise hints -A

    Exits with 1 when a finding is a warning or an error.
    """
    from datetime import UTC, datetime

    from nearwise.cli import Exit
    from nearwise.cli.hints_screen import print_hints
    from nearwise.cli.services import chosen, nothing_there, reaching
    from nearwise.insight.hint_findings import of_cluster, of_places
    from nearwise.insight.hints import hints_of
    from nearwise.insight.world import World
    from nearwise.model.reasons import Level
    from nearwise.slices.nodes import Nodes

    source = reaching(source, services)
    world = World(load(source))
    nodes = Nodes(world.objects.nodes)
    now = None if source.filenames else datetime.now(UTC)
    keys = chosen(source, services, world.services)
    found = [hints_of(world, nodes, key, now) for key in keys]
    shown = [each for each in found if services or everyone or each.concerned]
    cluster = (
        *(of_cluster(nodes.shares) if any(each.by_shares for each in shown) else ()),
        *(of_places(world) if any(each.has_zone_hints for each in shown) else ()),
    )
    if output.is_document:
        print_document(output, "Hints", {"cluster": cluster, "services": shown})
    else:
        print_hints(shown, cluster, now=now, wide=output is Format.WIDE)
        if silent := len(found) - len(shown):
            print_note(f"Services that ask for no hints: {silent} (--all shows them too).")
        if not found:
            print_note(nothing_there(source))
    if any(each.alarms for each in shown) or any(why.level is not Level.INFO for why in cluster):
        context.exit(Exit.FINDINGS)
