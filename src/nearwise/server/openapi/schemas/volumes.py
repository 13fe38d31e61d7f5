"""Volumes of a pod, and claims on storage."""

from typing import Final

CORE: Final = """
Volume: Files that containers of a pod can mount. One source, and a name.
  awsElasticBlockStore AWSElasticBlockStoreVolumeSource - AWS disk. Deprecated: use csi.
  azureDisk AzureDiskVolumeSource - Azure disk. Deprecated: use csi.
  azureFile AzureFileVolumeSource - Azure file share. Deprecated: use csi.
  cephfs CephFSVolumeSource - CephFS. Deprecated: use csi.
  cinder CinderVolumeSource - OpenStack disk. Deprecated: use csi.
  configMap ConfigMapVolumeSource - A ConfigMap, a file a key.
  csi CSIVolumeSource - Whatever a storage driver makes for the pod.
  downwardAPI DownwardAPIVolumeSource - Fields of the pod, as files.
  emptyDir EmptyDirVolumeSource - An empty directory that goes with the pod.
  ephemeral EphemeralVolumeSource - A claim that is made for the pod and goes with it.
  fc FCVolumeSource - Fibre Channel disk.
  flexVolume FlexVolumeSource - Driver on the node. Deprecated: use csi.
  flocker FlockerVolumeSource - Flocker. Deprecated.
  gcePersistentDisk GCEPersistentDiskVolumeSource - GCE disk. Deprecated: use csi.
  gitRepo GitRepoVolumeSource - A git repository. Deprecated: clone in an init container.
  glusterfs GlusterfsVolumeSource - GlusterFS. Deprecated.
  hostPath HostPathVolumeSource - A path on the node.
  image ImageVolumeSource - Contents of a container image.
  iscsi ISCSIVolumeSource - iSCSI disk.
  name! string - Its name, unique in the pod.
  nfs NFSVolumeSource - NFS.
  persistentVolumeClaim PersistentVolumeClaimVolumeSource - A claim that is there.
  photonPersistentDisk PhotonPersistentDiskVolumeSource - Photon disk. Deprecated.
  portworxVolume PortworxVolumeSource - Portworx. Deprecated: use csi.
  projected ProjectedVolumeSource - Several sources in one directory.
  quobyte QuobyteVolumeSource - Quobyte. Deprecated.
  rbd RBDVolumeSource - Ceph block device. Deprecated: use csi.
  scaleIO ScaleIOVolumeSource - ScaleIO. Deprecated.
  secret SecretVolumeSource - A Secret, a file a key.
  storageos StorageOSVolumeSource - StorageOS. Deprecated.
  vsphereVolume VsphereVirtualDiskVolumeSource - vSphere disk. Deprecated: use csi.

ConfigMapVolumeSource: A ConfigMap as files.
  defaultMode int32 - Mode of the files. Default 0644.
  items [KeyToPath] - Which keys, and where. Default: all, by their names.
  name string - Name of the ConfigMap.
  optional bool - Whether it may be missing.

SecretVolumeSource: A Secret as files.
  defaultMode int32 - Mode of the files. Default 0644.
  items [KeyToPath] - Which keys, and where. Default: all, by their names.
  optional bool - Whether it may be missing.
  secretName string - Name of the Secret.

KeyToPath: Where a key appears.
  key! string - The key.
  mode int32 - Mode of its file.
  path! string - Its file, in the volume.

DownwardAPIVolumeSource: Fields of the pod as files.
  defaultMode int32 - Mode of the files. Default 0644.
  items [DownwardAPIVolumeFile] - The files.

DownwardAPIVolumeFile: A field of the pod as a file.
  fieldRef ObjectFieldSelector - The field.
  mode int32 - Mode of the file.
  path! string - The file, in the volume.
  resourceFieldRef ResourceFieldSelector - A resource of a container instead.

EmptyDirVolumeSource: An empty directory.
  medium string - Memory, or empty for a disk of the node.
  sizeLimit Quantity - How much may be in it.

HostPathVolumeSource: A file or directory of the node.
  path! string - The path.
  type string |BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket - What
    has to be there; empty for no check.

ImageVolumeSource: A container image to mount.
  pullPolicy string Always|IfNotPresent|Never - When the image is pulled.
  reference string - The image.

CSIVolumeSource: What a storage driver makes for the pod.
  driver! string - The driver.
  fsType string - File system.
  nodePublishSecretRef LocalObjectReference - Secret the driver needs.
  readOnly bool - Whether it is read-only. Default false.
  volumeAttributes {string} - Settings of the driver.

EphemeralVolumeSource: A claim that is made for the pod.
  volumeClaimTemplate PersistentVolumeClaimTemplate - What the claim is made from.

PersistentVolumeClaimTemplate: What a claim is made from.
  metadata ObjectMeta - Labels and annotations of the claim.
  spec! PersistentVolumeClaimSpec - What is claimed.

PersistentVolumeClaimVolumeSource: The storage behind a claim.
  claimName! string - Name of the claim.
  readOnly bool - Whether it is read-only. Default false.

ProjectedVolumeSource: A directory with files of several sources.
  defaultMode int32 - Mode of the files. Default 0644.
  sources [VolumeProjection] - The sources.

VolumeProjection: One of several sources.
  clusterTrustBundle ClusterTrustBundleProjection - Certificates to trust.
  configMap ConfigMapProjection - A ConfigMap.
  downwardAPI DownwardAPIProjection - Fields of the pod.
  podCertificate PodCertificateProjection - A certificate for the pod.
  secret SecretProjection - A Secret.
  serviceAccountToken ServiceAccountTokenProjection - A token of the pod's ServiceAccount.

ClusterTrustBundleProjection: Certificates to trust, as a file.
  labelSelector LabelSelector - Which bundles of the signer.
  name string - Name of one bundle.
  optional bool - Whether it may be missing.
  path! string - The file, in the volume.
  signerName string - The signer.

ConfigMapProjection: A ConfigMap as files.
  items [KeyToPath] - Which keys, and where. Default: all, by their names.
  name string - Name of the ConfigMap.
  optional bool - Whether it may be missing.

DownwardAPIProjection: Fields of the pod as files.
  items [DownwardAPIVolumeFile] - The files.

PodCertificateProjection: A certificate and its key, as files.
  certificateChainPath string - File for the certificates.
  credentialBundlePath string - File for key and certificates.
  keyPath string - File for the key.
  keyType! string - Kind of key.
  maxExpirationSeconds int32 - Seconds it may be valid at most.
  signerName! string - Who signs it.
  userAnnotations {string} - Settings for the signer.

SecretProjection: A Secret as files.
  items [KeyToPath] - Which keys, and where. Default: all, by their names.
  name string - Name of the Secret.
  optional bool - Whether it may be missing.

ServiceAccountTokenProjection: A token, as a file.
  audience string - For whom it is. Default: the API server.
  expirationSeconds int64 - Seconds it is valid. Default 3600.
  path! string - The file, in the volume.

NFSVolumeSource: A directory of an NFS server.
  path! string - Path on the server.
  readOnly bool - Whether it is read-only. Default false.
  server! string - The server.

ISCSIVolumeSource: A disk reached over iSCSI.
  chapAuthDiscovery bool - Whether discovery is authenticated.
  chapAuthSession bool - Whether sessions are authenticated.
  fsType string - File system.
  initiatorName string - Name of the initiator.
  iqn! string - Name of the target.
  iscsiInterface string - Interface. Default default.
  lun! int32 - Number of the disk.
  portals [string] - Further addresses of the target.
  readOnly bool - Whether it is read-only. Default false.
  secretRef LocalObjectReference - Secret to authenticate with.
  targetPortal! string - Address of the target.

FCVolumeSource: A disk reached over Fibre Channel.
  fsType string - File system.
  lun int32 - Number of the disk.
  readOnly bool - Whether it is read-only. Default false.
  targetWWNs [string] - Names of the targets.
  wwids [string] - Names of the volume; instead of targets and number.

AWSElasticBlockStoreVolumeSource: AWS disk.
  fsType string - File system.
  partition int32 - Partition.
  readOnly bool - Whether it is read-only. Default false.
  volumeID! string - The disk.

AzureDiskVolumeSource: Azure disk.
  cachingMode string None|ReadOnly|ReadWrite - How it is cached.
  diskName! string - Name of the disk.
  diskURI! string - Address of the disk.
  fsType string - File system.
  kind string Dedicated|Managed|Shared - Kind of disk.
  readOnly bool - Whether it is read-only. Default false.

AzureFileVolumeSource: Azure file share.
  readOnly bool - Whether it is read-only. Default false.
  secretName! string - Secret with account and key.
  shareName! string - The share.

CephFSVolumeSource: CephFS.
  monitors! [string] - Addresses of the monitors.
  path string - Path to mount. Default /.
  readOnly bool - Whether it is read-only. Default false.
  secretFile string - File with the key.
  secretRef LocalObjectReference - Secret with the key.
  user string - User. Default admin.

CinderVolumeSource: OpenStack disk.
  fsType string - File system.
  readOnly bool - Whether it is read-only. Default false.
  secretRef LocalObjectReference - Secret to connect with.
  volumeID! string - The disk.

FlexVolumeSource: Driver on the node.
  driver! string - The driver.
  fsType string - File system.
  options {string} - Settings of the driver.
  readOnly bool - Whether it is read-only. Default false.
  secretRef LocalObjectReference - Secret the driver needs.

FlockerVolumeSource: Flocker.
  datasetName string - Name of the data set.
  datasetUUID string - Identity of the data set.

GCEPersistentDiskVolumeSource: GCE disk.
  fsType string - File system.
  partition int32 - Partition.
  pdName! string - The disk.
  readOnly bool - Whether it is read-only. Default false.

GitRepoVolumeSource: A git repository.
  directory string - Directory it is cloned into.
  repository! string - Its address.
  revision string - Commit to check out.

GlusterfsVolumeSource: GlusterFS.
  endpoints! string - Endpoints of the servers.
  path! string - The volume.
  readOnly bool - Whether it is read-only. Default false.

PhotonPersistentDiskVolumeSource: Photon disk.
  fsType string - File system.
  pdID! string - The disk.

PortworxVolumeSource: Portworx.
  fsType string - File system.
  readOnly bool - Whether it is read-only. Default false.
  volumeID! string - The volume.

QuobyteVolumeSource: Quobyte.
  group string - Group that owns the files.
  readOnly bool - Whether it is read-only. Default false.
  registry! string - Address of the registry.
  tenant string - The tenant.
  user string - User that owns the files.
  volume! string - The volume.

RBDVolumeSource: Ceph block device.
  fsType string - File system.
  image! string - The image.
  keyring string - File with the key. Default /etc/ceph/keyring.
  monitors! [string] - Addresses of the monitors.
  pool string - The pool. Default rbd.
  readOnly bool - Whether it is read-only. Default false.
  secretRef LocalObjectReference - Secret with the key.
  user string - User. Default admin.

ScaleIOVolumeSource: ScaleIO.
  fsType string - File system. Default xfs.
  gateway! string - Address of the gateway.
  protectionDomain string - The protection domain.
  readOnly bool - Whether it is read-only. Default false.
  secretRef! LocalObjectReference - Secret to connect with.
  sslEnabled bool - Whether TLS is used. Default false.
  storageMode string - ThickProvisioned or ThinProvisioned (default).
  storagePool string - The storage pool.
  system! string - The storage system.
  volumeName string - The volume.

StorageOSVolumeSource: StorageOS.
  fsType string - File system.
  readOnly bool - Whether it is read-only. Default false.
  secretRef LocalObjectReference - Secret to connect with.
  volumeName string - The volume.
  volumeNamespace string - Namespace of the volume. Default: the pod's.

VsphereVirtualDiskVolumeSource: vSphere disk.
  fsType string - File system.
  storagePolicyID string - Identity of the storage policy.
  storagePolicyName string - Name of the storage policy.
  volumePath! string - The disk.

PersistentVolumeClaim: A claim on storage.
  metadata ObjectMeta - Name, labels, owners and history.
  spec PersistentVolumeClaimSpec - What is claimed.
  status PersistentVolumeClaimStatus - What was given.

PersistentVolumeClaimSpec: A wish for storage.
  accessModes [string] - ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
  dataSource TypedLocalObjectReference - What it is filled with: a snapshot or another claim.
  dataSourceRef TypedObjectReference - The same, for all kinds of sources.
  resources VolumeResourceRequirements - How much.
  selector LabelSelector - Which volumes.
  storageClassName string - Which class of storage.
  volumeAttributesClassName string - Which settings of the driver.
  volumeMode string Block|Filesystem - As a device or as files. Default Filesystem.
  volumeName string - The volume it is bound to.

VolumeResourceRequirements: How much storage.
  limits {Quantity} - The most.
  requests {Quantity} - The least.

PersistentVolumeClaimStatus: What became of a claim.
  accessModes [string] - How it can be used.
  allocatedResourceStatuses {string} granular - How a change of size goes.
  allocatedResources {Quantity} - What is being set aside.
  capacity {Quantity} - How much it has.
  conditions [PersistentVolumeClaimCondition] map:type merge - How changes go.
  currentVolumeAttributesClassName string - Settings of the driver in force.
  modifyVolumeStatus ModifyVolumeStatus - How a change of settings goes.
  phase string Bound|Lost|Pending - Whether it has a volume.

PersistentVolumeClaimCondition: One aspect of a claim.
  lastProbeTime Time - When it was last looked at.
  lastTransitionTime Time - When status last changed.
  message string - Explanation for people.
  reason string - Explanation for programs.
  status! string - True, False or Unknown.
  type! string - Which aspect.

ModifyVolumeStatus: A change of the settings of the driver.
  status! string InProgress|Infeasible|Pending - Where it is.
  targetVolumeAttributesClassName string - The settings wanted.
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE}
