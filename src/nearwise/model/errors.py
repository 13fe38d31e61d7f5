"""Input that cannot be used, told so that its author can mend it."""

from __future__ import annotations


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
