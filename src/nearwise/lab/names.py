"""What a user names in a lab, found among its objects: pods, nodes, zones, services, places.

Law: pure. What is not there is InputError, with what may have been meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from nearwise.lab.addresses import API, API_6
from nearwise.lab.marks import POWER
from nearwise.lab.probe import Target
from nearwise.model import Node, Pod, Service
from nearwise.model.core import ServicePort
from nearwise.model.errors import InputError
from nearwise.model.objects import Objects
from nearwise.model.suggestion import did_you_mean

OUTSIDE: Final = "outside"
"""The place of clients that are on no node of the cluster."""

_IN_ZONE: Final = "zone="
_DEFAULT: Final = "default"

T = TypeVar("T", Node, Pod, Service)


class Client(NamedTuple):
    """Where connections come from."""

    node: str
    """Empty for outside."""
    addresses: tuple[str, ...] = ()
    """Of a pod: what it connects from; whatever its node takes if there are none."""

    def source(self, address: str) -> str:
        """Return the address to connect from, of the same family as another one; "" for any."""
        return next((each for each in self.addresses if (":" in each) == (":" in address)), "")


def client(objects: Objects, place: str) -> Client:
    """Return where connections from a place come from.

    A place is a node, a pod, ``zone=NAME`` for the first node of a zone that is on, or ``outside``.
    """
    if place.startswith(_IN_ZONE):
        zone = place.removeprefix(_IN_ZONE)
        inside = [each for each in objects.nodes if each.zone == zone]
        if not inside:
            raise _unknown("zone", zone, {each.zone for each in objects.nodes})
        on = [each for each in inside if each.metadata.annotations.get(POWER) != "off"]
        return Client((on or inside)[0].metadata.name)
    if any(each.metadata.name == place for each in objects.nodes):
        return Client(place)
    if place == OUTSIDE:
        return Client("", (API, API_6))
    if "/" in place or any(each.metadata.name == place for each in objects.pods):
        found = pod(objects, place)
        return Client(found.spec.node_name, tuple(each.ip for each in found.status.pod_ips))
    names = [each.metadata.name for each in objects.nodes]
    names += [each.metadata.name for each in objects.pods]
    raise _unknown("node or pod", place, names)


def pod(objects: Objects, name: str) -> Pod:
    """Return a pod by ``[NAMESPACE/]NAME``."""
    return _named(objects.pods, "pod", name)


def node(objects: Objects, name: str) -> Node:
    """Return a node."""
    for each in objects.nodes:
        if each.metadata.name == name:
            return each
    raise _unknown("node", name, [each.metadata.name for each in objects.nodes])


def zone(objects: Objects, name: str) -> str:
    """Return a zone that some node is in."""
    zones = {each.zone for each in objects.nodes} - {""}
    if name not in zones:
        raise _unknown("zone", name, zones)
    return name


def service(objects: Objects, name: str) -> tuple[Service, ServicePort]:
    """Return a service and one of its ports by ``[NAMESPACE/]NAME[:PORT]``; the first without."""
    name, _, port = name.partition(":")
    found = _named(objects.services, "service", name)
    ports = found.spec.ports
    if not ports:
        raise InputError(f"service {name} has no ports")
    if not port:
        return found, ports[0]
    for each in ports:
        if port in (each.name, str(each.port)):
            return found, each
    known = ", ".join(f"{each.name} {each.port}".strip() for each in ports)
    raise InputError(f"service {name} has no port {port}", hint=f"it has {known}")


def target(found: Service, port: ServicePort, source: Client, *, ipv6: bool = False) -> Target:
    """Return the cluster address of a service, as a client connects to it."""
    addresses = [each for each in found.spec.cluster_ips if each != "None"]
    own = next((each for each in addresses if (":" in each) == ipv6), "")
    if not own:
        family = " of IPv6" if ipv6 else " of IPv4" if addresses else ""
        raise InputError(
            f"service {found.metadata.name} has no cluster address{family}",
            hint="use --ipv6" if addresses and not ipv6 else "",
        )
    return Target(own, port.port, port.protocol or "TCP", source.source(own))


def node_port(found: Service, port: ServicePort, source: Client, address: str) -> Target:
    """Return the port of a service on a node with this address."""
    if not port.node_port:
        hint = "services of type NodePort and LoadBalancer have one"
        raise InputError(f"service {found.metadata.name} has no node port", hint=hint)
    return Target(address, port.node_port, port.protocol or "TCP", source.source(address))


def _named(objects: Sequence[T], kind: str, name: str) -> T:
    """Return an object by name; without a namespace in default, or the only one of that name."""
    namespace, _, bare = name.rpartition("/")
    found = [
        each
        for each in objects
        if each.metadata.name == bare and namespace in ("", each.metadata.namespace)
    ]
    in_default = [each for each in found if each.metadata.namespace == _DEFAULT]
    if not namespace and in_default:
        return in_default[0]
    if len(found) > 1:
        which = ", ".join("/".join(each.metadata.key) for each in found)
        raise InputError(f"{len(found)} {kind}s are called {name}", hint=f"say which: {which}")
    if not found:
        known: list[str] = ["/".join(each.metadata.key) for each in objects]
        raise _unknown(kind, name, [*known, *(each.metadata.name for each in objects)])
    return found[0]


def _unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    names = sorted(set(known) - {""})
    hint = did_you_mean(name, names)
    if not hint and len(names) <= 12:
        hint = f"there is {', '.join(names)}" if names else ""
    return InputError(f"no {kind} is called {name}", hint=hint)
