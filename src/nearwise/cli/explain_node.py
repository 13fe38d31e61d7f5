"""``nearwise explain --node``: what this machine's kernel has for a service, and should have.

Law: here the cluster and the kernel are read; what is compared with what, and what that means, is
``insight/programmed.py``. Nothing is changed, and of the kernel's tables only ours are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nearwise.cli.source import Source, load

if TYPE_CHECKING:
    from nearwise.insight.programmed import NodeExplanation
    from nearwise.model import EndpointSlice, Node, Service

    _Cluster = tuple[Iterable[Service], Iterable[EndpointSlice], Iterable[Node]]


def explain_node(source: Source, name: str, node_name: str) -> NodeExplanation:
    """Compare what the kernel of this machine has for a service with what should be there.

    Raises InputError, also when the kernel cannot be read, and ClusterError.
    """
    from nearwise.cli.proxy_dry_run import node_called
    from nearwise.cli.services import the_one
    from nearwise.insight.programmed import node_explanation
    from nearwise.model.errors import InputError
    from nearwise.proxy.addresses import machine_addresses
    from nearwise.proxy.dry_run import tables
    from nearwise.proxy.kernel import KernelError
    from nearwise.proxy.node import families_of
    from nearwise.routing import Client

    services, slices, nodes = _read(source)
    node = node_called(node_name, nodes, "--node")
    by_key = {service.metadata.key: service for service in services}
    service = by_key[the_one(source, name, by_key)]
    try:
        machine = machine_addresses()
        seen, notes = _look(families_of(machine))
    except (KernelError, OSError) as error:
        raise InputError(str(error)) from None
    settings = [
        _settings(family, each, node, machine, by_key.values()) for family, each in seen.items()
    ]
    wanted = tables(by_key.values(), slices, Client(node_name, node.zone or None), settings)
    return node_explanation(service, node, machine, ...)


def _read(source: Source) -> _Cluster:
    """Read what a proxy reads, of all namespaces: services contend for addresses."""
    from nearwise.cli.output import progress
    from nearwise.cli.proxy_dry_run import read_cluster
    from nearwise.cli.source import access

    if source.filenames:
        objects = load(source)
        return objects.services, objects.slices, objects.nodes
    with progress(f"reading the cluster at {access(source).server}"):
        return read_cluster(source.kubeconfig, source.context)
