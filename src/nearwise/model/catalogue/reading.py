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
            "{source}: {count} objects without apiVersion or kind are left out",
        ),
        (
            "object-without-name",
            "warning",
            "{source}: {count} {kind} objects without a name are left out",
        ),
        (
            "object-version-unknown",
            "warning",
            "{source}: {count} {kind} objects are left out: version {version} is not known here",
        ),
    ),
}
