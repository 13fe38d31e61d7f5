"""Services and what is behind them: Endpoints and EndpointSlices."""

from typing import Final

CORE: Final = """
Service: A name and an address for a changing set of pods.
  metadata ObjectMeta - Name, labels, owners and history.
  spec ServiceSpec - How the service is reached, and which pods are behind it.
  status ServiceStatus - What load balancers report.

ServiceSpec: How a service is reached, and which pods are behind it.
  allocateLoadBalancerNodePorts bool - Whether a LoadBalancer service gets node ports. Default true.
  clusterIP string - First address in the cluster. None: a headless service, which has none.
  clusterIPs [string] - Addresses in the cluster, at most one a family; the first is clusterIP.
  externalIPs [string] - Addresses outside of the cluster's care at which nodes take traffic for it.
  externalName string - DNS name that an ExternalName service stands for.
  externalTrafficPolicy string Cluster|Local - Local: traffic from outside stays on the node that
    received it and keeps its source address. Cluster (default): it may go to any endpoint.
  healthCheckNodePort int32 - Port on nodes that tells load balancers whether endpoints are there.
    Only for LoadBalancer with externalTrafficPolicy Local. Cannot be changed.
  internalTrafficPolicy string Cluster|Local - Local: traffic from inside the cluster stays on its
    node, and is dropped when no endpoint is there. Cluster (default): it may go to any endpoint.
  ipFamilies [string] - IPv4, IPv6 or both, the main one first. The main one cannot be changed.
  ipFamilyPolicy string PreferDualStack|RequireDualStack|SingleStack - One family or two, and
    whether two are a must. Default SingleStack.
  loadBalancerClass string - Which load balancer implementation is to serve it.
  loadBalancerIP string - Deprecated wish for the load balancer's address.
  loadBalancerSourceRanges [string] - Only clients of these networks may use the load balancer.
  ports [ServicePort] map:port,protocol merge - Ports the service is reached at.
  publishNotReadyAddresses bool - Whether pods count as ready from the moment they have an address.
  selector {string} atomic - Labels of the pods behind it. Without one, somebody else has to write
    its EndpointSlices.
  sessionAffinity string ClientIP|None - ClientIP: a client keeps its endpoint. Default None.
  sessionAffinityConfig SessionAffinityConfig - How long a client keeps its endpoint.
  trafficDistribution string - Which endpoints a client prefers. PreferSameZone (older name:
    PreferClose): those in its zone. PreferSameNode: those on its node, then those in its zone.
    Kept by hints in EndpointSlices, so an endpoint without a hint switches it off for everybody.
  type string ClusterIP|ExternalName|LoadBalancer|NodePort - How far it can be reached from.
    Default ClusterIP.

ServicePort: A port the service is reached at.
  appProtocol string - What is spoken on the port, as a hint to those who carry it.
  name string - Name of the port, unique in the service. Required when there are several.
  nodePort int32 - Port on every node, for NodePort and LoadBalancer; chosen when left out.
  port! int32 - Number of the port at the service's address.
  protocol string SCTP|TCP|UDP =TCP - Transport protocol.
  targetPort IntOrString - Number or name of the port of the pods. Default: the same number.

SessionAffinityConfig: Details of session affinity.
  clientIP ClientIPConfig - Affinity by the client's address.

ClientIPConfig: Details of affinity by address.
  timeoutSeconds int32 - Seconds for which a client keeps its endpoint. Default 10800.

ServiceStatus: What became of the service.
  conditions [Condition] map:type merge - Conditions of the service.
  loadBalancer LoadBalancerStatus - What the load balancer reports.

LoadBalancerStatus: What a load balancer reports.
  ingress [LoadBalancerIngress] - Where it takes traffic.

LoadBalancerIngress: One place where a load balancer takes traffic.
  hostname string - DNS name, where it has one.
  ip string - Address, where it has one.
  ipMode string - VIP: traffic arrives with the balancer's address. Proxy: with the node's or pod's.
  ports [PortStatus] - What became of single ports.

PortStatus: What became of a port of a load balancer.
  error string - Why the port is not served.
  port! int32 - Number of the service port.
  protocol! string SCTP|TCP|UDP - Protocol of the service port.

Endpoints: The endpoints of a service in one object. Deprecated: use EndpointSlices.
  metadata ObjectMeta - Name, labels, owners and history. Its name is that of the service.
  subsets [EndpointSubset] - Addresses that share the same ports.

EndpointSubset: Addresses times ports.
  addresses [EndpointAddress] - Those that take traffic.
  notReadyAddresses [EndpointAddress] - Those that do not take traffic now.
  ports [EndpointPort] - Ports of each of the addresses.

EndpointAddress atomic: One address.
  hostname string - Host name of the endpoint.
  ip! string - IP address; not a loopback, link-local or multicast one.
  nodeName string - Node the endpoint is on.
  targetRef ObjectReference - Object that the endpoint stands for.

EndpointPort atomic: One port.
  appProtocol string - What is spoken on the port.
  name string - Name of the service port.
  port! int32 - Number of the port.
  protocol string SCTP|TCP|UDP - Transport protocol. Default TCP.
"""

DISCOVERY: Final = """
EndpointSlice: Some of the endpoints of a service, all of one address family.
  addressType! string FQDN|IPv4|IPv6 - Kind of addresses in the slice. Cannot be changed.
  endpoints [Endpoint] - The endpoints, at most 1000.
  metadata ObjectMeta - Name, labels, owners and history. A label names the service.
  ports [EndpointPort] - Ports of each of the endpoints, at most 100.

Endpoint: One backend of a service.
  addresses! [string] set - Its addresses; whoever reads slices uses the first one only.
  conditions EndpointConditions - Whether it can be used.
  deprecatedTopology {string} - Left over from an older version.
  hints EndpointHints - Who should use it.
  hostname string - Its name within the service's DNS name.
  nodeName string - Node it is on.
  targetRef ObjectReference - Object that it stands for, mostly a pod.
  zone string - Zone it is in.

EndpointConditions: Whether an endpoint can be used.
  ready bool - Takes traffic: serving and not terminating. Left out counts as true.
  serving bool - Could take traffic, terminating or not. Left out counts as ready.
  terminating bool - Is on its way out. Left out counts as false.

EndpointHints: Who should use an endpoint.
  forNodes [ForNode] - Nodes whose clients should, at most 8.
  forZones [ForZone] - Zones whose clients should, at most 8.

ForNode: A node.
  name! string - Its name.

ForZone: A zone.
  name! string - Its name.

EndpointPort atomic: A port of the endpoints.
  appProtocol string - What is spoken on the port.
  name string - Name of the service port; names differ within a slice.
  port int32 - Number of the port; left out means any port.
  protocol string - TCP, UDP or SCTP. Default TCP.
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE, "io.k8s.api.discovery.v1": DISCOVERY}
