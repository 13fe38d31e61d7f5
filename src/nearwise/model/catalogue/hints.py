"""Which hints are asked for, given and refused."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Hints by trafficDistribution": (
        ("hints-same-zone", "info", "hints ask for the same zone (trafficDistribution {value})"),
        (
            "hints-same-node",
            "info",
            "hints ask for the same node, then the same zone (trafficDistribution {value})",
        ),
        (
            "hints-not-asked",
            "info",
            "no hints: neither trafficDistribution nor the topology annotation is set",
        ),
        (
            "hints-annotation-off",
            "info",
            "the annotation {annotation}={value} does not ask for hints; only Auto does",
        ),
        ("hints-by-annotation", "info", "hints by CPU share are asked for ({annotation}={value})"),
        (
            "hints-annotation-hidden",
            "warning",
            "the older annotation {annotation}={value} hides {hidden}={hidden_value}",
        ),
        (
            "hints-field-overridden",
            "warning",
            "the annotation {annotation}={value} wins over trafficDistribution {field}, whether it "
            "gives hints or not: the field counts only without it",
        ),
        (
            "hints-field-unknown",
            "warning",
            "no hints: trafficDistribution {value} is not a known value",
        ),
    ),
    "Hints by CPU share": (
        (
            "hints-by-share",
            "info",
            "hints follow CPU: {endpoints} ready endpoints over zones {allocated} (CPU shares "
            "{ratios})",
        ),
        (
            "hint-lent",
            "info",
            "{endpoint} in zone {zone} is lent to zone {to}, because of the CPU shares ({ratios})",
        ),
        (
            "hints-off-node-info",
            "warning",
            "hints are off: node {node} has no {missing}, and one such node is enough",
        ),
        ("hints-off-no-nodes", "warning", "hints are off: no ready worker node"),
        (
            "hints-off-one-zone",
            "warning",
            "hints are off: all ready nodes are in zone {zone}, so zone hints are pointless",
        ),
        (
            "hints-off-too-few",
            "warning",
            "hints are off: {endpoints} ready for {zones} zones; it needs at least {zones} ready "
            "endpoints",
        ),
        (
            "hints-off-minimums",
            "warning",
            "hints are off: the zones need at least {minimums} of {endpoints} ready endpoints "
            "(CPU shares {ratios}), {total} in all",
        ),
        ("hints-off-no-zone", "warning", "hints are off: endpoint {endpoint} has no zone"),
        (
            "hints-off-rounding",
            "warning",
            "only rounding refuses the hints: exact fractions would grant them",
        ),
        (
            "hints-share-limit",
            "info",
            "{zone} has {percent} % of the ready CPU; with {endpoints} ready endpoints the limit "
            "is {limit} %",
        ),
        (
            "hints-safe-counts",
            "info",
            "with {endpoints} ready there are no hints at these CPU shares; nearest with hints: "
            "{counts}",
        ),
    ),
}
