"""What merges need to know of the kinds: which lists are maps, and what is owned as a whole.

Law: only exceptions are written down. Unless a table says otherwise, an object is merged field
by field and a list is replaced, by every kind of merge. Kinds without a table are merged by the
rules of their metadata. From the API types of Kubernetes 1.36: ``listType``, ``listMapKey``,
``mapType`` and ``structType`` for server-side apply, ``patchStrategy`` and ``patchMergeKey`` for
strategic merge patch.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nearwise.server.patch.values import Object


class Shape(msgspec.Struct, frozen=True):
    """How a value is merged."""

    fields: dict[str, Shape] = {}
    """Of an object: those of its fields that have rules of their own."""

    item: Shape | None = None
    """Of a list that is a map: the rules of its items."""

    keys: tuple[str, ...] = ()
    """Server-side apply takes the list for a map by these fields of its items, sorted."""

    merge_key: str = ""
    """Strategic merge patch takes the list for a map by this field of its items."""

    unique: bool = False
    """The list is a set of plain values, merged as such by both."""

    whole: bool = False
    """Server-side apply takes the object for one value (strategic merge patch does not)."""

    def field(self, name: str) -> Shape:
        """Return the rules of a field of an object."""
        return self.fields.get(name, PLAIN)

    @property
    def is_map(self) -> bool:
        """Whether server-side apply tells the items of the list apart."""
        return bool(self.keys) or self.unique


PLAIN: Final = Shape()
"""Nothing special: objects by field, lists replaced."""

KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""What a key field of an item is when it is left out."""


def shape_of(api_version: str, kind: str) -> Shape:
    """Return the rules of a kind: by its group, whatever its version."""
    group = api_version.rpartition("/")[0]
    return _KINDS.get((group, kind), _ONLY_METADATA)


def kind_of(obj: Object) -> tuple[str, str]:
    """Return ``apiVersion`` and ``kind`` of an object, empty where it says nothing."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return (version if isinstance(version, str) else "", kind if isinstance(kind, str) else "")


def _map(*keys: str, merge_key: str | None = None, item: Shape = PLAIN) -> Shape:
    """Describe a list that is a map by these keys, the first of them in strategic patches."""
    by = keys[0] if merge_key is None else merge_key
    return Shape(keys=tuple(sorted(keys)), merge_key=by, item=item)


def _object(**fields: Shape) -> Shape:
    return Shape(fields=fields)


_SET: Final = Shape(unique=True)
_WHOLE: Final = Shape(whole=True)
_CONDITIONS: Final = _object(conditions=_map("type"))

_METADATA: Final = _object(finalizers=_SET, ownerReferences=_map("uid", item=_WHOLE))
_ONLY_METADATA: Final = _object(metadata=_METADATA)


# --- Pods and what makes them -------------------------------------------------------------

_PORTS: Final = _map("containerPort", "protocol")

_ENV: Final = _map(
    "name",
    item=_object(
        valueFrom=_object(
            configMapKeyRef=_WHOLE,
            fieldRef=_WHOLE,
            fileKeyRef=_WHOLE,
            resourceFieldRef=_WHOLE,
            secretKeyRef=_WHOLE,
        )
    ),
)

_CONTAINERS: Final = _map(
    "name",
    item=_object(
        env=_ENV,
        ports=_PORTS,
        resources=_object(claims=_map("name", merge_key="")),
        volumeDevices=_map("devicePath"),
        volumeMounts=_map("mountPath"),
    ),
)

_SECRET: Final = _object(secretRef=_WHOLE)

_CLAIM: Final = _object(
    metadata=_METADATA,
    spec=_object(dataSource=_WHOLE, selector=_WHOLE),
    status=_CONDITIONS,
)

_VOLUMES: Final = _map(
    "name",
    item=_object(
        cephfs=_SECRET,
        cinder=_SECRET,
        csi=_object(nodePublishSecretRef=_WHOLE),
        ephemeral=_object(volumeClaimTemplate=_CLAIM),
        flexVolume=_SECRET,
        iscsi=_SECRET,
        rbd=_SECRET,
        scaleIO=_SECRET,
        storageos=_SECRET,
    ),
)

_NODE_AFFINITY: Final = _object(requiredDuringSchedulingIgnoredDuringExecution=_WHOLE)

_POD_SPEC: Final = _object(
    affinity=_object(nodeAffinity=_NODE_AFFINITY),
    containers=_CONTAINERS,
    ephemeralContainers=_CONTAINERS,
    hostAliases=_map("ip"),
    imagePullSecrets=_map("name", item=_WHOLE),
    initContainers=_CONTAINERS,
    nodeSelector=_WHOLE,
    resourceClaims=_map("name"),
    schedulingGates=_map("name"),
    topologySpreadConstraints=_map(
        "topologyKey", "whenUnsatisfiable", item=_object(labelSelector=_WHOLE)
    ),
    volumes=_VOLUMES,
)

_POD_STATUS: Final = _object(
    conditions=_map("type"),
    hostIPs=Shape(merge_key="ip"),
    podIPs=_map("ip"),
    resourceClaimStatuses=_map("name"),
)

_WORKLOAD: Final = _object(
    metadata=_METADATA,
    spec=_object(selector=_WHOLE, template=_object(metadata=_METADATA, spec=_POD_SPEC)),
    status=_CONDITIONS,
)


# --- All kinds with rules of their own ----------------------------------------------------

_KINDS: Final[dict[tuple[str, str], Shape]] = {
    ("", "Event"): _object(metadata=_METADATA, involvedObject=_WHOLE, related=_WHOLE),
    ("", "Namespace"): _object(metadata=_METADATA, status=_CONDITIONS),
    ("", "Node"): _object(
        metadata=_METADATA,
        spec=_object(podCIDRs=_SET),
        status=_object(addresses=_map("type"), conditions=_map("type")),
    ),
    ("", "Pod"): _object(metadata=_METADATA, spec=_POD_SPEC, status=_POD_STATUS),
    ("", "Service"): _object(
        metadata=_METADATA,
        spec=_object(ports=_map("port", "protocol"), selector=_WHOLE),
        status=_CONDITIONS,
    ),
    ("", "ServiceAccount"): _object(metadata=_METADATA, secrets=_map("name", item=_WHOLE)),
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("events.k8s.io", "Event"): _object(metadata=_METADATA, regarding=_WHOLE, related=_WHOLE),
}
