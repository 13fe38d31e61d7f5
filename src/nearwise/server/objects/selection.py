"""Which objects a list or a watch is about: selectors of labels and of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from nearwise.machinery.changes import Entry
from nearwise.model.selectors import LabelSelector, UnexpectedError, parse
from nearwise.server.objects.stored import Decoded, decode
from nearwise.server.resources import Field, Resource
from nearwise.server.statuses import Refusal, bad_request


class FieldTerm(msgspec.Struct, frozen=True):
    """A condition on one field: that it has a value, or has not."""

    field: Field
    value: str
    equal: bool = True


class Selection(msgspec.Struct, frozen=True):
    """Conditions on objects that must all hold. None at all picks everything."""

    labels: LabelSelector = LabelSelector()
    fields: tuple[FieldTerm, ...] = ()
    name: str = ""
    """The only name that is picked, when it is a condition; it is one of the fields too."""

    @property
    def everything(self) -> bool:
        """Whether it has no conditions."""
        return not (self.labels.requirements or self.fields)

    def picks(self, entry: Entry) -> bool:
        """Tell whether an object meets all conditions."""
        if self.name and self.name != entry.key.name:
            return False
        if self.labels.requirements and not self.labels.matches(_labels(entry.value)):
            return False
        return all((_value(term.field, entry) == term.value) == term.equal for term in self.fields)


EVERYTHING: Final = Selection()


def read_selection(labels: str, fields: str, resource: Resource) -> Selection:
    """Read both selectors of a request. Raises Refusal (400), in kube-apiserver's words."""
    terms = tuple(_field_terms(fields, resource))
    names = {term.value for term in terms if term.equal and term.field is _NAME}
    return Selection(_label_selector(labels), terms, names.pop() if len(names) == 1 else "")


def _label_selector(text: str) -> LabelSelector:
    try:
        return parse(text)
    except UnexpectedError as error:
        expected = "',' or 'end of string'" if error.expected == "','" else error.expected
        raise bad_request(f"found {error.found}, expected: {expected}") from None
    except ValueError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


# --- Fields -------------------------------------------------------------------------------

_NAME: Final = Field("metadata.name", ())
_NAMESPACE: Final = Field("metadata.namespace", ())
_TERM: Final = re.compile(r"((?:\\.|[^\\=!])*)(==|!=|=)((?:\\.|[^\\=])*)", re.DOTALL)
_COMMA: Final = re.compile(r"((?:\\.|[^\\,])+)", re.DOTALL)


def _field_terms(text: str, resource: Resource) -> Iterator[FieldTerm]:
    for part in _COMMA.findall(text):
        found = _TERM.fullmatch(part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        label, operator, value = found.groups()
        yield FieldTerm(
            _field(re.sub(r"\\(.)", r"\1", label), resource),
            re.sub(r"\\(.)", r"\1", value),
            operator != "!=",
        )


def _field(label: str, resource: Resource) -> Field:
    named = [_NAME, _NAMESPACE] if resource.namespaced or not resource.fields else [_NAME]
    for field in (*named, *resource.fields):
        if field.label == label:
            return field
    raise _unknown_field(label, resource)


def _unknown_field(label: str, resource: Resource) -> Refusal:
    if resource.fields:
        return bad_request(f"field label not supported: {label}")
    return bad_request(
        f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def _value(field: Field, entry: Entry) -> str:
    """Return the value of a field as selectors compare it: as text."""
    if field is _NAME:
        return entry.key.name
    if field is _NAMESPACE:
        return entry.key.namespace
    found: object = _decoded(entry.value)
    for name in field.path:
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return found if isinstance(found, str) and found else field.absent


# --- What is read of an object, once for all who ask about it at the same time ------------


class _Labelled(msgspec.Struct, frozen=True):
    labels: dict[str, str] = {}


class _Metadata(msgspec.Struct, frozen=True):
    metadata: _Labelled


_LABELS: Final = msgspec.json.Decoder(_Metadata)


@lru_cache(maxsize=64)
def _labels(value: bytes) -> dict[str, str]:
    return _LABELS.decode(value).metadata.labels


@lru_cache(maxsize=64)
def _decoded(value: bytes) -> Decoded:
    return decode(value)
