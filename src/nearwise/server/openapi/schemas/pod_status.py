"""Pods: how they fare."""

from typing import Final

CORE: Final = """
PodStatus: How a pod fares.
  allocatedResources {Quantity} - Resources set aside on the node.
  conditions [PodCondition] map:type merge - Ready, Initialized, PodScheduled, ...
  containerStatuses [ContainerStatus] - How its containers fare.
  ephemeralContainerStatuses [ContainerStatus] - How its ephemeral containers fare.
  extendedResourceClaimStatus PodExtendedResourceClaimStatus - Devices behind extended resources.
  hostIP string - Address of its node.
  hostIPs [HostIP] merge:ip - Addresses of its node.
  initContainerStatuses [ContainerStatus] - How its init containers fare.
  message string - Why it is in this phase, for people.
  nodeAllocatableResourceClaimStatuses [NodeAllocatableResourceClaimStatus] - Resources of the node
    it has through claims.
  nominatedNodeName string - Node that is being cleared for it.
  observedGeneration int64 - The generation that has been acted on.
  phase string Failed|Pending|Running|Succeeded|Unknown - Where it is in its life.
  podIP string - Its address; the first of podIPs.
  podIPs [PodIP] map:ip merge - Its addresses, at most one a family.
  qosClass string BestEffort|Burstable|Guaranteed - How well its resources are assured.
  reason string - Why it is in this phase, for programs: Evicted, say.
  resize string - How a change of its resources goes. Now told by conditions.
  resourceClaimStatuses [PodResourceClaimStatus] map:name merge retainKeys - Its claims on devices.
  resources ResourceRequirements - Resources in force for the pod.
  startTime Time - When its node took it up.

PodCondition: One aspect of how a pod fares.
  lastProbeTime Time - When it was last looked at.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  observedGeneration int64 - The generation the condition was found for.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

ContainerStatus: How a container fares.
  allocatedResources {Quantity} - Resources set aside on the node.
  allocatedResourcesStatus [ResourceStatus] map:name merge - How its devices fare.
  containerID string - What the runtime calls it.
  image! string - The image it runs.
  imageID! string - What the runtime calls the image.
  lastState ContainerState - How it ended the last time.
  name! string - Its name.
  ready! bool - Whether its readiness probe succeeds.
  resources ResourceRequirements - Resources in force.
  restartCount! int32 - How often it was started again.
  started bool - Whether it is past its start.
  state ContainerState - What it does now.
  stopSignal string - Signal that tells it to stop.
  user ContainerUser - Who its first process runs as.
  volumeMounts [VolumeMountStatus] map:mountPath merge - What became of its mounts.

ContainerState: What a container does. One of three.
  running ContainerStateRunning - It runs.
  terminated ContainerStateTerminated - It has ended.
  waiting ContainerStateWaiting - It has not started.

ContainerStateRunning: A container that runs.
  startedAt Time - Since when.

ContainerStateTerminated: A container that has ended.
  containerID string - What the runtime called it.
  exitCode! int32 - Its exit code.
  finishedAt Time - When it ended.
  message string - Its last words.
  reason string - Why, for programs: Completed, Error, OOMKilled, ...
  signal int32 - Signal that ended it.
  startedAt Time - When it had started.

ContainerStateWaiting: A container that has not started.
  message string - Why, for people.
  reason string - Why, for programs: CrashLoopBackOff, ImagePullBackOff, ...

ContainerUser: Who a process runs as.
  linux LinuxContainerUser - On Linux.

LinuxContainerUser: Who a process runs as.
  gid! int64 - Its group.
  supplementalGroups [int64] - Its further groups.
  uid! int64 - Its user.

ResourceStatus: How devices of one resource fare.
  name! string - The resource.
  resources [ResourceHealth] map:resourceID - The devices.

ResourceHealth: How a device fares.
  health string - Healthy, Unhealthy or Unknown.
  message string - Explanation for people.
  resourceID! string - The device.

VolumeMountStatus: What became of a mount.
  mountPath! string - Where it is.
  name! string - The volume.
  readOnly bool - Whether it is read-only.
  recursiveReadOnly string - Whether mounts in it are read-only too.
  volumeStatus VolumeStatus - More about the volume.

VolumeStatus: More about a mounted volume.
  image ImageVolumeStatus - For volumes from an image.

ImageVolumeStatus: A volume from an image.
  imageRef! string - The image, by its digest.

HostIP: An address of a node.
  ip! string - The address.

PodIP: An address of a pod.
  ip! string - The address.

PodResourceClaimStatus: A claim on devices.
  name! string - What it is called in the pod.
  resourceClaimName string - The ResourceClaim that was made for it.

PodExtendedResourceClaimStatus: A claim that was made for extended resources.
  requestMappings! [ContainerExtendedResourceRequest] - Which request is whose.
  resourceClaimName! string - The ResourceClaim that was made for them.

ContainerExtendedResourceRequest: A request for an extended resource.
  containerName! string - The container.
  requestName! string - The request in the claim.
  resourceName! string - The extended resource.

NodeAllocatableResourceClaimStatus: Resources of the node that a claim takes.
  containers [string] set - Containers that use the claim.
  resourceClaimName! string - The ResourceClaim.
  resources! {Quantity} - The resources.
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE}
