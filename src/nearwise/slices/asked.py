"""Which hints a service asks for: two annotations and a field, and which of them decides.

Law: only what the service says is read here, not whether the wish can be met. The order is that
of Kubernetes 1.36: the older annotation hides the newer one, whatever its value; an annotation
that asks wins over trafficDistribution, even while it then gives no hints; one that does not ask
leaves trafficDistribution in force.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from nearwise.model import Reason, Service, reason
from nearwise.model.wellknown import ASKING, PREFER_SAME_NODE, TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE
from nearwise.slices.distribution import is_known


class Mode(StrEnum):
    """How a service wants its endpoints hinted."""

    SHARES = "cpu-shares"
    SAME_ZONE = "same-zone"
    SAME_NODE = "same-node"
    NONE = "none"


class Asked(msgspec.Struct, frozen=True):
    """What a service asks for, what decides it, and what is said about the rest.

    ``by`` is the annotation's name or ``trafficDistribution``, empty when nothing asks; ``value``
    is what stands there. ``distribution`` is the trafficDistribution in force, None when hints do
    not follow it.
    """

    mode: Mode
    by: str
    value: str
    distribution: str | None
    reasons: tuple[Reason, ...]


def asked(service: Service) -> Asked:
    """Say which hints the service asks for."""
    annotations = service.metadata.annotations
    field = service.spec.traffic_distribution
    reasons: list[Reason] = []

    older = TOPOLOGY_AWARE_HINTS in annotations
    annotation = TOPOLOGY_AWARE_HINTS if older else TOPOLOGY_MODE
    value = annotations.get(annotation)
    newer = annotations.get(TOPOLOGY_MODE)
    if older and newer is not None and newer != value:
        reasons.append(
            reason(
                "hints-annotation-hidden",
                annotation=TOPOLOGY_AWARE_HINTS,
                value=value,
                hidden=TOPOLOGY_MODE,
                hidden_value=newer,
            )
        )

    if value in ASKING:
        reasons.append(reason("hints-by-annotation", annotation=annotation, value=value))
        if field:
            reasons.append(
                reason("hints-field-overridden", annotation=annotation, value=value, field=field)
            )
        return Asked(Mode.SHARES, annotation, value, None, tuple(reasons))

    if value is not None:
        reasons.append(reason("hints-annotation-off", annotation=annotation, value=value))
    if field and is_known(field):
        same_node = field == PREFER_SAME_NODE
        reasons.append(reason("hints-same-node" if same_node else "hints-same-zone", value=field))
        mode = Mode.SAME_NODE if same_node else Mode.SAME_ZONE
        return Asked(mode, "trafficDistribution", field, field, tuple(reasons))
    if field:
        reasons.append(reason("hints-field-unknown", value=field))
    elif value is None:
        reasons.append(reason("hints-not-asked"))
    return Asked(Mode.NONE, "", "", None, tuple(reasons))
