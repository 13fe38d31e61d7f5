"""A snapshot of a cluster: what is found in it, and what a change leaves alone."""

from __future__ import annotations

from msgspec.structs import replace

from cluster import endpoint, node, pod, service, slice_of
from nearwise.insight.world import World, last_told
from nearwise.model import Event, ObjectMeta, ObjectReference
from nearwise.model.core import EventSeries
from nearwise.model.objects import Objects
from nearwise.model.wellknown import MANAGED_BY
from worlds import KEY, client, stored, web


def told(
    name: str, time: str, *, version: str = "", kind: str = "Service", about: str = "web"
) -> Event:
    return Event(
        metadata=ObjectMeta(name=name, namespace="shop", resource_version=version),
        involved_object=ObjectReference(kind=kind, namespace="shop", name=about),
        last_timestamp=time,
    )


def names(found: object) -> list[str]:
    return [each.metadata.name for each in found]  # type: ignore[attr-defined]


def test_slices_are_found_by_service_whoever_manages_them() -> None:
    ours = slice_of("web-a", endpoint("web-1"))
    foreign = slice_of("web-b", endpoint("web-1"), labels={MANAGED_BY: "somebody"})
    unlabelled = replace(ours, metadata=replace(ours.metadata, name="web-c", labels={}))
    elsewhere = replace(ours, metadata=replace(ours.metadata, namespace="other"))
    world = stored(service(), slices=[foreign, unlabelled, ours, elsewhere])
    assert names(world.slices_of(KEY)) == ["web-a", "web-b"]
    assert world.slices_of(("shop", "unknown")) == ()


def test_services_that_only_slices_name_are_known_too() -> None:
    world = stored(None, slices=[slice_of("web-a")])
    assert world.sliced == {KEY}
    assert not world.services


def test_pods_are_found_by_every_label_of_the_selector() -> None:
    made = service()
    both = replace(made, spec=replace(made.spec, selector={"app": "web", "track": "new"}))
    new = pod("web-1")
    labels = {"app": "web", "track": "new", "more": "x"}
    new = replace(new, metadata=replace(new.metadata, labels=labels))
    other = replace(new, metadata=replace(new.metadata, namespace="other"))
    world = stored(made, pods=[pod("web-2"), new, other, client("job-3", "n0")])
    assert names(world.pods_of(made)) == ["web-1", "web-2"]
    assert names(world.pods_of(both)) == ["web-1"]


def test_a_service_without_selector_has_no_pods() -> None:
    made = service()
    none = replace(made, spec=replace(made.spec, selector={}))
    assert stored(none, pods=web("n0")).pods_of(none) == ()


def test_pods_are_found_by_node() -> None:
    world = stored(service(), pods=[*web("n1", "n0", "n1"), pod("web-9", "")])
    assert names(world.pods_on("n1")) == ["web-0", "web-2"]
    assert world.pods_on("n7") == ()


def test_the_zone_of_a_node_is_its_label_or_nothing() -> None:
    world = stored(service(), [node("n1", "b"), node("n0", "")])
    assert dict(world.zones) == {"n0": "", "n1": "b"}


def test_without_nodes_the_places_are_those_that_pods_and_endpoints_name() -> None:
    world = stored(
        service(), pods=web("n5"), slices=[slice_of("web-a", endpoint("web-1", "b", "n1"))]
    )
    assert dict(world.zones) == {"n1": "b", "n5": ""}


def test_events_come_in_the_order_in_which_they_were_last_told() -> None:
    events = [
        told("late", "2026-01-01T00:00:09Z"),
        told("second", "2026-01-01T00:00:05.5Z", version="20"),
        told("first", "2026-01-01T00:00:05Z", version="3"),
        told("not-ours", "2026-01-01T00:00:10Z", about="other"),
        told("of-a-pod", "2026-01-01T00:00:10Z", kind="Pod"),
    ]
    world = stored(service(), events=events)
    assert names(world.events_of("Service", KEY)) == ["first", "second", "late"]


def test_the_time_of_an_event_is_found_in_each_of_its_spellings() -> None:
    created = ObjectMeta(creation_timestamp="2026-01-01T00:00:01Z")
    event = Event(metadata=created)
    assert last_told(event) == "2026-01-01T00:00:01Z"
    event = replace(event, event_time="2026-01-01T00:00:02Z")
    assert last_told(event) == "2026-01-01T00:00:02Z"
    event = replace(event, last_timestamp="2026-01-01T00:00:03Z")
    assert last_told(event) == "2026-01-01T00:00:03Z"
    event = replace(event, series=EventSeries(2, "2026-01-01T00:00:04Z"))
    assert last_told(event) == "2026-01-01T00:00:04Z"
    assert last_told(Event()) == ""


def test_a_change_makes_another_world_and_leaves_the_old_one_as_it_was() -> None:
    world = stored(service(), [node("n0", "a")], pods=web("n0"), slices=[slice_of("web-a")])
    assert dict(world.zones) == {"n0": "a"}

    grown = world.with_nodes([node("n0", "b"), node("n1", "c")])
    assert dict(grown.zones) == {"n0": "b", "n1": "c"}
    assert list(world.shares.cpu) == ["a"]
    assert list(grown.shares.cpu) == ["b", "c"]
    assert grown.pods == world.pods

    changed = world.with_service(service(distribution="PreferSameZone"))
    assert changed.services[KEY].spec.traffic_distribution == "PreferSameZone"
    assert world.services[KEY].spec.traffic_distribution is None

    emptied = world.with_slices([])
    assert emptied.slices_of(KEY) == ()
    assert names(world.slices_of(KEY)) == ["web-a"]


def test_the_order_of_the_objects_changes_nothing() -> None:
    pods, nodes = web("n1", "n0", "n1"), [node("n0", "a"), node("n1", "b")]
    slices = [slice_of("web-b"), slice_of("web-a")]
    one = World(Objects(pods=tuple(pods), nodes=tuple(nodes), slices=tuple(slices)))
    other = World(
        Objects(pods=tuple(pods[::-1]), nodes=tuple(nodes[::-1]), slices=tuple(slices[::-1]))
    )
    assert list(one.zones) == list(other.zones)
    assert one.pods_on("n1") == other.pods_on("n1")
    assert one.pods_of(service()) == other.pods_of(service())
    assert one.slices_of(KEY) == other.slices_of(KEY)
