"""What the controllers of Kubernetes would do at their next look at one service.

Law: nothing is decided here. Which controller is concerned, and what it writes, is asked of
``slices``; here the objects for the question are taken from a world, and the answers of the two
controllers put together.
"""

from __future__ import annotations

from collections.abc import Iterable

from nearwise.insight.world import Key, World
from nearwise.model import EndpointSlice, Reason, reason
from nearwise.model.wellknown import MIRRORING_CONTROLLER, SLICE_CONTROLLER
from nearwise.slices.mirror import mirror
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import Plan
from nearwise.slices.reconcile import reconcile, why_not_reconciled


def next_sync(
    world: World, nodes: Nodes, key: Key, slices: Iterable[EndpointSlice] | None = None
) -> Plan:
    """Return what the EndpointSlice and the mirroring controller would write for a service.

    They start from ``slices``, by default those in the world. The service may be missing: then
    its mirrored slices go, and all others are left to the garbage collector.
    """
    stored = world.slices_of(key) if slices is None else tuple(slices)
    service = world.services.get(key)
    mirrored = mirror(service, world.endpoints.get(key), stored)
    why_not = why_not_reconciled(service) if service is not None else None
    if service is None or why_not is not None:
        return mirrored
    own = reconcile(service, world.pods_of(service), nodes, stored)
    return Plan(
        own.creates,
        own.updates,
        (*own.deletes, *mirrored.deletes),
        own.events,
        # Why nothing is mirrored is of interest only where something was.
        (*own.reasons, *(mirrored.reasons if mirrored.deletes else ())),
        own.errors,
    )


def writer(world: World, key: Key) -> str:
    """Name the controller that writes the slices of a service; empty when none does."""
    service = world.services.get(key)
    if service is not None and why_not_reconciled(service) is None:
        return SLICE_CONTROLLER
    return MIRRORING_CONTROLLER if key in world.endpoints else ""


def unjudged(world: World, key: Key) -> Reason | None:
    """Say why this snapshot cannot tell what is to be written for a service; None when it can.

    Slices are made of pods and nodes, or of Endpoints. A snapshot that has slices and none of
    what they are made of was taken without them.
    """
    managers = {slice_.manager for slice_ in world.slices_of(key) if slice_.endpoints}
    if writer(world, key) == SLICE_CONTROLLER and SLICE_CONTROLLER in managers:
        for kind, objects in (("pods", world.objects.pods), ("nodes", world.objects.nodes)):
            if not objects:
                return reason("snapshot-without", kind=kind)
    if MIRRORING_CONTROLLER in managers and not world.objects.endpoints:
        return reason("snapshot-without", kind="Endpoints")
    return None
