"""Small kinds: events, leases, ConfigMaps, ServiceAccounts, references to other objects."""

from typing import Final

CORE: Final = """
ObjectReference atomic: Names an object, or a part of one.
  apiVersion string - Its API version.
  fieldPath string - The part: spec.containers{name}, say.
  kind string - Its kind.
  name string - Its name.
  namespace string - Its namespace.
  resourceVersion string - Its version.
  uid string - Its identity.

LocalObjectReference atomic: Names an object in the same namespace.
  name string - Its name.

TypedLocalObjectReference atomic: Names an object of some kind in the same namespace.
  apiGroup string - Its group; empty for the core group.
  kind! string - Its kind.
  name! string - Its name.

TypedObjectReference: Names an object of some kind.
  apiGroup string - Its group; empty for the core group.
  kind! string - Its kind.
  name! string - Its name.
  namespace string - Its namespace; empty for the same one.

Binding: Puts a pod on a node.
  metadata ObjectMeta - Name of the pod.
  target! ObjectReference - The node.

Event: Something that happened to an object, told once or counted.
  action string - What was done.
  count int32 - How often it happened.
  eventTime MicroTime - When it first happened.
  firstTimestamp Time - When it was first told.
  involvedObject! ObjectReference - To what it happened.
  lastTimestamp Time - When it was last told.
  message string - Explanation for people.
  metadata! ObjectMeta - Name, labels, owners and history.
  reason string - Explanation for programs, in one word.
  related ObjectReference - What else it is about.
  reportingComponent string - Name of the controller that told it.
  reportingInstance string - Which instance of the controller.
  series EventSeries - Its repetitions, if it goes on.
  source EventSource - Who told it, in the older form.
  type string - Normal or Warning.

EventSeries: Repetitions of an event.
  count int32 - How many so far.
  lastObservedTime MicroTime - When the last one was.

EventSource: Who told an event.
  component string - Name of the program.
  host string - Node it runs on.

ConfigMap: Settings for others to read.
  binaryData {byte} - Values that are no text, in base64.
  data {string} - Values that are text.
  immutable bool - Whether the values can no longer be changed.
  metadata ObjectMeta - Name, labels, owners and history.

ServiceAccount: Who a program is.
  automountServiceAccountToken bool - Whether pods of the account get its token. Default true.
  imagePullSecrets [LocalObjectReference] - Secrets with which its pods' images are pulled.
  metadata ObjectMeta - Name, labels, owners and history.
  secrets [ObjectReference] map:name merge - Secrets that its pods may use. Deprecated.
"""

EVENTS: Final = """
Event: Something that happened to an object, told once or counted.
  action string - What was done or went wrong. Required for new events.
  deprecatedCount int32 - How often it happened, in the older form.
  deprecatedFirstTimestamp Time - When it was first told, in the older form.
  deprecatedLastTimestamp Time - When it was last told, in the older form.
  deprecatedSource EventSource - Who told it, in the older form.
  eventTime! MicroTime - When it first happened.
  metadata ObjectMeta - Name, labels, owners and history.
  note string - Explanation for people, at most 1024 bytes.
  reason string - Explanation for programs, in one word.
  regarding ObjectReference - To what it happened.
  related ObjectReference - What else it is about.
  reportingController string - Name of the controller that told it. Required for new events.
  reportingInstance string - Which instance of the controller. Required for new events.
  series EventSeries - Its repetitions, if it goes on.
  type string - Normal or Warning.

EventSeries: Repetitions of an event.
  count! int32 - How many so far.
  lastObservedTime! MicroTime - When the last one was.
"""

COORDINATION: Final = """
Lease: Who holds something, and for how long.
  metadata ObjectMeta - Name, labels, owners and history.
  spec LeaseSpec - The holder and its time.

LeaseSpec: The holder of a lease and its time.
  acquireTime MicroTime - When the holder got it.
  holderIdentity string - Who holds it; empty when nobody does.
  leaseDurationSeconds int32 - Seconds after renewTime at which others may take it.
  leaseTransitions int32 - How often the holder changed.
  preferredHolder string - Who should have it next.
  renewTime MicroTime - When the holder last renewed it.
  strategy string - How the next holder is chosen.
"""

TABLES: Final = {
    "io.k8s.api.coordination.v1": COORDINATION,
    "io.k8s.api.core.v1": CORE,
    "io.k8s.api.events.v1": EVENTS,
}
