"""Near endpoints, told with real connections: own node, own zone, the cluster, and back.

These are the stories of ``cache-preloader``, ``checkout`` and ``orders`` in docs/tutorial.md.
"""

from __future__ import annotations

from lab_stories import Json, begin_to_end, clients, end, pods_of, spread

from nearwise.lab.rollout import successor
from nearwise.lab.running import Lab
from nearwise.lab.topology import node
from nearwise.model.objects import Objects
from nearwise.model.wellknown import SERVICE_NAME, ZONE

# --- PreferSameNode -----------------------------------------------------------------------


def test_clients_use_the_pod_of_their_own_node_only_while_it_is_ready(town: Lab) -> None:
    pods = pods_of(town, "preloader")
    for place, pod in pods.items():
        spread(town, place, "preloader", [pod])
    with clients(town, "preloader", "a1", "a2", "b1") as running:
        town.fail(pods["a1"])
        town.settle()
        spread(town, "a1", "preloader", [pods["a2"]])
        town.heal(pods["a1"])
        town.settle()
        spread(town, "a1", "preloader", [pods["a1"]])
    assert running.journey("a1") == [pods["a1"], pods["a2"], pods["a1"]]
    assert running.journey("a2") == [pods["a2"]]
    assert running.journey("b1") == [pods["b1"]]


def test_while_pods_are_replaced_the_zone_steps_in_and_then_the_cluster(town: Lab) -> None:
    """Both pods of zone-a are replaced, step by step."""
    pods = pods_of(town, "preloader")
    others = [pods[each] for each in ("b1", "b2", "c1", "c2")]
    old = {each: town.api.get("Pod", pods[each], "default") for each in ("a1", "a2")}
    new = {each: successor(pod) for each, pod in old.items()}
    names = {each: pod["metadata"]["name"] for each, pod in new.items()}
    with clients(town, "preloader", "a1", "a2", "b1") as running:
        begin_to_end(town, pods["a1"])
        town.settle()
        spread(town, "a1", "preloader", [pods["a2"]])
        begin_to_end(town, pods["a2"])
        town.settle()
        spread(town, "a1", "preloader", others)
        spread(town, "a2", "preloader", others)
        spread(town, "b1", "preloader", [pods["b1"]])
        end(town, pods["a1"])
        town.api.create(new["a1"])
        town.settle()
        spread(town, "a1", "preloader", [names["a1"]])
        spread(town, "a2", "preloader", [names["a1"]])
        end(town, pods["a2"])
        town.api.create(new["a2"])
        town.settle()
        spread(town, "a2", "preloader", [names["a2"]])
    assert running.stages("a1", pods["a1"], pods["a2"], names["a1"]) == [
        *(pods["a1"], pods["a2"], "others", names["a1"]),
    ]
    assert running.stages("a2", pods["a2"], names["a1"], names["a2"]) == [
        *(pods["a2"], "others", names["a1"], names["a2"]),
    ]
    assert running.journey("b1") == [pods["b1"]]


def test_a_rollout_of_a_daemon_zone_by_zone_fails_no_request(town: Lab) -> None:
    """Two pods at a time, as with maxUnavailable 2: each zone is without its own for a while."""
    before = pods_of(town, "preloader")
    with clients(town, "preloader", *sorted(before)) as running:
        town.rollout("preloader", max_unavailable=2)
        town.settle()
    after = pods_of(town, "preloader")
    assert not set(before.values()) & set(after.values())
    for place in before:
        stages = running.stages(place, before[place], after[place])
        assert stages == [before[place], "others", after[place]]


# --- PreferSameZone -----------------------------------------------------------------------


def test_connections_leave_the_zone_only_when_nobody_in_it_is_ready(town: Lab) -> None:
    """``checkout`` has one pod in each zone; that of zone-a goes and comes back."""
    pods = pods_of(town, "checkout")
    assert sorted(pods) == ["a1", "b1", "c1"]
    with clients(town, "checkout", "a2", "b2") as running:
        spread(town, "a2", "checkout", [pods["a1"]])
        town.fail(pods["a1"])
        town.settle()
        spread(town, "a2", "checkout", [pods["b1"], pods["c1"]])
        spread(town, "b2", "checkout", [pods["b1"]])
        town.heal(pods["a1"])
        town.settle()
        spread(town, "a2", "checkout", [pods["a1"]])
    assert running.stages("a2", pods["a1"]) == [pods["a1"], "others", pods["a1"]]
    assert running.journey("b2") == [pods["b1"]]


# --- Mixed hints --------------------------------------------------------------------------


def test_one_endpoint_without_a_hint_in_a_slice_of_somebody_else_makes_all_be_used(
    town: Lab,
) -> None:
    """Somebody adds a slice by hand for the service, with the pod of another one."""
    pods, guest = pods_of(town, "orders"), pods_of(town, "solo")
    (name,) = guest.values()
    (address,) = [
        pod.status.pod_ips[0].ip for pod in town.objects().pods if pod.metadata.name == name
    ]
    spread(town, "a1", "orders", [pods["a1"], pods["a2"]])
    with clients(town, "orders", "a1", "b1"):
        town.api.create(_slice("orders-by-hand", "orders", {address: None}))
        town.settle()
        for place in ("a1", "b1"):
            spread(town, place, "orders", [*pods.values(), name])
        town.api.delete("EndpointSlice", "orders-by-hand", "default")
        town.settle()
        spread(town, "a1", "orders", [pods["a1"], pods["a2"]])
        spread(town, "b1", "orders", [pods["b1"], pods["b2"]])


def test_a_pod_on_a_node_without_a_zone_makes_all_be_used_until_the_node_has_one(
    town: Lab,
) -> None:
    pods = pods_of(town, "orders")
    with clients(town, "orders", "a1", "b1"):
        town.api.create(node("d1", ""))
        town.settle()
        spread(town, "a1", "orders", [pods["a1"], pods["a2"]])  # no pod of it is there
        stray = successor(town.api.get("Pod", pods["a1"], "default"))
        stray["metadata"]["name"] = "orders-stray"
        stray["spec"]["nodeName"] = "d1"
        town.api.create(stray)
        town.settle()
        for place in ("a1", "b1"):
            spread(town, place, "orders", [*pods.values(), "orders-stray"])
        town.api.patch("Node", "d1", {"metadata": {"labels": {ZONE: "zone-b"}}})
        town.until(_hints_are_whole, "a hint for the pod on d1")
        town.settle()
        spread(town, "a1", "orders", [pods["a1"], pods["a2"]])
        spread(town, "b1", "orders", [pods["b1"], pods["b2"], "orders-stray"])
        begin_to_end(town, "orders-stray")
        town.settle()
    town.remove_node("d1")


def test_hints_that_an_old_controller_takes_from_one_slice_count_for_none(town: Lab) -> None:
    """A service without selector, with two slices that a controller of its owner writes."""
    service = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    town.api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "legacy", "namespace": "default"},
            "spec": service,
        }
    )
    pods = pods_of(town, "checkout")
    addresses = {
        pod.metadata.name: pod.status.pod_ips[0].ip
        for pod in town.objects().pods
        if pod.metadata.name in pods.values()
    }
    a, b, c = (addresses[pods[each]] for each in ("a1", "b1", "c1"))
    town.api.create(_slice("legacy-1", "legacy", {a: "zone-a", b: "zone-b"}))
    town.api.create(_slice("legacy-2", "legacy", {c: "zone-c"}))
    town.settle()
    spread(town, "a1", "legacy", [pods["a1"]])
    with clients(town, "legacy", "a1", "c2"):
        town.api.patch("EndpointSlice", "legacy-2", _endpoints({c: None}), "default")
        town.settle()
        spread(town, "a1", "legacy", pods.values())
        spread(town, "c2", "legacy", pods.values())
        town.api.patch("EndpointSlice", "legacy-2", _endpoints({c: "zone-c"}), "default")
        town.settle()
        spread(town, "a1", "legacy", [pods["a1"]])
        spread(town, "c2", "legacy", [pods["c1"]])
    town.api.delete("Service", "legacy", "default")
    for name in ("legacy-1", "legacy-2"):
        town.api.delete("EndpointSlice", name, "default")


def _slice(name: str, service: str, hints: dict[str, str | None]) -> Json:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {
                SERVICE_NAME: service,
                "endpointslice.kubernetes.io/managed-by": "old-controller",
            },
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        **_endpoints(hints),
    }


def _endpoints(hints: dict[str, str | None]) -> Json:
    """Return endpoints with the zone each is hinted for, if any."""
    endpoints: list[Json] = []
    for address, zone in hints.items():
        endpoints.append({"addresses": [address], "conditions": {"ready": True}})
        if zone:
            endpoints[-1]["hints"] = {"forZones": [{"name": zone}]}
    return {"endpoints": endpoints}


def _hints_are_whole(objects: Objects) -> bool:
    """Tell whether every endpoint of orders has a hint."""
    slices = [each for each in objects.slices if each.metadata.labels[SERVICE_NAME] == "orders"]
    return all(each.hints is not None for slice_ in slices for each in slice_.endpoints)
