"""What becomes of an object that is to be deleted: at once, in time, or when others are done.

Law: pure, like ``writing``. Grace is for pods (the node has to stop them), finalizers are for
anybody who has to clean up first, the garbage collector among them; an object goes when neither
is left. Rules and order are those of kube-apiserver's registry (``BeforeDelete``, ``Delete``).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded
from nearwise.server.options import DeleteOptions
from nearwise.server.resources import NAMESPACES, PODS, Resource
from nearwise.server.statuses import forbidden, unmet

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
"""Finalizers by which the garbage collector is told what to do with an object's dependents."""

IMMORTAL: Final = frozenset(["default", "kube-public", "kube-system"])
"""Namespaces that are always there."""


class Deletion(NamedTuple):
    """What is to be done."""

    update: Decoded | None
    """The object as it is stored next; None when it stays as it is."""
    remove: bool
    """Whether it then goes."""


def deletion(old: Decoded, resource: Resource, options: DeleteOptions, now: datetime) -> Deletion:
    """Decide a deletion of an object as it is stored. Raises Refusal."""
    metadata = old["metadata"]
    _check_preconditions(old, resource, options)
    if resource is NAMESPACES:
        if metadata["name"] in IMMORTAL:
            raise forbidden(resource, metadata["name"], "this namespace may not be deleted")
        if "deletionTimestamp" not in metadata:
            return Deletion(_terminating(old, resource, options, now), remove=False)
        if at(old, "spec", "finalizers"):
            return Deletion(None, remove=False)
    grace = _grace(old, options, now) if resource is PODS else _Grace()
    if grace.pending:
        return Deletion(None, remove=False)
    finalizers = _finalizers(metadata, resource, options)
    changed = set(finalizers) != set(metadata.get("finalizers", []))
    if grace.metadata is not None:
        obj = {**old, "metadata": _with_finalizers(grace.metadata, finalizers)}
        seconds = grace.metadata["deletionGracePeriodSeconds"]
        return Deletion(obj, remove=not finalizers and not seconds)
    if finalizers:
        marked = _marked(_with_finalizers(metadata, finalizers), now)
        update = {**old, "metadata": marked} if changed or marked != metadata else None
        return Deletion(update, remove=False)
    return Deletion(None, remove=True)


def _check_preconditions(old: Decoded, resource: Resource, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    metadata = old["metadata"]
    name = metadata["name"]
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise unmet(resource, name, why)
    version = metadata["resourceVersion"]
    if wanted.resource_version is not None and wanted.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
        raise unmet(resource, name, why)


# --- Namespaces ---------------------------------------------------------------------------


def _terminating(
    old: Decoded, resource: Resource, options: DeleteOptions, now: datetime
) -> Decoded:
    """Return a namespace that takes in nothing new, and goes once it is empty."""
    metadata = _with_finalizers(old["metadata"], _finalizers(old["metadata"], resource, options))
    return {
        **old,
        "metadata": {**metadata, "deletionTimestamp": timestamp(now)},
        "status": {**old.get("status", {}), "phase": "Terminating"},
    }


# --- Grace --------------------------------------------------------------------------------


class _Grace(NamedTuple):
    metadata: Decoded | None = None
    """The metadata of an object that is given time, which may be none."""
    pending: bool = False
    """Whether it has been given time before, and no less is asked for."""


def _grace(pod: Decoded, options: DeleteOptions, now: datetime) -> _Grace:
    metadata = pod["metadata"]
    wanted = options.grace_period_seconds
    if wanted is not None and wanted < 0:
        wanted = 1
    if "deletionTimestamp" in metadata:
        given = metadata.get("deletionGracePeriodSeconds")
        if not given:
            return _Grace()
        if wanted is None or wanted >= given:
            return _Grace(pending=True)
        began = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=given)
        return _Grace(_doomed(metadata, began, wanted))
    seconds = at(pod, "spec", "terminationGracePeriodSeconds") if wanted is None else wanted
    unscheduled = not at(pod, "spec", "nodeName")
    if unscheduled or at(pod, "status", "phase") in ("Failed", "Succeeded"):
        seconds = 0
    seconds = 1 if seconds < 0 else seconds
    return _Grace(_counted(_doomed(metadata, now, seconds)))


def _doomed(metadata: Decoded, began: datetime, seconds: int) -> Decoded:
    return {
        **metadata,
        "deletionTimestamp": timestamp(began + timedelta(seconds=seconds)),
        "deletionGracePeriodSeconds": seconds,
    }


def _marked(metadata: Decoded, now: datetime) -> Decoded:
    """Return the metadata of an object that only its finalizers keep."""
    if "deletionTimestamp" in metadata:
        return {**metadata, "deletionGracePeriodSeconds": 0}
    return _counted(_doomed(metadata, now, 0))


def _counted(metadata: Decoded) -> Decoded:
    """Count the deletion as a new generation, for objects that have generations."""
    generation = metadata.get("generation")
    return {**metadata, "generation": generation + 1} if generation else metadata


def timestamp(moment: datetime) -> str:
    """Write a time (UTC) as Kubernetes does, in full seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- Dependents ---------------------------------------------------------------------------


def _finalizers(metadata: Decoded, resource: Resource, options: DeleteOptions) -> list[str]:
    """Return the finalizers with which an object is deleted."""
    before = metadata.get("finalizers", [])
    if not resource.collected:
        return list(before)
    after = [name for name in before if name not in (ORPHAN, FOREGROUND)]
    dependents = _dependents(before, options)
    return [*after, dependents] if dependents else after


def _dependents(finalizers: list[str], options: DeleteOptions) -> str:
    """Say which finalizer tells what becomes of the dependents: "" is to delete them afterwards.

    What is asked for counts most, then what the object was told before.
    """
    if options.orphan_dependents is not None:
        return ORPHAN if options.orphan_dependents else ""
    if options.propagation_policy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation_policy, "")
    return next((name for name in finalizers if name in (ORPHAN, FOREGROUND)), "")


def _with_finalizers(metadata: Decoded, finalizers: list[str]) -> Decoded:
    rest = {name: value for name, value in metadata.items() if name != "finalizers"}
    return {**rest, "finalizers": finalizers} if finalizers else rest
