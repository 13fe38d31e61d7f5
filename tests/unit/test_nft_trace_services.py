"""Our table does what routing says, for every kind of client at every address of a service.

What should happen is worked out here from services and selections alone, by the rules of
Kubernetes' own proxy, and compared with what a packet meets in the compiled table.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from ipaddress import ip_address, ip_network
from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.nft.compile import Routes, compiled
from nearwise.nft.layout import Settings
from nearwise.nft.trace import End, Outcome, Packet, outcomes, trace
from nearwise.routing import Backend, Fate, Selection
from proxied_services import V4, V6, Place, random_service

Answer = tuple[End, str, int, bool]
"""How it ends, where, and whether masqueraded."""


def wanted(services: list[Routes], settings: Settings, packet: Packet) -> dict[Answer, Fraction]:
    """Say what should become of a packet."""
    cluster_addresses = set()
    for routes in services:
        service, spec = routes.service, routes.service.spec
        cluster_addresses.add(spec.cluster_ip)
        for port in spec.ports:
            if port.protocol != packet.protocol:
                continue
            selection = routes.selections[port.name, port.protocol]
            target = (packet.destination, packet.port)
            if target == (spec.cluster_ip, port.port):
                local = spec.internal_traffic_policy == "Local"
                marked = settings.masquerade_all or _is_stranger(packet, settings)
                return _answers(packet, selection, local=local, masquerade=marked)
            balancers = [
                each.ip for each in service.status.load_balancer.ingress if each.ip_mode != "Proxy"
            ]
            ranges = spec.load_balancer_source_ranges
            if target in {(each, port.port) for each in balancers} and ranges:
                source = ip_address(packet.source)
                if not any(source in ip_network(each) for each in ranges):
                    return {(End.DROPPED, *target, False): Fraction(1)}
            external = {(each, port.port) for each in (*spec.external_ips, *balancers)}
            if port.node_port:
                external |= {(each, port.node_port) for each in settings.node_port_addresses}
            if target in external:
                return _from_outside(packet, selection, settings)
    refused = packet.destination in cluster_addresses
    end = End.REJECTED if refused else End.SENT
    return {(end, packet.destination, packet.port, False): Fraction(1)}


def _from_outside(
    packet: Packet, selection: Selection, settings: Settings
) -> dict[Answer, Fraction]:
    """External policy Cluster: to anybody, and back through here. Local: who is inside, too."""
    if selection.service.spec.external_traffic_policy != "Local":
        return _answers(packet, selection, local=False, masquerade=True)
    if not _is_stranger(packet, settings) and settings.pod_networks:
        return _answers(packet, selection, local=False, masquerade=False)
    if packet.source in settings.node_addresses:
        return _answers(packet, selection, local=False, masquerade=True)
    return _answers(packet, selection, local=True, masquerade=False)


def _answers(
    packet: Packet, selection: Selection, *, local: bool, masquerade: bool
) -> dict[Answer, Fraction]:
    """One of those chosen, equally often; who gets itself meets a stranger (hairpin)."""
    fate = selection.fate(local=local)
    if fate is not Fate.FORWARD:
        end = End.REJECTED if fate is Fate.REJECT else End.DROPPED
        return {(end, packet.destination, packet.port, False): Fraction(1)}
    chosen = selection.local if local else selection.cluster
    share = Fraction(1, len(chosen))
    return {
        (End.SENT, each.address, each.port, _comes_back(packet, each, masquerade)): share
        for each in chosen
    }


def _comes_back(packet: Packet, backend: Backend, masquerade: bool) -> bool:
    """Say whether it is masqueraded: what stays on the node never is, unless it began there.

    A pod that gets itself is, else it would answer itself past this node (hairpin); a program on
    the node need not be.
    """
    if backend.address in (V4.node + "1", V6.node + "1"):
        return masquerade and packet.from_host
    return masquerade or backend.address == packet.source


def _is_stranger(packet: Packet, settings: Settings) -> bool:
    """Say whether it comes from outside the pod networks, as far as they are known."""
    networks = map(ip_network, settings.pod_networks)
    return bool(settings.pod_networks) and not any(
        ip_address(packet.source) in network for network in networks
    )


def answers(found: dict[Outcome, Fraction]) -> dict[Answer, Fraction]:
    """Bring outcomes of a trace into the same form."""
    return {
        (each.end, each.address, each.port, each.masqueraded): share
        for each, share in found.items()
    }


def clients(place: Place) -> dict[str, tuple[str, bool]]:
    """Return every kind of client: its address, and whether it is on the node itself."""
    return {
        "pod on this node": (f"{place.near}1", False),
        "another pod on this node": (f"{place.near}77", False),
        "pod elsewhere": (f"{place.far}77", False),
        "endpoint elsewhere": (f"{place.far}1", False),
        "this host": (f"{place.node}1", True),
        "this host by its other address": (f"{place.node}2", True),
        "outside": (f"{place.outside}9", False),
        "outside, elsewhere": (f"{place.external}250", False),
    }


def targets(services: list[Routes], settings: Settings) -> Iterator[tuple[str, int, str]]:
    """Return all that a service answers on, and as much on which it does not."""
    for routes in services:
        spec, ingress = routes.service.spec, routes.service.status.load_balancer.ingress
        addresses = [spec.cluster_ip, *spec.external_ips, *(each.ip for each in ingress)]
        for port in spec.ports:
            for protocol in ("TCP", "UDP", "SCTP"):
                yield from ((address, port.port, protocol) for address in addresses)
                if port.node_port:
                    yield from (
                        (address, port.node_port, protocol) for address in settings.node_addresses
                    )
        yield from ((address, 4711, "TCP") for address in addresses)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Random, Settings, list[Routes], Place]:
    """Draw a few services of any kind, and how the table is to be."""
    random, place = draw(st.randoms(use_true_random=False)), draw(st.sampled_from((V4, V6)))
    settings = msgspec.structs.replace(
        place.settings,
        masquerade_all=draw(st.booleans()),
        pod_networks=draw(st.sampled_from((place.settings.pod_networks, ()))),
    )
    protocols = ("TCP", "UDP", "SCTP")
    services = [random_service(random, place, number, protocols) for number in range(1, 4)]
    return random, settings, services, place


def packets(
    services: list[Routes], settings: Settings, place: Place
) -> Iterator[tuple[str, Packet]]:
    """Return packets of every kind of client to all addresses and ports, marked by others."""
    for client, (source, from_host) in clients(place).items():
        for address, port, protocol in targets(services, settings):
            if client == "endpoint elsewhere" and address.startswith(place.cluster):
                continue  # cluster addresses are translated on its own node, never here
            yield client, Packet(source, address, port, protocol, from_host, mark=0b10)


@settings(deadline=None)
@given(worlds())
def test_every_client_gets_at_every_address_what_routing_chose(
    world: tuple[Random, Settings, list[Routes], Place],
) -> None:
    _, settings, services, place = world
    ruleset = compiled(settings, {each.service.metadata.key: each for each in services})
    for client, packet in packets(services, settings, place):
        found = outcomes(ruleset, packet, settings.node_addresses)
        assert answers(found) == wanted(services, settings, packet), (client, packet)
        for each in found:
            # Our mark is off before it leaves the machine, that of others is as it was.
            stays = each.address in settings.node_addresses
            ours = 1 << settings.masquerade_bit if stays else 0
            assert each.end is not End.SENT or each.mark & ~ours == 0b10, (client, packet)


@settings(deadline=None)
@given(worlds())
def test_with_session_affinity_a_client_stays_until_it_was_away_for_too_long(
    world: tuple[Random, Settings, list[Routes], Place],
) -> None:
    random, settings, services, place = world
    ruleset = compiled(settings, {each.service.metadata.key: each for each in services})
    own = settings.node_addresses
    for client, packet in packets(services, settings, place):
        if not (seconds := timeout(services, settings, packet)):
            continue
        could = outcomes(ruleset, packet, own)
        came = trace(ruleset, packet, own, random.randrange, now=1000)
        assert came.outcome in could, (client, packet)
        sent = came.outcome.end is End.SENT
        then = {came.outcome: Fraction(1)} if sent else could
        for now, expected in ((1000 + seconds - 1, then), (1000 + seconds, could)):
            found = outcomes(ruleset, packet, own, memory=came.memory, now=now)
            assert found == expected, (client, packet, now)


def timeout(services: list[Routes], settings: Settings, packet: Packet) -> int:
    """Return for how long the service that a packet goes to remembers its client."""
    for routes in services:
        service, spec = routes.service, routes.service.spec
        addresses = (spec.cluster_ip, *spec.external_ips)
        addresses += tuple(
            each.ip for each in service.status.load_balancer.ingress if each.ip_mode != "Proxy"
        )
        for port in spec.ports:
            at = {(each, port.port) for each in addresses}
            at |= {(each, port.node_port) for each in settings.node_port_addresses}
            if port.protocol == packet.protocol and (packet.destination, packet.port) in at:
                config = spec.session_affinity_config
                return (config and config.client_ip and config.client_ip.timeout_seconds) or 0
    return 0
