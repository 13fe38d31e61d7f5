"""The hints that slices carry, held against what is asked for."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Hints that the slices carry": (
        (
            "hints-carried-none",
            "info",
            "{ready:the only ready endpoint has no hint|none of the {ready} ready endpoints has a "
            "hint}",
        ),
        (
            "hints-carried-zones",
            "info",
            "{hinted} of {ready} ready endpoints {hinted:has|have} a hint: {zones}",
        ),
        (
            "hints-carried-nodes",
            "info",
            "{hinted} of {ready} ready endpoints {hinted:has|have} a hint: {zones}, and {nodes} "
            "{nodes:node|nodes}",
        ),
        (
            "hints-lent",
            "info",
            "lent from zone {zone} to zone {to}, because of the CPU shares ({ratios}): {endpoints}",
        ),
        ("hints-last-event", "info", "last event {time}: {event}: {message}"),
        (
            "hints-stuck-off",
            "warning",
            "the slices carry no hints, though today's {endpoints} ready endpoints and CPU shares "
            "({ratios}) would get them: they come with the next change of a pod of the service",
        ),
        (
            "hints-stuck-on",
            "warning",
            "the slices still carry hints ({zones}), though today they would be refused: they go "
            "with the next change of a pod of the service",
        ),
        (
            "hints-outdated",
            "warning",
            "the slices carry hints of another time ({stored}); today's CPU shares ({ratios}) ask "
            "for {wanted}",
        ),
        (
            "endpoint-without-hint-node",
            "warning",
            "{endpoint} has no zone hint, for its node {node} has no label {label}: one such "
            "endpoint takes zone hints from every client",
        ),
        (
            "endpoint-without-hint-zone",
            "warning",
            "{endpoint} (node {node}) has no zone, so it has no zone hint: one such endpoint takes "
            "zone hints from every client",
        ),
        (
            "hints-missing",
            "warning",
            "{endpoints} should have hints (trafficDistribution {value}) and {endpoints:has|have} "
            "none: a rollout, or a controller that does not know the value",
        ),
        (
            "hints-wrong",
            "warning",
            "{endpoints} {endpoints:has|have} other hints than trafficDistribution {value} gives",
        ),
        (
            "hints-left-over",
            "warning",
            "{endpoints} {endpoints:has|have} hints that nothing asks for any more",
        ),
        (
            "local-overrides-hints",
            "warning",
            "internalTrafficPolicy Local wins: hints ({value}) change nothing inside the cluster",
        ),
    ),
    "Hints, service by service": (
        (
            "deprecated-value",
            "info",
            "trafficDistribution {value} is the deprecated name of {now}: both mean the same",
        ),
        (
            "hints-annotation-unknown",
            "warning",
            "{annotation}={value} is no known value: it asks for nothing, only Auto does",
        ),
        (
            "hints-annotation-refuses",
            "warning",
            "{annotation} gives no hints and keeps trafficDistribution {field} from giving any: "
            "without the annotation {hinted} of {ready} ready endpoints would have a hint",
        ),
        (
            "hints-none-of-others",
            "warning",
            "{manager} gives its {endpoints} ready {endpoints:endpoint|endpoints} no hints: one "
            "endpoint without takes locality from every client",
        ),
        (
            "hint-stale-zone",
            "warning",
            "{endpoints} ready {endpoints:endpoint is|endpoints are} hinted to zone {zone}, where "
            "no ready node is",
        ),
        (
            "hint-stale-node",
            "warning",
            "{endpoints} ready {endpoints:endpoint is|endpoints are} hinted to node {node}, which "
            "{state}",
        ),
        ("hints-event-text", "info", "Kubernetes tells it as: {message}"),
        ("hints-no-event", "info", "Kubernetes raises no event about this"),
        ("hints-off-since", "info", "they went at {time}, with the event: {message}"),
        (
            "hints-off-since-unknown",
            "info",
            "since when is not known: events are kept for about an hour",
        ),
        (
            "hints-touch",
            "info",
            "any change of the service or its pods makes Kubernetes look again, such as: kubectl "
            'annotate --overwrite -n {namespace} service {service} touched="$(date +%s)"',
        ),
        (
            "hints-threshold",
            "info",
            "off at {endpoints} {endpoints:endpoint|endpoints} between ratio {low} and {high}; now "
            "{ratio} ({zone})",
        ),
        (
            "hints-lost-at",
            "info",
            "at these CPU shares hints would be lost with {counts} ready endpoints",
        ),
        (
            "hints-zone-not-counted",
            "warning",
            "{endpoints} {endpoints:runs|run} in zone {zone}, which has no part in the shares: its "
            "nodes are not counted (CPU: {nodes})",
        ),
        (
            "hints-nodes-tolerated",
            "info",
            "counting only nodes on which these pods may run, the hints by zone would be "
            "{tolerated}; counting all they are {counted}",
        ),
        (
            "hints-families-differ",
            "warning",
            "{hinted} endpoints have hints, {unhinted} endpoints have none: each family is decided "
            "on its own",
        ),
        ("cpu-shares", "info", "CPU of the ready worker nodes by zone: {cpu}"),
        (
            "cpu-nodes-excluded",
            "info",
            "not counted in the CPU shares ({why}), with their CPU: {nodes}",
        ),
    ),
}
