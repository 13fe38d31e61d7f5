"""Label, annotation and component names that Kubernetes gives a meaning."""

from typing import Final

# Node labels.
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
MASTER: Final = "node-role.kubernetes.io/master"

# Taints that Kubernetes sets begin so: they say how a node is, not for whom.
NODE_STATE: Final = "node.kubernetes.io/"

# EndpointSlice labels (discovery.k8s.io/v1).
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"
HEADLESS: Final = "service.kubernetes.io/headless"

# Who manages slices.
SLICE_CONTROLLER: Final = "endpointslice-controller.k8s.io"
MIRRORING_CONTROLLER: Final = "endpointslicemirroring-controller.k8s.io"

# Service and Endpoints annotations.
TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
TOPOLOGY_AWARE_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
LAST_CHANGE_TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

# Annotation of the bookmark that ends the objects there were when a watch began (KEP-3157).
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

# Values of the topology annotations: what asks for hints, and what is documented as not asking.
ASKING: Final = frozenset(["Auto", "auto"])
NOT_ASKING: Final = frozenset(["Disabled", "disabled"])

# Values of Service.spec.trafficDistribution (KEP-2433, KEP-4444, KEP-3015).
PREFER_CLOSE: Final = "PreferClose"
PREFER_SAME_ZONE: Final = "PreferSameZone"
PREFER_SAME_NODE: Final = "PreferSameNode"
