"""What can be asked for where: one operation for each verb of each resource.

Law: which resources there are is said in ``server/resources.py``, how a schema looks in
``expand.py``. Clients look here for the kind behind an address, and for the parameters that a
PATCH takes (kubectl leaves validation and dry runs to servers that know ``fieldValidation`` and
``dryRun``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from nearwise.server.openapi.definitions import META, name_of
from nearwise.server.openapi.expand import PATCH, Dialect, GroupVersionKind, reference
from nearwise.server.resources import Resource, Subresource

Paths: TypeAlias = dict[str, dict[str, Any]]

_JSON: Final = ("application/json", "application/yaml")
_PATCHES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


class _Verb(msgspec.Struct, frozen=True):
    """How a verb is asked for."""

    method: str
    word: str
    """First word of the operation's name."""

    parameters: tuple[str, ...] = ()
    body: str = ""
    """Full name of what is sent; ``kind`` for the kind itself."""

    answer: str = "kind"
    """Full name of what is answered; ``kind``, or ``list`` of it."""

    many: bool = False
    """It is asked for all objects, not for one."""


_SELECTING: Final = (
    *("continue", "fieldSelector", "labelSelector", "limit"),
    *("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds"),
)
_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETING: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_OPTIONS: Final = f"{META}.DeleteOptions"
_STATUS: Final = f"{META}.Status"

_VERBS: Final = {
    "list": _Verb(
        "get", "list", ("allowWatchBookmarks", *_SELECTING, "watch"), answer="list", many=True
    ),
    "create": _Verb("post", "create", _WRITING, body="kind", many=True),
    "deletecollection": _Verb(
        "delete", "deleteCollection", (*_DELETING, *_SELECTING), _OPTIONS, _STATUS, many=True
    ),
    "get": _Verb("get", "read"),
    "update": _Verb("put", "replace", _WRITING, body="kind"),
    "patch": _Verb("patch", "patch", (*_WRITING, "force"), body=PATCH),
    "delete": _Verb("delete", "delete", _DELETING, _OPTIONS, _STATUS),
}
"""In the order in which an address lists them; ``watch`` is a list that goes on."""

_ACTIONS: Final = {"create": "post", "update": "put"}
"""What verbs are called in ``x-kubernetes-action``, where not the same."""

_PARAMETERS: Final = {
    "allowWatchBookmarks": ("boolean", "Tell now and then how far a watch is."),
    "continue": ("string", "Token of the page before."),
    "dryRun": ("string", "All: go through everything and store nothing."),
    "fieldManager": ("string", "Who sets the fields."),
    "fieldSelector": ("string", "Only objects with these fields."),
    "fieldValidation": ("string", "Unknown fields: Ignore, Warn (default) or Strict."),
    "force": ("boolean", "Take fields over from others that have set them. Only for apply."),
    "gracePeriodSeconds": ("integer", "Seconds to stop in; 0 deletes at once."),
    "labelSelector": ("string", "Only objects with these labels."),
    "limit": ("integer", "How many objects a page has at most."),
    "name": ("string", "Name of the object."),
    "namespace": ("string", "Namespace of the object."),
    "orphanDependents": ("boolean", "Old form of propagationPolicy."),
    "propagationPolicy": ("string", "Dependents: Orphan, Background or Foreground."),
    "resourceVersion": ("string", "Version of the store to list or watch from."),
    "resourceVersionMatch": ("string", "NotOlderThan or Exact."),
    "sendInitialEvents": ("boolean", "Begin a watch with what is there."),
    "timeoutSeconds": ("integer", "Seconds after which a watch ends."),
    "watch": ("boolean", "Go on with every change."),
}


def paths_of(resources: Iterable[Resource], dialect: Dialect) -> Paths:
    """Return all addresses of resources, sorted, and what can be asked for there."""
    paths: Paths = {}
    for resource in resources:
        for address, verbs, sub in _addresses(resource):
            operations = {
                _VERBS[verb].method: _operation(resource, address, verb, sub, dialect)
                for verb in verbs
            }
            shared = [name for name in ("name", "namespace") if f"{{{name}}}" in address]
            parameters = [_parameter(name, "path", dialect) for name in shared]
            paths[address] = operations | ({"parameters": parameters} if parameters else {})
    return dict(sorted(paths.items()))


def _addresses(resource: Resource) -> Iterator[tuple[str, list[str], Subresource | None]]:
    """Name each address with its verbs, and the subresource that is there."""
    top = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
    home = f"{top}/namespaces/{{namespace}}" if resource.namespaced else top
    if resource.namespaced:
        yield f"{top}/{resource.plural}", ["list"], None
    for many, address in ((True, resource.plural), (False, f"{resource.plural}/{{name}}")):
        verbs = [verb for verb in _known(resource.verbs) if _VERBS[verb].many is many]
        yield f"{home}/{address}", verbs, None
    for sub in resource.subresources:
        yield f"{home}/{resource.plural}/{{name}}/{sub.name}", _known(sub.verbs), sub


def _known(verbs: Iterable[str]) -> list[str]:
    return [verb for verb in _VERBS if verb in verbs]


def kind_of(resource: Resource, sub: Subresource | None = None) -> GroupVersionKind:
    """Say what a resource or its subresource is, as clients know it."""
    if sub is None or not sub.version:
        kind = resource.kind if sub is None else sub.kind
        return {"group": resource.group, "kind": kind, "version": resource.version}
    return {"group": sub.group, "kind": sub.kind, "version": sub.version}


def schema_name(kind: GroupVersionKind) -> str:
    """Return the full name of a kind's schema."""
    group, version = kind["group"], kind["version"]
    return name_of(f"{group}/{version}" if group else version, kind["kind"])


def _operation(
    resource: Resource, address: str, verb: str, sub: Subresource | None, dialect: Dialect
) -> dict[str, Any]:
    how = _VERBS[verb]
    kind = kind_of(resource, sub)
    own = schema_name(kind)
    names = {"kind": own, "list": f"{own}List"}
    answer = names.get(how.answer, how.answer)
    body = names.get(how.body, how.body)
    if verb == "delete" and resource.answers_deleted:
        answer = own
    operation: dict[str, Any] = {
        "operationId": _operation_name(resource, address, how, sub),
        "description": f"{how.word} {sub.name + ' of ' if sub else ''}{resource.kind}",
        "parameters": [_parameter(name, "query", dialect) for name in how.parameters],
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": kind,
    }
    takes = _PATCHES if verb == "patch" else ("*/*",)
    schema = reference(answer, dialect)
    if dialect == "v3":
        content = {media: {"schema": schema} for media in _JSON}
        operation["responses"] = {"200": {"description": "OK", "content": content}}
        if body:
            sent = {media: {"schema": reference(body, dialect)} for media in takes}
            operation["requestBody"] = {"content": sent, "required": body != _OPTIONS}
        return operation
    operation["responses"] = {"200": {"description": "OK", "schema": schema}}
    operation["produces"] = list(_JSON)
    if body:
        operation["consumes"] = list(takes)
        operation["parameters"].append(
            {
                "name": "body",
                "in": "body",
                "schema": reference(body, dialect),
                "required": body != _OPTIONS,
            }
        )
    return operation


def _operation_name(resource: Resource, address: str, how: _Verb, sub: Subresource | None) -> str:
    """Return a name that no other operation has: ``patchCoreV1NamespacedServiceStatus``."""
    group = (resource.group or "core").partition(".")[0].capitalize()
    scope = "Namespaced" if "{namespace}" in address else ""
    part = sub.name.capitalize() if sub else ""
    end = "ForAllNamespaces" if resource.namespaced and not scope else ""
    version = resource.version.capitalize()
    return f"{how.word}{group}{version}{scope}{resource.kind}{part}{end}"


def _parameter(name: str, place: str, dialect: Dialect) -> dict[str, Any]:
    type_, description = _PARAMETERS[name]
    parameter: dict[str, Any] = {"name": name, "in": place, "description": description}
    if place == "path":
        parameter["required"] = True
    return parameter | ({"schema": {"type": type_}} if dialect == "v3" else {"type": type_})
