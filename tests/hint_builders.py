"""Small clusters for tests of hints: nodes by zone and CPU, endpoints by zone."""

from collections import Counter
from collections.abc import Iterable

from nearwise.model import Endpoint, EndpointConditions, Node, ObjectMeta, ObjectReference
from nearwise.model.core import Condition, NodeSpec, NodeStatus, Taint
from nearwise.model.wellknown import CONTROL_PLANE, ZONE
from nearwise.slices.allocation import THRESHOLD, ZoneShares
from nearwise.slices.thresholds import granted


def node(
    name: str,
    zone: str | None = "zone-a",
    cpu: str | int | float | None = "4",
    *,
    ready: str | None = "True",
    control_plane: bool = False,
    taints: tuple[Taint, ...] = (),
    labels: dict[str, str] | None = None,
) -> Node:
    """Make a node; None leaves out its zone label, its CPU or its Ready condition."""
    marks = {ZONE: zone} if zone is not None else {}
    if control_plane:
        marks[CONTROL_PLANE] = ""
    return Node(
        metadata=ObjectMeta(name=name, labels={**marks, **(labels or {})}),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(
            allocatable={} if cpu is None else {"cpu": cpu},
            conditions=() if ready is None else (Condition("Ready", ready),),
        ),
    )


def nodes(*cpu: int) -> list[Node]:
    """Make one node a zone: ``nodes(8, 4)`` is 8 CPUs in zone-a and 4 in zone-b."""
    return [
        node(f"node-{letter}", f"zone-{letter}", amount)
        for letter, amount in zip("abcdefghij", cpu, strict=False)
    ]


def endpoint(
    name: str, zone: str | None = "zone-a", *, ready: bool = True, node_name: str | None = None
) -> Endpoint:
    """Make the endpoint of a pod."""
    return Endpoint(
        addresses=(f"10.0.{sum(name.encode()) % 250}.{len(name)}",),
        conditions=EndpointConditions(ready, ready, False),
        target_ref=ObjectReference("Pod", "shop", name),
        node_name=node_name,
        zone=zone,
    )


def endpoints(*counts: int) -> tuple[Endpoint, ...]:
    """Make ready endpoints: ``endpoints(3, 1)`` is three in zone-a and one in zone-b."""
    return tuple(
        endpoint(f"web-{letter}-{number}", f"zone-{letter}")
        for letter, count in zip("abcdefghij", counts, strict=False)
        for number in range(count)
    )


def zones_hinted(hinted: Iterable[Endpoint]) -> dict[str, int]:
    """Count the hints by zone."""
    found = Counter(
        zone.name for each in hinted if each.hints is not None for zone in each.hints.for_zones
    )
    return dict(sorted(found.items()))


def refused_counts(shares: ZoneShares, up_to: int, threshold: float = THRESHOLD) -> tuple[int, ...]:
    """Return the numbers of ready endpoints from 2 to ``up_to`` that get no hints."""
    return tuple(n for n in range(2, up_to + 1) if not granted(shares, n, threshold))
