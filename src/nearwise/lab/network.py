"""The network of a lab: what ``ip`` is told to make of it.

Law: each function says what is to be made, as commands by namespace; ``build`` has it made. Every
zone has a router, every two routers a cable, and every node a cable to the router of its zone::

    control ---- router of each zone ----- router of each other zone
                     |        |
                  node 1    node 2        default route to the router

Pods have no devices: all addresses of a node's pod network are local to it. So traffic to a
cluster address leaves for the router unless the proxy of the node translates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from nearwise.lab import namespaces
from nearwise.lab.addresses import API, API_6, Plan, Seat, node_address, zone_networks

Commands = Mapping[str, Iterable[str]]
"""Lines for ``ip``, by namespace; those of "" make namespaces and cables."""

_ROUTER: Final = 254
_LOCAL_6: Final = "fe80::"
_FORWARDING: Final = ("ipv4/ip_forward", "ipv6/conf/all/forwarding")


def build(commands: Commands) -> None:
    """Carry out commands; new namespaces forward packets. Raises InputError."""
    for namespace, lines in commands.items():
        namespaces.ip(lines, namespace)
    for line in commands.get("", ()):
        if line.startswith("netns add "):
            _forward(line.removeprefix("netns add "))


def _forward(namespace: str) -> None:
    with namespaces.entered(namespace):
        for name in _FORWARDING:
            setting = Path("/proc/sys/net") / name
            if setting.exists():  # a kernel may be without IPv6
                setting.write_text("1")


def control(lab: str, versions: Iterable[int]) -> Commands:
    """Return what makes the namespace of the control plane."""
    name = namespaces.of_control(lab)
    lines = ["link set lo up"]
    lines += [f"addr add {_host(API if each == 4 else API_6)} dev lo" for each in versions]
    return {"": [f"netns add {name}"], name: lines}


def zone(lab: str, plan: Plan, zone: str) -> Commands:
    """Return what makes the router of a zone, and its cables to all others there are."""
    own, number = namespaces.of_router(lab, zone), plan.zones[zone]
    center = namespaces.of_control(lab)
    outside = [f"netns add {own}", _cable(own, "control", center, f"zone-{number}")]
    here = ["link set lo up", *_ends("control", 2)]
    commands: dict[str, list[str]] = {"": outside, own: here, center: _ends(f"zone-{number}", 1)}
    for version in plan.versions:
        api = API if version == 4 else API_6
        router = node_address(version, number, _ROUTER)
        here.append(f"addr add {_host(router)} dev lo")
        here.append(_route(version, api, api, "control", 1))
        commands[center] += [
            _route(version, network, router, f"zone-{number}", 2)
            for network in zone_networks(version, number)
        ]
    for other, its_number in plan.zones.items():
        if other == zone:
            continue
        there = namespaces.of_router(lab, other)
        outside.append(_cable(own, f"zone-{its_number}", there, f"zone-{number}"))
        here += [*_ends(f"zone-{its_number}", number), *between(plan, zone, other)]
        commands[there] = [*_ends(f"zone-{number}", its_number), *between(plan, other, zone)]
    return commands


def between(plan: Plan, zone: str, other: str) -> list[str]:
    """Return what the router of a zone is told so that it uses the cable to another zone."""
    number = plan.zones[other]
    return [
        _route(version, network, node_address(version, number, _ROUTER), f"zone-{number}", number)
        for version in plan.versions
        for network in zone_networks(version, number)
    ]


def through(plan: Plan, other: str, device: str) -> list[str]:
    """Return what a router is told so that it sends to another zone through a device."""
    return [
        f"route replace {network} dev {device}"
        for version in plan.versions
        for network in zone_networks(version, plan.zones[other])
    ]


def node(lab: str, plan: Plan, name: str) -> Commands:
    """Return what makes a node."""
    seat = plan.nodes[name]
    own, router = namespaces.of_node(lab, name), namespaces.of_router(lab, seat.zone)
    here = ["link set lo up", *_ends("eth0", 2)]
    for version in plan.versions:
        gateway = node_address(version, seat.zone_number, _ROUTER)
        here.append(f"addr add {_host(seat.address(version))} dev eth0 {_at_once(version)}")
        here.append(f"route add local {seat.pods(version)} dev lo")
        here.append(_route(version, "default", gateway, "eth0", 1))
    device = _device(seat)
    return {
        "": [f"netns add {own}", _cable(own, "eth0", router, device)],
        own: here,
        router: [*_ends(device, 1), *_to(plan, seat)],
    }


def unplugged(lab: str, plan: Plan, name: str) -> Commands:
    """Return what cuts a node off. Packets to it get lost, as with a machine without power."""
    seat = plan.nodes[name]
    lost = [
        f"route replace blackhole {target}"
        for version in plan.versions
        for target in (_host(seat.address(version)), seat.pods(version))
    ]
    return {namespaces.of_router(lab, seat.zone): [f"link set {_device(seat)} down", *lost]}


def plugged_in(lab: str, plan: Plan, name: str) -> Commands:
    """Return what connects it again."""
    seat = plan.nodes[name]
    up = [f"link set {_device(seat)} up"]
    if 6 in plan.versions:
        up.append(f"addr replace {_LOCAL_6}1/64 dev {_device(seat)} nodad")
    return {namespaces.of_router(lab, seat.zone): [*up, *_to(plan, seat)]}


def removed(lab: str, plan: Plan, name: str) -> Commands:
    """Return what takes the cable of a node away, at once and not some time after the node."""
    seat = plan.nodes[name]
    return {namespaces.of_router(lab, seat.zone): [f"link del {_device(seat)}"]}


def _to(plan: Plan, seat: Seat) -> list[str]:
    """Return the routes to a node and its pods, for the router of its zone."""
    lines = []
    for version in plan.versions:
        address, device = seat.address(version), _device(seat)
        lines.append(_route(version, _host(address), address, device, 2))
        lines.append(_route(version, seat.pods(version), address, device, 2))
    return lines


def _device(seat: Seat) -> str:
    """Return the name of the device that leads from the router to a node."""
    return f"node-{seat.number}"


def _cable(one: str, device: str, other: str, its_device: str) -> str:
    return f"link add name {device} netns {one} type veth peer name {its_device} netns {other}"


def _ends(device: str, number: int) -> list[str]:
    """Return how an end of a cable is put to use, with its number on that cable for IPv6."""
    return [f"link set {device} up", f"addr add {_LOCAL_6}{number:x}/64 dev {device} nodad"]


def _route(version: int, target: str, gateway: str, device: str, number: int) -> str:
    """Return a route over a cable, whose other end has the gateway's address and a number.

    In IPv4 no end has an address of the cable's own: the other one answers for its address on any.
    """
    if version == 4:
        return f"route replace {target} via {gateway} dev {device} onlink"
    return f"route replace {target} via {_LOCAL_6}{number:x} dev {device}"


def _host(address: str) -> str:
    return f"{address}/128" if ":" in address else f"{address}/32"


def _at_once(version: int) -> str:
    """Have an address used without asking first whether others have it."""
    return "nodad" if version == 6 else ""
