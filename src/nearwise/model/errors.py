"""Input that cannot be used, told so that its author can mend it."""

from __future__ import annotations

from typing import Final

import msgspec

# What msgspec calls a type, and what the user calls it.
_TYPE_NAMES: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


class InputError(Exception):
    """Something handed in is broken: what, where, and what to do about it.

    ``str()`` is one line for the user: source, document (from 1), line (from 1), object
    (``Service shop/web``), field (``spec.ports[0].port``), what is wrong, and a hint.
    Whatever is not known is empty or 0.
    """

    def __init__(
        self,
        what: str,
        *,
        source: str = "",
        document: int = 0,
        line: int = 0,
        object: str = "",
        field: str = "",
        hint: str = "",
    ) -> None:
        self.what = what
        self.source = source
        self.document = document
        self.line = line
        self.object = object
        self.field = field
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        place = [
            self.source,
            f"document {self.document}" if self.document else "",
            f"line {self.line}" if self.line else "",
        ]
        parts = [", ".join(filter(None, place)), self.object, self.field, self.what]
        hint = f" ({self.hint})" if self.hint else ""
        return ": ".join(filter(None, parts)) + hint


def split_complaint(error: msgspec.ValidationError) -> tuple[str, str]:
    """Take a decoder's complaint apart: what is wrong in the user's words, and the field.

    ``Expected `int`, got `str` - at `$.spec.ports[0].port` `` becomes ``expected a whole number,
    got text`` and ``spec.ports[0].port``.
    """
    complaint, _, path = str(error).partition(" - at `$")
    expected, comma, got = complaint.partition(", got ")
    if comma and expected.startswith("Expected "):
        wanted = [_say(name) for name in expected.removeprefix("Expected ").strip("`").split(" | ")]
        complaint = f"expected {' or '.join(wanted)}, got {_say(got.strip('`'))}"
    else:
        complaint = complaint[:1].lower() + complaint[1:]
    return complaint, path.rstrip("`").removeprefix(".")


def _say(type_name: str) -> str:
    return _TYPE_NAMES.get(type_name, type_name)
