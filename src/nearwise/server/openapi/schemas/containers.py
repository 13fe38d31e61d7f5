"""Containers of a pod."""

from typing import Final

# What every container has; the first line of each of the two kinds differs.
_CONTAINER: Final = """
  args [string] - Arguments. Default: those of the image.
  command [string] - Program, not run in a shell. Default: that of the image.
  env [EnvVar] map:name merge - Environment variables.
  envFrom [EnvFromSource] - Where further environment variables come from.
  image string - Its image.
  imagePullPolicy string Always|IfNotPresent|Never - When the image is pulled. Default IfNotPresent,
    or Always with the tag latest.
  lifecycle Lifecycle - What to do when it has started and before it stops.
  livenessProbe Probe - It is started again when this fails.
  name! string - Its name, unique in the pod.
  ports [ContainerPort] map:containerPort,protocol merge - Ports it listens at. Services can name
    them.
  readinessProbe Probe - The pod is not ready while this fails.
  resizePolicy [ContainerResizePolicy] - Whether it restarts when its resources change.
  resources ResourceRequirements - Resources it needs and may use.
  restartPolicy string - When it is started again, if not as the pod says.
  restartPolicyRules [ContainerRestartRule] - Restarts by exit code.
  securityContext SecurityContext - Its rights.
  startupProbe Probe - The other probes wait until this succeeds.
  stdin bool - Whether it has a standard input.
  stdinOnce bool - Whether the input closes with the first client that leaves.
  terminationMessagePath string - File for its last words. Default /dev/termination-log.
  terminationMessagePolicy string FallbackToLogsOnError|File - Where its last words are from.
    Default File.
  tty bool - Whether it has a terminal.
  volumeDevices [VolumeDevice] map:devicePath merge - Volumes it gets as devices.
  volumeMounts [VolumeMount] map:mountPath merge - Volumes it mounts.
  workingDir string - Its working directory. Default: that of the image.
"""

CORE: Final = f"""
Container: A program in a pod.{_CONTAINER}
EphemeralContainer: A program added to a running pod, to look around in it.{_CONTAINER}\
  targetContainerName string - Container whose processes it sees.

EnvVar: An environment variable.
  name! string - Its name.
  value string - Its value; $(NAME) stands for other variables.
  valueFrom EnvVarSource - Where its value comes from.

EnvVarSource: Where the value of an environment variable comes from.
  configMapKeyRef ConfigMapKeySelector - A key of a ConfigMap.
  fieldRef ObjectFieldSelector - A field of the pod.
  fileKeyRef FileKeySelector - A key in a file of a volume.
  resourceFieldRef ResourceFieldSelector - A resource of a container.
  secretKeyRef SecretKeySelector - A key of a Secret.

ConfigMapKeySelector atomic: One value of a ConfigMap.
  key! string - The key.
  name string - Name of the ConfigMap.
  optional bool - Whether it may be missing.

SecretKeySelector atomic: One value of a Secret.
  key! string - The key.
  name string - Name of the Secret.
  optional bool - Whether it may be missing.

FileKeySelector atomic: One value in a file of a volume.
  key! string - The key.
  optional bool - Whether it may be missing.
  path! string - The file, in the volume.
  volumeName! string - The volume.

ObjectFieldSelector atomic: One field of the pod itself.
  apiVersion string - API version in which the field is named. Default v1.
  fieldPath! string - The field.

ResourceFieldSelector atomic: One resource of a container.
  containerName string - The container.
  divisor Quantity - In what unit.
  resource! string - The resource: limits.cpu, say.

EnvFromSource: Where environment variables come from.
  configMapRef ConfigMapEnvSource - All keys of a ConfigMap.
  prefix string - What their names begin with.
  secretRef SecretEnvSource - All keys of a Secret.

ConfigMapEnvSource: A ConfigMap.
  name string - Its name.
  optional bool - Whether it may be missing.

SecretEnvSource: A Secret.
  name string - Its name.
  optional bool - Whether it may be missing.

Lifecycle: What to do when a container has started and before it stops.
  postStart LifecycleHandler - When it has started.
  preStop LifecycleHandler - Before it is told to stop.
  stopSignal string - Signal that tells it to stop. Default: that of the image.

LifecycleHandler: One thing to do.
  exec ExecAction - Run a program.
  httpGet HTTPGetAction - Ask over HTTP.
  sleep SleepAction - Wait.
  tcpSocket TCPSocketAction - Not supported; kept for old objects.

Probe: How to find out how a container fares.
  exec ExecAction - A program that succeeds.
  failureThreshold int32 - How many failures in a row count. Default 3.
  grpc GRPCAction - A gRPC health check that succeeds.
  httpGet HTTPGetAction - An HTTP answer from 200 to 399.
  initialDelaySeconds int32 - Seconds to wait after the start. Default 0.
  periodSeconds int32 - Seconds from one try to the next. Default 10.
  successThreshold int32 - How many successes in a row count. Default 1.
  tcpSocket TCPSocketAction - A connection that succeeds.
  terminationGracePeriodSeconds int64 - Seconds the container gets to stop when this fails.
  timeoutSeconds int32 - Seconds a try may take. Default 1.

ExecAction: A program to run in the container.
  command [string] - The program and its arguments, not run in a shell.

HTTPGetAction: A question over HTTP.
  host string - Host to ask. Default: the pod.
  httpHeaders [HTTPHeader] - Headers to send.
  path string - Path to ask for.
  port! IntOrString - Number or name of the port.
  scheme string HTTP|HTTPS - How to ask. Default HTTP.

HTTPHeader: A header to send.
  name! string - Its name.
  value! string - Its value.

GRPCAction: A gRPC health check.
  port! int32 - Number of the port.
  service string - Service to ask for.

TCPSocketAction: A TCP connection.
  host string - Host to connect to. Default: the pod.
  port! IntOrString - Number or name of the port.

SleepAction: A pause.
  seconds! int64 - Its length in seconds.

ContainerPort: A port a container listens at.
  containerPort! int32 - Its number.
  hostIP string - Address of the node at which it is open too.
  hostPort int32 - Port of the node at which it is open too.
  name string - Its name, unique in the pod. Services can use it as targetPort.
  protocol string SCTP|TCP|UDP =TCP - Transport protocol.

ContainerResizePolicy: Whether a container restarts when a resource changes.
  resourceName! string - The resource: cpu or memory.
  restartPolicy! string - NotRequired or RestartContainer.

ContainerRestartRule: A restart by exit code.
  action! string - What to do: Restart, or RestartAllContainers.
  exitCodes ContainerRestartRuleOnExitCodes - For which exit codes.

ContainerRestartRuleOnExitCodes: Exit codes.
  operator! string - In or NotIn.
  values [int32] set - The codes.

ResourceRequirements: Resources that are needed and may be used.
  claims [ResourceClaim] map:name - Devices, from resourceClaims of the pod.
  limits {{Quantity}} - The most that may be used.
  requests {{Quantity}} - What is set aside. Default: the limits.

ResourceClaim: A device of the pod.
  name! string - Its name in resourceClaims.
  request string - Which part of the claim. Default: all.

SecurityContext: Rights of a container.
  allowPrivilegeEscalation bool - Whether its processes may gain rights.
  appArmorProfile AppArmorProfile - AppArmor profile.
  capabilities Capabilities - Capabilities on top of those of the runtime.
  privileged bool - Whether it may do all that root of the node may. Default false.
  procMount string Default|Unmasked - How much of /proc it sees.
  readOnlyRootFilesystem bool - Whether its root file system is read-only. Default false.
  runAsGroup int64 - Group its processes run as.
  runAsNonRoot bool - Whether root is refused.
  runAsUser int64 - User its processes run as.
  seLinuxOptions SELinuxOptions - SELinux label.
  seccompProfile SeccompProfile - Which system calls are allowed.
  windowsOptions WindowsSecurityContextOptions - Settings for Windows.

Capabilities: Changes to the capabilities of a container.
  add [string] - Those it gets.
  drop [string] - Those it loses.

VolumeDevice: A volume as a device.
  devicePath! string - Where it appears.
  name! string - Its name in volumes of the pod.

VolumeMount: A volume that is mounted.
  mountPath! string - Where it appears.
  mountPropagation string Bidirectional|HostToContainer|None - Whether mounts in it show on the
    other side. Default None.
  name! string - Its name in volumes of the pod.
  readOnly bool - Whether it is read-only. Default false.
  recursiveReadOnly string - Whether mounts in it are read-only too: Disabled (default),
    IfPossible or Enabled.
  subPath string - Directory of the volume to mount. Default: all of it.
  subPathExpr string - The same, with environment variables as $(NAME).
"""

TABLES: Final = {"io.k8s.api.core.v1": CORE}
