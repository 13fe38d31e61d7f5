"""Whether the proxies of a lab have in the kernel what the slices say.

Law: the kernel is asked, not the proxy. What should be there is worked out by the code that the
proxies run, from the objects of this moment; who has which slot does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Final

from nearwise.lab import namespaces
from nearwise.lab.addresses import pod_networks
from nearwise.lab.state import Facts
from nearwise.model import Node
from nearwise.model.objects import Objects
from nearwise.nft.layout import ENDPOINTS, INSIDE, LOCAL_ENDPOINTS, OUTSIDE, SERVICES
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.dry_run import dry_run
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.node import Options
from nearwise.proxy.program import ProgramKernel

IN_STEP: Final = "in step"
BEHIND: Final = "behind"
NONE: Final = "none"

_SLOT: Final = 4  # bytes at the end of the key of who can be drawn
_DRAWN: Final = (ENDPOINTS, LOCAL_ENDPOINTS)
_DECIDE: Final = (SERVICES, INSIDE, OUTSIDE)


def states(lab: str, objects: Objects, facts: Facts) -> dict[str, str]:
    """Return of each node with power how its proxy is, if there are any."""
    if not facts.with_proxies:
        return {}
    return {
        node.metadata.name: _state(lab, objects, facts, node)
        for node in objects.nodes
        if node.metadata.name in facts.powered
    }


def behind(lab: str, objects: Objects, facts: Facts) -> str:
    """Return which node has something else in its kernel than it should; empty when none has."""
    if facts.with_proxies:
        for node in objects.nodes:
            if node.metadata.name in facts.powered:
                state = _state(lab, objects, facts, node)
                if state != IN_STEP:
                    return f"the proxy of node {node.metadata.name} is {state}"
    return ""


def _state(lab: str, objects: Objects, facts: Facts, node: Node) -> str:
    name = node.metadata.name
    if name not in facts.proxies:
        return NONE
    options = Options(node=name, pod_networks=pod_networks(facts.plan.versions))
    tables = dry_run(objects.services, objects.slices, node, options)
    namespace = namespaces.of_node(lab, name)
    with suppress(KernelError, OSError), namespaces.entered(namespace), closing(_kernel()) as it:
        for family, table in tables.items():
            if family is Family.IPV6 and 6 not in facts.plan.versions:
                continue
            there = it.read(family)
            if there is None or _meaning(there) != _meaning(table.ruleset):
                return BEHIND
        return IN_STEP
    return BEHIND


def _kernel() -> NetlinkKernel | ProgramKernel:
    try:
        return NetlinkKernel()
    except KernelError:
        return ProgramKernel()


def _meaning(ruleset: Ruleset) -> Mapping[str, object]:
    """Return what a table does with new connections."""
    decided: dict[str, object] = {name: dict(ruleset.elements.get(name, {})) for name in _DECIDE}
    for name in _DRAWN:
        elements = ruleset.elements.get(name, {})
        decided[name] = Counter((key[:-_SLOT], value) for key, value in elements.items())
    return decided
