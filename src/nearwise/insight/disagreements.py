"""Where Pod, Endpoints, slices and service contradict each other, and which of them is right.

Law: one service at a time, and only what is written in its objects. The truth about a pod's
endpoint is what ``slices`` makes of the pod; everything else is a copy that may be late. Which
copy is newer is read from the resource versions, which one cluster counts up for all objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from nearwise.insight.states import state_of
from nearwise.insight.world import Key, World, version_of
from nearwise.model import Endpoint, Endpoints, EndpointSlice, ObjectMeta, Reason, Service, reason
from nearwise.model.reasons import Level
from nearwise.model.wellknown import (
    LAST_CHANGE_TRIGGER_TIME,
    MIRRORING_CONTROLLER,
    SERVICE_NAME,
    SLICE_CONTROLLER,
)
from nearwise.slices.endpoints import EndpointRule, families_of
from nearwise.slices.mirror import mirror

_LISTED_AT_MOST: Final = 5  # findings of one kind that are told one by one


def disagreements(world: World, service: Service) -> tuple[Reason, ...]:
    """Return what does not fit together about a service, in a fixed order."""
    slices = world.slices_of(service.metadata.key)
    return (
        *_frozen(service, slices),
        *_owners(world, service.metadata, slices),
        *_writers(slices, world.endpoints.get(service.metadata.key)),
        *_placeless_mirrors(world, service, slices),
        *_unmirrored(world, service, slices),
        *_pods(world, service, slices),
        *_endpoints(world, service, slices),
    )


def orphans(world: World, key: Key) -> tuple[Reason, ...]:
    """Return a finding for each slice of a service that does not exist."""
    return tuple(_owners(world, None, world.slices_of(key)))


def _frozen(service: Service, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Find slices that nobody updates any more, since the service lost its selector."""
    if service.spec.selector or service.spec.type == "ExternalName":
        return
    for slice_ in slices:
        if slice_.manager == SLICE_CONTROLLER and slice_.endpoints:
            yield reason(
                "frozen-slice",
                slice=slice_.metadata.name,
                endpoints=len(slice_.endpoints),
                since=_changed(slice_.metadata),
            )


def _owners(
    world: World, service: ObjectMeta | None, slices: Iterable[EndpointSlice]
) -> Iterator[Reason]:
    """Find slices whose owning service is gone, or is another one than that of today."""
    for slice_ in slices:
        owners = [own for own in slice_.metadata.owner_references if own.kind == "Service"]
        named = slice_.metadata.labels.get(SERVICE_NAME, "")
        exists = any(own.uid in world.service_uids for own in owners)
        if service is not None and (
            not owners or not service.uid or any(own.uid == service.uid for own in owners)
        ):
            continue
        yield reason(
            "orphan-slice",
            slice=slice_.metadata.name,
            service=f"{slice_.metadata.namespace}/{named}",
            owner=owners[0].uid if owners else "nobody",
            owner_exists="exists" if exists else "does not exist",
            created=slice_.metadata.creation_timestamp or "an unknown time",
        )


def _writers(slices: Iterable[EndpointSlice], legacy: Endpoints | None) -> Iterator[Reason]:
    """Name foreign managers, and addresses that only one of several managers lists."""
    listed: dict[tuple[str, str], set[str]] = {}
    for slice_ in slices:
        addresses = listed.setdefault((slice_.address_type, slice_.manager), set())
        addresses.update(address for e in slice_.endpoints for address in e.addresses[:1])
        if slice_.manager not in {SLICE_CONTROLLER, MIRRORING_CONTROLLER}:
            yield reason(
                "slice-foreign",
                slice=slice_.metadata.name,
                manager=slice_.manager or "nobody (it has no managed-by label)",
            )
    for family in sorted({family for family, _ in listed}):
        managers = {m: found for (f, m), found in listed.items() if f == family and found}
        if len(managers) < 2:
            continue
        writers = Counter(address for found in managers.values() for address in found)
        for manager in sorted(managers):
            if only := sorted(each for each in managers[manager] if writers[each] == 1):
                yield _tell_writer(manager, legacy, only)


def _tell_writer(manager: str, legacy: Endpoints | None, only: Sequence[str]) -> Reason:
    """Say who alone lists addresses; of a mirror what it is made of, and from when that is."""
    if manager != MIRRORING_CONTROLLER or legacy is None:
        return reason("two-writers", manager=manager or "nobody", addresses=only)
    source, written = "/".join(legacy.metadata.key), _changed(legacy.metadata)
    return reason(
        "two-writers-mirror", source=f"Endpoints {source}", written=written, addresses=only
    )


def _placeless_mirrors(
    world: World, service: Service, slices: Iterable[EndpointSlice]
) -> Iterator[Reason]:
    """Tell of mirrored endpoints: a mirror copies the node, and never a zone."""
    mirrored = [
        endpoint
        for slice_ in slices
        if slice_.manager == MIRRORING_CONTROLLER
        for endpoint in slice_.endpoints
        if not endpoint.zone
    ]
    if not mirrored:
        return
    zones = sum(bool(e.node_name and world.zones.get(e.node_name)) for e in mirrored)
    name = "/".join(service.metadata.key)
    yield reason("mirror-without-zone", endpoints=len(mirrored), source=f"Endpoints {name}")
    if zones:
        yield reason("mirror-zone-known", endpoints=zones)


def _unmirrored(
    world: World, service: Service, slices: Iterable[EndpointSlice]
) -> Iterator[Reason]:
    """Name the addresses of the Endpoints that their mirror leaves out, and say why."""
    plan = mirror(service, world.endpoints.get(service.metadata.key), slices)
    yield from (why for why in plan.reasons if why.level is Level.ERROR)


class _Copy(msgspec.Struct, frozen=True):
    """What one object says about an address."""

    meta: ObjectMeta
    endpoint: Endpoint


def _pods(world: World, service: Service, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Hold the managed slices against the pods, when the snapshot has pods and a selector."""
    if not service.spec.selector or not world.objects.pods:
        return
    rule = EndpointRule(service, {node: zone or None for node, zone in world.zones.items()}, None)
    listed = _listed_pods(slices)
    unlisted: list[str] = []
    pods = world.pods_of(service)
    if not pods:
        wanted_labels = [f"{key}={value}" for key, value in sorted(service.spec.selector.items())]
        yield reason(
            "selector-picks-nobody", namespace=service.metadata.namespace, labels=wanted_labels
        )
    for pod in pods:
        placed = rule.place(pod)
        yield from (why for why in placed.reasons if why.code != "pod-finished")
        for family, wanted in zip(families_of(service), placed.endpoints, strict=False):
            copy = listed.pop((family, pod.metadata.name), None)
            if wanted is None:
                continue
            if copy is None:
                unlisted.append(pod.metadata.name)
            elif wanted.conditions != copy.endpoint.conditions:
                yield reason(
                    "slice-pod-disagree",
                    slice=copy.meta.name,
                    pod=pod.metadata.name,
                    listed=state_of(copy.endpoint),
                    truth=state_of(wanted),
                    newer=_newer(("Pod", pod.metadata), ("slice", copy.meta)),
                )
    if unlisted:
        yield reason("pods-not-listed", pods=sorted(set(unlisted)))
    if listed:
        gone = sorted({pod for _, pod in listed})
        yield reason("endpoints-without-pod", endpoints=gone)


def _listed_pods(slices: Iterable[EndpointSlice]) -> dict[tuple[str, str], _Copy]:
    """Return what the controller's slices say of pods, by family and the pod's name."""
    return {
        (slice_.address_type, endpoint.target_ref.name): _Copy(slice_.metadata, endpoint)
        for slice_ in slices
        if slice_.manager == SLICE_CONTROLLER
        for endpoint in slice_.endpoints
        if endpoint.target_ref is not None and endpoint.target_ref.kind == "Pod"
    }


def _endpoints(world: World, service: Service, slices: Iterable[EndpointSlice]) -> Iterator[Reason]:
    """Hold the legacy Endpoints against the slices, address by address."""
    legacy = world.endpoints.get(service.metadata.key)
    if legacy is None:
        return
    listed = {
        address: _Copy(slice_.metadata, endpoint)
        for slice_ in slices
        for endpoint in slice_.endpoints
        for address in endpoint.addresses[:1]
    }
    told = _legacy_states(legacy)
    differ = [
        address
        for address in sorted(told.keys() & listed.keys())
        if told[address] != listed[address].endpoint.ready
    ]
    for address in differ[:_LISTED_AT_MOST]:
        yield _tell_difference(world, legacy, address, listed[address], told[address])
    if more := differ[_LISTED_AT_MOST:]:
        yield reason("endpoints-slice-disagree-more", addresses=more)
    if only := sorted(told.keys() - listed.keys()):
        yield reason("endpoints-only", addresses=only)


def _legacy_states(legacy: Endpoints) -> dict[str, bool]:
    """Return each address of an Endpoints object, and whether it calls it ready."""
    states = {a.ip: False for subset in legacy.subsets for a in subset.not_ready_addresses}
    return states | {a.ip: True for subset in legacy.subsets for a in subset.addresses}


def _tell_difference(
    world: World, legacy: Endpoints, address: str, copy: _Copy, ready: bool
) -> Reason:
    target = copy.endpoint.target_ref
    pod = world.pods.get((target.namespace, target.name)) if target else None
    facts = {
        "address": address,
        "endpoints": "ready" if ready else "not ready",
        "slice": copy.meta.name,
        "listed": state_of(copy.endpoint),
        "newer": _newer(("Endpoints", legacy.metadata), ("slice", copy.meta)),
    }
    if pod is None:
        return reason("endpoints-slice-disagree", **facts)
    alive = pod.ready and pod.metadata.deletion_timestamp is None
    return reason(
        "endpoints-slice-disagree-pod",
        **facts,
        pod=pod.metadata.name,
        truth="ready" if alive else "not ready",
        right="slice" if alive == copy.endpoint.ready else "Endpoints",
    )


def _changed(meta: ObjectMeta) -> str:
    """Return since when an object is known to be as it is, or nearly."""
    noted = meta.annotations.get(LAST_CHANGE_TRIGGER_TIME)
    return noted or meta.creation_timestamp or "an unknown time"


def _newer(first: tuple[str, ObjectMeta], second: tuple[str, ObjectMeta]) -> str:
    """Name the object that was written later, by the resource versions; it may not be known."""
    versions = {name: version_of(meta) for name, meta in (first, second)}
    if not all(versions.values()):
        return "unknown"
    newest = max(versions, key=lambda name: versions[name])
    return f"{newest} (resourceVersion {versions[newest]})"
