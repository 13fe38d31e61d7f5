"""What makes pods: Deployments, ReplicaSets, DaemonSets, StatefulSets."""

from typing import Final

APPS: Final = """
Deployment: Keeps a number of equal pods running and replaces them step by step on a change.
  metadata ObjectMeta - Name, labels, owners and history.
  spec DeploymentSpec - Which pods, how many, and how they are replaced.
  status DeploymentStatus - How far it is.

DeploymentSpec: What a Deployment is to keep running.
  minReadySeconds int32 - Seconds a pod must be ready before it counts as available. Default 0.
  paused bool - Whether changes of the template wait.
  progressDeadlineSeconds int32 - Seconds without progress after which it has failed. Default 600.
  replicas int32 - How many pods. Default 1.
  revisionHistoryLimit int32 - How many old ReplicaSets to keep. Default 10.
  selector! LabelSelector - Which pods are its own. Must fit the template; cannot be changed.
  strategy DeploymentStrategy retainKeys - How pods are replaced.
  template! PodTemplateSpec - What the pods are made from.

DeploymentStrategy: A way to replace the pods of a Deployment.
  rollingUpdate RollingUpdateDeployment - Details of RollingUpdate.
  type string Recreate|RollingUpdate - Recreate: all at once. RollingUpdate (default): by and by.

RollingUpdateDeployment: How many pods may be too many or missing during a replacement.
  maxSurge IntOrString - How many above the number wanted, or a percentage. Default 25%.
  maxUnavailable IntOrString - How many may be missing, or a percentage. Default 25%.

DeploymentStatus: How far a Deployment is.
  availableReplicas int32 - Pods that have been ready for long enough.
  collisionCount int32 - How often a name for a new ReplicaSet was taken.
  conditions [DeploymentCondition] map:type merge - Available, Progressing, ReplicaFailure.
  observedGeneration int64 - The generation that has been acted on.
  readyReplicas int32 - Pods that are ready.
  replicas int32 - Pods that are not terminating.
  terminatingReplicas int32 - Pods that are terminating.
  unavailableReplicas int32 - Pods that are still missing.
  updatedReplicas int32 - Pods made from the present template.

DeploymentCondition: One aspect of a Deployment.
  lastTransitionTime Time - When status last changed.
  lastUpdateTime Time - When the condition was last written.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

ReplicaSet: Keeps a number of equal pods running. Mostly made by a Deployment.
  metadata ObjectMeta - Name, labels, owners and history.
  spec ReplicaSetSpec - Which pods, and how many.
  status ReplicaSetStatus - How far it is.

ReplicaSetSpec: What a ReplicaSet is to keep running.
  minReadySeconds int32 - Seconds a pod must be ready before it counts as available. Default 0.
  replicas int32 - How many pods. Default 1.
  selector! LabelSelector - Which pods are its own. Must fit the template; cannot be changed.
  template PodTemplateSpec - What the pods are made from.

ReplicaSetStatus: How far a ReplicaSet is.
  availableReplicas int32 - Pods that have been ready for long enough.
  conditions [ReplicaSetCondition] map:type merge - What went wrong.
  fullyLabeledReplicas int32 - Pods that have all labels of the template.
  observedGeneration int64 - The generation that has been acted on.
  readyReplicas int32 - Pods that are ready.
  replicas! int32 - Pods that are not terminating.
  terminatingReplicas int32 - Pods that are terminating.

ReplicaSetCondition: One aspect of a ReplicaSet.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

DaemonSet: Keeps one pod on each of the nodes it is meant for.
  metadata ObjectMeta - Name, labels, owners and history.
  spec DaemonSetSpec - Which pods, and how they are replaced.
  status DaemonSetStatus - How far it is.

DaemonSetSpec: What a DaemonSet is to keep running.
  minReadySeconds int32 - Seconds a pod must be ready before it counts as available. Default 0.
  revisionHistoryLimit int32 - How many old versions to keep. Default 10.
  selector! LabelSelector - Which pods are its own. Must fit the template; cannot be changed.
  template! PodTemplateSpec - What the pods are made from, and on which nodes they are meant to be.
  updateStrategy DaemonSetUpdateStrategy - How pods are replaced.

DaemonSetUpdateStrategy: A way to replace the pods of a DaemonSet.
  rollingUpdate RollingUpdateDaemonSet - Details of RollingUpdate.
  type string OnDelete|RollingUpdate - OnDelete: when somebody deletes them. RollingUpdate
    (default): by and by.

RollingUpdateDaemonSet: How many nodes may have two pods or none during a replacement.
  maxSurge IntOrString - On how many nodes the new pod starts first, or a percentage. Default 0.
  maxUnavailable IntOrString - On how many nodes the old pod goes first. Default 1.

DaemonSetStatus: How far a DaemonSet is.
  collisionCount int32 - How often a name for a new version was taken.
  conditions [DaemonSetCondition] map:type merge - What went wrong.
  currentNumberScheduled! int32 - Nodes that have the pod and should.
  desiredNumberScheduled! int32 - Nodes that should have the pod.
  numberAvailable int32 - Nodes whose pod has been ready for long enough.
  numberMisscheduled! int32 - Nodes that have the pod and should not.
  numberReady! int32 - Nodes whose pod is ready.
  numberUnavailable int32 - Nodes that should have an available pod and have none.
  observedGeneration int64 - The generation that has been acted on.
  updatedNumberScheduled int32 - Nodes whose pod is made from the present template.

DaemonSetCondition: One aspect of a DaemonSet.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

StatefulSet: Keeps a number of pods running that have a name and storage of their own.
  metadata ObjectMeta - Name, labels, owners and history.
  spec StatefulSetSpec - Which pods, how many, and how they are replaced.
  status StatefulSetStatus - How far it is.

StatefulSetSpec: What a StatefulSet is to keep running.
  minReadySeconds int32 - Seconds a pod must be ready before it counts as available. Default 0.
  ordinals StatefulSetOrdinals - How the pods are numbered.
  persistentVolumeClaimRetentionPolicy StatefulSetPersistentVolumeClaimRetentionPolicy - What
    becomes of the claims of pods that go.
  podManagementPolicy string OrderedReady|Parallel - One after the other (default), or at once.
  replicas int32 - How many pods. Default 1.
  revisionHistoryLimit int32 - How many old versions to keep. Default 10.
  selector! LabelSelector - Which pods are its own. Must fit the template; cannot be changed.
  serviceName string - Headless service that gives the pods their DNS names.
  template! PodTemplateSpec - What the pods are made from.
  updateStrategy StatefulSetUpdateStrategy - How pods are replaced.
  volumeClaimTemplates [PersistentVolumeClaim] - Claims made for each pod.

StatefulSetOrdinals: Numbers of pods.
  start int32 - Number of the first one. Default 0.

StatefulSetPersistentVolumeClaimRetentionPolicy: What becomes of claims.
  whenDeleted string - When the StatefulSet is deleted: Retain (default) or Delete.
  whenScaled string - When it is made smaller: Retain (default) or Delete.

StatefulSetUpdateStrategy: A way to replace the pods of a StatefulSet.
  rollingUpdate RollingUpdateStatefulSetStrategy - Details of RollingUpdate.
  type string OnDelete|RollingUpdate - OnDelete: when somebody deletes them. RollingUpdate
    (default): from the last to the first.

RollingUpdateStatefulSetStrategy: How far and how fast a replacement goes.
  maxUnavailable IntOrString - How many pods may be missing, or a percentage. Default 1.
  partition int32 - Pods with lower numbers stay as they are. Default 0.

StatefulSetStatus: How far a StatefulSet is.
  availableReplicas int32 - Pods that have been ready for long enough.
  collisionCount int32 - How often a name for a new version was taken.
  conditions [StatefulSetCondition] map:type merge - What went wrong.
  currentReplicas int32 - Pods of the version in currentRevision.
  currentRevision string - Version of the pods that have not been replaced.
  observedGeneration int64 - The generation that has been acted on.
  readyReplicas int32 - Pods that are ready.
  replicas! int32 - Pods that are there.
  updateRevision string - Version of the pods that have been replaced.
  updatedReplicas int32 - Pods of the version in updateRevision.

StatefulSetCondition: One aspect of a StatefulSet.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.
"""

CORE: Final = """
PodTemplateSpec: What pods are made from.
  metadata ObjectMeta - Labels and annotations of the pods.
  spec PodSpec - What the pods run.
"""

AUTOSCALING: Final = """
Scale: The number of pods of something, in a form that is the same for all kinds.
  metadata ObjectMeta - Name, labels, owners and history.
  spec ScaleSpec - How many are wanted.
  status ScaleStatus - How many there are.

ScaleSpec: A number of pods that is wanted.
  replicas int32 - The number.

ScaleStatus: A number of pods that there are.
  replicas! int32 - The number.
  selector string - Label selector of the pods.
"""

TABLES: Final = {
    "io.k8s.api.apps.v1": APPS,
    "io.k8s.api.autoscaling.v1": AUTOSCALING,
    "io.k8s.api.core.v1": CORE,
}
