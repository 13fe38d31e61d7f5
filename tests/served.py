"""An embedded API server for tests: no network, its own clock, uids and names that are counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

import virtual_time
from asgi import Client, Reply
from nearwise.server.allocation import Pool
from nearwise.server.api import Api, World
from nearwise.server.app import App, Limits
from nearwise.store import MemoryStore, Store

T = TypeVar("T")

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

DEFAULT = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class Server:
    """A server that runs while a scenario does."""

    def __init__(
        self,
        store: Store | None = None,
        pool: Pool | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = store or MemoryStore()
        uids, suffixes = count(1), count()
        world = World(
            now=lambda: self.now,
            uid=lambda: f"00000000-0000-0000-0000-{next(uids):012}",
            suffix=lambda: f"{next(suffixes):05}",
        )
        self.api = Api(self.store, world, pool)
        self.app = App(self.api, limits=limits, **options)
        self.client = Client(self.app, options.get("token", ""))

    @property
    def revision(self) -> int:
        """The newest version."""
        return self.store.read.revision

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def ask(self, method: str, target: str, body: object = None, **how: Any) -> Reply:
        """Send a request."""
        return await self.client(method, target, body, **how)

    async def get(self, target: str, status: int = 200) -> Any:
        """Get something; returns its content."""
        return _content(await self.ask("GET", target), status)

    async def create(self, target: str, body: object, status: int = 201) -> Any:
        """Create an object; returns it, or the Status."""
        return _content(await self.ask("POST", target, body), status)

    async def put(self, target: str, body: object, status: int = 200) -> Any:
        """Replace an object; returns it, or the Status."""
        return _content(await self.ask("PUT", target, body), status)

    async def patch(self, target: str, patch: object, status: int = 200, media: str = MERGE) -> Any:
        """Patch an object; returns it, or the Status."""
        return _content(await self.ask("PATCH", target, patch, media=media), status)

    async def delete(self, target: str, options: object = None, status: int = 200) -> Any:
        """Delete an object; returns it, or the Status."""
        return _content(await self.ask("DELETE", target, options), status)


def play(scenario: Callable[[Server], Awaitable[T]], **options: Any) -> T:
    """Run a scenario against a fresh server, in no time."""

    async def main() -> T:
        server = Server(**options)
        await server.api.start()
        try:
            return await scenario(server)
        finally:
            server.api.close()

    return virtual_time.run(main())


def _content(reply: Reply, status: int) -> Any:
    assert reply.status == status, reply.body
    return reply.json


# --- Objects ------------------------------------------------------------------------------


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def endpoint_slice(name: str = "web-1", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, **metadata},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.1.1"]}],
        "ports": [{"name": "http", "port": 80}],
    }


def pod(name: str = "web-a", node: str = "", **spec: Any) -> dict[str, Any]:
    assigned = {"nodeName": node} if node else {}
    content = {"containers": [{"name": "web", "image": "web:1"}], **assigned, **spec}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": content}


def deployment(name: str = "web", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    content = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"metadata": {"name": name}, "spec": content}
