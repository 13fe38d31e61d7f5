"""The tables that a node would have, without a kernel: of a dump, or of a cluster read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice, Node, Reason, Service
from nearwise.nft.compile import Compiler, Routes
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
    by_service: dict[ObjectKey, list[EndpointSlice]] = defaultdict(list)
    for slice_ in slices:
        for key in service_of(slice_):
            by_service[key].append(slice_)
    client = Client(options.node, (node.zone if node is not None else options.zone) or None)
    machine = [
        each.address
        for each in (node.status.addresses if node is not None else ())
        if each.type in ("InternalIP", "ExternalIP")
    ]
    listed = sorted(services, key=lambda service: service.metadata.key)
    tables = {}
    for family in Family:
        routes = {
            service.metadata.key: routes_of(
                merge(service, by_service[service.metadata.key], family.api), client
            )
            for service in listed
            if is_served(service, family)
        }
        compiler = Compiler(settings_for(family, options, node, machine))
        compiler.change(routes)
        tables[family] = Table(compiler.ruleset, routes, compiler.left_out)
    return tables
