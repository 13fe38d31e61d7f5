"""Service, Pod, Node, Namespace, Endpoints and Event (``v1``), as far as Nearwise reads them.

Service and Endpoints are complete, because they are validated, defaulted and written back.
Pod and Node are the parts that decide routing: decoding less is what makes reading fast. What
everybody asks of them, such as whether they are ready, is answered here, once.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nearwise.model.meta import Int32, Object, ObjectMeta, ObjectReference
from nearwise.model.quantity import milli
from nearwise.model.wellknown import CONTROL_PLANE, MASTER, ZONE

# --- Service ------------------------------------------------------------------------------


class ServicePort(Object, frozen=True):
    """A port of the service and where it leads to on the pods."""

    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    port: Int32 = 0
    target_port: Int32 | str = 0
    node_port: Int32 = 0


class ClientIPConfig(Object, frozen=True):
    """How long a client stays with one endpoint, in seconds."""

    timeout_seconds: Int32 | None = None


class SessionAffinityConfig(Object, frozen=True):
    """Settings of session affinity."""

    client_ip: ClientIPConfig | None = msgspec.field(default=None, name="clientIP")


class ServiceSpec(Object, frozen=True):
    """What the service selects and how it is reached."""

    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = {}
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    cluster_ips: tuple[str, ...] = msgspec.field(default=(), name="clusterIPs")
    type: str = ""
    external_ips: tuple[str, ...] = msgspec.field(default=(), name="externalIPs")
    session_affinity: str = ""
    load_balancer_ip: str = msgspec.field(default="", name="loadBalancerIP")
    load_balancer_source_ranges: tuple[str, ...] = ()
    external_name: str = ""
    external_traffic_policy: str = ""
    health_check_node_port: Int32 = 0
    publish_not_ready_addresses: bool = False
    session_affinity_config: SessionAffinityConfig | None = None
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    allocate_load_balancer_node_ports: bool | None = None
    load_balancer_class: str | None = None
    internal_traffic_policy: str | None = None
    traffic_distribution: str | None = None


class PortStatus(Object, frozen=True):
    """State of one port of a load balancer."""

    port: int = 0
    protocol: str = ""
    error: str | None = None


class LoadBalancerIngress(Object, frozen=True):
    """An address of the load balancer."""

    ip: str = ""
    hostname: str = ""
    ip_mode: str | None = None
    ports: tuple[PortStatus, ...] = ()


class LoadBalancerStatus(Object, frozen=True):
    """Where the load balancer listens."""

    ingress: tuple[LoadBalancerIngress, ...] = ()


class Condition(Object, frozen=True):
    """A condition in a status: Pod, Node and Service share its shape."""

    type: str = ""
    status: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


def _is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Tell whether the condition of a type holds: the first of that type says, absent it does not.

    That is how Kubernetes' controllers look a condition up.
    """
    return next((each.status == "True" for each in conditions if each.type == type_), False)


class ServiceStatus(Object, frozen=True):
    """What the cluster made of the service."""

    load_balancer: LoadBalancerStatus = msgspec.field(default_factory=LoadBalancerStatus)
    conditions: tuple[Condition, ...] = ()


class Service(Object, frozen=True):
    """A named set of pods and the way to reach it."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


# --- Pod ----------------------------------------------------------------------------------


class ContainerPort(Object, frozen=True):
    """A port that a container names."""

    name: str = ""
    container_port: int = 0
    protocol: str = ""
    host_port: int = 0


class Container(Object, frozen=True):
    """A container: only what ports need. ``restartPolicy: Always`` makes an init one a sidecar."""

    name: str = ""
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class Toleration(Object, frozen=True):
    """A taint that the pod puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodSpec(Object, frozen=True):
    """Where the pod runs and what it serves."""

    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] = {}


class PodIP(Object, frozen=True):
    """An address of the pod."""

    ip: str = ""


class PodStatus(Object, frozen=True):
    """What the pod does right now."""

    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[PodIP, ...] = msgspec.field(default=(), name="podIPs")
    conditions: tuple[Condition, ...] = ()


class Pod(Object, frozen=True):
    """A running workload."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        """Whether it is ready, by its condition Ready."""
        return _is_true(self.status.conditions, "Ready")


# --- Node ---------------------------------------------------------------------------------


class Taint(Object, frozen=True):
    """What keeps pods away that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Object, frozen=True):
    """What the node is for."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeAddress(Object, frozen=True):
    """An address of the node."""

    type: str = ""
    address: str = ""


class NodeSystemInfo(Object, frozen=True):
    """Versions of what runs on the node."""

    kubelet_version: str = ""
    kube_proxy_version: str = ""


class NodeStatus(Object, frozen=True):
    """What the node has and how it is."""

    allocatable: dict[str, str | int | float] = {}
    capacity: dict[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object, frozen=True):
    """A machine of the cluster."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether it is ready, by its condition Ready."""
        return _is_true(self.status.conditions, "Ready")

    @property
    def control_plane(self) -> bool:
        """Whether it is labelled as a node of the control plane, by today's name or the former."""
        return not self.metadata.labels.keys().isdisjoint((CONTROL_PLANE, MASTER))

    @property
    def zone(self) -> str:
        """The zone that its label tells; empty when there is none."""
        return self.metadata.labels.get(ZONE, "")

    @property
    def cpu(self) -> int:
        """Its allocatable CPU in thousandths; what is absent or unreadable counts as nothing.

        So does less than nothing, which an API server refuses (validation of node resources).
        """
        try:
            return max(milli(self.status.allocatable.get("cpu", 0)), 0)
        except ValueError:
            return 0


# --- Namespace, Endpoints, Event ----------------------------------------------------------


class Namespace(Object, frozen=True):
    """A namespace: of it only the metadata matters here."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class EndpointsAddress(Object, frozen=True):
    """One address of the legacy Endpoints API."""

    ip: str = ""
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointsPort(Object, frozen=True):
    """One port of the legacy Endpoints API."""

    name: str = ""
    port: int = 0
    protocol: str = ""
    app_protocol: str | None = None


class EndpointsSubset(Object, frozen=True):
    """Addresses that share their ports."""

    addresses: tuple[EndpointsAddress, ...] = ()
    not_ready_addresses: tuple[EndpointsAddress, ...] = ()
    ports: tuple[EndpointsPort, ...] = ()


class Endpoints(Object, frozen=True):
    """The legacy list of a service's addresses, still written by hand and by operators."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    subsets: tuple[EndpointsSubset, ...] = ()


class EventSource(Object, frozen=True):
    """Who told it."""

    component: str = ""
    host: str = ""


class EventSeries(Object, frozen=True):
    """How often it was told again."""

    count: int = 0
    last_observed_time: str | None = None


class Event(Object, frozen=True):
    """Something that a component told about an object."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    source: EventSource = EventSource()
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = ""
    reporting_instance: str = ""
