"""What is said of objects as they were given."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "What was read": (
        (
            "object-given-twice",
            "warning",
            "{kind} {object} is given more than once: {kept} is used",
        ),
        (
            "object-without-kind",
            "warning",
            "{source}: {count} {count:object|objects} without apiVersion or kind {count:is|are} "
            "left out",
        ),
        (
            "object-without-name",
            "warning",
            "{source}: {count} {kind} {count:object|objects} without a name {count:is|are} left "
            "out",
        ),
        (
            "object-version-unknown",
            "warning",
            "{source}: {count} {kind} {count:object is|objects are} left out: version {version} is "
            "not known here",
        ),
    ),
}
