"""Endpoints that somebody writes by hand, and the slices they are mirrored to."""

from __future__ import annotations

from typing import Any

from e2e_cluster import Json, eventually
from e2e_shop import MIRRORING, Shop, State, service

SKIP = "endpointslice.kubernetes.io/skip-mirror"


def endpoints(ready: tuple[str, ...], not_ready: tuple[str, ...] = (), **metadata: Any) -> Json:
    subset = {
        "addresses": [{"ip": ip} for ip in ready],
        "notReadyAddresses": [{"ip": ip} for ip in not_ready],
        "ports": [{"name": "http", "port": 8080}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "web", **metadata},
        "subsets": [{field: value for field, value in subset.items() if value}],
    }


BY_HAND = service(selector=None)


def mirrored(shop: Shop) -> dict[str, bool | None]:
    return {address: each.ready for address, each in shop.endpoints("web", MIRRORING).items()}


def test_f70_endpoints_are_mirrored_once_their_service_is_there(shop: Shop) -> None:
    shop.apply(endpoints(("192.0.2.1",)))
    shop.apply(service("other"))
    eventually(lambda: len(shop.slices("other")), 1)  # by then these Endpoints were looked at
    assert mirrored(shop) == {}

    shop.apply(BY_HAND)
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})
    shop.kubectl("label", "endpoints", "web", f"{SKIP}=true")
    eventually(lambda: mirrored(shop), {})
    shop.kubectl("label", "endpoints", "web", f"{SKIP}-")
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})


def test_f69_a_mirror_follows_what_is_written_and_goes_with_it(shop: Shop) -> None:
    shop.apply(BY_HAND, endpoints(("192.0.2.1",), ("192.0.2.2",), labels={"team": "shop"}))
    states = {
        "192.0.2.1": State(True, None, None),
        "192.0.2.2": State(False, None, None),
    }
    eventually(lambda: shop.endpoints("web", MIRRORING), states)
    (one,) = shop.slices("web", MIRRORING)
    assert one["metadata"]["labels"]["team"] == "shop"
    assert one["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    assert one["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]

    shop.apply(endpoints(("192.0.2.3",)))
    eventually(lambda: mirrored(shop), {"192.0.2.3": True})
    (again,) = shop.slices("web", MIRRORING)
    assert again["metadata"]["uid"] == one["metadata"]["uid"]
    assert "team" not in again["metadata"]["labels"]

    shop.kubectl("delete", "endpoints", "web")
    eventually(lambda: shop.slices("web", MIRRORING), [])


def test_a_mirror_changed_by_hand_is_put_back(shop: Shop) -> None:
    shop.apply(BY_HAND, endpoints(("192.0.2.1",)))
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})
    name = shop.slices("web", MIRRORING)[0]["metadata"]["name"]

    edit = '{"endpoints":[{"addresses":["192.0.2.9"]}]}'
    shop.kubectl("patch", "endpointslice", name, "--type=merge", "--patch", edit)
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})
    shop.kubectl("delete", "endpointslice", name)
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})


def test_a_service_that_gets_a_selector_has_no_mirror_any_more(shop: Shop) -> None:
    shop.apply(BY_HAND, endpoints(("192.0.2.1",)))
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})
    shop.kubectl("patch", "service", "web", "--patch", '{"spec":{"selector":{"app":"web"}}}')
    eventually(lambda: mirrored(shop), {})
    eventually(lambda: len(shop.slices("web")), 1)


def test_f67_what_exceeds_a_thousand_addresses_is_left_out_and_told_by_an_event(shop: Shop) -> None:
    shop.apply(BY_HAND, endpoints(("192.0.2.1",)))
    eventually(lambda: mirrored(shop), {"192.0.2.1": True})
    many = tuple(f"10.{n // 250}.1.{n % 250}" for n in range(1001))
    patch = {"subsets": endpoints(many)["subsets"]}
    shop.cluster.patch(f"{shop.path}/endpoints/web", patch)
    eventually(lambda: len(mirrored(shop)), 1000)

    def told() -> list[str]:
        selector = "involvedObject.kind=Endpoints,involvedObject.name=web"
        events = shop.cluster.get(f"{shop.path}/events?fieldSelector={selector}")["items"]
        return [event["reason"] for event in events]

    eventually(told, ["TooManyAddressesToMirror"])
