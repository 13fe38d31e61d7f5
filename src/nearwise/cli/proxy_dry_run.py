"""``nearwise proxy --dry-run``: what a node's kernel would be told, printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nearwise.cli.output import Format, harmless, print_document, print_note

if TYPE_CHECKING:
    from nearwise.model import EndpointSlice, Node, Service
    from nearwise.nft.compile import Routes
    from nearwise.nft.ruleset import Family, Ruleset
    from nearwise.proxy.dry_run import Table
    from nearwise.proxy.node import Options

    _Read = tuple[Iterable[Service], Iterable[EndpointSlice], Iterable[Node]]


def print_dry_run(
    filenames: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    options: Options,
    output: str,
) -> None:
    """Print the tables of a node. Raises InputError and ClusterError.

    What is left out goes to standard error, or into the document.
    """
    from nearwise.nft.text import ruleset_text
    from nearwise.proxy.dry_run import dry_run

    services, slices, nodes = _load(filenames) if filenames else read_cluster(kubeconfig, context)
    node = None if options.as_client else node_called(options.node, nodes, "--node-name")
    tables = dry_run(services, slices, node, options)
    if output != "nft":
        print_document(Format(output), "NodeTables", _document(options, node, tables))
        return
    for table in tables.values():
        sys.stdout.write(ruleset_text(table.ruleset))
    told = dict.fromkeys(
        f"{'/'.join(key)}: {why.text}"
        for table in tables.values()
        for key, reasons in sorted(table.left_out.items())
        for why in reasons
    )
    for line in told:
        print_note(f"Note: {line}")


def _load(filenames: tuple[str, ...]) -> _Read:
    from nearwise.client.dump import load

    objects = load(filenames, sys.stdin.buffer)
    for notice in objects.notices:
        print_note(f"Note: {notice.text}")
    return objects.services, objects.slices, objects.nodes


def read_cluster(kubeconfig: str | None, context: str | None) -> _Read:
    """Read what a proxy reads: all services, slices and nodes. Raises ClusterError."""
    import asyncio

    from nearwise.client.api import Api
    from nearwise.client.kubeconfig import find_access
    from nearwise.model.resources import ENDPOINT_SLICES, NODES, SERVICES

    async def read() -> _Read:
        async with Api(find_access(kubeconfig, context)) as api:
            return await asyncio.gather(
                api.list(SERVICES), api.list(ENDPOINT_SLICES), api.list(NODES)
            )

    return asyncio.run(read())


def node_called(name: str, nodes: Iterable[Node], option: str) -> Node:
    """Return the node that an option names. Raises InputError."""
    from nearwise.model.errors import InputError

    named = {node.metadata.name: node for node in nodes}
    if name not in named:
        some = sorted(named)
        listed = ", ".join(some[:8]) + (f" and {len(some) - 8} more" if len(some) > 8 else "")
        hint = f"{option} says which; there are {harmless(listed)}" if some else ""
        raise InputError(f"there is no node {name}", hint=hint)
    return named[name]


def _document(
    options: Options, node: Node | None, tables: Mapping[Family, Table]
) -> dict[str, Any]:
    zone = node.zone if node is not None else options.zone
    return {
        "node": options.node,
        "zone": zone,
        "tables": [
            {
                "family": str(family),
                **_rules(table.ruleset),
                "services": [
                    {
                        "service": "/".join(key),
                        "ports": _ports(routes),
                        "leftOut": table.left_out.get(key, ()),
                    }
                    for key, routes in sorted(table.routes.items())
                ],
            }
            for family, table in tables.items()
        ],
    }


def _rules(ruleset: Ruleset) -> dict[str, Any]:
    """Write a table in parts, each as nft has it."""
    from nearwise.nft.text import element_text, key_text, rule_text

    family = ruleset.family
    return {
        "chains": [
            {
                "name": chain.name,
                "hook": str(chain.hook) if chain.hook else None,
                "rules": [rule_text(rule, family) for rule in chain.rules],
            }
            for chain in ruleset.chains.values()
        ],
        "sets": [
            {
                "name": each.name,
                "key": key_text(each.key, family),
                "elements": [
                    element_text(each, family, key, value)
                    for key, value in sorted(ruleset.elements.get(each.name, {}).items())
                ],
            }
            for each in ruleset.sets.values()
        ],
    }


def _ports(routes: Routes) -> list[dict[str, Any]]:
    """Say of each port of a service where it goes, and why."""
    return [
        {
            "port": name,
            "protocol": protocol,
            "mode": str(selection.mode if selection.cluster_used else selection.local_mode),
            "endpoints": [backend.endpoint for backend in selection.all],
            "reasons": selection.reasons,
        }
        for (name, protocol), selection in routes.selections.items()
    ]
