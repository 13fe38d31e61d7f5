"""``nearwise explain``: where traffic to a service goes, from each place, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nearwise.cli.output import Format, output_option, print_document
from nearwise.cli.source import Source, load, scope, source_options

if TYPE_CHECKING:
    from nearwise.insight.world import Key, World


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
    from nearwise.cli.explain_screen import print_explanation
    from nearwise.insight.explain import explain
    from nearwise.insight.world import World

    namespace, _, name = service.rpartition("/")
    if namespace:
        source = source._replace(namespace=namespace, all_namespaces=False)
    world = World(load(source, all_pods=True))
    key = _find(world, scope(source), name)
    found = explain(world, key, origin=origin, clients=clients, profiles=profiles)
    if output.is_document:
        print_document(output, "Explanation", {"explanation": found})
    else:
        print_explanation(found, wide=output is Format.WIDE)


def _find(world: World, namespace: str | None, name: str) -> Key:
    """Return the key of the service that the user means.

    Raises InputError when there is none or more than one.
    """
    from nearwise.insight.clients import near
    from nearwise.model.errors import InputError

    if namespace is not None:
        return (namespace, name)
    keys = [key for key in sorted(world.services) if key[1] == name]
    if len(keys) == 1:
        return keys[0]
    if keys:
        which = ", ".join(f"{namespace}/{name}" for namespace, _ in keys)
        raise InputError(f"{len(keys)} services are called {name}", hint=f"say which: {which}")
    names = ["/".join(key) for key in world.services]
    hint = near(name, [*names, *(key[1] for key in world.services)])
    raise InputError(f"no service is called {name}", hint=hint or "nearwise hints lists them")
