"""The node that a proxy is for: where it is, and on which of its addresses node ports answer."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

import msgspec

from nearwise.model import Node
from nearwise.nft.addresses import parsed_for
from nearwise.nft.layout import Settings
from nearwise.nft.registers import address_of
from nearwise.nft.ruleset import Family

PRIMARY: Final = "primary"
"""Of ``--nodeport-addresses``: the addresses by which the cluster knows the node."""

_ABOUT_TO_GO: Final = "ToBeDeletedByClusterAutoscaler"


class Options(msgspec.Struct, frozen=True):
    """What an operator chooses for a proxy."""

    node: str = ""
    """The name of the node; empty on a machine that is none (``--as-client``)."""
    zone: str = ""
    """The zone of a machine that is no node; a node's is on its label."""
    min_sync_period: float = 0.0
    """Seconds at least between two changes of the kernel."""
    sync_period: float = 30.0
    """Seconds after which it is looked whether somebody else touched our tables."""
    node_port_addresses: tuple[str, ...] = (PRIMARY,)
    """``primary``, or the networks of this machine's addresses on which node ports answer."""
    pod_networks: tuple[str, ...] = ()
    masquerade_all: bool = False
    masquerade_bit: int = 14

    @property
    def as_client(self) -> bool:
        """Whether the machine is no node of the cluster."""
        return not self.node


def settings_for(
    family: Family, options: Options, node: Node | None, machine: Iterable[str]
) -> Settings:
    """Return how the table of a family is made, on a machine with these addresses."""
    addresses = _in_family(machine, family)
    return Settings(
        family=family,
        pod_networks=tuple(each for each in options.pod_networks if _is_of(each, family)),
        masquerade_all=options.masquerade_all,
        masquerade_bit=options.masquerade_bit,
        node_port_addresses=_node_port_addresses(family, options, node, addresses),
        node_addresses=addresses,
    )


def families_of(machine: Iterable[str]) -> tuple[Family, ...]:
    """Return the families of which a machine has any address; IPv4 if it has none at all."""
    found = {Family.IPV6 if ":" in each else Family.IPV4 for each in machine}
    return tuple(family for family in Family if family in found) or (Family.IPV4,)


def addresses_of(node: Node | None) -> tuple[str, ...]:
    """Return the addresses by which the cluster knows a node: those inside, then those outside.

    The first of each family is the primary one; so a node that has IPv6 only outside has a primary
    address of IPv6 as well (``GetNodeHostIPs`` of Kubernetes, by which kube-proxy goes).
    """
    listed = node.status.addresses if node is not None else ()
    return tuple(
        each.address
        for kind in ("InternalIP", "ExternalIP")
        for each in listed
        if each.type == kind
    )


def is_staying(node: Node) -> bool:
    """Say whether a node is there to stay, as load balancers ask before they send to it.

    It is not when it is being deleted, or the cluster autoscaler is about to (KEP-3836).
    """
    taints = {taint.key for taint in node.spec.taints}
    return node.metadata.deletion_timestamp is None and _ABOUT_TO_GO not in taints


def _node_port_addresses(
    family: Family, options: Options, node: Node | None, machine: tuple[str, ...]
) -> tuple[str, ...]:
    """Return where node ports answer; never on loopback, as kube-proxy on nftables."""
    if options.as_client:
        return ()
    chosen: set[str] = set()
    for each in options.node_port_addresses:
        if each == PRIMARY:
            chosen.update(_in_family(addresses_of(node), family)[:1])
        elif _is_of(each, family):
            network = ip_network(each)
            chosen.update(address for address in machine if ip_address(address) in network)
    return tuple(sorted(each for each in chosen if not ip_address(each).is_loopback))


def _in_family(texts: Iterable[str], family: Family) -> tuple[str, ...]:
    """Return the addresses of a family; what is no address is left out (the API takes any text)."""
    return tuple(address_of(each) for text in texts if (each := parsed_for(family, text)))


def _is_of(text: str, family: Family) -> bool:
    """Say whether a network is of a family."""
    return (":" in text) is (family is Family.IPV6)
