"""The subsets of an Endpoints object in the form in which Kubernetes reads them.

Anybody may write Endpoints, and the same can be said in many ways: an address in two subsets, a
port in two, an address ready here and not ready there. Before anything is mirrored it is said
again in one way (recorded behaviour of Kubernetes 1.36): each port belongs to exactly one subset,
with all addresses that serve it; ports with the same addresses share a subset.
"""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.model.core import EndpointsAddress, EndpointsPort, EndpointsSubset

_Address = tuple[str, str]  # IP as written, UID of the target
_Ready = dict[_Address, bool]


def repacked(subsets: Iterable[EndpointsSubset]) -> tuple[EndpointsSubset, ...]:
    """Return the subsets in their one form, in order of their ports; addresses are sorted.

    An address is told by its text and its target's UID; the first mention of it gives the rest,
    and not ready beats ready. Addresses without ports stay, unless the same ones have ports too.
    """
    addresses: dict[_Address, EndpointsAddress] = {}
    by_port: dict[EndpointsPort | None, _Ready] = {}
    for subset in subsets:
        for port in subset.ports or (None,):
            served = by_port.setdefault(port, {})
            for address in subset.addresses:
                key = _key(address)
                addresses.setdefault(key, address)
                served.setdefault(key, True)
            for address in subset.not_ready_addresses:
                key = _key(address)
                addresses.setdefault(key, address)
                served[key] = False

    ports_of: dict[frozenset[tuple[_Address, bool]], list[EndpointsPort]] = {}
    for port, served in by_port.items():
        ports = ports_of.setdefault(frozenset(served.items()), [])
        if port is not None:
            ports.append(port)
    found = [
        EndpointsSubset(
            tuple(addresses[key] for key, ready in sorted(served) if ready),
            tuple(addresses[key] for key, ready in sorted(served) if not ready),
            tuple(sorted(ports, key=_order)),
        )
        for served, ports in ports_of.items()
    ]
    return tuple(sorted(found, key=lambda subset: [_order(port) for port in subset.ports]))


def _key(address: EndpointsAddress) -> _Address:
    return address.ip, address.target_ref.uid if address.target_ref else ""


def _order(port: EndpointsPort) -> tuple[str, str, int, str]:
    return port.name, port.protocol, port.port, port.app_protocol or ""
