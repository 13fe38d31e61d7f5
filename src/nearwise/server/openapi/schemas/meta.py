"""What all kinds share: metadata, label selectors, and the bodies that are no objects."""

from typing import Final

META: Final = """
ObjectMeta: What every stored object has: its name, labels, owners and history.
  annotations {string} - Notes of any form, for people and tools; nothing can be selected by them.
  creationTimestamp Time - When the server created the object. Set by the server.
  deletionGracePeriodSeconds int64 - Seconds left to stop gracefully, once deletion was asked for.
  deletionTimestamp Time - When the object is to be gone. Set by the server on a deletion.
  finalizers [string] set merge - Who must still act before the object can go.
  generateName string - Beginning of the name that the server completes when name is empty.
  generation int64 - Counts the changes of what is wanted. Set by the server.
  labels {string} - Keys and values by which objects are selected.
  managedFields [ManagedFieldsEntry] - Which fields were set by whom. Kept by the server.
  name string - Name, unique among objects of the kind in the namespace. Cannot be changed.
  namespace string - Namespace the object lives in; empty for kinds outside of namespaces.
  ownerReferences [OwnerReference] map:uid merge - Objects with which this one is to go.
  resourceVersion string - Version of the stored object. Compare for equality, nothing else.
  selfLink string - No longer filled in.
  uid string - Identity over time: another object of the same name has another one.

ManagedFieldsEntry: The fields that one manager has set in one way.
  apiVersion string - Version of the kind in which the fields are named.
  fieldsType string - Form of fieldsV1. Only FieldsV1.
  fieldsV1 FieldsV1 - The set of fields.
  manager string - Name of the program or person.
  operation string - Apply or Update.
  subresource string - Subresource that was written to; empty for the object itself.
  time Time - When the set last changed.

OwnerReference atomic: An object to which this one belongs.
  apiVersion! string - API version of the owner.
  blockOwnerDeletion bool - Whether the owner, deleted in the foreground, waits for this object.
  controller bool - Whether the owner is the one controller of this object.
  kind! string - Kind of the owner.
  name! string - Name of the owner, in the same namespace or outside of namespaces.
  uid! string - Identity of the owner.

ListMeta: What every list has.
  continue string - Token to ask for the next page with; empty on the last one.
  remainingItemCount int64 - How many objects the pages to come hold, when that is known.
  resourceVersion string - Version of the store that the list shows.
  selfLink string - No longer filled in.
  shardInfo ShardInfo - Which part of the objects the list holds, if only a part was asked for.

ShardInfo: A part of the objects of a kind.
  selector! string - How the part was selected.

LabelSelector atomic: Chooses objects by their labels. All conditions must hold.
  matchExpressions [LabelSelectorRequirement] - Conditions on labels.
  matchLabels {string} - Labels that must have exactly these values.

LabelSelectorRequirement: A condition on one label.
  key! string - The label.
  operator! string - In, NotIn, Exists or DoesNotExist.
  values [string] - Values for In and NotIn; none otherwise.

Condition: One aspect of the state of an object.
  lastTransitionTime! Time - When status last changed.
  message! string - Explanation for people.
  observedGeneration int64 - The generation the condition was found for.
  reason! string - Explanation for programs, in one word.
  status! string - True, False or Unknown.
  type! string - Which aspect.

Status: The outcome of a request that is not answered with an object.
  code int32 - HTTP status code.
  details StatusDetails - What the outcome is about, in parts.
  message string - Explanation for people.
  metadata ListMeta - Nothing of importance.
  reason string - Explanation for programs, in one word.
  status string - Success or Failure.

StatusDetails: What the outcome of a request is about.
  causes [StatusCause] - The single complaints.
  group string - Group of the object.
  kind string - Resource or kind of the object.
  name string - Name of the object.
  retryAfterSeconds int32 - When to try again, if that may help.
  uid string - Identity of the object.

StatusCause: One complaint.
  field string - Path of the field, as in JSON.
  message string - Explanation for people.
  reason string - Explanation for programs, in one word.

DeleteOptions: How to delete.
  dryRun [string] - All, to go through everything and store nothing.
  gracePeriodSeconds int64 - Seconds to stop in; 0 deletes at once.
  ignoreStoreReadErrorWithClusterBreakingPotential bool - Delete what cannot be read. Dangerous.
  orphanDependents bool - Old form of propagationPolicy.
  preconditions Preconditions - What must hold for the deletion to take place.
  propagationPolicy string - What becomes of dependents: Orphan, Background or Foreground.

Preconditions: What must hold of the stored object.
  resourceVersion string - Its version.
  uid string - Its identity.

WatchEvent: One line of a watch.
  object! RawExtension - The object after the change, before it for DELETED; a Status for ERROR.
  type! string - ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
"""

TABLES: Final = {"io.k8s.apimachinery.pkg.apis.meta.v1": META}
