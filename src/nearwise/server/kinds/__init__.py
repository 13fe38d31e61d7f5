"""What is inside the objects of each kind: how they are completed, begun and checked.

Law: one table, a row a kind. Services and EndpointSlices have their rules in ``model.validation``
and nowhere else; of the other kinds the metadata is checked, what clients get wrong most, and
that the parts that Nearwise reads are well formed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from nearwise.model import core, names
from nearwise.model.codec import to_dict
from nearwise.model.coordination import Lease
from nearwise.model.defaults import with_service_defaults, with_slice_defaults
from nearwise.model.discovery import EndpointSlice
from nearwise.model.names import Check
from nearwise.model.validation.bodies import object_of
from nearwise.model.validation.fields import Errors
from nearwise.server.kinds import cluster, endpoints, events, pods, workloads
from nearwise.server.kinds.plain import Change, at, each, merged, without_nulls
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


class Kind(msgspec.Struct, frozen=True):
    """How objects of a kind are treated."""

    type: type[Any]
    """What they must be readable as."""
    name: Check = names.dns_subdomain
    retyped: Callable[[Any], Decoded] | None = None
    """Writes an object anew from its type, for kinds of which the model knows everything."""
    defaulted: Change = _as_it_is
    """Fills in what the client left out."""
    begun: Callable[[Decoded, NodeOf], Decoded] = _begins_as_it_is
    """Adds what only the server says of a new object."""
    errors: Callable[[Decoded, Decoded | None], Errors] = _nothing
    """Checks a new object, or one that replaces another."""
    counted: tuple[tuple[str, ...], ...] = ()
    """What makes a new generation when it changes; nothing for kinds without generations."""
    kept: tuple[tuple[str, ...], ...] = ()
    """What a plain update cannot change, besides the status."""
    elsewhere: bool = False
    """Whether generation and checks are those of ``model.validation``."""


def kind_of(resource: Resource) -> Kind:
    """Return the row of a resource's kind."""
    return _KINDS[resource.group, resource.kind]


def completed(raw: Decoded, resource: Resource) -> Decoded:
    """Return what a client sent as the whole object that it means, printed as Kubernetes does.

    Raises BadBody when it cannot be an object of the kind.
    """
    kind = kind_of(resource)
    typed = object_of(raw, resource.api_version, kind.type)
    given = kind.retyped(typed) if kind.retyped else without_nulls(raw)
    metadata = to_dict(typed.metadata)
    managed = at(raw, "metadata", "managedFields")
    if managed is not None:
        metadata["managedFields"] = managed
    named = {
        **given,
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
    }
    return merged(kind.defaulted(named), blank(resource.api_version, resource.kind))


def to_stored(obj: Decoded, resource: Resource) -> Decoded:
    """Return an object in the version in which it is stored."""
    return events.to_core(obj) if resource is EVENTS_V1 else obj


def to_served(stored: Decoded, resource: Resource) -> Decoded:
    """Return a stored object in the version of the resource."""
    return events.from_core(stored) if resource is EVENTS_V1 else stored


# --- The table ----------------------------------------------------------------------------


def _retyped_service(service: core.Service) -> Decoded:
    return to_dict(with_service_defaults(service))


def _retyped_slice(given: EndpointSlice) -> Decoded:
    plain = to_dict(with_slice_defaults(given))
    return each(plain, "endpoints", lambda endpoint: {"conditions": {}, **endpoint})


def _pod_begun(pod: Decoded, node_of: NodeOf) -> Decoded:
    name = at(pod, "spec", "nodeName")
    return pods.started(pods.admitted(pod, node_of(name) if name else None))


def _begun(change: Change) -> Callable[[Decoded, NodeOf], Decoded]:
    return lambda obj, _: change(obj)


def _workload(type_: type[workloads.Workload], defaulted: Change, *counted: str) -> Kind:
    return Kind(
        type_,
        defaulted=defaulted,
        begun=_begun(workloads.started),
        errors=workloads.errors,
        counted=tuple(tuple(path.split(".")) for path in ("spec", *counted)),
    )


_KINDS: Final = {
    ("", "ConfigMap"): Kind(
        cluster.ConfigMap,
        errors=cluster.config_map_errors,
    ),
    ("", "Endpoints"): Kind(
        core.Endpoints,
        defaulted=endpoints.with_defaults,
        errors=endpoints.errors,
    ),
    ("", "Event"): Kind(core.Event, errors=events.errors),
    ("", "Namespace"): Kind(
        core.Namespace,
        name=names.dns_label,
        defaulted=cluster.with_namespace_defaults,
        begun=_begun(cluster.started_namespace),
        kept=(("spec", "finalizers"),),
    ),
    ("", "Node"): Kind(
        core.Node,
        defaulted=cluster.with_node_defaults,
        begun=_begun(cluster.admitted_node),
    ),
    ("", "Pod"): Kind(
        core.Pod,
        defaulted=pods.with_pod_defaults,
        begun=_pod_begun,
        errors=pods.errors,
        counted=(("spec",),),
    ),
    ("", "Service"): Kind(
        core.Service,
        retyped=_retyped_service,
        elsewhere=True,
    ),
    ("", "ServiceAccount"): Kind(
        cluster.ServiceAccount,
    ),
    ("apps", "DaemonSet"): _workload(workloads.DaemonSet, workloads.with_daemon_set_defaults),
    ("apps", "Deployment"): _workload(
        workloads.Deployment, workloads.with_deployment_defaults, "metadata.annotations"
    ),
    ("apps", "ReplicaSet"): _workload(workloads.ReplicaSet, workloads.with_replica_set_defaults),
    ("apps", "StatefulSet"): _workload(
        workloads.StatefulSet, workloads.with_stateful_set_defaults
    ),
    ("coordination.k8s.io", "Lease"): Kind(
        Lease, errors=cluster.lease_errors
    ),
    ("discovery.k8s.io", "EndpointSlice"): Kind(
        EndpointSlice,
        retyped=_retyped_slice,
        elsewhere=True,
    ),
    ("events.k8s.io", "Event"): Kind(
        events.Event,
        errors=events.errors_v1,
    ),
}
