"""Objects that do not fit together."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Objects that do not fit together": (
        (
            "endpoints-terminating",
            "info",
            "{endpoints}: terminating, so listed but not used while anything is ready",
        ),
        ("endpoints-not-ready", "info", "{endpoints}: not ready, so listed but not used"),
        (
            "dns-answers",
            "info",
            "DNS answers with {count:the only address|all {count} addresses and each client picks "
            "one}: hints do nothing",
        ),
        ("service-without-slices", "warning", "the snapshot has no EndpointSlice of {service}"),
        (
            "snapshot-without-nodes",
            "warning",
            "the snapshot has no nodes: places are guessed from pods and endpoints",
        ),
        (
            "frozen-slice",
            "error",
            "{slice} is frozen since {since}: the service has no selector any more, nobody updates "
            "its {endpoints} {endpoints:endpoint|endpoints}, and proxies still use "
            "{endpoints:it|them}",
        ),
        (
            "orphan-slice",
            "warning",
            "{slice} is left over: its owner (Service {service}, uid {owner}) {owner_exists}; "
            "created {created}",
        ),
        ("slice-foreign", "info", "{slice} is managed by {manager}: it is used and left alone"),
        ("two-writers", "warning", "two managers list endpoints; only {manager} lists {addresses}"),
        (
            "two-writers-mirror",
            "warning",
            "two managers list endpoints; only the mirror of {source}, last written {written}, "
            "lists {addresses}",
        ),
        (
            "mirror-without-zone",
            "info",
            "{endpoints} {endpoints:endpoint is|endpoints are} mirrored from {source}: a mirror "
            "knows no zone, so {endpoints:it gets|they get} no hints",
        ),
        (
            "mirror-zone-known",
            "info",
            "for {endpoints} of them the zone could be filled from nodeName",
        ),
        (
            "slice-pod-disagree",
            "warning",
            "{slice} says {pod} is {listed}, the pod itself is {truth}; newer is {newer}",
        ),
        (
            "selector-picks-nobody",
            "warning",
            "no pod in namespace {namespace} has the labels {labels}",
        ),
        ("pods-not-listed", "warning", "no slice lists {pods}, though the service selects them"),
        (
            "endpoints-without-pod",
            "error",
            "slices list {endpoints}, which the service does not select any more",
        ),
        (
            "endpoints-slice-disagree",
            "warning",
            "Endpoints say {address} is {endpoints}, {slice} says {listed}; newer is {newer}",
        ),
        (
            "endpoints-slice-disagree-pod",
            "warning",
            "Endpoints say {address} is {endpoints}, {slice} says {listed}; pod {pod} is {truth}, "
            "so the {right} is right; newer is {newer}",
        ),
        (
            "endpoints-slice-disagree-more",
            "warning",
            "Endpoints and slices disagree about {addresses} too",
        ),
        ("endpoints-only", "warning", "only the Endpoints list {addresses}: no slice does"),
    ),
}
