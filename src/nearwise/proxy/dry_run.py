"""The tables that a node would have, without a kernel: of a dump, or of a cluster read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice, Node, Reason, Service
from nearwise.nft.compile import Compiler, Routes
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.node import Options, settings_for
from nearwise.proxy.routes import is_served, routes_of
from nearwise.routing import Client, merge


class Table(msgspec.Struct, frozen=True):
    """The table of one family, what was chosen for it, and what is not in it."""

    ruleset: Ruleset
    routes: Mapping[ObjectKey, Routes]
    left_out: Mapping[ObjectKey, tuple[Reason, ...]]


def dry_run(
    services: Iterable[Service],
    slices: Iterable[EndpointSlice],
    node: Node | None,
    options: Options,
) -> dict[Family, Table]:
    """Return the tables of a node; None for a machine that is none.

    The addresses of the machine are those that its node object lists, for it need not be this one.
    """
    client = Client(options.node, (node.zone if node is not None else options.zone) or None)
    machine = [
        each.address
        for each in (node.status.addresses if node is not None else ())
        if each.type in ("InternalIP", "ExternalIP")
    ]
    every = [settings_for(family, options, node, machine) for family in Family]
    return tables(services, slices, client, every)


def tables(
    services: Iterable[Service],
    slices: Iterable[EndpointSlice],
    client: Client,
    every: Iterable[Settings],
) -> dict[Family, Table]:
    """Return the tables that a client's machine should have, one for each of the settings."""
    by_service: dict[ObjectKey, list[EndpointSlice]] = defaultdict(list)
    for slice_ in slices:
        for key in service_of(slice_):
            by_service[key].append(slice_)
    listed = sorted(services, key=lambda service: service.metadata.key)
    found = {}
    for settings in every:
        family = settings.family
        routes = {
            service.metadata.key: routes_of(
                merge(service, by_service[service.metadata.key], family.api), client
            )
            for service in listed
            if is_served(service, family)
        }
        compiler = Compiler(settings)
        compiler.change(routes)
        found[family] = Table(compiler.ruleset, routes, compiler.left_out)
    return found
