"""What the control plane writes: pods to endpoints to packed slices, hints, mirroring.

Law: pure, as all of the core. Objects and the memory of the last run go in, a plan comes out;
nothing here reads or writes a cluster.
"""

from nearwise.slices.allocation import Allocations, Refusal, ZoneShares, allocate, zone_shares
from nearwise.slices.asked import Asked, Mode, asked
from nearwise.slices.mirror import mirror, why_not_mirrored
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import Event, Plan, apply
from nearwise.slices.reconcile import HintMemory, Rules, ServicePlan, ServiceSlices, reconcile

__all__ = [
    "Allocations",
    "Asked",
    "Event",
    "HintMemory",
    "Mode",
    "Nodes",
    "Plan",
    "Refusal",
    "Rules",
    "ServicePlan",
    "ServiceSlices",
    "ZoneShares",
    "allocate",
    "apply",
    "asked",
    "mirror",
    "reconcile",
    "why_not_mirrored",
    "zone_shares",
]
