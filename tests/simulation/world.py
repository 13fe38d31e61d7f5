"""A cluster's life by the draw of a seed: pods, nodes, services and people come, change and go.

Everything is written through the embedded API server, without faults. What happens next is drawn,
so a seed replays exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from nearwise.model.wellknown import TOPOLOGY_MODE, ZONE
from nearwise.server.api import Api
from nearwise.server.api import World as Chance
from nearwise.server.objects.bodies import Sent
from nearwise.server.options import DeleteOptions, Patch, PatchType, WriteOptions
from nearwise.server.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Address,
    Resource,
)
from nearwise.server.statuses import Refusal

NAMESPACE = "shop"
SERVICE_NAMES = ("web", "api")
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_OPTIONS = WriteOptions(manager="somebody")
_NOW = DeleteOptions(grace_period_seconds=0)


def chance_of(seed: int, now: Callable[[], float]) -> Chance:
    """Return where the server's times, uids and names come from."""
    lot = random.Random(seed)
    return Chance(
        now=lambda: _BEGIN + timedelta(seconds=now()),
        uid=lambda: f"{lot.getrandbits(64):016x}",
        suffix=lambda: "".join(lot.choices("bcdfghjklmnpqrstvwxz2456789", k=5)),
    )


class Life:
    """Draws what happens, and does it."""

    def __init__(self, api: Api, seed: int) -> None:
        self._api = api
        self._lot = random.Random(seed)
        self._pods: dict[str, bool] = {}  # name to readiness
        self._nodes: set[str] = set()
        self.touched: set[str] = set()  # pods whose endpoint somebody may have been taken away

    async def begin(self) -> None:
        """Make a namespace, some nodes, services and pods."""
        await self._create(NAMESPACES, "", {"metadata": {"name": NAMESPACE}})
        for number in range(4):
            await self._add_node(number)
        for name in SERVICE_NAMES:
            await self._create(SERVICES, NAMESPACE, self._service(name))
        await self._create(SERVICES, NAMESPACE, {**self._service("ext"), "spec": _EXTERNAL})
        for _ in range(6):
            await self._add_pod()

    async def step(self) -> None:
        """Let one thing happen."""
        await self._lot.choices(
            [
                self._add_pod,
                self._remove_pod,
                self._flip_pod,
                self._finish_pod,
                self._node_changes,
                self._service_changes,
                self._edit_slice,
                self._delete_slice,
                self._write_endpoints,
            ],
            weights=[5, 2, 6, 1, 2, 1, 1, 1, 2],
        )[0]()

    # --- what happens ---------------------------------------------------------------------

    async def _add_pod(self) -> None:
        name = f"web-{self._lot.randrange(20)}"
        if name in self._pods:
            return
        number = int(name[4:])
        app = self._lot.choice(SERVICE_NAMES)
        pod = {
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {
                "nodeName": f"n{self._lot.randrange(5)}",
                "containers": [
                    {"name": "c", "image": "x", "ports": [{"containerPort": 8080, "name": "http"}]}
                ],
            },
        }
        await self._create(PODS, NAMESPACE, pod)
        self._pods[name] = True
        await self._status(name, {"podIP": f"10.0.0.{number + 1}", "phase": "Running"}, ready=True)

    async def _flip_pod(self) -> None:
        if self._pods:
            name = self._lot.choice(sorted(self._pods))
            self._pods[name] = not self._pods[name]
            self.touched.add(name)
            await self._status(name, {}, ready=self._pods[name])

    async def _finish_pod(self) -> None:
        if self._pods:
            name = self._lot.choice(sorted(self._pods))
            self.touched.add(name)
            await self._status(name, {"phase": "Failed"}, ready=False)

    async def _remove_pod(self) -> None:
        if self._pods:
            name = self._lot.choice(sorted(self._pods))
            del self._pods[name]
            self.touched.add(name)
            await self._api.delete(Address(PODS, NAMESPACE, name), _NOW)

    async def _add_node(self, number: int) -> None:
        name = f"n{number}"
        self._nodes.add(name)
        labels = {ZONE: self._lot.choice("ab")} if self._lot.random() < 0.9 else {}
        await self._create(NODES, "", {"metadata": {"name": name, "labels": labels}})
        status = {
            "allocatable": {"cpu": self._lot.choice(("2", "4"))},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        await self._patch(Address(NODES, "", name, "status"), {"status": status})

    async def _node_changes(self) -> None:
        number = self._lot.randrange(5)
        name = f"n{number}"
        if name not in self._nodes:
            await self._add_node(number)
        elif self._lot.random() < 0.3:
            self._nodes.discard(name)
            self.touched.update(self._pods)  # those on it are no endpoints any more
            await self._api.delete(Address(NODES, "", name))
        else:
            zone = self._lot.choice(["a", "b", None])
            await self._patch(Address(NODES, "", name), {"metadata": {"labels": {ZONE: zone}}})

    async def _service_changes(self) -> None:
        name = self._lot.choice(SERVICE_NAMES)
        at = Address(SERVICES, NAMESPACE, name)
        self.touched.update(self._pods)
        match self._lot.randrange(4):
            case 0:
                mode = self._lot.choice(["Auto", None])
                await self._patch(at, {"metadata": {"annotations": {TOPOLOGY_MODE: mode}}})
            case 1:
                value = self._lot.choice(["PreferSameZone", "PreferSameNode", None])
                await self._patch(at, {"spec": {"trafficDistribution": value}})
            case 2:
                team = self._lot.choice(["x", "y", None])
                await self._patch(at, {"metadata": {"labels": {"team": team}}})
            case _:
                await self._patch(at, {"spec": {"publishNotReadyAddresses": True}})

    async def _edit_slice(self) -> None:
        slice_ = self._any_slice()
        if slice_ is not None:
            edits: list[dict[str, Any]] = [
                {"endpoints": []},
                {"metadata": {"labels": {"team": "nobody"}}},
                {"endpoints": [{"addresses": ["10.9.9.9"]}]},
            ]
            edit = self._lot.choice(edits)
            self.touched.update(self._pods)
            await self._patch(Address(ENDPOINT_SLICES, NAMESPACE, slice_), edit)

    async def _delete_slice(self) -> None:
        slice_ = self._any_slice()
        if slice_ is not None:
            self.touched.update(self._pods)
            await self._api.delete(Address(ENDPOINT_SLICES, NAMESPACE, slice_))

    async def _write_endpoints(self) -> None:
        addresses = [{"ip": f"192.0.2.{n}"} for n in self._lot.sample(range(1, 9), 3)]
        subsets = [{"addresses": addresses, "ports": [{"port": 80}]}]
        await self._create(ENDPOINTS, NAMESPACE, {"metadata": {"name": "ext"}, "subsets": subsets})
        await self._patch(Address(ENDPOINTS, NAMESPACE, "ext"), {"subsets": subsets})

    # --- how it is written ----------------------------------------------------------------

    def _service(self, name: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name},
            "spec": {
                "selector": {"app": name},
                "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
            },
        }

    def _any_slice(self) -> str | None:
        entries = self._api.list(Address(ENDPOINT_SLICES, NAMESPACE)).entries
        return self._lot.choice([entry.key.name for entry in entries]) if entries else None

    async def _status(self, name: str, status: dict[str, Any], *, ready: bool) -> None:
        moment = self._api.world.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": moment,
        }
        patch = {"status": {**status, "conditions": [condition]}}
        if "podIP" in status:
            patch["status"]["podIPs"] = [{"ip": status["podIP"]}]
        await self._patch(Address(PODS, NAMESPACE, name, "status"), patch)

    async def _create(self, resource: Resource, namespace: str, obj: dict[str, Any]) -> None:
        try:
            await self._api.create(Address(resource, namespace), Sent(obj), _OPTIONS)
        except Refusal as refused:
            if refused.status.code != 409:
                raise

    async def _patch(self, at: Address, patch: dict[str, Any]) -> None:
        await self._api.patch(at, Patch(PatchType.MERGE, patch), _OPTIONS)


_EXTERNAL: dict[str, Any] = {"ports": [{"port": 80}]}
