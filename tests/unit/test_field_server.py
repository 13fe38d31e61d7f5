"""Field cases about control planes for tests and what-ifs: the embedded server, with controllers.

Everything runs in one process, on a clock that jumps.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nearwise.cli import cli
from nearwise.client.dump import sources
from nearwise.controllers.process import Process
from nearwise.lab.dumps import load, objects_in
from nearwise.lab.kubelets import Kubelets
from nearwise.lab.local_cluster import LocalCluster
from nearwise.model.wellknown import SERVICE_NAME, TOPOLOGY_MODE, ZONE
from nearwise.server.allocation import Pool
from nearwise.server.api import Api
from nearwise.server.garbage import Collector
from nearwise.server.namespaces import Emptier
from nearwise.server.options import Patch, PatchType, WriteOptions
from nearwise.server.resources import NODES, PODS, Address
from nearwise.store import Store
from simulation.model_cluster import surroundings
from simulation.replica import ALONE
from small_cluster import SmallCluster, run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

Json = dict[str, Any]

ENABLED, DISABLED = "TopologyAwareHintsEnabled", "TopologyAwareHintsDisabled"


class Controllers:
    """The controllers, as something that goes on beside requests."""

    def __init__(self, _store: Store, api: Api) -> None:
        self._process = Process(LocalCluster(api), ALONE, surroundings())

    async def run(self) -> None:
        """Work until cancelled."""
        await self._process.run(asyncio.Event())


class ControlPlane(SmallCluster):
    """An embedded server of both address families, with all that belongs to it."""

    def __init__(self) -> None:
        super().__init__()
        self.api.close()
        self.api = Api(self.store, self.api.world, Pool(("10.96.0.0/16", "fd00:10:96::/112")))

    async def begin(self, objects: Iterable[Json] = ()) -> None:
        """Store what there is to begin with, and let everything start."""
        await load(objects, self.store, self.api)
        await self.api.start()
        self.start(Kubelets, Collector, Emptier, Controllers)
        await asyncio.sleep(15)

    async def add_node(self, name: str, zone: str = "", cpu: str = "4") -> None:
        labels = {ZONE: zone} if zone else {}
        await self.create(f"Node {name}", metadata={"labels": labels}, status=_node_status(cpu))
        await asyncio.sleep(5)

    async def resize_node(self, name: str, cpu: str) -> None:
        await self._set_status(Address(NODES, "", name), _node_status(cpu))

    async def remove(self, *whats: str) -> None:
        for what in whats:
            await self.delete(what, grace_period_seconds=0)
        await asyncio.sleep(5)

    async def run_pod(self, name: str, node: str, *addresses: str) -> None:
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "image"}]}
        await self.create(f"Pod shop/{name}", metadata={"labels": {"app": "web"}}, spec=spec)
        ips = [{"ip": address} for address in addresses]
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "podIP": addresses[0], "podIPs": ips, "conditions": [ready]}
        await self._set_status(Address(PODS, "shop", name), status)

    async def flip(self, namespace: str, name: str) -> None:
        """Have a pod be not ready for a moment."""
        for ready in (False, True):
            condition = {"type": "Ready", "status": str(ready)}
            await self._set_status(Address(PODS, namespace, name), {"conditions": [condition]})
            await asyncio.sleep(5)

    async def _set_status(self, at: Address, status: Json) -> None:
        patch = Patch(PatchType.MERGE, {"status": status})
        at = Address(at.resource, at.namespace, at.name, "status")
        await self.api.patch(at, patch, WriteOptions())

    def slices(self, namespace: str, service: str) -> list[Json]:
        found = (self.get(f"EndpointSlice {namespace}/{n}") for n in self._names(namespace))
        return [one for one in found if one["metadata"]["labels"][SERVICE_NAME] == service]

    def hints(self, namespace: str, service: str) -> Counter[str]:
        """Count endpoints by the zone they are meant for, "" for none."""
        return Counter(
            hint["name"]
            for one in self.slices(namespace, service)
            for each in one["endpoints"] or ()
            for hint in (each.get("hints") or {}).get("forZones") or [{"name": ""}]
        )

    def told(self, namespace: str) -> Counter[str]:
        """Count what events have told, by reason."""
        times: Counter[str] = Counter()
        for name in self.names("Event", namespace):
            event = self.get(f"Event {namespace}/{name}")
            times[event["reason"]] += event.get("count") or 1
        return times

    def _names(self, namespace: str) -> list[str]:
        return self.names("EndpointSlice", namespace)


def _node_status(cpu: str) -> Json:
    return {
        "allocatable": {"cpu": cpu, "memory": "8Gi"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }


def play(scenario: Callable[[ControlPlane], Awaitable[None]], objects: Sequence[Json] = ()) -> None:
    """Play a scenario on a control plane that begins with these objects."""

    async def main(_: SmallCluster) -> None:
        plane = ControlPlane()
        await plane.begin(objects)
        try:
            await scenario(plane)
        finally:
            await plane.stop()

    run(main)


def service(**spec: Any) -> Json:
    return {
        "metadata": {"annotations": {TOPOLOGY_MODE: "Auto"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec},
    }


# --- Hints by CPU share, live ---------------------------------------------------------------


def test_f37_a_node_that_grows_in_place_is_noticed_with_the_next_change_of_a_pod() -> None:
    async def scenario(plane: ControlPlane) -> None:
        await plane.create("Namespace shop")
        for node, zone in (("n1", "a"), ("n2", "b")):
            await plane.add_node(node, zone)
        await plane.create("Service shop/web", **service())
        for number in range(6):
            await plane.run_pod(f"web-{number}", f"n{number % 2 + 1}", f"10.0.0.{number}")
        await asyncio.sleep(15)
        assert plane.hints("shop", "web") == {"a": 3, "b": 3}

        await plane.resize_node("n1", "8")
        await asyncio.sleep(3600)
        assert plane.hints("shop", "web") == {"a": 3, "b": 3}

        await plane.remove("Pod shop/web-5")
        await plane.run_pod("web-6", "n2", "10.0.0.6")
        await asyncio.sleep(5)
        assert plane.hints("shop", "web") == {"a": 4, "b": 2}

    play(scenario)


def test_f38_one_family_has_hints_and_the_other_none_and_both_are_told() -> None:
    async def scenario(plane: ControlPlane) -> None:
        await plane.create("Namespace shop")
        for number, zone in enumerate("abc"):
            await plane.add_node(f"n{number}", zone)
        dual = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
        await plane.create("Service shop/web", **service(clusterIP="None", **dual))
        for number in range(6):
            both = [f"10.0.0.{number}", f"fd00::{number + 1}"][: 1 if number == 5 else 2]
            await plane.run_pod(f"web-{number}", f"n{number % 3}", *both)
        await asyncio.sleep(15)

        hinted = {
            one["addressType"]: sum("hints" in each for each in one["endpoints"])
            for one in plane.slices("shop", "web")
        }
        assert hinted == {"IPv4": 6, "IPv6": 0}
        assert plane.told("shop").keys() == {ENABLED, DISABLED}

    play(scenario)


# --- F95: clusters from dumps ---------------------------------------------------------------


def shop() -> list[Json]:
    return list(objects_in((EXAMPLES / "shop.yaml").read_bytes(), "shop.yaml"))


def as_kubectl_prints(folder: Path) -> Path:
    """``kubectl get ... -o yaml``: one list."""
    return EXAMPLES / "shop.yaml"


def as_must_gather(folder: Path) -> Path:
    """A folder for each namespace, a file for each node and each resource; logs beside them."""
    nodes = folder / "cluster-scoped-resources" / "core" / "nodes"
    nodes.mkdir(parents=True)
    (folder / "must-gather.logs").write_text("gathering\n")
    by_place: dict[Path, list[Json]] = {}
    for each in shop():
        name, namespace = each["metadata"]["name"], each["metadata"].get("namespace")
        if each["kind"] == "Node":
            (nodes / f"{name}.yaml").write_text(yaml.safe_dump(each))
        elif namespace:
            group = each["apiVersion"].rpartition("/")[0] or "core"
            place = folder / "namespaces" / namespace / group / f"{each['kind'].lower()}s.yaml"
            by_place.setdefault(place, []).append(each)
    for place, items in by_place.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        kind = f"{items[0]['kind']}List"
        listed = {"apiVersion": items[0]["apiVersion"], "kind": kind, "items": items}
        place.write_text(yaml.safe_dump(listed))
    return folder


def as_json_documents(folder: Path) -> Path:
    """One object after the other."""
    path = folder / "all.json"
    path.write_text("\n".join(map(json.dumps, shop())))
    return path


@pytest.mark.parametrize("form", [as_kubectl_prints, as_must_gather, as_json_documents])
def test_f95_a_dump_becomes_a_cluster_that_can_be_changed(
    tmp_path: Path, form: Callable[[Path], Path]
) -> None:
    objects = [
        each for source, data in sources(str(form(tmp_path))) for each in objects_in(data, source)
    ]
    dumped = {
        each["metadata"]["name"]: each["endpoints"]
        for each in objects
        if each["kind"] == "EndpointSlice"
    }
    assert len(dumped) == 12

    async def scenario(plane: ControlPlane) -> None:
        def stored() -> dict[str, Any]:
            return {
                name: plane.get(f"EndpointSlice {namespace}/{name}")["endpoints"]
                for namespace in plane.names("Namespace", "")
                for name in plane.names("EndpointSlice", namespace)
            }

        assert stored() == dumped  # the controllers found nothing to do

        (web,) = plane.slices("shop", "web")
        pod = web["endpoints"][0]["targetRef"]["name"]
        await plane.remove(f"Pod shop/{pod}")
        changed = {name for name, endpoints in stored().items() if endpoints != dumped[name]}
        assert web["metadata"]["name"] in changed
        (web,) = plane.slices("shop", "web")
        assert pod not in [each["targetRef"]["name"] for each in web["endpoints"]]

    play(scenario, objects)


# --- F97, F98: nodes of the real cluster, and nodes that come and go ---------------------------


def flags(tmp_path: Path) -> list[Json]:
    """Take a snapshot of the cluster of the flag server, as its users would."""
    snapshot = tmp_path / "snapshot.yaml"
    dump = EXAMPLES / "flag-server-1-hints-on.yaml"
    done = CliRunner().invoke(cli, ["snapshot", "-f", str(dump), "--to", str(snapshot)])
    assert done.exit_code == 0, done.output
    return list(objects_in(snapshot.read_bytes(), str(snapshot)))


FLAGS = ("platform", "feature-flags")
HINTS = {"ap-northeast-2a": 2, "ap-northeast-2c": 2}


def test_f97_nodes_that_come_and_go_are_replayed_for_what_they_do_to_hints(tmp_path: Path) -> None:
    async def scenario(plane: ControlPlane) -> None:
        hinted, before = [], plane.told("platform")
        for step in (
            plane.add_node("spot-1", "ap-northeast-2a"),
            plane.add_node("spot-2"),
            plane.add_node("spot-3", "ap-northeast-2c"),
            plane.remove("Node spot-2"),
            plane.remove("Node spot-3"),
            plane.flip("platform", "feature-flags-7c9f-3"),
        ):
            await step
            hinted.append(sum(plane.hints(*FLAGS).values()) - plane.hints(*FLAGS)[""])
        # One more node changes little. One without a zone takes all hints, and they do not come
        # back when it goes, but with the next change of a pod.
        assert hinted == [4, 0, 0, 0, 0, 4]
        assert (plane.told("platform") - before).keys() == {ENABLED, DISABLED}

    play(scenario, flags(tmp_path))


def test_f98_the_nodes_of_the_real_cluster_take_the_place_of_a_toy(tmp_path: Path) -> None:
    real = {
        each["metadata"]["name"]: each
        for each in objects_in((EXAMPLES / "flag-server-1-hints-on.yaml").read_bytes(), "")
        if each["kind"] == "Node"
    }

    def what_counts(node: Json) -> tuple[object, ...]:
        ready = {each["type"]: each["status"] for each in node["status"]["conditions"]}["Ready"]
        cpu = node["status"]["allocatable"]["cpu"]
        return node["metadata"]["labels"][ZONE], cpu, ready, node["spec"].get("taints")

    async def scenario(plane: ControlPlane) -> None:
        nodes = {name: plane.get(f"Node {name}") for name in plane.names("Node", "")}
        assert {name: what_counts(node) for name, node in nodes.items()} == {
            name: what_counts(node) for name, node in real.items()
        }
        assert plane.hints(*FLAGS) == HINTS
        assert plane.told("platform") == told  # nothing was turned on that was on already

    objects = flags(tmp_path)
    told = Counter(each["reason"] for each in objects if each["kind"] == "Event")
    play(scenario, objects)
