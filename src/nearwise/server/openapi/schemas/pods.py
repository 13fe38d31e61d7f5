"""Pods: what is wanted of them. Their containers and volumes have files of their own."""

from typing import Final

CORE: Final = """
Pod: Containers that run together on one node and share its addresses.
  metadata ObjectMeta - Name, labels, owners and history.
  spec PodSpec - What it runs, and where.
  status PodStatus - How it fares.

PodSpec: What a pod runs, and where.
  activeDeadlineSeconds int64 - Seconds after which it is stopped and counts as failed.
  affinity Affinity - Near what, and far from what, it should be.
  automountServiceAccountToken bool - Whether containers get the token of its ServiceAccount.
  containers! [Container] map:name merge - Its containers, at least one.
  dnsConfig PodDNSConfig - DNS settings on top of dnsPolicy.
  dnsPolicy string ClusterFirst|ClusterFirstWithHostNet|Default|None - Whom it asks for names.
    Default ClusterFirst.
  enableServiceLinks bool - Whether services show up as environment variables. Default true.
  ephemeralContainers [EphemeralContainer] map:name merge - Containers added to look around.
  hostAliases [HostAlias] map:ip merge - Lines for /etc/hosts.
  hostIPC bool - Whether it uses the node's IPC namespace.
  hostNetwork bool - Whether it uses the node's network: no addresses of its own.
  hostPID bool - Whether it sees the node's processes.
  hostUsers bool - Whether it uses the node's user namespace. Default true.
  hostname string - Its host name. Default: its name.
  hostnameOverride string - Its host name, taken as it is.
  imagePullSecrets [LocalObjectReference] map:name merge - Secrets to pull images with.
  initContainers [Container] map:name merge - Containers that run before the others, in order. One
    that restarts Always keeps running beside them.
  nodeName string - Node it is on. Empty until it is scheduled.
  nodeSelector {string} atomic - Labels a node must have.
  os PodOS - Operating system it is made for.
  overhead {Quantity} - Resources for running it at all. From its runtime class.
  preemptionPolicy string Never|PreemptLowerPriority - Whether it may push others out.
  priority int32 - Its priority. From its priority class.
  priorityClassName string - Its priority class.
  readinessGates [PodReadinessGate] - Conditions that must be true too for it to be ready.
  resourceClaims [PodResourceClaim] map:name merge retainKeys - Devices it uses.
  resources ResourceRequirements - Resources of all its containers together.
  restartPolicy string Always|Never|OnFailure - When its containers are started again. Default
    Always.
  runtimeClassName string - How its containers are run.
  schedulerName string - Who finds a node for it.
  schedulingGates [PodSchedulingGate] map:name merge - While there is one, it is not scheduled.
  schedulingGroup PodSchedulingGroup - Pods it is to be scheduled with.
  securityContext PodSecurityContext - Rights of its containers.
  serviceAccount string - Old name of serviceAccountName.
  serviceAccountName string - Who it is to the API server.
  setHostnameAsFQDN bool - Whether its host name is the full one. Default false.
  shareProcessNamespace bool - Whether its containers see each other's processes. Default false.
  subdomain string - Headless service that gives it a DNS name.
  terminationGracePeriodSeconds int64 - Seconds it gets to stop. Default 30.
  tolerations [Toleration] - Taints of nodes that do not keep it away.
  topologySpreadConstraints [TopologySpreadConstraint] map:topologyKey,whenUnsatisfiable merge -
    How evenly such pods are to be spread.
  volumes [Volume] map:name merge retainKeys - Volumes its containers can mount.

Affinity: Near what, and far from what, a pod should be.
  nodeAffinity NodeAffinity - On which nodes.
  podAffinity PodAffinity - Near which pods.
  podAntiAffinity PodAntiAffinity - Far from which pods.

NodeAffinity: On which nodes a pod should be.
  preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm] - Wishes.
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector - Musts.

PreferredSchedulingTerm: A wish about nodes.
  preference! NodeSelectorTerm - Which nodes.
  weight! int32 - How strong the wish is, 1 to 100.

NodeSelector atomic: Chooses nodes. One of its terms must hold.
  nodeSelectorTerms! [NodeSelectorTerm] - The terms.

NodeSelectorTerm atomic: Chooses nodes. All of its conditions must hold.
  matchExpressions [NodeSelectorRequirement] - Conditions on labels.
  matchFields [NodeSelectorRequirement] - Conditions on fields.

NodeSelectorRequirement: A condition on one label or field of a node.
  key! string - The label or field.
  operator! string DoesNotExist|Exists|Gt|In|Lt|NotIn - How it is compared.
  values [string] - With what. One number for Gt and Lt.

PodAffinity: Near which pods a pod should be.
  preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm] - Wishes.
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm] - Musts.

PodAntiAffinity: Far from which pods a pod should be.
  preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm] - Wishes.
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm] - Musts.

WeightedPodAffinityTerm: A wish about other pods.
  podAffinityTerm! PodAffinityTerm - Which pods.
  weight! int32 - How strong the wish is, 1 to 100.

PodAffinityTerm: Other pods, and what counts as the same place.
  labelSelector LabelSelector - Which pods.
  matchLabelKeys [string] - Labels in which they must be like this pod.
  mismatchLabelKeys [string] - Labels in which they must differ from this pod.
  namespaceSelector LabelSelector - In which namespaces, by label.
  namespaces [string] - In which namespaces, by name. Default: the pod's own.
  topologyKey! string - Nodes alike in this label are one place.

TopologySpreadConstraint: How evenly pods are to be spread.
  labelSelector LabelSelector - Which pods are counted.
  matchLabelKeys [string] - Labels in which they must be like this pod.
  maxSkew! int32 - By how many pods places may differ.
  minDomains int32 - How many places there must be at least.
  nodeAffinityPolicy string Honor|Ignore - Whether only nodes count that the pod may be on.
  nodeTaintsPolicy string Honor|Ignore - Whether nodes do not count whose taints keep it away.
  topologyKey! string - Nodes alike in this label are one place.
  whenUnsatisfiable! string DoNotSchedule|ScheduleAnyway - Whether it is a must or a wish.

Toleration: Taints that do not keep a pod away.
  effect string NoExecute|NoSchedule|PreferNoSchedule - Of this effect; empty for all.
  key string - Of this name; empty for all.
  operator string Equal|Exists|Gt|Lt - How value is compared. Default Equal.
  tolerationSeconds int64 - For how long, with NoExecute. Default: for ever.
  value string - Of this value.

PodDNSConfig: DNS settings.
  nameservers [string] - Name servers to ask as well.
  options [PodDNSConfigOption] - Options of the resolver.
  searches [string] - Domains to look in as well.

PodDNSConfigOption: An option of the resolver.
  name string - Its name.
  value string - Its value.

HostAlias: A line for /etc/hosts.
  hostnames [string] - Names of the address.
  ip! string - The address.

PodOS: An operating system.
  name! string - linux or windows.

PodReadinessGate: A condition that must be true for the pod to be ready.
  conditionType! string - Type of the condition.

PodSchedulingGate: Keeps a pod from being scheduled.
  name! string - Its name.

PodSchedulingGroup: Pods that are scheduled together.
  podGroupName string - Name of their group.

PodResourceClaim: A claim on devices.
  name! string - What it is called in the pod.
  resourceClaimName string - Name of a ResourceClaim that is there.
  resourceClaimTemplateName string - Template to make a ResourceClaim from.

PodSecurityContext: Rights of all containers of a pod.
  appArmorProfile AppArmorProfile - AppArmor profile.
  fsGroup int64 - Group that owns its volumes.
  fsGroupChangePolicy string Always|OnRootMismatch - When volumes are given to the group.
  runAsGroup int64 - Group its processes run as.
  runAsNonRoot bool - Whether root is refused.
  runAsUser int64 - User its processes run as.
  seLinuxChangePolicy string - How volumes get their SELinux label: MountOption or Recursive.
  seLinuxOptions SELinuxOptions - SELinux label.
  seccompProfile SeccompProfile - Which system calls are allowed.
  supplementalGroups [int64] - Further groups of its processes.
  supplementalGroupsPolicy string Merge|Strict - Whether groups of the image count too.
  sysctls [Sysctl] - Kernel settings.
  windowsOptions WindowsSecurityContextOptions - Settings for Windows.

Sysctl: A kernel setting.
  name! string - Its name.
  value! string - Its value.

AppArmorProfile: An AppArmor profile.
  localhostProfile string - Name of a profile on the node, for Localhost.
  type! string Localhost|RuntimeDefault|Unconfined - Which one.

SeccompProfile: A list of system calls that are allowed.
  localhostProfile string - File of a profile on the node, for Localhost.
  type! string Localhost|RuntimeDefault|Unconfined - Which profile.

SELinuxOptions: An SELinux label.
  level string - Its level.
  role string - Its role.
  type string - Its type.
  user string - Its user.

WindowsSecurityContextOptions: Rights that only Windows knows.
  gmsaCredentialSpec string - Managed service account, written out.
  gmsaCredentialSpecName string - Managed service account, by name.
  hostProcess bool - Whether containers run as processes of the node.
  runAsUserName string - User its processes run as.
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE}
