"""The rival: a chain for each service and each endpoint, as text for the nft program.

This is the shape that kube-proxy's nftables mode has, written from its documentation and only to be
compared with: a verdict map finds a service's chain, which draws the chain of an endpoint from a
map of its own, which marks who calls itself and translates the destination. A change of a service
empties its chains and fills them again; chains that nobody needs any more go in a later
transaction, which is not counted here. Nor is the time in which the text is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from benchmarks.nodes.services import PORT, TARGET, cluster_address, endpoint_address

TABLE = "table ip chains"
_PODS = "10.128.0.0/9"

_FIXED = f"""
add {TABLE}
add set ip chains cluster-ips {{ type ipv4_addr ; }}
add map ip chains no-endpoint-services {{ type ipv4_addr . inet_proto . inet_service : verdict ; }}
add map ip chains service-ips {{ type ipv4_addr . inet_proto . inet_service : verdict ; }}
add map ip chains service-nodeports {{ type inet_proto . inet_service : verdict ; }}
add map ip chains firewall-ips {{ type ipv4_addr . inet_proto . inet_service : verdict ; }}
add chain ip chains mark-for-masquerade
add rule ip chains mark-for-masquerade mark set mark or 0x4000
add chain ip chains masquerading
add rule ip chains masquerading mark and 0x4000 == 0 return
add rule ip chains masquerading mark set mark xor 0x4000
add rule ip chains masquerading masquerade fully-random
add chain ip chains reject-chain
add rule ip chains reject-chain reject
add chain ip chains services
add rule ip chains services ip daddr . meta l4proto . th dport vmap @service-ips
add rule ip chains services fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport \
vmap @service-nodeports
add chain ip chains endpoints-check
add rule ip chains endpoints-check ip daddr . meta l4proto . th dport vmap @no-endpoint-services
add chain ip chains cluster-ips-check
add rule ip chains cluster-ips-check ip daddr @cluster-ips reject
add chain ip chains firewall-check
add rule ip chains firewall-check ip daddr . meta l4proto . th dport vmap @firewall-ips
add chain ip chains filter-prerouting {{ type filter hook prerouting priority -110 ; }}
add rule ip chains filter-prerouting ct state new jump firewall-check
add chain ip chains filter-input {{ type filter hook input priority -110 ; }}
add rule ip chains filter-input ct state new jump endpoints-check
add chain ip chains filter-forward {{ type filter hook forward priority -110 ; }}
add rule ip chains filter-forward ct state new jump endpoints-check
add rule ip chains filter-forward ct state new jump cluster-ips-check
add chain ip chains filter-output {{ type filter hook output priority -110 ; }}
add rule ip chains filter-output ct state new jump endpoints-check
add rule ip chains filter-output ct state new jump firewall-check
add chain ip chains filter-output-after {{ type filter hook output priority -90 ; }}
add rule ip chains filter-output-after ct state new jump cluster-ips-check
add chain ip chains nat-prerouting {{ type nat hook prerouting priority -100 ; }}
add rule ip chains nat-prerouting jump services
add chain ip chains nat-output {{ type nat hook output priority -100 ; }}
add rule ip chains nat-output jump services
add chain ip chains nat-postrouting {{ type nat hook postrouting priority 100 ; }}
add rule ip chains nat-postrouting jump masquerading
"""


class Chained(NamedTuple):
    """A service: its number, and those of its endpoints, counted through all services."""

    number: int
    endpoints: Sequence[int]
    protocol: str = "tcp"

    @property
    def name(self) -> str:
        """What it is called in names of chains."""
        return f"shop/web-{self.number}/{self.protocol}/http"

    @property
    def chain(self) -> str:
        """Its chain."""
        return f"service-{_hashed(self.name)}-{self.name}"

    def endpoint_chain(self, endpoint: int) -> str:
        """Return the chain of an endpoint of it."""
        place = f"{self.name}__{endpoint_address(endpoint)}/{TARGET}"
        return f"endpoint-{_hashed(place)}-{place}"


def nothing() -> str:
    """Write what is there without any service."""
    return _FIXED


def added(services: Iterable[Chained]) -> str:
    """Write what new services add."""
    return _text(
        line for each in services for line in (*_chains(each, flush=False), *_elements(each))
    )


def changed(service: Chained) -> str:
    """Write what has to be done when an endpoint of a service came, went or changed."""
    return _text(_chains(service, flush=True))


def removed() -> str:
    """Write the end of it."""
    return f"delete {TABLE}\n"


def _elements(service: Chained) -> Iterator[str]:
    address = cluster_address(service.number)
    yield f"add element ip chains cluster-ips {{ {address} }}"
    yield (
        f"add element ip chains service-ips {{ {address} . {service.protocol} . {PORT} "
        f'comment "{service.name}" : goto {service.chain} }}'
    )


def _chains(service: Chained, *, flush: bool) -> Iterator[str]:
    of_endpoints = [service.endpoint_chain(each) for each in service.endpoints]
    for chain in (*of_endpoints, service.chain):
        yield f"add chain ip chains {chain}"
        if flush:
            yield f"flush chain ip chains {chain}"
    for endpoint, chain in zip(service.endpoints, of_endpoints, strict=True):
        address = endpoint_address(endpoint)
        rule = f"add rule ip chains {chain}"
        yield f"{rule} ip saddr {address} jump mark-for-masquerade"
        yield f"{rule} meta l4proto {service.protocol} dnat to {address}:{TARGET}"
    rule = f"add rule ip chains {service.chain}"
    yield (
        f"{rule} ip daddr {cluster_address(service.number)} {service.protocol} dport {PORT} "
        f"ip saddr != {_PODS} jump mark-for-masquerade"
    )
    choice = " , ".join(f"{slot} : goto {chain}" for slot, chain in enumerate(of_endpoints))
    yield f"{rule} numgen random mod {len(of_endpoints)} vmap {{ {choice} }}"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _hashed(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:8].upper()
