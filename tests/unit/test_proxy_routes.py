"""What a proxy knows of services: as changes come, the same as from nothing, for little work."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice, Service
from nearwise.nft.compile import Routes
from nearwise.nft.ruleset import Family
from nearwise.proxy import routes as module
from nearwise.proxy.dry_run import dry_run
from nearwise.proxy.node import Options
from nearwise.proxy.routes import FamilyRoutes, is_served, routes_of
from nearwise.routing import Client, merge
from proxy_world import DNS, HTTP, World, endpoint, node, service, settle, slice_of
from virtual_time import run

HERE = Client("n1", "a")


class Known:
    """Services and slices. Implements ``Known``."""

    def __init__(self) -> None:
        self.services: dict[ObjectKey, Service] = {}
        self.slices: dict[str, EndpointSlice] = {}

    def names(self) -> Iterable[ObjectKey]:
        return list(self.services)

    def service(self, key: ObjectKey) -> Service | None:
        return self.services.get(key)

    def slices_of(self, service: ObjectKey) -> Iterable[EndpointSlice]:
        return [slice_ for slice_ in self.slices.values() if service in service_of(slice_)]


def chosen(routes: Routes) -> dict[Any, Any]:
    """Return what was chosen, to compare."""
    return {
        port: (selection.cluster, selection.local, selection.mode, selection.has_any)
        for port, selection in routes.selections.items()
    }


def random_slice(random: Random, number: int) -> EndpointSlice:
    zones = random.choice((("",), ("a", "b"), ("a", "b", "")))
    some = [
        endpoint(
            random.randint(1, 9),
            random.choice(zones),
            random.choice(("n1", "n2")),
            ready=random.random() < 0.8,
            serving=random.choice((None, True, False)),
        )
        for _ in range(random.randint(0, 5))
    ]
    family = random.choice(("IPv4", "IPv4", "IPv6"))
    return slice_of(*some, of=f"s{random.randint(0, 2)}", name=f"x{number}", family=family)


def step(random: Random, known: Known, routed: FamilyRoutes) -> None:
    """Change something, and tell of it as the agent does."""
    number = random.randint(0, 2)
    key = ("shop", f"s{number}")
    match random.choice(("service", "gone", "slice", "slice", "slice", "no slice", "move")):
        case "service":
            ports = random.choice(((HTTP,), (HTTP, DNS)))
            policy = random.choice(("Cluster", "Local"))
            known.services[key] = service(
                key[1], f"10.96.0.{number + 1}", *ports, internal_traffic_policy=policy
            )
            routed.service_changed(key)
        case "gone":
            known.services.pop(key, None)
            routed.service_changed(key)
        case "slice":
            slice_ = random_slice(random, random.randint(0, 5))
            name = slice_.metadata.name
            routed.slice_changed(known.slices.get(name), slice_)
            known.slices[name] = slice_
        case "no slice":
            name = f"x{random.randint(0, 5)}"
            routed.slice_changed(known.slices.pop(name, None), None)
        case "move":
            routed.move(Client("n1", random.choice(("a", "b", None))))


@given(st.integers(0, 100_000))
def test_any_history_ends_where_merging_from_nothing_does(seed: int) -> None:
    random, known = Random(seed), Known()
    routed = FamilyRoutes(Family.IPV4, known, HERE)
    for _ in range(random.randint(1, 30)):
        step(random, known, routed)
        if random.random() < 0.5:
            routed.take()
    routed.take()
    assert routed.routes.keys() == known.services.keys()
    for key, routes in routed.routes.items():
        view = merge(known.services[key], known.slices_of(key), "IPv4")
        assert chosen(routes) == chosen(routes_of(view, routed._client))
        assert routes.service is known.services[key]


def test_only_what_changed_is_chosen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known()
    for number in range(100):
        name = f"s{number}"
        known.services["shop", name] = service(name, f"10.96.0.{number + 1}")
        known.slices[name] = slice_of(endpoint(number), of=name)
    routed = FamilyRoutes(Family.IPV4, known, HERE)
    assert len(routed.take()) == 100

    asked: list[str] = []

    def counted(view: Any, client: Client) -> Routes:
        asked.append(view.service.metadata.name)
        return routes_of(view, client)

    def never(*_: object) -> None:
        raise AssertionError("merged from nothing")

    monkeypatch.setattr(module, "routes_of", counted)
    monkeypatch.setattr(module, "merge", never)
    routed.slice_changed(known.slices["s7"], slice_of(endpoint(1), endpoint(2), of="s7"))
    assert routed.take().keys() == {("shop", "s7")}
    routed.slice_changed(None, slice_of(of="s8", family="IPv6"))
    assert not routed.has_news  # that is of the other family
    routed.move(Client("n1", "b"))
    assert len(routed.take()) == 100
    assert asked[0] == "s7"


@pytest.mark.parametrize(
    ("spec", "families"),
    [
        ({"cluster_ips": ("10.96.0.1",)}, {Family.IPV4}),
        ({"cluster_ips": ("10.96.0.1", "fd96::1")}, set(Family)),
        ({"cluster_ip": "fd96::1", "cluster_ips": ()}, {Family.IPV6}),
        ({"cluster_ip": "None", "cluster_ips": ("None",)}, set()),
        ({"type": "ExternalName"}, set()),
        ({"cluster_ip": "", "cluster_ips": ()}, set()),
        ({"cluster_ips": ("nonsense",)}, set(Family)),  # the compiler says what is wrong with it
    ],
)
def test_a_service_is_served_in_the_families_of_its_cluster_addresses(
    spec: dict[str, Any], families: set[Family]
) -> None:
    made = service()
    made = replace(made, spec=replace(made.spec, **spec))
    assert {family for family in Family if is_served(made, family)} == families


def test_the_dry_run_is_what_the_agent_writes() -> None:
    async def story() -> None:
        things = [
            service("web", "10.96.0.1", HTTP, internal_traffic_policy="Local"),
            slice_of(endpoint(1, "a", "n1"), endpoint(2, "b", "n2")),
            service("dns", "10.96.0.2", DNS, session_affinity="ClientIP"),
        ]
        world = World(node(), *things)
        world.addresses = ("192.0.2.10", "fd00::10")
        async with world.running():
            await settle()
            services = [each for each in things if isinstance(each, Service)]
            slices = [each for each in things if isinstance(each, EndpointSlice)]
            tables = dry_run(services, slices, node(), Options(node="n1"))
            for family, table in tables.items():
                found = world.table(family)
                assert found.chains == table.ruleset.chains
                for name, elements in table.ruleset.elements.items():
                    assert found.elements.get(name, {}) == elements

    run(story())
