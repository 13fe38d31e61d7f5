"""From HTTP to what is asked for: path, method, query and headers to a typed request.

Law: pure. What cannot be asked is refused here, by name, with the Status that kube-apiserver
gives; what is a request after this can be carried out or refused for what it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs

import msgspec

from nearwise.model.codec import from_dict
from nearwise.model.errors import InputError
from nearwise.server.objects.bodies import read_object, read_patch
from nearwise.server.objects.selection import read_selection
from nearwise.server.objects.views import Form, View
from nearwise.server.options import (
    DeleteOptions,
    ListOptions,
    Patch,
    PatchType,
    Strictness,
    WriteOptions,
    force_errors,
    write_errors,
)
from nearwise.server.patch import manager_name
from nearwise.server.resources import GROUPS, Address, Resource, find
from nearwise.server.statuses import (
    bad_request,
    invalid_options,
    method_not_allowed,
    no_such_resource,
    not_acceptable,
    unsupported_patch,
)
from nearwise.server.tables import IncludeObject

JSON: Final = "application/json"
YAML: Final = "application/yaml"  # JSON is YAML too, so this is answered with JSON
WRITTEN: Final = (JSON, YAML)
"""The formats in which answers are written."""


class Verb(StrEnum):
    """What is to be done, as discovery calls it."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"


class Request(msgspec.Struct, frozen=True):
    """A request for objects."""

    verb: Verb
    at: Address
    view: View
    query: Mapping[str, Sequence[str]] = {}
    media: str = ""
    """The format of the body, empty when it is not said."""
    user_agent: str = ""
    accepted: str = JSON
    """The format of the answer."""

    def first(self, name: str) -> str:
        """Return a parameter, empty when it is not given."""
        return self.query.get(name, ("",))[0]

    def list_options(self) -> ListOptions:
        """Return which objects a list, a watch or a deletion is about. Raises Refusal."""
        return ListOptions(
            selection=read_selection(
                self.first("labelSelector"), self.first("fieldSelector"), self.at.resource
            ),
            resource_version=self.first("resourceVersion"),
            match=self.first("resourceVersionMatch"),
            limit=max(0, self._number("limit") or 0),
            continue_=self.first("continue"),
            send_initial_events=self._flag("sendInitialEvents"),
            allow_bookmarks=self._flag("allowWatchBookmarks") or False,
            timeout=float(max(0, self._number("timeoutSeconds") or 0)),
        )

    def write_options(self) -> WriteOptions:
        """Return how an object is to be written. Raises Refusal."""
        manager = self.first("fieldManager")
        dry_run = tuple(self.query.get("dryRun", ()))
        strictness = self.first("fieldValidation")
        errors = write_errors(manager, dry_run, strictness)
        if errors:
            raise invalid_options(_OPTIONS[self.verb], errors)
        is_apply = self.verb is Verb.PATCH and self.media == PatchType.APPLY
        return WriteOptions(
            manager=manager if is_apply else manager_name(manager, self.user_agent),
            dry_run=bool(dry_run),
            strictness=Strictness(strictness) if strictness else Strictness.WARN,
        )

    def patch(self, body: bytes) -> Patch:
        """Return the change that a body is. Raises Refusal."""
        if self.media not in list(PatchType):
            raise unsupported_patch()
        patch = PatchType(self.media)
        forced = self._flag("force")
        if forced is not None and (errors := force_errors(patch)):
            raise invalid_options("PatchOptions", errors)
        content = read_patch(body, yaml=patch is PatchType.APPLY)
        return Patch(patch, content, forced or False)

    def delete_options(self, body: bytes) -> DeleteOptions:
        """Return how an object is to be deleted, as the body says or the query. Raises Refusal."""
        if not body:
            return DeleteOptions(
                grace_period_seconds=self._number("gracePeriodSeconds"),
                orphan_dependents=self._flag("orphanDependents"),
                propagation_policy=self.first("propagationPolicy") or None,
                dry_run=tuple(self.query.get("dryRun", ())),
            )
        sent = read_object(body, self.media, "DeleteOptions")
        try:
            return from_dict(sent.content, DeleteOptions)
        except InputError as error:
            raise bad_request(
                'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: '
                f"{error.field}: {error.what}"
            ) from None

    def _number(self, name: str) -> int | None:
        text = self.first(name)
        if not text:
            return None
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        if len(digits) > 18:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
        return int(text)

    def _flag(self, name: str) -> bool | None:
        """Return a parameter that is true unless it says ``false`` or ``0``."""
        if name not in self.query:
            return None
        return self.first(name).lower() not in ("false", "0")


_OPTIONS: Final = {
    Verb.CREATE: "CreateOptions",
    Verb.UPDATE: "UpdateOptions",
    Verb.PATCH: "PatchOptions",
}


def read_request(
    method: str, path: str, query: bytes, headers: Mapping[str, str]
) -> Request | None:
    """Return what is asked for, None when it is not about objects. Raises Refusal.

    Names of headers are in lower case.
    """
    at = address_of(path)
    if at is None:
        return None
    parameters = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    verb = _verb(method, at, "watch" in parameters and _is_true(parameters["watch"][0]))
    accepted, view = _negotiated(headers.get("accept", ""), at.resource, parameters)
    return Request(
        verb=verb,
        at=at,
        view=view,
        query=parameters,
        media=headers.get("content-type", "").partition(";")[0].strip().lower(),
        user_agent=headers.get("user-agent", ""),
        accepted=accepted,
    )


# --- Where --------------------------------------------------------------------------------


def address_of(path: str) -> Address | None:
    """Return the address that a path is, None when it is not one of objects.

    Raises Refusal (404) when it would be one of objects that are not served.
    """
    root, _, rest = path.strip("/").partition("/")
    if root not in ("api", "apis"):
        return None
    parts = rest.split("/")
    group = "" if root == "api" else parts.pop(0)
    version, parts = (parts[0], parts[1:]) if parts else ("", [])
    if (group, version) not in GROUPS or not parts:
        return None
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in ("finalize", "status"):
        namespace, parts = parts[1], parts[2:]
    resource = find(group, version, parts[0])
    if resource is None or len(parts) > 3:
        raise no_such_resource()
    name, subresource = (*parts[1:], "", "")[:2]
    here = bool(namespace) == resource.namespaced or not (name or namespace)
    if not here or (subresource and resource.subresource(subresource) is None):
        raise no_such_resource()
    return Address(resource, namespace, name, subresource)


def _verb(method: str, at: Address, watches: bool) -> Verb:
    """Return what a method means at an address. Raises Refusal (405)."""
    resource = at.resource
    verbs: Sequence[str] = resource.verbs
    if at.subresource:
        part = resource.subresource(at.subresource)
        verbs = part.verbs if part else ()
    verb: Verb | None
    if at.subresource and method == "POST":
        verb = Verb.CREATE
    elif at.name:
        verb = _ON_ONE.get(method)
    elif method == "GET":
        verb = Verb.WATCH if watches else Verb.LIST
    else:
        scoped = at.namespace or not resource.namespaced
        verb = _ON_MANY.get(method) if scoped else None
    if verb is None or verb not in verbs:
        raise method_not_allowed()
    return verb


_ON_ONE: Final = {
    "GET": Verb.GET,
    "PUT": Verb.UPDATE,
    "PATCH": Verb.PATCH,
    "DELETE": Verb.DELETE,
}
_ON_MANY: Final = {"POST": Verb.CREATE, "DELETE": Verb.DELETE_COLLECTION}


def _is_true(text: str) -> bool:
    return text.lower() not in ("false", "0")


# --- In which form ------------------------------------------------------------------------


def acceptable(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Return the media types of an Accept header, with their parameters, as far as we write them.

    What accepts anything accepts JSON.
    """
    found = []
    for each in accept.split(",") if accept.strip() else ["*/*"]:
        media, *rest = (part.strip() for part in each.split(";"))
        media = media.lower()
        if media in ("*/*", "application/*"):
            media = JSON
        if media in WRITTEN:
            found.append((media, dict(_parameter(part) for part in rest)))
    return found


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip().strip('"')


def _negotiated(
    accept: str, resource: Resource, query: Mapping[str, Sequence[str]]
) -> tuple[str, View]:
    """Return the first format and form that the client takes. Raises Refusal (406)."""
    for media, parameters in acceptable(accept):
        wanted = parameters.get("as", "")
        if not wanted:
            return media, View(resource)
        is_meta = (parameters.get("g"), parameters.get("v")) == ("meta.k8s.io", "v1")
        if is_meta and wanted == Form.TABLE:
            return media, View(resource, Form.TABLE, _included(query))
        if is_meta and wanted in (Form.METADATA, f"{Form.METADATA}List"):
            return media, View(resource, Form.METADATA)
    raise not_acceptable(WRITTEN)


def _included(query: Mapping[str, Sequence[str]]) -> IncludeObject:
    match query.get("includeObject", ["Metadata"])[0]:
        case "None":
            return "None"
        case "Object":
            return "Object"
        case _:
            return "Metadata"
