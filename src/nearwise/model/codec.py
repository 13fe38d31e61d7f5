"""Kubernetes objects from bytes and back: pure, no files and no network.

Law: what an object looks like stands in the structs; here stands which kinds are kept, how they
are found in JSON, YAML and lists of any mix, and what is said when one is broken. Objects of
other kinds (Secrets among them) are counted and never decoded further than their kind.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec

from nearwise.model import documents, versions
from nearwise.model.conversion import path_of, tree, typed
from nearwise.model.coordination import Lease
from nearwise.model.core import Endpoints, Event, Namespace, Node, Pod, Service
from nearwise.model.discovery import EndpointSlice
from nearwise.model.documents import Document
from nearwise.model.errors import InputError
from nearwise.model.objects import FIELDS, Objects, gather, merge
from nearwise.model.reasons import reason
from nearwise.model.yamltree import Path

__all__ = [
    "InputError",
    "Objects",
    "decode",
    "encode",
    "from_dict",
    "merge",
    "read",
    "to_dict",
]

T = TypeVar("T")


# --- One object of a known type -----------------------------------------------------------


def encode(obj: msgspec.Struct) -> bytes:
    """Write an object as JSON. Absent fields are left out."""
    return msgspec.json.encode(obj)


def to_dict(obj: msgspec.Struct) -> dict[str, Any]:
    """Return an object as plain dicts and lists, shaped as its JSON."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return plain


def decode(data: bytes, kind: type[T]) -> T:
    """Read one object from JSON. Null means absent, unknown fields are passed over.

    Raises InputError with the field that is wrong.
    """
    return from_dict(msgspec.Raw(data), kind)


def from_dict(plain: object, kind: type[T]) -> T:
    """Make an object of plain dicts and lists. Null means absent, unknown fields are passed over.

    Raises InputError with the field that is wrong.
    """
    try:
        return typed(plain, kind)
    except RecursionError:
        raise InputError("nested too deep") from None


# --- Everything in a source ---------------------------------------------------------------


class _Kind(msgspec.Struct, frozen=True):
    """To which field of Objects a kind belongs, its type, and the way from an older version."""

    field: str
    type: type[Any]
    stable: Callable[[Any], Any] | None = None


_KINDS: Final = {
    ("v1", "Service"): _Kind("services", Service),
    ("v1", "Pod"): _Kind("pods", Pod),
    ("v1", "Node"): _Kind("nodes", Node),
    ("v1", "Namespace"): _Kind("namespaces", Namespace),
    ("v1", "Endpoints"): _Kind("endpoints", Endpoints),
    ("v1", "Event"): _Kind("events", Event),
    ("events.k8s.io/v1", "Event"): _Kind("events", versions.EventsEvent, versions.core_event),
    ("discovery.k8s.io/v1", "EndpointSlice"): _Kind("slices", EndpointSlice),
    ("discovery.k8s.io/v1beta1", "EndpointSlice"): _Kind(
        "slices", versions.BetaEndpointSlice, versions.stable_slice
    ),
    ("coordination.k8s.io/v1", "Lease"): _Kind("leases", Lease),
}
_GROUPS: Final = frozenset((version.rpartition("/")[0], kind) for version, kind in _KINDS)
_CLUSTER_WIDE: Final = frozenset(["nodes", "namespaces"])


def read(data: bytes, source: str = "", max_bytes: int = documents.MAX_BYTES) -> Objects:
    """Read all objects of a source: JSON, YAML, several documents, lists in lists, gzip.

    ``source`` names it in messages. Items of a typed list (``PodList``) may leave out their kind;
    an object without a namespace is in ``default``, as for kubectl. ``gather`` says what happens
    to objects given twice. Kinds that Objects has no field for are counted.

    The garbage collector pauses meanwhile: hardly anything that is made here is garbage.

    Raises InputError for what ``documents.read`` refuses, and for an object of a known kind with
    a field of a wrong type. What is no object, or has no kind, is told in a notice.
    """
    reader = _Reader(source)
    with _collector_paused():
        for document in documents.read(data, source, max_bytes):
            reader.take(document)
        return reader.objects()


@contextmanager
def _collector_paused() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Item(msgspec.Struct, frozen=True):
    """What should be an object, where it is in its document, and what its list says it is."""

    content: object
    path: Path = ()
    api_version: str = ""
    kind: str = ""


class _Reader:
    """Collects what the documents of one source hold."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._found: dict[str, list[Any]] = {field: [] for field in FIELDS}
        self._others: Counter[str] = Counter()
        self._left_out: Counter[tuple[str, str, str]] = Counter()  # reason, kind, version

    def objects(self) -> Objects:
        notices = [
            reason(code, source=self._source, count=count, kind=kind, version=version)
            for (code, kind, version), count in sorted(self._left_out.items())
        ]
        return gather(self._found, self._others, notices)

    def take(self, document: Document) -> None:
        """Take in an object, or the items of a list, of lists in it too."""
        todo = [_Item(document.content)]
        while todo:
            item = todo.pop()
            try:
                todo += reversed(self._take(item))
            except InputError as error:
                raise _located(error, self._source, document, item) from None
            except RecursionError:
                raise _located(
                    InputError("nested too deep"), self._source, document, item
                ) from None

    def _take(self, item: _Item) -> list[_Item]:
        """Keep an object or count it; of a list return the items."""
        head = _head(item.content)
        if head is None:
            return []
        version, kind = head.api_version or item.api_version, head.kind or item.kind
        if head.items is not None and (not kind or kind.endswith("List")):
            of = kind.removesuffix("List")
            return [
                _Item(content, (*item.path, *head.way, place), version if of else "", of)
                for place, content in enumerate(head.items)
            ]
        if known := _KINDS.get((version, kind)):
            self._keep(typed(item.content, known.type), known, version, kind)
        elif version and kind:
            self._others[kind] += 1
            if (version.rpartition("/")[0], kind) in _GROUPS:
                self._left_out["object-version-unknown", kind, version] += 1
        else:
            self._left_out["object-without-kind", "", ""] += 1
        return []

    def _keep(self, obj: Any, known: _Kind, version: str, kind: str) -> None:
        if known.stable:
            obj = known.stable(obj)
        elif not obj.kind or not obj.api_version:
            obj = msgspec.structs.replace(obj, kind=kind, api_version=version)
        if not obj.metadata.name:
            self._left_out["object-without-name", kind, ""] += 1
            return
        if not obj.metadata.namespace and known.field not in _CLUSTER_WIDE:
            metadata = msgspec.structs.replace(obj.metadata, namespace="default")
            obj = msgspec.structs.replace(obj, metadata=metadata)
        self._found[known.field].append(obj)


class _Head(msgspec.Struct, frozen=True):
    """What an object says it is, and, if it has some, its items and the way to them."""

    kind: str = ""
    api_version: str = ""
    items: list[Any] | None = None
    way: Path = ("items",)


class _JSONHead(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None


class _JSONList(_JSONHead):
    items: list[msgspec.Raw] | None = None


def _head(content: object) -> _Head | None:
    """Look what something is, decoding no more than that; None for null."""
    if isinstance(content, msgspec.Raw):
        return _json_head(content)
    if isinstance(content, list):
        return _Head(items=content, way=())
    if isinstance(content, dict):
        head = typed({key: content.get(key) for key in ("kind", "apiVersion")}, _JSONHead)
        items = content.get("items")
        return _Head(
            head.kind or "", head.api_version or "", items if type(items) is list else None
        )
    return None if content is None else _Head()


def _json_head(raw: msgspec.Raw) -> _Head | None:
    first = bytes(memoryview(raw)[:1])
    if first == b"[":
        return _Head(items=typed(raw, list[msgspec.Raw]), way=())
    if first != b"{":
        return None if first == b"n" else _Head()
    try:
        found = typed(raw, _JSONList)
    except InputError:
        head = typed(raw, _JSONHead)
        return _Head(head.kind or "", head.api_version or "")
    return _Head(found.kind or "", found.api_version or "", found.items)


def _located(error: InputError, source: str, document: Document, item: _Item) -> InputError:
    """Say where in the source an item is wrong, and what the item is called."""
    return InputError(
        error.what,
        source=source,
        document=document.number,
        line=document.line_of((*item.path, *path_of(error.field))) or document.line,
        object=_name(item),
        field=error.field,
        hint=error.hint,
    )


def _name(item: _Item) -> str:
    """Call an object by kind, namespace and name, as far as they can be read: it is broken."""
    try:
        plain = tree(item.content)
    except (InputError, RecursionError):
        plain = None
    fields = plain if isinstance(plain, dict) else {}
    metadata = fields.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    key = [part for part in map(named.get, ["namespace", "name"]) if isinstance(part, str)]
    kind = fields.get("kind")
    return " ".join(filter(None, [kind if isinstance(kind, str) else item.kind, "/".join(key)]))
