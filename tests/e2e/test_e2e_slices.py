"""From pods to slices, as users see it: deployed, rolled, relabelled, edited by hand."""

from __future__ import annotations

from functools import partial

from e2e_cluster import Json, eventually
from e2e_shop import (
    CONTROLLER,
    MANAGED_BY,
    NOT_READY,
    READY,
    SERVICE_NAME,
    TERMINATING,
    ZONE,
    Nodes,
    Shop,
    State,
    pod,
    service,
)

TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def versions(shop: Shop, name: str = "web") -> dict[str, str]:
    """Return the resource versions of a service's slices by their names."""
    slices = [one["metadata"] for one in shop.slices(name)]
    return {each["name"]: each["resourceVersion"] for each in slices}


def test_pods_that_are_deployed_become_endpoints_with_all_that_is_known_of_them(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service())
    eventually(lambda: [one["endpoints"] for one in shop.slices("web")], [None])

    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    shop.run(pod("web-2"), zones.full("b1"), "10.1.0.2", ready=False)

    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY, "10.1.0.2": NOT_READY})
    (one,) = shop.slices("web")
    owner = shop.cluster.get(f"{shop.path}/services/web")["metadata"]
    assert one["addressType"] == "IPv4"
    assert one["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert one["metadata"]["name"].startswith("web-")
    assert one["metadata"]["labels"] == {SERVICE_NAME: "web", MANAGED_BY: CONTROLLER}
    assert one["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "web",
            "uid": owner["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    first, second = sorted(one["endpoints"], key=lambda each: each["addresses"])
    assert (first["nodeName"], first["zone"]) == (zones.full("a1"), "a")
    assert (second["nodeName"], second["zone"]) == (zones.full("b1"), "b")
    target = first["targetRef"]
    assert (target["kind"], target["name"], target["namespace"]) == ("Pod", "web-1", shop.namespace)
    shown = shop.kubectl("get", "endpointslices")
    assert one["metadata"]["name"] in shown
    assert "8080" in shown
    assert "10.1.0.1,10.1.0.2" in shown or "10.1.0.2,10.1.0.1" in shown


def test_a_pod_that_is_not_ready_for_a_while_is_told_both_times_and_with_the_cause(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    shop.run(pod("web-2"), zones.full("b1"), "10.1.0.2")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY, "10.1.0.2": READY})
    names = versions(shop).keys()

    with shop.watching() as seen:
        shop.set_ready("web-1", False)
        shop.await_endpoint("web", "10.1.0.1", NOT_READY)
        shop.set_ready("web-1", True)
        eventually(lambda: len(seen.events), 2)

    assert shop.endpoints("web")["10.1.0.1"] == READY
    assert versions(shop).keys() == names
    assert [event["type"] for event in seen.events] == ["MODIFIED", "MODIFIED"]
    assert all(TRIGGER_TIME in one["metadata"]["annotations"] for one in seen.of("MODIFIED"))


def test_f03_a_pod_that_flips_again_and_again_ends_as_what_it_is(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    for _ in range(5):
        shop.set_ready("web-1", False)
        shop.set_ready("web-1", True)
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    shop.set_ready("web-1", False)
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": NOT_READY})
    assert len(shop.slices("web")) == 1


def test_f13_in_a_rolling_update_there_are_always_as_many_ready_ones_as_before(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service())
    places = [zones.full(name) for name in ("a1", "a2", "b1")]
    for number, node in enumerate(places):
        old = pod(f"web-old-{number}", terminationGracePeriodSeconds=30)
        shop.run(old, node, f"10.1.0.{number}")
    shop.await_number("web", 3)

    with shop.watching() as seen:
        for number, node in enumerate(places):
            shop.run(pod(f"web-new-{number}"), node, f"10.1.1.{number}")
            shop.await_endpoint("web", f"10.1.1.{number}", READY)
            shop.kubectl("delete", "pod", "--wait=false", f"web-old-{number}")
            shop.await_endpoint("web", f"10.1.0.{number}", TERMINATING)
            shop.end(f"web-old-{number}")
        eventually(lambda: shop.endpoints("web"), {f"10.1.1.{n}": READY for n in range(3)})

    ready = [
        sum(each["conditions"]["ready"] for each in one["endpoints"]) for one in seen.of("MODIFIED")
    ]
    assert min(ready) == 3
    assert [event["type"] for event in seen.events if event["type"] != "MODIFIED"] == []


def test_f15_pods_whose_named_port_differs_lie_in_slices_of_their_own(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service(ports=[{"name": "web", "port": 80, "targetPort": "http"}]))
    for number, port in enumerate((8080, 9090)):
        named = {"name": "http", "containerPort": port}
        shop.run(pod(f"web-{number}", ports=[named]), zones.full("a1"), f"10.1.0.{number}")
    shop.run(pod("web-2"), zones.full("b1"), "10.1.0.2")

    def by_port() -> dict[int | None, list[str]]:
        return {
            one["ports"][0]["port"] if one["ports"] else None: each["addresses"]
            for one in shop.slices("web")
            for each in one["endpoints"] or ()
        }

    eventually(by_port, {8080: ["10.1.0.0"], 9090: ["10.1.0.1"], None: ["10.1.0.2"]})


def test_labels_of_the_service_are_those_of_its_slices(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})

    def labels() -> Json:
        (one,) = shop.slices("web")
        return {
            key: value
            for key, value in one["metadata"]["labels"].items()
            if key not in (SERVICE_NAME, MANAGED_BY)
        }

    shop.kubectl("label", "service", "web", "team=shop", f"{SERVICE_NAME}=other")
    eventually(labels, {"team": "shop"})
    shop.kubectl("label", "service", "web", "team-", f"{SERVICE_NAME}-")
    eventually(labels, {})


def test_a_selector_that_changes_takes_other_pods(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    shop.run(pod("blue-1", "blue"), zones.full("b1"), "10.1.0.2")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})

    shop.kubectl("set", "selector", "service", "web", "app=blue")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.2": READY})
    shop.kubectl("label", "pod", "web-1", "app=blue", "--overwrite")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY, "10.1.0.2": READY})
    assert len(shop.slices("web")) == 1


def test_f07_without_its_selector_a_service_keeps_its_slices_as_they_were_and_that_is_told(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    before = versions(shop)

    shop.kubectl("patch", "service", "web", "--patch", '{"spec":{"selector":null}}')
    shop.apply(service("other"))
    shop.end("web-1")
    eventually(lambda: len(shop.slices("other")), 1)  # by then the other one was looked at too

    assert versions(shop) == before
    told = shop.cluster.nearwise("explain", f"{shop.namespace}/web")
    assert "is frozen since" in told.stdout, told


def test_a_headless_service_names_its_pods(shop: Shop, zones: Nodes) -> None:
    shop.apply(service(clusterIP="None"))
    shop.run(pod("web-1", hostname="first", subdomain="web"), zones.full("a1"), "10.1.0.1")
    shop.run(pod("web-2", hostname="second", subdomain="elsewhere"), zones.full("a1"), "10.1.0.2")

    shop.await_number("web", 2)
    (one,) = shop.slices("web")
    assert one["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    names = {each["addresses"][0]: each.get("hostname") for each in one["endpoints"]}
    assert names == {"10.1.0.1": "first", "10.1.0.2": None}


def test_addresses_published_in_any_state_are_ready(shop: Shop, zones: Nodes) -> None:
    shop.apply(service(publishNotReadyAddresses=True))
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1", ready=False)
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": State(True, False, False)})


def test_f10_the_address_of_a_pod_that_failed_is_listed_no_more(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    shop.set_status("web-1", {"phase": "Failed"})
    eventually(lambda: shop.endpoints("web"), {})


def test_a_hundred_and_one_pods_are_in_two_slices(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run_many((pod(f"web-{n}"), zones.full("a1"), f"10.1.0.{n}") for n in range(101))
    shop.await_number("web", 101)
    sizes = [len(one["endpoints"]) for one in shop.slices("web")]
    assert (len(sizes), max(sizes) <= 100) == (2, True)


def test_a_node_that_moves_to_another_zone_takes_its_endpoints_along(
    shop: Shop, zones: Nodes
) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: [each["zone"] for each in shop.slices("web")[0]["endpoints"] or ()], ["a"])
    shop.cluster.kubectl("label", "node", zones.full("a1"), f"{ZONE}=b", "--overwrite")
    eventually(lambda: [each["zone"] for each in shop.slices("web")[0]["endpoints"]], ["b"])


# --- By hand --------------------------------------------------------------------------------


def test_f01_what_is_changed_by_hand_is_put_back(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    (name,) = versions(shop)

    edit = '{"endpoints":[{"addresses":["192.0.2.1"]}]}'
    shop.kubectl("patch", "endpointslice", name, "--type=merge", "--patch", edit)
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    assert versions(shop).keys() == {name}

    shop.kubectl("label", "endpointslice", name, "mine=yes")
    eventually(lambda: "mine" in shop.slices("web")[0]["metadata"]["labels"], False)

    shop.kubectl("delete", "endpointslice", name)
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    assert len(shop.slices("web")) == 1


def test_f01_f22_a_slice_of_another_manager_is_left_alone(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    mine = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "web-custom",
            "labels": {SERVICE_NAME: "web", MANAGED_BY: "custom.example"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.1"]}],
        "ports": [{"name": "http", "port": 8080}],
    }
    shop.apply(mine)
    custom = partial(shop.slices, "web", "custom.example")
    (before,) = custom()

    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    shop.kubectl("delete", "endpointslice", *versions(shop))
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})

    assert custom() == [before]
