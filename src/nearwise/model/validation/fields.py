"""What is wrong with a field, as the API server says it (apimachinery ``field.Error``).

Law: a rule returns ``FieldError`` values made by the functions here, so reason and wording stand
in one place. A path is text: ``spec.ports[0].name``, ``metadata.annotations[example.com/a]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from nearwise.model.meta import StatusCause
from nearwise.model.names import Check

Value = str | int | bool | None | Sequence[str] | dict[str, object] | Sequence[dict[str, object]]


class FieldError(msgspec.Struct, frozen=True):
    """A field and why it is refused: ``reason`` is what a machine reads, ``body`` a person."""

    field: str
    reason: str
    body: str

    @property
    def cause(self) -> StatusCause:
        """The same in a Status."""
        return StatusCause(reason=self.reason, message=self.body, field=self.field)

    @property
    def text(self) -> str:
        """The same in the message of a Status."""
        return f"{self.field}: {self.body}"


Errors = list[FieldError]
Rule = Callable[[str, str], Errors]


def required(path: str, detail: str = "") -> FieldError:
    """Say that a value is missing."""
    return FieldError(path, "FieldValueRequired", _body("Required value", detail))


def invalid(path: str, value: Value, detail: str) -> FieldError:
    """Say that a value is not allowed, and why."""
    return FieldError(path, "FieldValueInvalid", _body(f"Invalid value: {_shown(value)}", detail))


def not_supported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Say that a value is none of the supported ones."""
    known = ", ".join(_quoted(one) for one in supported)
    body = f"Unsupported value: {_quoted(value)}: supported values: {known}"
    return FieldError(path, "FieldValueNotSupported", body)


def duplicate(path: str, value: Value) -> FieldError:
    """Say that a value is there already."""
    return FieldError(path, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    """Say that a field may not be set."""
    return FieldError(path, "FieldValueForbidden", _body("Forbidden", detail))


def too_many(path: str, count: int, limit: int) -> FieldError:
    """Say that a list is too long."""
    plural = "" if limit == 1 else "s"
    body = f"Too many: {count}: must have at most {limit} item{plural}"
    return FieldError(path, "FieldValueTooMany", body)


def too_long(path: str, limit: int) -> FieldError:
    """Say that a value takes too many bytes."""
    body = f"Too long: may not be more than {limit} bytes"
    return FieldError(path, "FieldValueTooLong", body)


def checked(path: str, value: str, check: Check) -> Errors:
    """Say of a text what a check of ``names`` complains about."""
    return [invalid(path, value, complaint) for complaint in check(value)]


def one_of(path: str, value: str, supported: Sequence[str]) -> Errors:
    """Say of a text that it is missing or not supported, if so."""
    if not value:
        return [required(path)]
    return [] if value in supported else [not_supported(path, value, supported)]


def text_of(errors: Iterable[FieldError]) -> str:
    """Put errors into one sentence, equal ones once, as a Status message has it."""
    texts = list(dict.fromkeys(error.text for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _body(kind: str, detail: str) -> str:
    return f"{kind}: {detail}" if detail else kind


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_ESCAPES: Final = {
    "\\": "\\\\",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _quoted(text: str) -> str:
    """Quote as Go's ``%q`` does."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x80
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
