"""``nearwise explain --watch``: the answer, then a line whenever it changes, until Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack

from nearwise.cli.follow import Manner, Telling, follow
from nearwise.cli.output import Format, print_note, progress
from nearwise.cli.services import the_one
from nearwise.cli.source import Source, access, scope
from nearwise.cli.watch_screen import print_change, print_change_json, print_first, print_first_json
from nearwise.client.api import Api
from nearwise.client.cluster import LiveCluster
from nearwise.client.kubeconfig import Access
from nearwise.insight.changes import Change
from nearwise.insight.explanation import Explanation
from nearwise.loops.surroundings import real_surroundings
from nearwise.model.resources import SERVICES


def watch(source: Source, service: str, manner: Manner, output: Format) -> None:
    """Tell the answer about a service, and each change of it, until Ctrl-C.

    Raises InputError and ClusterError when there is no answer to begin with.
    """
    cluster = access(source)
    with ExitStack() as reading:
        reading.enter_context(progress(f"reading the cluster at {cluster.server}"))
        telling = _telling(output, reading)
        try:
            asyncio.run(_watch(cluster, source, service, manner, telling))
        except KeyboardInterrupt:
            return  # it is meant to end so


async def _watch(
    cluster: Access, source: Source, service: str, manner: Manner, telling: Telling
) -> None:
    # Asked once, and patiently: this tells what is wrong with the way to the cluster, if anything.
    async with Api(cluster) as api:
        services = await api.list(SERVICES, scope(source))
    key = the_one(source, service, [each.metadata.key for each in services])
    async with LiveCluster(cluster) as live:
        await follow(live, key, manner, real_surroundings(), telling)


def _telling(output: Format, reading: ExitStack) -> Telling:
    """Print what is told at once, whoever reads it. ``reading`` ends with the first answer."""

    def answer(when: str, found: Explanation) -> None:
        reading.close()
        if output is Format.JSON:
            print_first_json(when, found)
        else:
            print_first(found, wide=output is Format.WIDE)
        sys.stdout.flush()

    def change(when: str, what: Change, found: Explanation) -> None:
        if output is Format.JSON:
            print_change_json(when, what)
        else:
            print_change(when, what, found)
        sys.stdout.flush()

    return Telling(answer, change, print_note)
