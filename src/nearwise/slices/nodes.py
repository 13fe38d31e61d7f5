"""The nodes as the slice decisions see them: which exist, their zones, and the CPU shares."""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.model import Node
from nearwise.slices.allocation import ZoneShares, zone_shares


class Nodes:
    """All nodes of a cluster, shared by the services; shares are counted when first asked for."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes = {node.metadata.name: node for node in nodes}
        self._zones = {name: node.zone or None for name, node in self._nodes.items()}
        self._shares: ZoneShares | None = None

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def put(self, node: Node) -> None:
        """Take in a new or changed node."""
        self._nodes[node.metadata.name] = node
        self._zones[node.metadata.name] = node.zone or None
        self._shares = None

    def drop(self, name: str) -> None:
        """Forget a node that is gone."""
        self._nodes.pop(name, None)
        self._zones.pop(name, None)
        self._shares = None

    @property
    def zones(self) -> dict[str, str | None]:
        """The zone of each node that exists; None where the label is missing or empty."""
        return self._zones

    @property
    def shares(self) -> ZoneShares:
        """The zones' shares of CPU, over the nodes as they are now."""
        if self._shares is None:
            self._shares = zone_shares(self._nodes[name] for name in sorted(self._nodes))
        return self._shares


def wakes(old: Node | None, new: Node | None) -> bool:
    """Tell whether services with hints by CPU share are to be looked at after a change of a node.

    It came, went, turned ready or not, or changed zone (recorded behaviour of Kubernetes 1.36). A
    change of its CPU alone is taken note of, and counts when a service is looked at again.
    """
    return old is None or new is None or (old.zone, old.ready) != (new.zone, new.ready)
