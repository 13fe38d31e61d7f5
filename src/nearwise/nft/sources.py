"""From where a load balancer's address may be reached: ``loadBalancerSourceRanges``."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.nft.addresses import parsed_for, parsed_network
from nearwise.nft.layout import Settings

_Network = IPv4Network | IPv6Network


class Sources(msgspec.Struct, frozen=True, gc=False):
    """Which sources may reach the addresses of a service's load balancer; none: nobody may."""

    networks: tuple[_Network, ...]
    with_node: bool
    """This machine is among them."""

    def ranges(self, balancer: bytes) -> tuple[bytes, ...]:
        """Return the ranges for an address of the balancer: first and last address, packed.

        They do not overlap, in order. A connection of this machine to a balancer whose address it
        has taken on comes with that very address as its source; so where the machine may come
        from, that address may (recorded behaviour of Kubernetes 1.36).
        """
        networks: Any = self.networks
        if self.with_node:
            network = type(networks[0])
            networks = (*networks, network((balancer, 8 * len(balancer))))
        return tuple(
            [
                each.network_address.packed + each.broadcast_address.packed
                for each in collapse_addresses(networks)
            ]
        )


def sources(service: Service, settings: Settings) -> tuple[Sources | None, tuple[Reason, ...]]:
    """Return who may come to the balancer, None if anybody; and what a user may not expect.

    Ranges of the other family fence nothing in this one, as with kube-proxy. The annotation that
    came before the field is for whoever makes the balancer, and not read by proxies.
    """
    ranges = service.spec.load_balancer_source_ranges
    if not ranges:
        return None, ()
    told: list[Reason] = []
    networks: list[_Network] = []
    others = 0
    for index, text in enumerate(ranges):
        network = parsed_network(text.strip())
        if network is None:
            field = f"spec.loadBalancerSourceRanges[{index}]"
            told.append(reason("source-range-unreadable", field=field, value=text))
        elif network.max_prefixlen != 8 * settings.family.width:
            others += 1
        else:
            networks.append(network)
    if others and not networks:
        told.append(reason("source-ranges-of-other-family", family=settings.family.api))
        return None, tuple(told)
    nodes = [
        packed for text in settings.node_addresses if (packed := parsed_for(settings.family, text))
    ]
    with_node = any(_holds(network, node) for network in networks for node in nodes)
    return Sources(tuple(networks), with_node), tuple(told)


def _holds(network: _Network, address: bytes) -> bool:
    return network.network_address.packed <= address <= network.broadcast_address.packed
