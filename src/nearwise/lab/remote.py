"""The API of a lab for its commands and for tests: plain objects, one request a call.

Law: it blocks, and belongs to one thread. Refusals are StatusError; LostError when the process of
the lab does not answer.
"""

from __future__ import annotations

import http.client
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from nearwise.client.kubeconfig import find_access
from nearwise.client.tls import tls_context
from nearwise.lab.state import Place
from nearwise.model import Status
from nearwise.model.codec import decode, from_dict
from nearwise.model.errors import LostError, StatusError
from nearwise.model.objects import Objects, gather
from nearwise.model.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
)
from nearwise.model.resources import Resource as Typed
from nearwise.server.objects.stored import Decoded
from nearwise.server.resources import RESOURCES, Resource

_TIMEOUT: Final = 10.0  # seconds
_BY_KIND: Final = {each.kind: each for each in reversed(RESOURCES)}
_MERGE: Final = "application/merge-patch+json"
_READ: Final[dict[str, Typed[Any]]] = {
    "nodes": NODES,
    "namespaces": NAMESPACES,
    "services": SERVICES,
    "endpoints": ENDPOINTS,
    "slices": ENDPOINT_SLICES,
    "pods": PODS,
}


class Remote:
    """A way to the API of a lab."""

    def __init__(self, place: Place) -> None:
        """Find out how to get in. InputError or ClusterError when that is not there."""
        access = find_access(str(place.kubeconfig))
        identity = access.credentials.identity()
        assert identity.authorization is not None
        self._headers = {
            "Authorization": identity.authorization.reveal(),
            "User-Agent": "nearwise-lab",
        }
        where = urlsplit(access.server)
        self._connection = http.client.HTTPSConnection(
            str(where.hostname),
            where.port,
            timeout=_TIMEOUT,
            context=tls_context(access, identity),
        )

    def objects(self) -> Objects:
        """Return everything that decides routing."""
        found = {
            field: tuple(
                resource.named(from_dict(each, resource.type)) for each in self.list(resource.kind)
            )
            for field, resource in _READ.items()
        }
        return gather(found, {}, ())

    def get(self, kind: str, name: str, namespace: str = "") -> Decoded:
        """Return an object."""
        return self._ask("GET", _path(kind, namespace, name))

    def list(self, kind: str, namespace: str = "") -> list[Decoded]:
        """Return the objects of a kind, in a namespace or in all."""
        items: list[Decoded] = self._ask("GET", _path(kind, namespace))["items"]
        return items

    def create(self, obj: Decoded) -> Decoded:
        """Create an object, and return it as stored."""
        namespace = obj["metadata"].get("namespace", "default")
        return self._ask("POST", _path(obj["kind"], namespace), obj)

    def patch(self, kind: str, name: str, change: Decoded, namespace: str = "") -> Decoded:
        """Change an object by a merge patch, and return it as stored."""
        return self._ask("PATCH", _path(kind, namespace, name), change)

    def delete(
        self, kind: str, name: str, namespace: str = "", grace: int | None = None
    ) -> Decoded:
        """Delete an object, a pod after ``grace`` seconds (None: as it says itself)."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace}
        return self._ask("DELETE", _path(kind, namespace, name), options)

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: object = None) -> Decoded:
        headers = {**self._headers, "Content-Type": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = _MERGE
        sent = msgspec.json.encode(body) if body is not None else None
        try:
            status, answer = self._once(method, path, sent, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise LostError(f"the process of the lab does not answer: {error}") from None
        if status >= 300:
            raise StatusError(decode(answer, Status))
        obj: Decoded = msgspec.json.decode(answer)
        return obj

    def _once(
        self, method: str, path: str, sent: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, sent, headers)
            response = self._connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            self.close()  # it was idle for too long: nothing has been done
            self._connection.request(method, path, sent, headers)
            response = self._connection.getresponse()
        return response.status, response.read()


def _path(kind: str, namespace: str, name: str = "") -> str:
    resource: Resource = _BY_KIND[kind]
    root = f"apis/{resource.group}" if resource.group else "api"
    inside = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
    return f"/{root}/{resource.version}{inside}/{resource.plural}{f'/{name}' if name else ''}"
