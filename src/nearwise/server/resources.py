"""What the API server serves: one table of resources, and how each of them is asked for.

Law: which kinds there are, by what name, with which verbs and subresources, and how they differ
in the ways of the API, is said here and nowhere else. What is inside an object is ``kinds``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nearwise.machinery.changes import Key

READ_WRITE: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object with an address of its own."""

    name: str
    kind: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    group: str = ""
    """The group of its kind when that is another than the resource's, with the version."""
    version: str = ""


class Field(msgspec.Struct, frozen=True):
    """A field by which objects can be selected, and where it is in them."""

    label: str
    path: tuple[str, ...]
    absent: str = ""
    """The value of an object that does not have the field."""


class Resource(msgspec.Struct, frozen=True):
    """A kind of object and its address."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    subresources: tuple[Subresource, ...] = ()
    fields: tuple[Field, ...] = ()
    """Selectable fields besides ``metadata.name`` and ``metadata.namespace``."""
    storage_group: str = ""
    """The group in which its objects are stored, for those that have two."""
    created_by_put: bool = False
    """A PUT to a name that is not there creates it."""
    needs_version: bool = False
    """A PUT must say which version it replaces."""
    answers_deleted: bool = False
    """A deletion is answered with the object, not with a Status."""
    collected: bool = True
    """Its dependents can be orphaned or deleted first."""
    warning: str = ""
    """What every request for it is warned of."""

    @property
    def api_version(self) -> str:
        """What its objects have as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_version(self) -> str:
        """The ``apiVersion`` in which its objects are stored; all groups are stored as v1."""
        return f"{self.storage_group}/v1" if self.storage_group else "v1"

    @property
    def storage(self) -> str:
        """Under which name its objects are stored."""
        group = self.storage_group
        return f"{group}/{self.plural}" if group else self.plural

    @property
    def singular(self) -> str:
        """How one of them is called in a command."""
        return self.kind.lower()

    @property
    def full_name(self) -> str:
        """How messages call it: ``endpointslices.discovery.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        """What a list of its objects is."""
        return f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        """Return one of its subresources."""
        return next((each for each in self.subresources if each.name == name), None)


class Address(msgspec.Struct, frozen=True):
    """Where a request goes: a resource, in a namespace, one object, or a part of it."""

    resource: Resource
    namespace: str = ""
    """Empty for all namespaces, and for resources that have none."""
    name: str = ""
    """Empty for all objects."""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Where the object is stored."""
        return Key(self.resource.storage, self.namespace, self.name)


def _fields(*labels: str) -> tuple[Field, ...]:
    return tuple(Field(label, tuple(label.split("."))) for label in labels)


def _status(kind: str) -> Subresource:
    return Subresource("status", kind)


def _reference(label: str) -> tuple[Field, ...]:
    """Name the parts of a reference to an object that is stored as ``involvedObject``."""
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return tuple(Field(f"{label}.{part}", ("involvedObject", part)) for part in parts)


_ALL: Final = ("all",)
_SCALE: Final = Subresource("scale", "Scale", group="autoscaling", version="v1")


def _workload(plural: str, kind: str, short: str, scales: bool = True) -> Resource:
    status = _status(kind)
    return Resource(
        "apps",
        "v1",
        plural,
        kind,
        short_names=(short,),
        categories=_ALL,
        subresources=(_SCALE, status) if scales else (status,),
        storage_group="apps",
    )


PODS: Final = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    categories=_ALL,
    subresources=(
        Subresource("binding", "Binding", verbs=("create",)),
        _status("Pod"),
    ),
    fields=(
        *_fields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName"),
        *_fields("spec.serviceAccountName", "status.phase", "status.podIP"),
        *_fields("status.nominatedNodeName"),
        Field("spec.hostNetwork", ("spec", "hostNetwork"), absent="false"),
    ),
    answers_deleted=True,
)
NODES: Final = Resource(
    "",
    "v1",
    "nodes",
    "Node",
    namespaced=False,
    short_names=("no",),
    subresources=(_status("Node"),),
    fields=(Field("spec.unschedulable", ("spec", "unschedulable"), absent="false"),),
)
NAMESPACES: Final = Resource(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in READ_WRITE if verb != "deletecollection"),
    subresources=(
        Subresource("finalize", "Namespace", verbs=("update",)),
        _status("Namespace"),
    ),
    fields=_fields("status.phase"),
)
SERVICES: Final = Resource(
    "",
    "v1",
    "services",
    "Service",
    short_names=("svc",),
    categories=_ALL,
    subresources=(_status("Service"),),
    fields=_fields("spec.clusterIP", "spec.type"),
    created_by_put=True,
    answers_deleted=True,
)
ENDPOINTS: Final = Resource(
    "",
    "v1",
    "endpoints",
    "Endpoints",
    short_names=("ep",),
    created_by_put=True,
    warning="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)
EVENTS: Final = Resource(
    "",
    "v1",
    "events",
    "Event",
    short_names=("ev",),
    fields=(
        *_reference("involvedObject"),
        *_fields("reason", "reportingComponent", "type"),
        Field("source", ("source", "component")),
    ),
    created_by_put=True,
    collected=False,
)
EVENTS_V1: Final = Resource(
    "events.k8s.io",
    "v1",
    "events",
    "Event",
    short_names=("ev",),
    fields=(
        *_reference("regarding"),
        *_fields("reason", "type"),
        Field("reportingController", ("reportingComponent",)),
    ),
    created_by_put=True,
    collected=False,
)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",))
SERVICE_ACCOUNTS: Final = Resource(
    "", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",), answers_deleted=True
)
ENDPOINT_SLICES: Final = Resource(
    "discovery.k8s.io",
    "v1",
    "endpointslices",
    "EndpointSlice",
    storage_group="discovery.k8s.io",
)
LEASES: Final = Resource(
    "coordination.k8s.io",
    "v1",
    "leases",
    "Lease",
    storage_group="coordination.k8s.io",
    created_by_put=True,
    needs_version=True,
)
DEPLOYMENTS: Final = _workload("deployments", "Deployment", "deploy")
REPLICA_SETS: Final = _workload("replicasets", "ReplicaSet", "rs")
STATEFUL_SETS: Final = _workload("statefulsets", "StatefulSet", "sts")
DAEMON_SETS: Final = _workload("daemonsets", "DaemonSet", "ds", scales=False)

RESOURCES: Final = (
    CONFIG_MAPS,
    ENDPOINTS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SERVICES,
    DAEMON_SETS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    LEASES,
    ENDPOINT_SLICES,
    EVENTS_V1,
)
"""Everything that is served, in the order in which discovery lists it."""

GROUPS: Final[dict[tuple[str, str], tuple[Resource, ...]]] = {
    key: tuple(each for each in RESOURCES if (each.group, each.version) == key)
    for key in dict.fromkeys((each.group, each.version) for each in RESOURCES)
}
"""The resources of each group and version."""

_BY_ADDRESS: Final = {(each.group, each.version, each.plural): each for each in RESOURCES}


def find(group: str, version: str, plural: str) -> Resource | None:
    """Return the resource at an address."""
    return _BY_ADDRESS.get((group, version, plural))
