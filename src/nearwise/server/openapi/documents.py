"""The documents as they are served: made once, when first asked for, and kept.

kubectl 1.36 asks ``/openapi/v3`` for an index and then for the one group version it needs, in JSON.
It asks ``/openapi/v2`` of servers that lack the former, and to validate a List, which has no schema
there; and then in protobuf alone. What it finds in no schema it leaves to the server to validate,
so it is handed a document of no kinds.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, Final

import msgspec

from nearwise.server.openapi.definitions import EVERYWHERE, META
from nearwise.server.openapi.expand import Dialect, GroupVersionKind, Schema, expand
from nearwise.server.openapi.paths import kind_of, paths_of, schema_name
from nearwise.server.resources import GROUPS, RESOURCES, Resource

INDEX: Final = "/openapi/v3"
V2: Final = "/openapi/v2"
V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""How the second version is called in protobuf."""
V2_PROTOBUF_ASKED: Final = frozenset([V2_PROTOBUF, V2_PROTOBUF.replace("v2.v1", "v2@v1")])
"""How clients call it, who may use an older name that is no media type to their own libraries."""

NO_KINDS: Final = b"\n\x032.0"  # swagger: "2.0", the first field of gnostic's Document
"""A document in protobuf, about nothing."""

_INFO: Final = {"title": "Nearwise, an embedded Kubernetes API", "version": "unversioned"}
_VERSIONS: Final = {
    f"{INDEX}/{'apis' if group else 'api'}/{resources[0].api_version}": resources
    for (group, _), resources in GROUPS.items()
}
"""The resources that the document at each address is about."""


class Document(msgspec.Struct, frozen=True):
    """What is served at an address."""

    body: bytes
    """JSON."""

    hash: str
    """Of the body, in hexadecimal: its entity tag, and ``?hash=`` in the index."""


def document(path: str) -> Document | None:
    """Return the document at a path without its query: index, group version, or v2.

    The index refers to group versions with ``?hash=``. What is fetched under its hash never
    changes and may be cached for as long as the client likes.
    """
    return _made(path) if path in (INDEX, V2) or path in _VERSIONS else None


@cache
def _made(path: str) -> Document:
    if path == INDEX:
        return _packed({"paths": {_key(each): _link(each) for each in sorted(_VERSIONS)}})
    if path == V2:
        return _packed(
            {
                "swagger": "2.0",
                "info": _INFO,
                "paths": paths_of(RESOURCES, "v2"),
                "definitions": _schemas(RESOURCES, "v2"),
            }
        )
    return _packed(
        {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": paths_of(_VERSIONS[path], "v3"),
            "components": {"schemas": _schemas(_VERSIONS[path], "v3")},
        }
    )


def _packed(content: dict[str, Any]) -> Document:
    body = msgspec.json.encode(content)
    return Document(body, hashlib.sha256(body).hexdigest().upper())


def _key(path: str) -> str:
    """How the index calls a document: ``apis/apps/v1``."""
    return path.removeprefix(f"{INDEX}/")


def _link(path: str) -> dict[str, str]:
    return {"serverRelativeURL": f"{path}?hash={_made(path).hash}"}


def _schemas(resources: tuple[Resource, ...], dialect: Dialect) -> dict[str, Schema]:
    """Return the schemas that the addresses of resources speak of."""
    kinds: dict[str, list[GroupVersionKind]] = {}
    lists: dict[str, str] = {}
    for resource in resources:
        own = kind_of(resource)
        name = schema_name(own)
        lists[f"{name}List"] = name
        kinds[f"{name}List"] = [{**own, "kind": resource.list_kind}]
        for kind in (own, *(kind_of(resource, sub) for sub in resource.subresources)):
            kinds[schema_name(kind)] = [kind]
    for kind_name in EVERYWHERE:
        versions = dict.fromkeys((each.group, each.version) for each in resources)
        if kind_name == "Status":
            versions = {("", "v1"): None}
        kinds[f"{META}.{kind_name}"] = [
            {"group": group, "kind": kind_name, "version": version} for group, version in versions
        ]
    return expand(kinds, lists, dialect)
