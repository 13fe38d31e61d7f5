"""What the controllers would write, held against what is stored."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "What the controllers would write, held against what is stored": (
        (
            "snapshot-without",
            "warning",
            "the snapshot has no {kind}: what the slices made of them should hold cannot be told",
        ),
        ("diff-endpoint-missing", "warning", "{endpoint} ({family}) is not listed and should be"),
        (
            "diff-endpoint-extra",
            "warning",
            "{endpoint} ({family}) is listed in {slice} and should not be",
        ),
        ("diff-pod-gone", "info", "there is no pod {pod} any more"),
        ("diff-pod-not-selected", "info", "pod {pod} is not selected by the service"),
        ("diff-endpoint-changed", "warning", "{endpoint} in {slice} has changed: {changes}"),
        (
            "diff-endpoint-ports",
            "warning",
            "{endpoint} lies in {slice} under ports {listed}; it belongs under {wanted}",
        ),
        (
            "diff-endpoint-twice",
            "warning",
            "{endpoint} ({family}) is listed more than once: in {slices}",
        ),
        (
            "slices-beside-foreign",
            "info",
            "{writer} writes slices of its own beside those of {managers}",
        ),
        (
            "slices-foreign-only",
            "info",
            "no controller of Kubernetes writes slices here: there is neither a selector nor an "
            "Endpoints object",
        ),
        (
            "slices-could-be-fewer",
            "info",
            "{endpoints} {endpoints:endpoint lies|endpoints lie} in {slices} slices and would fit "
            "in {ideal}: nobody ever puts them together; it would take {writes} writes",
        ),
        (
            "diff-hints",
            "warning",
            "{endpoint} in {slice} has hints {listed}; it would get {wanted}",
        ),
        (
            "diff-lent-elsewhere",
            "info",
            "{endpoint} in {slice} is hinted to {listed}, made anew it would be to {wanted}: each "
            "zone gets the same number, and which endpoint is lent does not matter",
        ),
    ),
}
