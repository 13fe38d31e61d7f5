"""What is inside the objects of each kind: how they are completed, begun and checked.

Law: one table, a row a kind. Services and EndpointSlices have their rules in ``model.validation``
and nowhere else; of the other kinds the metadata is checked, what clients get wrong most, and
that the parts that Nearwise reads are well formed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import msgspec

from nearwise.model import core, names
from nearwise.model.codec import to_dict
from nearwise.model.defaults import with_service_defaults, with_slice_defaults
from nearwise.model.discovery import EndpointSlice
from nearwise.model.meta import Object, ObjectMeta
from nearwise.model.names import Check
from nearwise.model.validation.bodies import BadBody, object_of
from nearwise.model.validation.fields import Errors
from nearwise.server.kinds import cluster, endpoints, events, pods, services, workloads
from nearwise.server.kinds.plain import Change, at, each, merged
from nearwise.server.kinds.sifting import sifted
from nearwise.server.kinds.times import with_times
from nearwise.server.kinds.types import misfit
from nearwise.server.objects.stored import Decoded
from nearwise.server.patch import blank
from nearwise.server.resources import EVENTS_V1, Resource

NodeOf = Callable[[str], Decoded | None]
"""Finds a node by name."""


def _as_it_is(obj: Decoded) -> Decoded:
    return obj


def _begins_as_it_is(obj: Decoded, _: NodeOf) -> Decoded:
    return obj


def _nothing(_: Decoded, _old: Decoded | None) -> Errors:
    return []


def _no_warnings(_: Decoded) -> tuple[str, ...]:
    return ()


class Model(msgspec.Struct, frozen=True):
    """A kind of which the model knows everything, and has the rules."""

    type: type[Any]
    written: Callable[[Any], Decoded]
    """Writes an object of the type, with its defaults, as it is printed."""


class Kind(msgspec.Struct, frozen=True):
    """How objects of a kind are treated."""

    model: Model | None = None
    """Where the model has the rules; what is below is for the other kinds."""
    name: Check = names.dns_subdomain
    """Which names they may have."""
    defaulted: Change = _as_it_is
    """Fills in what the client left out."""
    begun: Callable[[Decoded, NodeOf], Decoded] = _begins_as_it_is
    """Adds what only the server says of a new object."""
    errors: Callable[[Decoded, Decoded | None], Errors] = _nothing
    """Checks a new object, or one that replaces another."""
    warnings: Callable[[Decoded], tuple[str, ...]] = _no_warnings
    """Says what is odd about an object, though it is stored."""
    counted: tuple[tuple[str, ...], ...] = ()
    """What makes a new generation when it changes; nothing for kinds without generations."""
    kept: tuple[tuple[str, ...], ...] = ()
    """What a plain update cannot change, besides the status."""


def kind_of(resource: Resource) -> Kind:
    """Return the row of a resource's kind."""
    return _KINDS[resource.group, resource.kind]


def completed(raw: Decoded, resource: Resource) -> Decoded:
    """Return what a client sent as the whole object that it means, printed as Kubernetes does.

    Raises BadBody when it cannot be an object of the kind.
    """
    kind, name = kind_of(resource), resource.kind
    model = kind.model
    raw = with_times(raw, resource.api_version, name)
    typed = object_of(raw, resource.api_version, model.type if model else _named(name))
    if model is not None:
        given = model.written(typed)
    elif complaint := misfit(raw, resource.api_version, name):
        raise BadBody(
            f'{name} in version "{resource.version}" cannot be handled as a {name}: {complaint}'
        )
    else:
        content = {name: raw[name] for name in raw if name != "metadata"}
        given = sifted(content, resource.api_version, name)
    metadata = to_dict(typed.metadata)
    managed = at(raw, "metadata", "managedFields")
    if managed is not None:
        metadata["managedFields"] = managed
    obj = {**given, "apiVersion": resource.api_version, "kind": name, "metadata": metadata}
    return merged(kind.defaulted(obj), blank(resource.api_version, name))


def to_stored(obj: Decoded, resource: Resource) -> Decoded:
    """Return an object in the version in which it is stored."""
    return events.to_core(obj) if resource is EVENTS_V1 else obj


def to_served(stored: Decoded, resource: Resource) -> Decoded:
    """Return a stored object in the version of the resource."""
    return events.from_core(stored) if resource is EVENTS_V1 else stored


# --- The table ----------------------------------------------------------------------------


def _written_service(service: core.Service) -> Decoded:
    return to_dict(with_service_defaults(service))


def _written_slice(given: EndpointSlice) -> Decoded:
    plain = to_dict(with_slice_defaults(given))
    return each(plain, "endpoints", lambda endpoint: {"conditions": {}, **endpoint})


def _pod_begun(pod: Decoded, node_of: NodeOf) -> Decoded:
    name = at(pod, "spec", "nodeName")
    return pods.started(pods.admitted(pod, node_of(name) if name else None))


def _begun(change: Change) -> Callable[[Decoded, NodeOf], Decoded]:
    return lambda obj, _: change(obj)


def _workload(defaulted: Change, *counted: str) -> Kind:
    return Kind(
        defaulted=defaulted,
        begun=_begun(workloads.started),
        errors=workloads.errors,
        counted=tuple(tuple(path.split(".")) for path in ("spec", *counted)),
    )


@cache
def _named(kind: str) -> type[Any]:
    """Make a type for a kind of which nothing but the metadata is read."""
    metadata = ("metadata", ObjectMeta, ObjectMeta())
    return msgspec.defstruct(kind, [metadata], bases=(Object,), frozen=True)


_KINDS: Final = {
    ("", "ConfigMap"): Kind(errors=cluster.config_map_errors),
    ("", "Endpoints"): Kind(defaulted=endpoints.with_defaults, errors=endpoints.errors),
    ("", "Event"): Kind(errors=events.errors),
    ("", "Namespace"): Kind(
        name=names.dns_label,
        defaulted=cluster.with_namespace_defaults,
        begun=_begun(cluster.started_namespace),
        kept=(("spec", "finalizers"),),
    ),
    ("", "Node"): Kind(defaulted=cluster.with_node_defaults, begun=_begun(cluster.admitted_node)),
    ("", "Pod"): Kind(
        defaulted=pods.with_pod_defaults,
        begun=_pod_begun,
        errors=pods.errors,
        counted=(("spec",),),
    ),
    ("", "Service"): Kind(model=Model(core.Service, _written_service), warnings=services.warnings),
    ("", "ServiceAccount"): Kind(),
    ("apps", "DaemonSet"): _workload(workloads.with_daemon_set_defaults),
    ("apps", "Deployment"): _workload(workloads.with_deployment_defaults, "metadata.annotations"),
    ("apps", "ReplicaSet"): _workload(workloads.with_replica_set_defaults),
    ("apps", "StatefulSet"): _workload(workloads.with_stateful_set_defaults),
    ("coordination.k8s.io", "Lease"): Kind(errors=cluster.lease_errors),
    ("discovery.k8s.io", "EndpointSlice"): Kind(model=Model(EndpointSlice, _written_slice)),
    ("events.k8s.io", "Event"): Kind(errors=events.errors_v1),
}
