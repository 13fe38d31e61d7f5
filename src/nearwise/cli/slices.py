"""``nearwise slices``: the EndpointSlices as the control plane would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nearwise.cli.output import Format, output_option, print_document, print_note
from nearwise.cli.source import Source, load, source_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nearwise.insight.drift import Drift


@click.command("slices")
@click.argument("services", nargs=-1, metavar="[[NAMESPACE/]SERVICE]...")
@source_options
@click.option("--diff", is_flag=True, help="Show what differs from the stored slices, and why.")
@click.option(
    "--from-scratch",
    is_flag=True,
    help="As if there were no slices yet, instead of as a next step.",
)
@output_option(Format.TABLE, Format.WIDE, Format.JSON, Format.YAML)
@click.pass_context
def command(
    context: click.Context,
    *,
    services: tuple[str, ...],
    source: Source,
    diff: bool,
    from_scratch: bool,
    output: Format,
) -> None:
    """Show the EndpointSlices of SERVICEs, or of all, as the controllers would leave them.

    The EndpointSlice and the mirroring controller start from the stored slices, as they do at
    their next look; slices of other managers stay as they are. With -o json or yaml the slices
    come out as a List that kubectl and nearwise read.

    \b
    Examples:
      nearwise slices -f cluster.yaml
      nearwise slices shop/orders -f cluster.yaml -o wide
      nearwise slices -f cluster.yaml --diff
      nearwise slices -f cluster.yaml --diff --from-scratch

    With --diff exits with 1 when something differs. Which of several equal endpoints is lent to
    another zone is no difference.
    """
    from nearwise.cli import Exit, slices_screen
    from nearwise.cli.services import chosen, nothing_there, reaching
    from nearwise.insight.drift import drift, drift_from_scratch
    from nearwise.insight.world import World
    from nearwise.slices.nodes import Nodes

    source = reaching(source, services)
    world = World(load(source))
    nodes = Nodes(world.objects.nodes)
    compare = drift_from_scratch if from_scratch else drift
    keys = chosen(source, services, {*world.services, *world.sliced})
    drifts = [compare(world, nodes, key) for key in keys]
    if not keys and not output.is_document:
        print_note(nothing_there(source))
    if not diff:
        if output.is_document:
            _print_list(drifts, output)
        else:
            slices_screen.print_slices(drifts, wide=output is Format.WIDE)
        return
    if output.is_document:
        print_document(output, "SliceDifferences", {"services": [_plain(each) for each in drifts]})
    else:
        slices_screen.print_differences(drifts, wide=output is Format.WIDE)
    if any(each.differs or each.unjudged for each in drifts):
        context.exit(Exit.FINDINGS)


def _print_list(drifts: Iterable[Drift], output: Format) -> None:
    """Print whole slices as a List."""
    from nearwise.cli.output import to_json, to_yaml
    from nearwise.model.codec import to_dict

    items = [to_dict(slice_) for each in drifts for slice_ in each.slices]
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    click.echo(to_yaml(document) if output is Format.YAML else to_json(document), nl=False)


def _plain(drift: Drift) -> dict[str, object]:
    return {
        "service": drift.service,
        "differs": drift.differs,
        "created": drift.created,
        "updated": drift.updated,
        "deleted": drift.deleted,
        "reasons": drift.reasons,
        "differences": drift.differences,
        "notes": drift.notes,
        "unjudged": drift.unjudged,
    }
