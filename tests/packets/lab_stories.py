"""What the stories told on a lab have in common: their town, clients that never stop, and chance.

Nothing here waits for a time to pass; what should happen is looked for until it has happened.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import groupby
from math import log
from pathlib import Path
from typing import Any, Final

from lab_commands import ROOT
from msgspec.structs import replace

from nearwise.lab import namespaces
from nearwise.lab.addresses import MOST_PODS
from nearwise.lab.dumps import objects_in
from nearwise.lab.names import OUTSIDE
from nearwise.lab.probe import Answer
from nearwise.lab.running import Lab, Route, Traffic
from nearwise.lab.topology import Wanted, demo
from nearwise.lab.waiting import wait
from nearwise.model.selectors import matches

Json = dict[str, Any]

SIGNIFICANCE: Final = 1e-9
"""How probable it may be that chance alone makes a check of shares fail."""
CONNECTIONS: Final = 400
"""Enough to tell thirds from halves with that significance (``surprise`` of 200 is 23.6)."""
_TO_ONE: Final = 120
"""Enough to see that somebody else gets a sixth or more: that he never did is less probable."""

_PATIENT: Final = 5.0  # seconds until a connection of a client that never stops has failed
_RATE: Final = 60.0  # connections a second of such a client
_LONG: Final = 300  # seconds of grace: until the test itself ends the pod


def town() -> list[Json]:
    """Return three zones of two nodes, a1 to c2, and services that ask for different things."""
    wanted = [
        Wanted("preloader", None, "PreferSameNode"),
        Wanted("orders", 6, "PreferSameZone"),
        Wanted("checkout", 3, "PreferSameZone"),
        Wanted("web", 4),
        Wanted("solo", 1),
        Wanted("basket", 3),
        Wanted("dns", 2),
    ]
    objects = demo(3, 2, wanted)
    for obj in objects:
        if obj["kind"] == "Service" and obj["metadata"]["name"] == "basket":
            obj["spec"]["sessionAffinity"] = "ClientIP"
    return objects


def example(name: str) -> list[Json]:
    """Return the objects of a dump in ``examples/``."""
    return list(objects_in((ROOT / "examples" / name).read_bytes(), name))


def pods_of(it: Lab, service: str) -> dict[str, str]:
    """Return who runs on which node, of a service with at most one pod on each."""
    objects = it.objects()
    selector = next(
        each.spec.selector for each in objects.services if each.metadata.name == service
    )
    return {
        pod.spec.node_name: pod.metadata.name
        for pod in objects.pods
        if matches(selector, pod.metadata.labels) and pod.metadata.deletion_timestamp is None
    }


def begin_to_end(it: Lab, pod: str) -> None:
    """Delete a pod that takes its time to end: it is terminating until ``end``."""
    it.delete_pod(pod, grace=_LONG)


def end(it: Lab, pod: str) -> None:
    """Have the time of grace of a pod be over."""
    it.delete_pod(pod, grace=0)


# --- Clients that never stop --------------------------------------------------------------


class Clients:
    """Clients that open connections all the time, each from its place."""

    def __init__(self, traffic: Mapping[str, Traffic]) -> None:
        self.traffic = traffic
        self.began = time.monotonic()

    def journey(self, place: str) -> list[str]:
        """Return who answered a client, one after the other, without repetitions."""
        answered = [short(each) for each in tuple(self.traffic[place].answers)]
        return [pod for pod, _ in groupby(answered)]

    def stages(self, place: str, *pods: str) -> list[str]:
        """Return the journey of a client with "others" in the place of all pods but these."""
        named = [pod if pod in pods else "others" for pod in self.journey(place)]
        return [pod for pod, _ in groupby(named)]

    def go_on(self) -> None:
        """Wait until each client has had one answer more."""
        now = time.monotonic()

        def not_yet() -> str:
            waiting = [
                place
                for place, traffic in self.traffic.items()
                if not traffic.answers or traffic.answers[-1].at < now
            ]
            return f"clients are waiting: {', '.join(waiting)}" if waiting else ""

        wait(not_yet)

    def failures(self) -> list[str]:
        """Return what failed, when, from where, and why."""
        return [
            f"{each.at - self.began:8.3f} s from {place}: {each.failure} after {each.seconds:.3f} s"
            for place, traffic in self.traffic.items()
            for each in traffic.failures
        ]


@contextmanager
def clients(it: Lab, service: str, *places: str, node_port: str = "") -> Iterator[Clients]:
    """Have clients open connections all the time; when one fails, the test does.

    Clients on nodes have the address of a pod. Then no packet that opens a connection may get lost
    either, which they would notice as a delay: nobody changes their ports, so none of them comes
    to a port where the pod waits for the end of an older connection.
    """
    routes = {place: it.route(place, service, node_port=node_port) for place in places}
    for place, route in routes.items():
        if place in it.plan.nodes:
            source = it.plan.nodes[place].pod(4, MOST_PODS)
            routes[place] = Route(route.namespace, replace(route.target, source=source))
    inside = {route.namespace for place, route in routes.items() if place != OUTSIDE}
    before = {namespace: _sent_again(namespace) for namespace in inside}
    with ExitStack() as stack:
        running = Clients(
            {
                place: stack.enter_context(Traffic(route, _RATE, _PATIENT))
                for place, route in routes.items()
            }
        )
        running.go_on()
        yield running
        running.go_on()
    assert not running.failures(), "\n".join(running.failures())
    lost = [namespace for namespace in inside if _sent_again(namespace) != before[namespace]]
    assert not lost, f"packets that open connections got lost in {lost}"


def _sent_again(namespace: str) -> int:
    """Return how often a packet that opens a connection was sent once more from a host."""
    with namespaces.entered(namespace):
        lines = Path("/proc/thread-self/net/netstat").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("TcpExt:"))
    return int(dict(zip(names, values, strict=True))["TCPSynRetrans"])


# --- Who answers, and in which shares -----------------------------------------------------


def short(answer: Answer) -> str:
    """Return who answered, without the namespace; or why nobody did."""
    return str(answer.failure or answer.pod.rpartition("/")[2])


def spread(
    it: Lab,
    place: str,
    service: str,
    wanted: Iterable[str] | Mapping[str, float],
    *,
    node_port: str = "",
) -> None:
    """Fail the test unless connections go to these pods, evenly or in these shares."""
    shares = wanted if isinstance(wanted, Mapping) else evenly(wanted)
    route, found = it.route(place, service, node_port=node_port), Counter[str]()
    for _ in range(_TO_ONE if 1 in shares.values() else CONNECTIONS):
        (answer,) = it.ask(route, timeout=_PATIENT)
        found[short(answer)] += 1
        if answer.failure:
            break  # the others would take as long
    assert not strange(found, shares), f"from {place} to {service}: {strange(found, shares)}"


def evenly(pods: Iterable[str]) -> dict[str, float]:
    """Return equal shares."""
    names = list(pods)
    return {name: 1 / len(names) for name in names}


def strange(counts: Mapping[str, int], shares: Mapping[str, float]) -> str:
    """Say what about some counts is not by chance, if connections are to be shared so.

    The probability that a share of n connections comes out as q or further from p is at most
    ``exp(-n KL(q, p))`` (Chernoff's bound, for any n). Two sides of each pod: so this says
    something, while all is as it should be, with a probability of at most ``SIGNIFICANCE``.
    """
    if unwanted := counts.keys() - {pod for pod, share in shares.items() if share > 0}:
        return f"{', '.join(sorted(unwanted))} should not be there: {dict(counts)}"
    whole = sum(counts.values())
    limit = log(2 * len(shares) / SIGNIFICANCE)
    for pod, share in sorted(shares.items()):
        if surprise(counts.get(pod, 0), whole, share) > limit:
            return f"{pod} has {counts.get(pod, 0)} of {whole}, with a share of {share:.3f}"
    return ""


def surprise(count: int, whole: int, share: float) -> float:
    """Return ``n KL(q, p)`` of a count: with how many digits (base e) it is improbable."""
    found = 0.0
    for part, expected in ((count, share), (whole - count, 1 - share)):
        if part:
            found += part * log(part / whole / expected) if expected else float("inf")
    return found
