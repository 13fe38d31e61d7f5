"""What goes takes along what belonged to it, and nothing comes after."""

from __future__ import annotations

from e2e_cluster import eventually
from e2e_shop import READY, Nodes, Shop, pod, service


def test_f06_slices_go_with_their_service(shop: Shop, zones: Nodes) -> None:
    shop.apply(service())
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})

    shop.kubectl("delete", "service", "web")
    eventually(lambda: shop.slices("web"), [])

    shop.apply(service())  # and those of its successor are others
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})
    (one,) = shop.slices("web")
    owner = shop.cluster.get(f"{shop.path}/services/web")["metadata"]["uid"]
    assert one["metadata"]["ownerReferences"][0]["uid"] == owner


def test_f05_a_service_that_is_being_deleted_gets_no_slices(shop: Shop, zones: Nodes) -> None:
    held = service()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    shop.apply(held)
    shop.run(pod("web-1"), zones.full("a1"), "10.1.0.1")
    eventually(lambda: shop.endpoints("web"), {"10.1.0.1": READY})

    shop.kubectl("delete", "service", "web", "--wait=false")
    shop.kubectl("delete", "endpointslice", shop.slices("web")[0]["metadata"]["name"])
    shop.run(pod("web-2"), zones.full("b1"), "10.1.0.2")
    shop.apply(service("other"))
    shop.run(pod("other-1", "other"), zones.full("b1"), "10.1.0.3")
    eventually(lambda: shop.endpoints("other"), {"10.1.0.3": READY})
    assert shop.slices("web") == []

    path = f"{shop.path}/services/web"
    shop.cluster.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: shop.cluster.is_there(path), False)


def test_a_namespace_goes_with_all_that_is_in_it_and_takes_nothing_more(
    shop: Shop, zones: Nodes
) -> None:
    for name in ("web", "api"):
        shop.apply(service(name))
        shop.run(pod(f"{name}-1", name), zones.full("a1"), "10.1.0.1")
        shop.await_endpoint(name, "10.1.0.1", READY)

    with shop.watching() as seen:
        shop.cluster.kubectl("delete", "namespace", shop.namespace)  # waits until it is gone
        eventually(lambda: len(seen.of("DELETED")), 2)

    assert seen.of("ADDED") == []
    assert not shop.cluster.is_there(shop.path)
    assert shop.cluster.get(shop.slices_path)["items"] == []
