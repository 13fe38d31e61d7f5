"""Endpoints to slices: what the old API says, said again in the new one.

Law: all of it is a function of the service, the Endpoints and the slices that mirror them now.
One slice for each address family and set of ports; at most ``max_per_subset`` addresses of a
subset, ready ones first; the rest and what is no IP address is told by an event and listed in the
reasons. The rules are KEP-752's for custom Endpoints and the recorded behaviour of Kubernetes
1.36, without its mistakes in reusing a slice for another set of ports.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

import msgspec

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    Endpoints,
    EndpointSlice,
    ObjectMeta,
    OwnerReference,
    Reason,
    Service,
    reason,
)
from nearwise.model.core import EndpointsAddress, EndpointsSubset
from nearwise.model.wellknown import (
    LAST_APPLIED,
    LAST_CHANGE_TRIGGER_TIME,
    LEADER,
    MANAGED_BY,
    MIRRORING_CONTROLLER,
    SERVICE_NAME,
    SKIP_MIRROR,
)
from nearwise.slices.endpoints import IPV4, IPV6, PortSet, port_key
from nearwise.slices.plan import Event, Plan, name_for
from nearwise.slices.subsets import repacked

MAX_PER_SUBSET: Final = 1000


class _Key(NamedTuple):
    """What all endpoints of one slice have in common."""

    family: str
    ports: PortSet


class _Identity(NamedTuple):
    """What makes two addresses the same endpoint (recorded behaviour of Kubernetes 1.36)."""

    address: str
    hostname: str
    namespace: str
    name: str


_Slices = dict[_Key, tuple[Endpoint, ...]]


class _Wanted(msgspec.Struct):
    """The slices that should exist, and the addresses that are in none."""

    slices: _Slices
    invalid: tuple[str, ...]
    over_limit: tuple[str, ...]


def why_not_mirrored(service: Service | None, endpoints: Endpoints | None) -> Reason | None:
    """Say why these Endpoints get no slices; None when they are mirrored."""
    if endpoints is None:
        return reason("mirror-no-endpoints")
    name = endpoints.metadata.name
    if endpoints.metadata.labels.get(SKIP_MIRROR) == "true":
        return reason("mirror-skip-label", endpoints=name)
    if LEADER in endpoints.metadata.annotations:
        return reason("mirror-leader", endpoints=name)
    if service is None:
        return reason("mirror-no-service", endpoints=name)
    if service.spec.selector:
        return reason("mirror-service-selects", endpoints=name)
    return None


def mirror(
    service: Service | None,
    endpoints: Endpoints | None,
    slices: Iterable[EndpointSlice],
    max_per_subset: int = MAX_PER_SUBSET,
    occupied: Container[str] = (),
) -> Plan:
    """Plan the slices that mirror these Endpoints.

    ``slices`` are those labelled with the name of the service; those of another manager are left
    alone. ``occupied`` tells which other names slices of the namespace have. What is not mirrored
    takes its slices along.
    """
    every = sorted(slices, key=lambda stored: stored.metadata.name)
    ours = [stored for stored in every if stored.manager == MIRRORING_CONTROLLER]
    why_not = why_not_mirrored(service, endpoints)
    if endpoints is None or why_not is not None:
        return Plan(deletes=tuple(ours), reasons=tuple(_gone(why_not, ours)))

    wanted = _wanted(endpoints, max_per_subset)
    pairs, unused = _pair(wanted.slices, ours)
    taken = {stored.metadata.name for stored in every}
    reserved = sorted(endpoints.metadata.labels.keys() & {MANAGED_BY, SERVICE_NAME})
    creates: list[EndpointSlice] = []
    updates: list[EndpointSlice] = []
    reasons: list[Reason] = []
    for key, stored in pairs.items():
        written = _written(endpoints, key, wanted.slices[key], stored, (taken, occupied))
        if stored is not None:
            # Reserved labels can never be followed; Kubernetes then writes every time.
            if written != stored or reserved:
                updates.append(written)
                reasons.extend(_why_updated(stored, written))
        elif endpoints.metadata.deletion_timestamp is None:
            creates.append(written)
            taken.add(written.metadata.name)
            ports = [str(port.port) for port in key.ports]
            reasons.append(reason("slice-create-ports", ports=ports))
        else:
            reasons.append(reason("mirror-being-deleted", endpoints=endpoints.metadata.name))
    return Plan(
        tuple(creates),
        tuple(updates),
        tuple(unused),
        tuple(_events(wanted, max_per_subset)),
        (
            *_left_out(wanted, max_per_subset),
            *(reason("mirror-reserved-label", label=label) for label in reserved),
            *reasons,
            *_gone(None, unused),
        ),
    )


# --- What should exist --------------------------------------------------------------------


def _wanted(endpoints: Endpoints, max_per_subset: int) -> _Wanted:
    by_key: dict[_Key, dict[_Identity, Endpoint]] = {}
    invalid: list[str] = []
    over_limit: list[str] = []
    for subset in repacked(endpoints.subsets):
        ports = _ports(subset)
        addresses = [(address, True) for address in subset.addresses]
        addresses += [(address, False) for address in subset.not_ready_addresses]
        mirrored = 0
        for address, ready in addresses:
            if mirrored >= max_per_subset:
                over_limit.append(address.ip)
                continue
            ip = _parsed(address.ip)
            if ip is None:
                invalid.append(address.ip)
                continue
            family, text = ip
            endpoint = _endpoint(address, text, ready)
            # One address in two spellings is one endpoint, as it is said last.
            by_key.setdefault(_Key(family, ports), {})[_identity(endpoint)] = endpoint
            mirrored += 1
    slices = {
        key: tuple(endpoint for _, endpoint in sorted(by_key[key].items()))
        for key in sorted(by_key, key=_order)
    }
    return _Wanted(slices, tuple(invalid), tuple(over_limit))


def _ports(subset: EndpointsSubset) -> PortSet:
    return port_key(
        tuple(
            EndpointPort(port.name, port.protocol, port.port, port.app_protocol)
            for port in subset.ports
        )
    )


def _order(key: _Key) -> tuple[str, list[tuple[str, str, int, str]]]:
    ports = [
        (port.name or "", port.protocol or "", port.port or 0, port.app_protocol or "")
        for port in key.ports
    ]
    return key.family, ports


def _parsed(text: str) -> tuple[str, str] | None:
    """Return family and canonical text of an address; None for what is none.

    As Kubernetes reads old objects: leading zeros do not count (10.01.2.3 is 10.1.2.3), and an
    IPv4 address written as IPv6 is IPv4. With a zone (``%eth0``) it is no address.
    """
    try:
        ip = ip_address(re.sub(r"\b0+(?=[0-9a-fA-F])", "", text))
    except ValueError:
        return None
    if not isinstance(ip, IPv6Address):
        return IPV4, str(ip)
    if ip.scope_id is not None:
        return None
    return (IPV4, str(ip.ipv4_mapped)) if ip.ipv4_mapped else (IPV6, str(ip))


def _endpoint(address: EndpointsAddress, ip: str, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=(ip,),
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        target_ref=address.target_ref,
        node_name=address.node_name,
    )


def _identity(endpoint: Endpoint) -> _Identity:
    target = endpoint.target_ref
    namespace, name = (target.namespace, target.name) if target else ("", "")
    return _Identity(",".join(endpoint.addresses), endpoint.hostname or "", namespace, name)


# --- What is to be written ----------------------------------------------------------------


def _pair(
    wanted: Iterable[_Key], ours: Iterable[EndpointSlice]
) -> tuple[dict[_Key, EndpointSlice | None], list[EndpointSlice]]:
    """Find for each wanted slice the stored one to keep or reuse; return what is left over too.

    A stored slice is kept for its own family and ports, else reused for other ports of its
    family, which cannot change.
    """
    stored: dict[_Key, list[EndpointSlice]] = {}
    for slice_ in ours:
        stored.setdefault(_Key(slice_.address_type, port_key(slice_.ports)), []).append(slice_)
    pairs: dict[_Key, EndpointSlice | None] = {
        key: stored[key].pop(0) if key in stored else None for key in wanted
    }
    unused = sorted(
        (slice_ for alike in stored.values() for slice_ in alike),
        key=lambda slice_: slice_.metadata.name,
    )
    for key, kept in pairs.items():
        if kept is None:
            pairs[key] = next((s for s in unused if s.address_type == key.family), None)
            unused = [slice_ for slice_ in unused if slice_ is not pairs[key]]
    return pairs, unused


def _written(
    endpoints: Endpoints,
    key: _Key,
    wanted: tuple[Endpoint, ...],
    stored: EndpointSlice | None,
    taken: tuple[Container[str], ...],
) -> EndpointSlice:
    """Return the slice as it should be: equal to the stored one when nothing has to change."""
    meta = endpoints.metadata
    labels = {**meta.labels, SERVICE_NAME: meta.name, MANAGED_BY: MIRRORING_CONTROLLER}
    annotations = {
        name: value
        for name, value in meta.annotations.items()
        if name not in {LAST_CHANGE_TRIGGER_TIME, LAST_APPLIED}
    }
    owners = (
        OwnerReference(
            "v1", "Endpoints", meta.name, meta.uid, controller=True, block_owner_deletion=True
        ),
    )
    if stored is None:
        identity = str(_order(key))
        fresh = ObjectMeta(
            name=name_for(meta.name, identity, *taken),
            generate_name=f"{meta.name}-",
            namespace=meta.namespace,
            labels=labels,
            annotations=annotations,
            owner_references=owners,
        )
        return EndpointSlice(
            "discovery.k8s.io/v1", "EndpointSlice", fresh, key.family, wanted, key.ports
        )
    same = len(stored.endpoints) == len(wanted) and _by_identity(stored.endpoints) == _by_identity(
        wanted
    )
    return msgspec.structs.replace(
        stored,
        metadata=msgspec.structs.replace(
            stored.metadata, labels=labels, annotations=annotations, owner_references=owners
        ),
        endpoints=stored.endpoints if same else wanted,
        ports=stored.ports if port_key(stored.ports) == key.ports else key.ports,
    )


def _by_identity(endpoints: Iterable[Endpoint]) -> Mapping[_Identity, Endpoint]:
    return {_identity(endpoint): endpoint for endpoint in endpoints}


# --- What is said about it ----------------------------------------------------------------


def _events(wanted: _Wanted, max_per_subset: int) -> Iterator[Event]:
    if wanted.invalid:
        yield Event(
            "Warning",
            "InvalidIPAddress",
            f"Skipped {len(wanted.invalid)} invalid IP addresses when mirroring to EndpointSlices",
        )
    if wanted.over_limit:
        # Kubernetes counts the invalid ones again.
        skipped = len(wanted.over_limit) + len(wanted.invalid)
        yield Event(
            "Warning",
            "TooManyAddressesToMirror",
            f"A max of {max_per_subset} addresses can be mirrored to EndpointSlices per "
            f"Endpoints subset. {skipped} addresses were skipped",
        )


def _left_out(wanted: _Wanted, max_per_subset: int) -> Iterator[Reason]:
    if wanted.invalid:
        yield reason("mirror-invalid-address", addresses=wanted.invalid)
    if wanted.over_limit:
        yield reason("mirror-over-limit", limit=max_per_subset, addresses=wanted.over_limit)


def _why_updated(stored: EndpointSlice, written: EndpointSlice) -> Iterator[Reason]:
    name = stored.metadata.name
    if stored.ports != written.ports:
        yield reason("slice-recycle", slice=name)
    if stored.endpoints != written.endpoints:
        before, after = _by_identity(stored.endpoints), _by_identity(written.endpoints)
        both = before.keys() & after.keys()
        yield reason(
            "slice-update-endpoints",
            slice=name,
            added=len(after.keys() - both),
            removed=len(stored.endpoints) - len(both),
            changed=sum(before[identity] != after[identity] for identity in both),
        )
    if stored.metadata != written.metadata:
        yield reason("mirror-follows", slice=name)


def _gone(why_not: Reason | None, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    if why_not is not None:
        yield why_not
    for stored in slices:
        yield reason("mirror-slice-removed", slice=stored.metadata.name)
