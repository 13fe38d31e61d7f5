"""Where a command reads a cluster from: dumps (``-f``) or the live cluster of a kubeconfig.

The options have kubectl's names and meanings. Usage: decorate the command's function with
``@source_options``, take a ``source`` argument, and call ``load(source)`` for the objects and
``scope(source)`` for the namespace whose services are asked about.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nearwise.cli.output import print_note, progress

if TYPE_CHECKING:
    from nearwise.client.kubeconfig import Access
    from nearwise.model.codec import Objects


class Source(NamedTuple):
    """What the user said about where to read."""

    filenames: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where to read; the command gets what they say as ``source``."""

    @functools.wraps(function)
    def command(**options: Any) -> Any:
        source = Source(**{name: options.pop(name) for name in Source._fields})
        if source.filenames and (source.kubeconfig or source.context):
            raise click.UsageError("-f reads files; --kubeconfig and --context a live cluster")
        return function(source=source, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def scope(source: Source) -> str | None:
    """Return the namespace whose services are asked about; None for those of all namespaces.

    A dump is read whole unless ``-n`` is given; for a live cluster the context names the
    namespace, as it does for kubectl. Raises ClusterError when there is no such context.
    """
    if source.all_namespaces or (source.filenames and source.namespace is None):
        return None
    if source.namespace is not None:
        return source.namespace
    return access(source).namespace


def access(source: Source) -> Access:
    """Return how to reach the live cluster. Raises ClusterError."""
    from nearwise.client.kubeconfig import find_access

    return find_access(source.kubeconfig, source.context, instead=", or read a dump with -f")


def load(source: Source, *, all_pods: bool = False) -> Objects:
    """Read nodes, namespaces, services, endpoints, endpointslices, pods and events.

    Of a live cluster only what lies in ``scope(source)`` is read, and with ``all_pods`` also the
    pods elsewhere, which may be clients. What the user should know about what was read is told on
    standard error, as that a kind is left out which we may not list. Raises InputError and
    ClusterError.
    """
    objects = _load_files(source) if source.filenames else _load_live(source, all_pods)
    for notice in objects.notices:
        print_note(f"Note: {notice.text}")
    return objects


def _load_files(source: Source) -> Objects:
    from nearwise.client.dump import load as load_dump

    with progress("reading " + ", ".join(source.filenames)):
        return load_dump(source.filenames, sys.stdin.buffer)


def _load_live(source: Source, all_pods: bool) -> Objects:
    from nearwise.client.live import read

    cluster = access(source)
    with progress(f"reading the cluster at {cluster.server}"):
        objects, refusals = read(cluster, scope(source), all_pods=all_pods)
    for refusal in refusals:
        print_note(f"Left out: {refusal}")
    return objects


_OPTIONS = (
    click.option(
        "-f",
        "--filename",
        "filenames",
        multiple=True,
        metavar="FILE",
        help="Read this dump, folder of dumps, or - for standard input. Can be repeated.",
    ),
    click.option("-n", "--namespace", metavar="NAME", help="Namespace of the services."),
    click.option("-A", "--all-namespaces", is_flag=True, help="Services of all namespaces."),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig to use."),
    click.option("--kubeconfig", metavar="FILE", help="Kubeconfig to use."),
)


def objects_of(filenames: tuple[str, ...]) -> list[dict[str, Any]]:
    """Read what stands in files, as it stands there, for an API server to begin with."""
    from nearwise.client.dump import sources
    from nearwise.lab.dumps import objects_in

    return [
        obj
        for filename in filenames
        for source, data in sources(filename, sys.stdin.buffer)
        for obj in objects_in(data, source)
    ]
