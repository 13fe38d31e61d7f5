"""How Endpoints are mirrored."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Mirroring of Endpoints": (
        ("mirror-no-endpoints", "info", "nothing is mirrored: there is no Endpoints object"),
        (
            "mirror-skip-label",
            "info",
            "Endpoints {endpoints} are not mirrored: they carry the label skip-mirror=true",
        ),
        (
            "mirror-leader",
            "info",
            "Endpoints {endpoints} are not mirrored: they are a lock for leader election",
        ),
        (
            "mirror-no-service",
            "warning",
            "Endpoints {endpoints} are not mirrored: there is no service of that name",
        ),
        (
            "mirror-service-selects",
            "info",
            "Endpoints {endpoints} are not mirrored: the service has a selector, its slices come "
            "from pods",
        ),
        (
            "mirror-being-deleted",
            "info",
            "Endpoints {endpoints} are being deleted: they get no new slices",
        ),
        ("mirror-follows", "info", "{slice}: labels, annotations and owner follow the Endpoints"),
        (
            "mirror-reserved-label",
            "warning",
            "the Endpoints carry {label}, which only slices may carry: it is not followed, and the "
            "slices are written again at every look",
        ),
        (
            "mirror-slice-removed",
            "info",
            "{slice} is deleted: nothing in the Endpoints is mirrored to it any more",
        ),
        (
            "mirror-invalid-address",
            "error",
            "not mirrored, for they are no IP addresses: {addresses}",
        ),
        (
            "mirror-over-limit",
            "error",
            "not mirrored, for a subset may have {limit} addresses: {addresses}",
        ),
    ),
}
