"""``nearwise explain --node``: what this machine's kernel has for a service, and should have.

Law: here the cluster and the kernel are read; what is compared with what, and what that means, is
``insight/programmed.py``. Nothing is changed, and of the kernel's tables only ours are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearwise.cli.output import progress
from nearwise.cli.proxy_dry_run import node_called, read_cluster
from nearwise.cli.services import the_one
from nearwise.cli.source import Source, access, load
from nearwise.insight.programmed import (
    NodeExplanation,
    Seen,
    Wanted,
    node_explanation,
    programmed,
)
from nearwise.insight.programmed_rules import settings_in
from nearwise.model import EndpointSlice, Node, Reason, Service, reason
from nearwise.model.errors import InputError
from nearwise.nft.choices import Flow
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.proxy.addresses import machine_addresses
from nearwise.proxy.backends import open_kernel
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.dry_run import Table, tables
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.node import Options, families_of, settings_for
from nearwise.routing import Client


def explain_node(source: Source, name: str, node_name: str) -> NodeExplanation:
    """Compare what the kernel of this machine has for a service with what should be there.

    Raises InputError, also when the kernel cannot be read, and ClusterError.
    """
    services, slices, nodes = _read(source)
    node = node_called(node_name, nodes, "--node")
    by_key = {service.metadata.key: service for service in services}
    service = by_key[the_one(source, name, by_key)]
    try:
        machine = machine_addresses()
        seen, notes = _look(families_of(machine))
    except (KernelError, OSError) as error:
        raise InputError(str(error)) from None
    settings = {
        family: _settings(family, each, node, machine, by_key.values())
        for family, each in seen.items()
    }
    client = Client(node_name, node.zone or None)
    should = tables(by_key.values(), slices, client, settings.values())
    lines = [
        programmed(_wanted(service, settings[family], table), seen[family])
        for family, table in should.items()
    ]
    return node_explanation(service, node, machine, lines, notes)


def _read(source: Source) -> tuple[Iterable[Service], Iterable[EndpointSlice], Iterable[Node]]:
    """Read what a proxy reads, of all namespaces: services contend for addresses."""
    if source.filenames:
        objects = load(source)
        return objects.services, objects.slices, objects.nodes
    with progress(f"reading the cluster at {access(source).server}"):
        return read_cluster(source.kubeconfig, source.context)


def _look(families: Sequence[Family]) -> tuple[dict[Family, Seen], list[Reason]]:
    """Read our tables and what the kernel remembers, and say what cannot be. Raises KernelError."""
    kernel = open_kernel()
    notes: list[Reason] = []
    flows: dict[Family, tuple[Flow, ...]] = {}
    try:
        conntrack = KernelFlows()
        flows = {family: tuple(conntrack.udp(family)) for family in families}
    except KernelError as error:
        notes.append(reason("kernel-flows-unread", why=str(error)))
    found = {}
    for family in families:
        table = kernel.read(family)
        pins = kernel.pins(family) if table else {}
        found[family] = Seen(table, pins, flows.get(family, ()))
    return found, notes


def _settings(
    family: Family,
    seen: Seen,
    node: Node,
    machine: tuple[str, ...],
    services: Iterable[Service],
) -> Settings:
    """Return how the table of a family was made, as far as that can be told."""
    usual = settings_for(family, Options(node=node.metadata.name), node, machine)
    return usual if seen.table is None else settings_in(seen.table, usual, services)


def _wanted(service: Service, settings: Settings, table: Table) -> Wanted:
    key = service.metadata.key
    routes = table.routes.get(key)
    selections = routes.selections if routes else {}
    return Wanted(service, settings, table.ruleset, selections, table.left_out.get(key, ()))
