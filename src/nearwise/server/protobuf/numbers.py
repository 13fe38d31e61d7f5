"""The numbers of fields in Kubernetes' protobuf messages, which have no names on the wire.

A line is a message: its fields in the order of their numbers, from 1. ``@6`` goes on with number
6. ``?`` marks a plain value that is told apart from none even when it is empty or zero (a pointer
in Go); without it an empty one means none. ``+Message`` is a field whose own fields are those of
the message around it in JSON. These are facts of the API (``generated.proto``), as of Kubernetes
1.33; fields that came later are read over.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec


class Place(msgspec.Struct, frozen=True):
    """What is under a number of a message."""

    name: str
    """The field in JSON; of an inlined message the full name of that."""
    inlined: bool = False
    kept: bool = False
    """Whether zero or empty is a value."""


Numbers = dict[int, Place]


@cache
def numbers() -> dict[str, Numbers]:
    """Return what is under the numbers of each message, by its full name; read once."""
    return {
        f"{package}.{name}": _numbers(package, words)
        for package, text in _TABLES.items()
        for name, words in _messages(text)
    }


def _messages(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in filter(None, text.splitlines()):
        if line.startswith(" "):
            found[-1][1].extend(line.split())
        else:
            name, _, rest = line.partition(":")
            found.append((name, rest.split()))
    return found


def _numbers(package: str, words: list[str]) -> Numbers:
    found: Numbers = {}
    number = 1
    for word in words:
        if word.startswith("@"):
            number = int(word[1:])
            continue
        if word.startswith("+"):
            found[number] = Place(f"{package}.{word[1:]}", inlined=True)
        else:
            found[number] = Place(word.removesuffix("?"), kept=word.endswith("?"))
        number += 1
    return found


_TABLES: Final = {
    "io.k8s.api.apps.v1": """
DaemonSet: metadata spec status
DaemonSetCondition: type status lastTransitionTime reason message
DaemonSetSpec: selector template updateStrategy minReadySeconds @6 revisionHistoryLimit?
DaemonSetStatus: currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady
  observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount?
  conditions
DaemonSetUpdateStrategy: type rollingUpdate
Deployment: metadata spec status
DeploymentCondition: type status @4 reason message lastUpdateTime lastTransitionTime
DeploymentSpec: replicas? selector template strategy minReadySeconds revisionHistoryLimit?
  paused @9 progressDeadlineSeconds?
DeploymentStatus: observedGeneration replicas updatedReplicas availableReplicas
  unavailableReplicas conditions readyReplicas collisionCount? terminatingReplicas?
DeploymentStrategy: type rollingUpdate
ReplicaSet: metadata spec status
ReplicaSetCondition: type status lastTransitionTime reason message
ReplicaSetSpec: replicas? selector template minReadySeconds
ReplicaSetStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas
  availableReplicas conditions terminatingReplicas?
RollingUpdateDaemonSet: maxUnavailable maxSurge
RollingUpdateDeployment: maxUnavailable maxSurge
RollingUpdateStatefulSetStrategy: partition? maxUnavailable
StatefulSet: metadata spec status
StatefulSetCondition: type status lastTransitionTime reason message
StatefulSetOrdinals: start
StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
StatefulSetSpec: replicas? selector template volumeClaimTemplates serviceName
  podManagementPolicy updateStrategy revisionHistoryLimit? minReadySeconds
  persistentVolumeClaimRetentionPolicy ordinals
StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas
  currentRevision updateRevision @9 collisionCount? conditions availableReplicas
StatefulSetUpdateStrategy: type rollingUpdate
""",
    "io.k8s.api.autoscaling.v1": """
Scale: metadata spec status
ScaleSpec: replicas
ScaleStatus: replicas selector
""",
    "io.k8s.api.coordination.v1": """
Lease: metadata spec
LeaseSpec: holderIdentity? leaseDurationSeconds? acquireTime renewTime leaseTransitions?
  strategy? preferredHolder?
""",
    "io.k8s.api.core.v1": """
AWSElasticBlockStoreVolumeSource: volumeID fsType partition readOnly
Affinity: nodeAffinity podAffinity podAntiAffinity
AppArmorProfile: type localhostProfile?
AttachedVolume: name devicePath
AzureDiskVolumeSource: diskName diskURI cachingMode? fsType? readOnly? kind?
AzureFileVolumeSource: secretName shareName readOnly
Binding: metadata target
CSIVolumeSource: driver readOnly? fsType? volumeAttributes nodePublishSecretRef
Capabilities: add drop
CephFSVolumeSource: monitors path user secretFile secretRef readOnly
CinderVolumeSource: volumeID fsType readOnly secretRef
ClientIPConfig: timeoutSeconds?
ClusterTrustBundleProjection: name? signerName? labelSelector path optional?
ConfigMap: metadata data binaryData immutable?
ConfigMapEnvSource: +LocalObjectReference optional?
ConfigMapKeySelector: +LocalObjectReference key optional?
ConfigMapNodeConfigSource: namespace name uid resourceVersion kubeletConfigKey
ConfigMapProjection: +LocalObjectReference items @4 optional?
ConfigMapVolumeSource: +LocalObjectReference items defaultMode? optional?
Container: name image command args workingDir ports env resources volumeMounts livenessProbe
  readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin
  stdinOnce tty envFrom terminationMessagePolicy volumeDevices startupProbe resizePolicy
  restartPolicy?
ContainerImage: names sizeBytes
ContainerPort: name hostPort containerPort protocol hostIP
ContainerResizePolicy: resourceName restartPolicy
ContainerState: waiting running terminated
ContainerStateRunning: startedAt
ContainerStateTerminated: exitCode signal reason message startedAt finishedAt containerID
ContainerStateWaiting: reason message
ContainerStatus: name state lastState ready restartCount image imageID containerID started?
  allocatedResources resources volumeMounts user allocatedResourcesStatus stopSignal
ContainerUser: linux
DaemonEndpoint: Port
DownwardAPIProjection: items
DownwardAPIVolumeFile: path fieldRef resourceFieldRef mode?
DownwardAPIVolumeSource: items defaultMode?
EmptyDirVolumeSource: medium sizeLimit
EndpointAddress: ip targetRef hostname nodeName?
EndpointPort: name port protocol appProtocol?
EndpointSubset: addresses notReadyAddresses ports
Endpoints: metadata subsets
EnvFromSource: prefix configMapRef secretRef
EnvVar: name value valueFrom
EnvVarSource: fieldRef resourceFieldRef configMapKeyRef secretKeyRef
EphemeralContainer: +EphemeralContainerCommon targetContainerName
EphemeralContainerCommon: name image command args workingDir ports env resources volumeMounts
  livenessProbe readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext
  stdin stdinOnce tty envFrom terminationMessagePolicy volumeDevices startupProbe resizePolicy
  restartPolicy?
EphemeralVolumeSource: volumeClaimTemplate
Event: metadata involvedObject reason message source firstTimestamp lastTimestamp count type
  eventTime series action related reportingComponent reportingInstance
EventSeries: count lastObservedTime
EventSource: component host
ExecAction: command
FCVolumeSource: targetWWNs lun? fsType readOnly wwids
FlexVolumeSource: driver fsType secretRef readOnly options
FlockerVolumeSource: datasetName datasetUUID
GCEPersistentDiskVolumeSource: pdName fsType partition readOnly
GRPCAction: port service?
GitRepoVolumeSource: repository revision directory
GlusterfsVolumeSource: endpoints path readOnly
HTTPGetAction: path port host scheme httpHeaders
HTTPHeader: name value
HostAlias: ip hostnames
HostIP: ip
HostPathVolumeSource: path type?
ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery
  @10 secretRef chapAuthSession initiatorName?
ImageVolumeSource: reference pullPolicy
KeyToPath: key path mode?
Lifecycle: postStart preStop stopSignal?
LifecycleHandler: exec httpGet tcpSocket sleep
LinuxContainerUser: uid gid supplementalGroups
LoadBalancerIngress: ip hostname ipMode? ports
LoadBalancerStatus: ingress
LocalObjectReference: name
ModifyVolumeStatus: targetVolumeAttributesClassName status
NFSVolumeSource: server path readOnly
Namespace: metadata spec status
NamespaceCondition: type status @4 lastTransitionTime reason message
NamespaceSpec: finalizers
NamespaceStatus: phase conditions
Node: metadata spec status
NodeAddress: type address
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
NodeCondition: type status lastHeartbeatTime lastTransitionTime reason message
NodeConfigSource: @2 configMap
NodeConfigStatus: assigned active lastKnownGood error
NodeDaemonEndpoints: kubeletEndpoint
NodeFeatures: supplementalGroupsPolicy?
NodeRuntimeHandler: name features
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts? userNamespaces?
NodeSelector: nodeSelectorTerms
NodeSelectorRequirement: key operator values
NodeSelectorTerm: matchExpressions matchFields
NodeSpec: podCIDR externalID providerID unschedulable taints configSource podCIDRs
NodeStatus: capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images
  volumesInUse volumesAttached config runtimeHandlers features
NodeSwapStatus: capacity?
NodeSystemInfo: machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion
  kubeletVersion kubeProxyVersion operatingSystem architecture swap
ObjectFieldSelector: apiVersion fieldPath
ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
PersistentVolumeClaim: metadata spec status
PersistentVolumeClaimCondition: type status lastProbeTime lastTransitionTime reason message
PersistentVolumeClaimSpec: accessModes resources volumeName selector storageClassName?
  volumeMode? dataSource dataSourceRef volumeAttributesClassName?
PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources @7
  allocatedResourceStatuses currentVolumeAttributesClassName modifyVolumeStatus
PersistentVolumeClaimTemplate: metadata spec
PersistentVolumeClaimVolumeSource: claimName readOnly
PhotonPersistentDiskVolumeSource: pdID fsType
Pod: metadata spec status
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
PodAffinityTerm: labelSelector namespaces topologyKey namespaceSelector matchLabelKeys
  mismatchLabelKeys
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
PodCondition: type status lastProbeTime lastTransitionTime reason message observedGeneration
PodDNSConfig: nameservers searches options
PodDNSConfigOption: name value?
PodIP: ip
PodOS: name
PodReadinessGate: conditionType
PodResourceClaim: name @3 resourceClaimName? resourceClaimTemplateName?
PodResourceClaimStatus: name resourceClaimName?
PodSchedulingGate: name
PodSecurityContext: seLinuxOptions runAsUser? runAsNonRoot? supplementalGroups fsGroup?
  runAsGroup? sysctls windowsOptions fsGroupChangePolicy? seccompProfile appArmorProfile
  supplementalGroupsPolicy? seLinuxChangePolicy?
PodSpec: volumes containers restartPolicy terminationGracePeriodSeconds? activeDeadlineSeconds?
  dnsPolicy nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC
  securityContext imagePullSecrets hostname subdomain affinity schedulerName initContainers
  automountServiceAccountToken? tolerations hostAliases priorityClassName priority? dnsConfig
  shareProcessNamespace? readinessGates runtimeClassName? enableServiceLinks? preemptionPolicy?
  overhead topologySpreadConstraints ephemeralContainers setHostnameAsFQDN? os hostUsers?
  schedulingGates resourceClaims resources
PodStatus: phase conditions message reason hostIP podIP startTime containerStatuses qosClass
  initContainerStatuses nominatedNodeName podIPs ephemeralContainerStatuses resize
  resourceClaimStatuses hostIPs observedGeneration
PodTemplateSpec: metadata spec
PortStatus: port protocol error?
PortworxVolumeSource: volumeID fsType readOnly
PreferredSchedulingTerm: weight preference
Probe: +ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold
  failureThreshold terminationGracePeriodSeconds?
ProbeHandler: exec httpGet tcpSocket grpc
ProjectedVolumeSource: sources defaultMode?
QuobyteVolumeSource: registry volume readOnly user group tenant
RBDVolumeSource: monitors image fsType pool user keyring secretRef readOnly
ResourceClaim: name request
ResourceFieldSelector: containerName resource divisor
ResourceHealth: resourceID health
ResourceRequirements: limits requests claims
ResourceStatus: name resources
SELinuxOptions: user role type level
ScaleIOVolumeSource: gateway system secretRef sslEnabled protectionDomain storagePool
  storageMode volumeName fsType readOnly
SeccompProfile: type localhostProfile?
SecretEnvSource: +LocalObjectReference optional?
SecretKeySelector: +LocalObjectReference key optional?
SecretProjection: +LocalObjectReference items @4 optional?
SecretVolumeSource: secretName items defaultMode? optional?
SecurityContext: capabilities privileged? seLinuxOptions runAsUser? runAsNonRoot?
  readOnlyRootFilesystem? allowPrivilegeEscalation? runAsGroup? procMount? windowsOptions
  seccompProfile appArmorProfile
Service: metadata spec status
ServiceAccount: metadata secrets imagePullSecrets automountServiceAccountToken?
ServiceAccountTokenProjection: audience expirationSeconds? path
ServicePort: name protocol port targetPort nodePort appProtocol?
ServiceSpec: ports selector clusterIP type externalIPs @7 sessionAffinity loadBalancerIP
  loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort
  publishNotReadyAddresses sessionAffinityConfig @17 ipFamilyPolicy? clusterIPs ipFamilies
  allocateLoadBalancerNodePorts? loadBalancerClass? internalTrafficPolicy? trafficDistribution?
ServiceStatus: loadBalancer conditions
SessionAffinityConfig: clientIP
SleepAction: seconds
StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly secretRef
Sysctl: name value
TCPSocketAction: port host
Taint: key value effect timeAdded
Toleration: key operator value effect tolerationSeconds?
TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable labelSelector minDomains?
  nodeAffinityPolicy? nodeTaintsPolicy? matchLabelKeys
TypedLocalObjectReference: apiGroup? kind name
TypedObjectReference: apiGroup? kind name namespace?
Volume: name +VolumeSource
VolumeDevice: name devicePath
VolumeMount: name readOnly mountPath subPath mountPropagation? subPathExpr? recursiveReadOnly?
VolumeMountStatus: name mountPath readOnly recursiveReadOnly?
VolumeProjection: secret downwardAPI configMap serviceAccountToken clusterTrustBundle
VolumeResourceRequirements: limits requests
VolumeSource: hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi
  glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile
  configMap vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO
  projected storageos csi ephemeral image
VsphereVirtualDiskVolumeSource: volumePath fsType storagePolicyName storagePolicyID
WeightedPodAffinityTerm: weight podAffinityTerm
WindowsSecurityContextOptions: gmsaCredentialSpecName? gmsaCredentialSpec? runAsUserName?
  hostProcess?
""",
    "io.k8s.api.discovery.v1": """
Endpoint: addresses conditions hostname? targetRef deprecatedTopology nodeName? zone? hints
EndpointConditions: ready? serving? terminating?
EndpointHints: forZones forNodes
EndpointPort: name? protocol? port? appProtocol?
EndpointSlice: metadata endpoints ports addressType
ForNode: name
ForZone: name
""",
    "io.k8s.api.events.v1": """
Event: metadata eventTime series reportingController reportingInstance action reason regarding
  related note type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp
  deprecatedCount
EventSeries: count lastObservedTime
""",
    "io.k8s.apimachinery.pkg.apis.meta.v1": """
Condition: type status observedGeneration lastTransitionTime reason message
DeleteOptions: gracePeriodSeconds? preconditions orphanDependents? propagationPolicy? dryRun
  ignoreStoreReadErrorWithClusterBreakingPotential
LabelSelector: matchLabels matchExpressions
LabelSelectorRequirement: key operator values
ListMeta: selfLink resourceVersion continue remainingItemCount
ManagedFieldsEntry: manager operation apiVersion time @6 fieldsType fieldsV1 subresource
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation
  creationTimestamp deletionTimestamp deletionGracePeriodSeconds? labels annotations
  ownerReferences finalizers @17 managedFields
OwnerReference: kind @3 name uid apiVersion controller? blockOwnerDeletion?
Preconditions: uid? resourceVersion?
Status: metadata status message reason details code
StatusCause: reason message field
StatusDetails: name group kind causes retryAfterSeconds uid
WatchEvent: type object
""",
}
