"""Cluster addresses and node ports: given out, kept, given back, found again after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model.validation import Refused
from nearwise.server.allocation import Pool
from nearwise.store import MemoryStore
from served import DEFAULT, Server, play, service

SERVICES = f"{DEFAULT}/services"
SMALL = ("10.96.0.0/28",)  # 14 addresses that can be given out


async def addresses(server: Server, name: str, **spec: Any) -> list[str]:
    created = await server.create(SERVICES, service(name, **spec))
    found: list[str] = created["spec"]["clusterIPs"]
    return found


# --- Giving out ---------------------------------------------------------------------------


def test_addresses_come_from_above_those_that_are_asked_for_by_name() -> None:
    pool = Pool()

    assert [pool.address("IPv4", "") for _ in range(2)] == ["10.96.1.1", "10.96.1.2"]
    assert pool.address("IPv4", "10.96.0.10") == "10.96.0.10"
    assert [pool.port(0) for _ in range(2)] == [30086, 30087]


def test_what_was_given_back_is_not_the_next_to_be_given_out() -> None:
    pool = Pool()
    claim = pool.claim()
    claim.address("IPv4", "")
    claim.port(0)

    claim.end()

    assert pool.address("IPv4", "") == "10.96.1.2"
    assert pool.port(0) == 30087
    assert pool.address("IPv4", "10.96.1.1") == "10.96.1.1"


def test_what_is_kept_is_not_given_back() -> None:
    pool = Pool()
    claim = pool.claim()
    address = claim.address("IPv4", "")

    claim.keep()
    claim.end()

    with pytest.raises(Refused, match="already allocated"):
        pool.address("IPv4", address)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("192.0.2.1", "does not match the current range"),
        ("fd00::1", "does not match the current range"),
        ("nonsense", "does not match the current range"),
    ],
)
def test_addresses_that_are_not_in_the_range(wanted: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        Pool().address("IPv4", wanted)


@given(st.lists(st.booleans(), max_size=60))
def test_no_number_is_ever_with_two_services(gives_back: list[bool]) -> None:
    pool = Pool(SMALL, (30000, 30019))
    held: list[str] = []
    for back in gives_back:
        if back and held:
            pool.give_back([held.pop(0)])
            continue
        try:
            held.append(pool.address("IPv4", ""))
        except Refused:
            assert len(held) == 14
        assert len(set(held)) == len(held)


def test_every_address_of_a_network_but_the_first_and_the_last_is_given_out() -> None:
    pool = Pool(SMALL)

    given_out = {pool.address("IPv4", "") for _ in range(14)}

    assert given_out == {f"10.96.0.{place}" for place in range(1, 15)}
    with pytest.raises(Refused, match="range is full"):
        pool.address("IPv4", "")


# --- Through the server -------------------------------------------------------------------


def test_a_deleted_service_gives_its_numbers_back() -> None:
    async def scenario(server: Server) -> None:
        spec = {"type": "NodePort", "clusterIP": "10.96.0.10"}
        ports = [{"port": 80, "nodePort": 30007}]
        await addresses(server, "a", **spec, ports=ports)

        taken = await server.create(SERVICES, service("b", **spec), 422)
        port_taken = await server.create(SERVICES, service("c", type="NodePort", ports=ports), 422)
        await server.delete(f"{SERVICES}/a")
        again = await addresses(server, "b", **spec, ports=ports)

        assert "provided IP is already allocated" in taken["message"]
        assert "provided port is already allocated" in port_taken["message"]
        assert again == ["10.96.0.10"]

    play(scenario)


def test_a_service_that_is_refused_takes_nothing() -> None:
    async def scenario(server: Server) -> None:
        for _ in range(20):
            await server.create(SERVICES, service("a", sessionAffinity="Sometimes"), 422)
            await server.create(f"{SERVICES}?dryRun=All", service("a"))
        await addresses(server, "a")

        assert await server.create(SERVICES, service("a"), 409)
        for name in "bcdefghijklmn":
            await addresses(server, name)
        full = await server.create(SERVICES, service("o"), 500)

        assert full["message"] == (
            "Internal error occurred: failed to allocate a serviceIP: range is full"
        )

    play(scenario, pool=Pool(SMALL))


def test_a_service_that_becomes_something_else_gives_back_what_it_no_longer_has() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SERVICES, service("a", type="NodePort"))
        port = created["spec"]["ports"][0]["nodePort"]
        address = created["spec"]["clusterIP"]

        await server.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
        ports = [{"port": 80, "nodePort": port}]
        await server.create(SERVICES, service("b", type="NodePort", ports=ports))
        external = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
        await server.patch(f"{SERVICES}/a", external)
        assert await addresses(server, "c", clusterIP=address) == [address]

    play(scenario)


def test_services_of_both_families() -> None:
    async def scenario(server: Server) -> None:
        given = await addresses(server, "a", ipFamilyPolicy="RequireDualStack")

        assert given[0].startswith("10.96.")
        assert given[1].startswith("fd00:10:96::")

    play(scenario, pool=Pool(("10.96.0.0/16", "fd00:10:96::/112")))


def test_what_services_have_is_known_after_a_restart() -> None:
    store = MemoryStore()

    async def before(server: Server) -> None:
        await addresses(server, "a", clusterIP="10.96.0.10")
        await addresses(server, "b", clusterIP="None")

    async def after(server: Server) -> None:
        status = await server.create(SERVICES, service("c", clusterIP="10.96.0.10"), 422)
        assert "already allocated" in status["message"]

    play(before, store=store)
    play(after, store=store)
