"""Objects from files into the store of an API server.

Law: an object that has a uid was stored by an API server before, and is stored as it was there:
uid, times, status, cluster addresses, and that it is being deleted. So what refers to it still
does, and the controllers find the slices and hints that were there. Any other object is created
as a client would, and its status set. What cannot be served is counted and left out.

References to owners that did not come along are left out too, if they are of a kind that is
served: the garbage collector would take whoever has only such owners.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from nearwise.machinery.changes import Create, Key
from nearwise.machinery.reading import Reading
from nearwise.model import documents
from nearwise.model.errors import InputError
from nearwise.model.validation import CLUSTER_NETWORKS
from nearwise.model.validation.bodies import BadBody
from nearwise.server.api import Api
from nearwise.server.deleting import timestamp
from nearwise.server.kinds import completed, to_stored
from nearwise.server.kinds.plain import at, each, filled, inside
from nearwise.server.objects.bodies import Sent
from nearwise.server.objects.stored import Decoded, decode, encoder
from nearwise.server.options import Patch, PatchType, Strictness, WriteOptions
from nearwise.server.resources import NAMESPACES, NODES, PODS, RESOURCES, SERVICES, Address
from nearwise.server.statuses import Refusal
from nearwise.store import Store, StoreFailedError

_BY_KIND: Final = {(each.api_version, each.kind): each for each in RESOURCES}
_FIRST: Final = (NAMESPACES, NODES)  # the others look at them
_AT_ONCE: Final = 500  # objects that are written together: one flush to the disk serves them
_OPTIONS: Final = WriteOptions(strictness=Strictness.IGNORE)
_NETWORKS: Final = {4: CLUSTER_NETWORKS[0], 6: "fd00:10:96::/112"}


class Loaded(NamedTuple):
    """What became of the objects of a dump, by kind."""

    stored: Counter[str]
    there: Counter[str]
    """There were such objects in the store already; these stay."""
    left_out: Counter[str]


def objects_in(data: bytes, source: str) -> Iterator[Decoded]:
    """Yield the objects of a file: JSON, YAML, several documents, lists in lists, gzip.

    Raises InputError for what is broken.
    """
    for document in documents.read(data, source):
        content = document.content
        if isinstance(content, msgspec.Raw):
            content = msgspec.json.decode(content)
        yield from _flat(content, "", "")


def _flat(content: object, api_version: str, kind: str) -> Iterator[Decoded]:
    if isinstance(content, list):
        for one in content:
            yield from _flat(one, "", "")
    elif isinstance(content, dict):
        api_version = str(content.get("apiVersion") or api_version)
        kind = str(content.get("kind") or kind)
        items = content.get("items")
        if kind.endswith("List") and isinstance(items, list):
            for one in items:
                yield from _flat(one, api_version, kind.removesuffix("List"))
        elif isinstance(content.get("metadata"), dict):
            yield {**content, "apiVersion": api_version, "kind": kind}


def networks_for(objects: Iterable[Decoded], stored: Reading) -> tuple[str, ...]:
    """Return the networks to which the cluster addresses of all services belong.

    Without any, the one that clusters have by default.
    """
    found: dict[int, list[ipaddress.IPv4Address | ipaddress.IPv6Address]] = {}
    specs = [at(obj, "spec") for obj in objects if obj["kind"] == SERVICES.kind]
    specs += [decode(entry.value)["spec"] for entry in stored.page(SERVICES.storage).entries]
    for spec in specs:
        for text in at(spec, "clusterIPs") or filter(None, [at(spec, "clusterIP")]):
            try:
                address = ipaddress.ip_address(text)
            except ValueError:
                continue  # "None": it has no address
            found.setdefault(address.version, []).append(address)
    return tuple(_around(found[family], family) for family in sorted(found)) or CLUSTER_NETWORKS


def _around(addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address], family: int) -> str:
    """Return the smallest network with all these addresses, but not one smaller than usual."""
    network = ipaddress.ip_network(_NETWORKS[family])
    if any(address not in network for address in addresses):
        network = ipaddress.ip_network((int(min(addresses)), network.prefixlen), strict=False)
    while any(address not in network for address in addresses):
        network = network.supernet()
    return str(network)


async def load(objects: Iterable[Decoded], store: Store, api: Api) -> Loaded:
    """Store objects. Raises InputError when one is not as it has to be."""
    stored, left_out = Counter[str](), Counter[str]()
    arrivals: dict[Key, _Arrival] = {}
    for obj in objects:
        arrival = _arrival(obj)
        if arrival is None:
            left_out[str(obj["kind"])] += 1
        else:
            arrivals[arrival.at.key] = arrival
    await _add_namespaces(arrivals, store, api)
    for _, group in groupby(sorted(arrivals.values(), key=_order), key=_order):
        new = [arrival for arrival in group if store.read.get(arrival.at.key) is None]
        for start in range(0, len(new), _AT_ONCE):
            chunk = new[start : start + _AT_ONCE]
            await asyncio.gather(*(_store(arrival, arrivals, store, api) for arrival in chunk))
        stored.update(arrival.at.resource.kind for arrival in new)
    there = Counter(arrival.at.resource.kind for arrival in arrivals.values()) - stored
    return Loaded(stored, there, left_out)


async def _add_namespaces(arrivals: Mapping[Key, _Arrival], store: Store, api: Api) -> None:
    """Create the namespaces that did not come along."""
    needed = {arrival.at.namespace for arrival in arrivals.values()} - {""}
    for name in sorted(needed):
        at = Address(NAMESPACES, name=name)
        if at.key not in arrivals and store.read.get(at.key) is None:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await _store(_Arrival(at, namespace), arrivals, store, api)


async def _store(
    arrival: _Arrival, arrivals: Mapping[Key, _Arrival], store: Store, api: Api
) -> None:
    """Store one object. Raises InputError."""
    key = arrival.at.key
    try:
        if not arrival.uid:
            await _create(arrival, api)
            return
        obj = _as_it_was(arrival, timestamp(api.world.now()))
        owners = obj["metadata"].pop("ownerReferences", ())
        if there := [owner for owner in owners if _is_there(owner, key, arrivals, store)]:
            obj["metadata"]["ownerReferences"] = there
        await store.write(Create(key, encoder(obj)))
    except (BadBody, Refusal, StoreFailedError) as error:
        raise InputError(str(error), object=arrival.name) from None


class _Arrival(NamedTuple):
    """An object that is to be stored, and where."""

    at: Address
    obj: Decoded

    @property
    def name(self) -> str:
        """How messages call it."""
        key = "/".join(filter(None, (self.at.namespace, self.at.name)))
        return f"{self.at.resource.kind} {key}"

    @property
    def uid(self) -> str:
        """Its uid, empty if no server gave it one."""
        return str(self.obj["metadata"].get("uid") or "")


def _arrival(obj: Decoded) -> _Arrival | None:
    """Return an object with its address; None when it cannot be served."""
    resource = _BY_KIND.get((obj["apiVersion"], obj["kind"]))
    metadata = obj["metadata"]
    if resource is None or not metadata.get("name"):
        return None
    namespace = str(metadata.get("namespace") or "default") if resource.namespaced else ""
    return _Arrival(Address(resource, namespace, str(metadata["name"])), obj)


def _order(arrival: _Arrival) -> tuple[int, bool]:
    """Sort namespaces and nodes first, and those last to which the server gives addresses."""
    resource = arrival.at.resource
    rank = _FIRST.index(resource) if resource in _FIRST else len(_FIRST)
    return rank, not arrival.uid


def _is_there(
    owner: Decoded, dependent: Key, arrivals: Mapping[Key, _Arrival], store: Store
) -> bool:
    """Tell whether an owner comes along, or is stored, or is of a kind that nobody looks for."""
    resource = _BY_KIND.get((str(owner.get("apiVersion")), str(owner.get("kind"))))
    if resource is None:
        return True
    namespace = dependent.namespace if resource.namespaced else ""
    key = Address(resource, namespace, str(owner.get("name"))).key
    if key in arrivals:
        return arrivals[key].uid == owner.get("uid")
    entry = store.read.get(key)
    return entry is not None and at(decode(entry.value), "metadata", "uid") == owner.get("uid")


def _as_it_was(arrival: _Arrival, now: str) -> Decoded:
    """Return the object to store, as it was stored before. Raises BadBody."""
    resource = arrival.at.resource
    obj = inside(arrival.obj, "spec", _with_containers) if resource is PODS else arrival.obj
    obj = to_stored(completed(obj, resource), resource)
    metadata = filled(obj["metadata"], creationTimestamp=now)
    metadata.pop("namespace", None)
    if arrival.at.namespace:
        metadata["namespace"] = arrival.at.namespace
    return {**obj, "metadata": metadata}


def _with_containers(spec: Decoded) -> Decoded:
    """Return the spec of a pod with what has to be in it, which a snapshot leaves out."""
    if not spec.get("containers"):
        spec = {**spec, "containers": [{}]}
    for name in ("containers", "initContainers"):
        spec = each(spec, name, lambda one: filled(one, name="unknown", image="unknown"))
    return spec


async def _create(arrival: _Arrival, api: Api) -> None:
    """Create an object as a client would, and set its status. Raises Refusal."""
    place, status = arrival.at, arrival.obj.get("status")
    await api.create(msgspec.structs.replace(place, name=""), Sent(arrival.obj), _OPTIONS)
    if status and place.resource.subresource("status") is not None:
        patch = Patch(PatchType.MERGE, {"status": status})
        await api.patch(msgspec.structs.replace(place, subresource="status"), patch, _OPTIONS)
