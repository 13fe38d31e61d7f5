"""What can be wrong with what was handed in, and with what an API server answered."""

from __future__ import annotations

from nearwise.model.meta import Status


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


class StatusError(Exception):
    """An API server refused a request, or ended a watch, with a Status.

    ``retry_after`` are the seconds after which it asks to be tried again, 0 if it does not say.
    """

    def __init__(self, status: Status, retry_after: float = 0.0) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(status.message or status.reason)


class LostError(Exception):
    """No answer came. Whether the request took effect is not known."""
