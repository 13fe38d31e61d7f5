"""``nearwise explain``: where traffic to a service goes, from each place, and why."""

from __future__ import annotations

import click

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
@output_option(Format.TABLE, Format.WIDE, Format.JSON, Format.YAML)
def command(
    service: str,
    source: Source,
    origin: str,
    clients: str,
    profiles: tuple[str, ...],
    output: Format,
) -> None:
    """Say where traffic to SERVICE goes, from each place, and why.

    First the answer in a sentence, with what every endpoint gets; then who goes where, the
    reasons, and what is wrong. How much each client sends is an assumption: see --clients.

    \b
    Examples:
      nearwise explain shop/orders -f cluster.yaml
      nearwise explain orders -n shop --from worker-3
      nearwise explain flags -f cluster.yaml --clients app=ingress
      nearwise explain agent -f cluster.yaml --profile kube-proxy-1.33 --profile kube-proxy

    Exits with 0 when there is an answer, whatever it is.
    """
    import msgspec

    from nearwise.cli.explain_screen import print_explanation
    from nearwise.cli.services import chosen, reaching
    from nearwise.insight.explain import explain
    from nearwise.insight.world import World
    from nearwise.model.errors import InputError

    source = reaching(source, [service])
    world = World(load(source, all_pods=True))
    keys = chosen(source, [service], {*world.services, *world.sliced})
    if len(keys) > 1:
        which = ", ".join("/".join(key) for key in keys)
        raise InputError(f"{len(keys)} services are called {service}", hint=f"say which: {which}")
    found = explain(world, keys[0], origin=origin, clients=clients, profiles=profiles)
    if output.is_document:
        fields = zip(found.__struct_encode_fields__, msgspec.structs.astuple(found), strict=True)
        print_document(output, "Explanation", dict(fields))
    else:
        print_explanation(found, wide=output is Format.WIDE)
