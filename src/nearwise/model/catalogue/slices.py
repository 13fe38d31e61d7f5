"""Why slices are written as they are: pods, services, packing."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Pods that are not endpoints": (
        (
            "pod-finished",
            "info",
            "pod {pod} is {phase}: its address may belong to another pod already",
        ),
        ("pod-without-ip", "info", "pod {pod} has no {family} address yet"),
        (
            "pod-node-missing",
            "warning",
            "pod {pod} is left out: its node {node} does not exist; tried again later",
        ),
        (
            "pod-without-port",
            "warning",
            "pod {pod} has no port named {port} ({protocol}): it is listed without that port",
        ),
    ),
    "Services that get no slices of ours": (
        (
            "service-without-selector",
            "info",
            "{service} has no selector: its slices are not written here",
        ),
        ("service-external-name", "info", "{service} is an ExternalName: it has no endpoints"),
        ("service-being-deleted", "info", "{service} is being deleted: it gets no new slices"),
    ),
    "Why a slice is written": (
        (
            "slice-create-full",
            "info",
            "new slice: {endpoints} {endpoints:endpoint fits|endpoints fit} in no existing slice",
        ),
        ("slice-create-ports", "info", "new slice: no slice has ports {ports} yet"),
        ("slice-create-empty", "info", "placeholder slice: the service has no {family} endpoints"),
        (
            "slice-update-endpoints",
            "info",
            "{slice}: {added} {added:endpoint|endpoints} added, {removed} removed, {changed} "
            "changed",
        ),
        ("slice-update-labels", "info", "{slice}: labels follow the service"),
        ("slice-update-hints", "info", "{slice}: hints changed"),
        ("slice-recycle", "info", "{slice} is reused for what would be a new slice"),
        ("slice-delete-empty", "info", "{slice} is deleted: no endpoint of it is left"),
        ("slice-delete-ports", "info", "{slice} is deleted: no pod has its ports any more"),
        (
            "slice-delete-family",
            "info",
            "{slice} is deleted: the service has no {family} addresses",
        ),
        (
            "slice-delete-foreign-owner",
            "info",
            "{slice} is deleted: it belongs to another service of this name",
        ),
    ),
}
