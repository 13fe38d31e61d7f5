"""Nodes and namespaces: where objects live."""

from typing import Final

CORE: Final = """
Namespace: A room in which names are unique.
  metadata ObjectMeta - Name, labels, owners and history.
  spec NamespaceSpec - What it needs before it can go.
  status NamespaceStatus - Whether it is in use or on its way out.

NamespaceSpec: What a namespace needs before it can go.
  finalizers [string] - Who must empty it first.

NamespaceStatus: Whether a namespace is in use or on its way out.
  conditions [NamespaceCondition] map:type merge - How its removal goes.
  phase string Active|Terminating - Whether it is in use or on its way out.

NamespaceCondition: One aspect of the removal of a namespace.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

Node: A machine that runs pods.
  metadata ObjectMeta - Name, labels (zone and region among them), owners and history.
  spec NodeSpec - How the node is to be used.
  status NodeStatus - What the node has and how it fares.

NodeSpec: How a node is to be used.
  configSource NodeConfigSource - No longer used.
  externalID string - No longer used.
  podCIDR string - Network from which its pods get addresses; the first of podCIDRs.
  podCIDRs [string] set merge - Networks from which its pods get addresses, one a family.
  providerID string - What the cloud calls the machine.
  taints [Taint] - What keeps pods away that do not tolerate it.
  unschedulable bool - Whether no new pods are put on it.

NodeConfigSource: No longer used: where settings of the kubelet are.
  configMap ConfigMapNodeConfigSource - No longer used.

ConfigMapNodeConfigSource: No longer used: a ConfigMap with settings of the kubelet.
  kubeletConfigKey! string - Key in the ConfigMap.
  name! string - Name of the ConfigMap.
  namespace! string - Namespace of the ConfigMap.
  resourceVersion string - Version of the ConfigMap.
  uid string - Identity of the ConfigMap.

Taint: Keeps pods away from a node that do not tolerate it.
  effect! string NoExecute|NoSchedule|PreferNoSchedule - What becomes of such pods.
  key! string - Name of the taint.
  timeAdded Time - When it was added.
  value string - Value of the taint.

NodeStatus: What a node has and how it fares.
  addresses [NodeAddress] map:type merge - Where the node is reached.
  allocatable {Quantity} - What pods may use. CPU counts for hints by CPU share.
  capacity {Quantity} - What the machine has.
  conditions [NodeCondition] map:type merge - How it fares; Ready is the one that counts.
  config NodeConfigStatus - No longer used.
  daemonEndpoints NodeDaemonEndpoints - Ports of what runs on the node itself.
  declaredFeatures [string] - Features that the node says it has.
  features NodeFeatures - Features of its container runtime.
  images [ContainerImage] - Container images on the node.
  nodeInfo NodeSystemInfo - Versions and identities.
  phase string Pending|Running|Terminated - No longer used.
  runtimeHandlers [NodeRuntimeHandler] - Ways in which it can run containers.
  volumesAttached [AttachedVolume] - Volumes that are attached.
  volumesInUse [string] - Volumes that are attached and mounted.

NodeAddress: Where a node is reached.
  address! string - The address.
  type! string - Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.

NodeCondition: One aspect of how a node fares.
  lastHeartbeatTime Time - When it was last looked at.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect: Ready, MemoryPressure, ...

NodeConfigStatus: No longer used: which settings the kubelet has.
  active NodeConfigSource - No longer used.
  assigned NodeConfigSource - No longer used.
  error string - No longer used.
  lastKnownGood NodeConfigSource - No longer used.

NodeDaemonEndpoints: Where programs of the node listen.
  kubeletEndpoint DaemonEndpoint - Where the kubelet listens.

DaemonEndpoint: A port on the node.
  Port! int32 - Its number.

NodeFeatures: Features of the container runtime.
  supplementalGroupsPolicy bool - Whether it knows supplementalGroupsPolicy.

ContainerImage: A container image on a node.
  names [string] - What it is called.
  sizeBytes int64 - Its size in bytes.

NodeSystemInfo: Versions and identities of a node.
  architecture! string - Its processor architecture.
  bootID! string - Differs after each start.
  containerRuntimeVersion! string - Container runtime and its version.
  kernelVersion! string - Version of the kernel.
  kubeProxyVersion! string - No longer kept.
  kubeletVersion! string - Version of the kubelet.
  machineID! string - Identity of the system.
  operatingSystem! string - linux or windows.
  osImage! string - Name of the operating system.
  swap NodeSwapStatus - Its swap space.
  systemUUID! string - Identity of the hardware.

NodeSwapStatus: Swap space of a node.
  capacity int64 - Its size in bytes.

NodeRuntimeHandler: One way to run containers.
  features NodeRuntimeHandlerFeatures - What it can do.
  name string - Its name; empty for the default.

NodeRuntimeHandlerFeatures: What a way to run containers can do.
  recursiveReadOnlyMounts bool - Whether it knows recursive read-only mounts.
  userNamespaces bool - Whether it knows user namespaces.

AttachedVolume: A volume that is attached to a node.
  devicePath! string - Where it appears.
  name! string - Its name.
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE}
