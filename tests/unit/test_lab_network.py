"""What ``ip`` is told to make the network of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearwise.lab import namespaces, network
from nearwise.lab.addresses import Plan


def plan() -> Plan:
    made = Plan()
    made.add_node("a1", "zone-a")
    made.add_node("b1", "zone-b")
    return made


def lines(commands: Mapping[str, Iterable[str]], namespace: str) -> list[str]:
    return list(commands[namespace])


def test_names_begin_with_the_name_of_the_lab() -> None:
    assert namespaces.of_node("lab", "a1") == "nw-lab-node-a1"
    assert namespaces.of_router("lab", "zone-a") == "nw-lab-router-zone-a"
    assert namespaces.of_router("lab", "") == "nw-lab-router"
    assert namespaces.of_control("lab") == "nw-lab-control"


def test_all_devices_are_made_inside_namespaces() -> None:
    for commands in (
        network.control("lab", (4,)),
        network.zone("lab", plan(), "zone-a"),
        network.node("lab", plan(), "a1"),
    ):
        for line in commands[""]:
            words = line.split()
            assert line.startswith("netns add ") or words.count("netns") == 2


def test_a_node_has_a_cable_to_its_router_and_sends_everything_there() -> None:
    commands = network.node("lab", plan(), "b1")
    assert "route add local 10.242.1.0/24 dev lo" in lines(commands, "nw-lab-node-b1")
    assert "route replace default via 10.89.2.254 dev eth0 onlink" in lines(
        commands, "nw-lab-node-b1"
    )
    assert "route replace 10.242.1.0/24 via 10.89.2.1 dev node-1 onlink" in lines(
        commands, "nw-lab-router-zone-b"
    )


def test_a_router_has_a_cable_to_every_other_router() -> None:
    commands = network.zone("lab", plan(), "zone-b")
    to_a = "route replace 10.241.0.0/16 via 10.89.1.254 dev zone-1 onlink"
    to_b = "route replace 10.242.0.0/16 via 10.89.2.254 dev zone-2 onlink"
    assert to_a in lines(commands, "nw-lab-router-zone-b")
    assert to_b in lines(commands, "nw-lab-router-zone-a")
    assert to_b in lines(commands, "nw-lab-control")


def test_a_node_without_power_swallows_packets_until_it_is_plugged_in() -> None:
    assert lines(network.unplugged("lab", plan(), "a1"), "nw-lab-router-zone-a") == [
        "link set node-1 down",
        "route replace blackhole 10.89.1.1/32",
        "route replace blackhole 10.241.1.0/24",
    ]
    assert lines(network.plugged_in("lab", plan(), "a1"), "nw-lab-router-zone-a") == [
        "link set node-1 up",
        "route replace 10.89.1.1/32 via 10.89.1.1 dev node-1 onlink",
        "route replace 10.241.1.0/24 via 10.89.1.1 dev node-1 onlink",
    ]


def test_a_delay_takes_the_routes_of_a_zone_and_gives_them_back() -> None:
    there = network.through(plan(), "zone-b", "delay-2")
    back = network.between(plan(), "zone-a", "zone-b")
    assert [line.split()[2] for line in there] == ["10.89.2.0/24", "10.242.0.0/16"]
    assert [line.split()[2] for line in back] == ["10.89.2.0/24", "10.242.0.0/16"]
