"""What the server says about itself: version, health, and which resources it has (pure).

Law: resources are those of the table in ``resources``; both ways of discovery, a list a group and
everything at once, are made of it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import msgspec

from nearwise import __version__
from nearwise.server.openapi.documents import INDEX, V2
from nearwise.server.requests import JSON, acceptable
from nearwise.server.resources import GROUPS, Resource, Subresource

MINOR: Final = 36
"""The minor version of Kubernetes whose behaviour this is."""

TEXT: Final = "text/plain; charset=utf-8"
HEALTH: Final = ("/healthz", "/livez", "/readyz")
OPEN: Final = frozenset([*HEALTH, "/version"])
"""What anybody may ask without a token."""

_AGGREGATED: Final = "APIGroupDiscoveryList"
_AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"


class Page(msgspec.Struct, frozen=True):
    """An answer that is the same for everybody."""

    body: bytes
    media: str = JSON


def page(path: str, accept: str, host: str) -> Page | None:
    """Return what is served at a path, None when nothing is.

    ``host`` is where the client reached the server.
    """
    path = path.rstrip("/") or "/"
    if path in HEALTH:
        return Page(b"ok", TEXT)
    if path in ("/api", "/apis") and (version := _aggregated_version(accept)):
        return _aggregated(path == "/api", version)
    if path == "/api":
        return Page(msgspec.json.encode(_versions(host)))
    return _fixed().get(path)


@cache
def _fixed() -> dict[str, Page]:
    """Make the pages that depend on nothing."""
    groups = [_group(name) for name in _names() if name]
    contents: dict[str, Any] = {
        "/version": _version(),
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
    }
    for group in groups:
        contents[f"/apis/{group['name']}"] = {"kind": "APIGroup", "apiVersion": "v1", **group}
    for (name, version), resources in GROUPS.items():
        path = f"/apis/{name}/{version}" if name else f"/api/{version}"
        contents[path] = _resources(resources)
    paths = sorted([*contents, "/api", *HEALTH, INDEX, V2])
    contents["/"] = {"paths": paths}
    return {path: Page(msgspec.json.encode(content)) for path, content in contents.items()}


def _version() -> dict[str, str]:
    return {
        "major": "1",
        "minor": str(MINOR),
        "emulationMajor": "1",
        "emulationMinor": str(MINOR),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(MINOR - 1),
        "gitVersion": f"v1.{MINOR}.2+nearwise.{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def _versions(host: str) -> dict[str, Any]:
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": host}
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [address],
    }


def _names() -> Iterable[str]:
    return sorted({name for name, _ in GROUPS})


def _group(name: str) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for group, version in GROUPS
        if group == name
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


# --- A list a group -----------------------------------------------------------------------


def _resources(resources: Iterable[Resource]) -> dict[str, Any]:
    """Return the resources of a group and version, each followed by its subresources."""
    listed: list[dict[str, Any]] = []
    group_version = ""
    for resource in sorted(resources, key=lambda each: each.plural):
        group_version = resource.api_version
        listed.append(_listed(resource))
        listed += [_listed_part(resource, part) for part in resource.subresources]
    named = {"kind": "APIResourceList", "groupVersion": group_version, "resources": listed}
    # Recorded: the core group leaves out the version of the list itself.
    return {**named, "apiVersion": "v1"} if "/" in group_version else named


def _listed(resource: Resource) -> dict[str, Any]:
    return {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
        **_named(resource),
        "storageVersionHash": _storage_version_hash(resource),
    }


def _listed_part(resource: Resource, part: Subresource) -> dict[str, Any]:
    own = {"group": part.group, "version": part.version} if part.group else {}
    return {
        "name": f"{resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **own,
        "kind": part.kind,
        "verbs": part.verbs,
    }


def _named(resource: Resource) -> dict[str, Any]:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {field: values for field, values in names.items() if values}


def _storage_version_hash(resource: Resource) -> str:
    """Return by what clients see that a kind is stored in another version than before."""
    stored = f"{resource.storage_group}/v1/{resource.kind}"
    return b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


# --- Everything at once -------------------------------------------------------------------


def _aggregated_version(accept: str) -> str:
    """Return the version of aggregated discovery that a client prefers, "" for the lists."""
    for _, parameters in acceptable(accept):
        if parameters.get("as") == _AGGREGATED and parameters.get("g") == _AGGREGATED_GROUP:
            version = parameters.get("v", "")
            if version in ("v2", "v2beta1"):
                return version
        elif not parameters.get("as"):
            return ""
    return ""


@cache
def _aggregated(core: bool, version: str) -> Page:
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": each,
                    "resources": [_aggregated_resource(one) for one in GROUPS[name, each]],
                    "freshness": "Current",
                }
                for group, each in GROUPS
                if group == name
            ],
        }
        for name in _names()
        if (not name) == core
    ]
    body = {
        "kind": _AGGREGATED,
        "apiVersion": f"{_AGGREGATED_GROUP}/{version}",
        "metadata": {},
        "items": items,
    }
    media = f"{JSON};g={_AGGREGATED_GROUP};v={version};as={_AGGREGATED}"
    return Page(msgspec.json.encode(body), media)


def _aggregated_resource(resource: Resource) -> dict[str, Any]:
    parts = [
        {
            "subresource": part.name,
            "responseKind": {
                "group": part.group or resource.group,
                "version": part.version or resource.version,
                "kind": part.kind,
            },
            "verbs": part.verbs,
        }
        for part in resource.subresources
    ]
    return {
        "resource": resource.plural,
        "responseKind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        **_named(resource),
        **({"subresources": parts} if parts else {}),
    }
