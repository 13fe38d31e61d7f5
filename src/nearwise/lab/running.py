"""A running lab, for its commands and for tests: look at it, change it, send connections in it.

::

    from nearwise.lab.running import lab
    from nearwise.lab.topology import Wanted, demo

    with lab(demo(zones=3, nodes=2, services=[Wanted("web", 6, "PreferSameZone")]), "t1") as it:
        it.fail("web-1")                    # its readiness; heal("web-1") undoes it
        it.settle()                         # until slices and all proxies are as they should be
        answers = it.curl("a1", "web", 200)  # from node a1; also a pod, "zone=zone-a", "outside"
        assert {each.zone for each in answers} == {"zone-a"}

        with it.traffic("b1", "web", rate=200) as traffic:   # goes on in a thread meanwhile
            it.rollout("web")
        assert traffic.failures == []

``lab(objects, name)`` takes any Nodes, Services and Pods as plain objects; pods with a
``spec.nodeName`` run there. ``Lab(name)`` is one that is running already. Pods and services are
``NAME`` or ``NAMESPACE/NAME``, without a namespace in ``default``. Everything is also in reach of
kubectl, with ``it.kubeconfig``. Whatever is asked for and does not happen in time raises
TimeoutError; names that are not there raise InputError.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count as counting
from pathlib import Path
from typing import Final, NamedTuple, Self

from nearwise.lab import delays, names, namespaces, proxied, reports, rollout, starting
from nearwise.lab.addresses import Plan, Seat
from nearwise.lab.delays import Delay
from nearwise.lab.marks import POWER, READY
from nearwise.lab.probe import Answer, Conversation, Target, ask
from nearwise.lab.remote import Remote
from nearwise.lab.settling import unsettled
from nearwise.lab.state import Facts, find
from nearwise.lab.status import LabStatus, status_of
from nearwise.lab.topology import node as new_node
from nearwise.lab.topology import topology
from nearwise.lab.waiting import PATIENCE, Told, wait
from nearwise.model import Node, Pod
from nearwise.model.errors import InputError
from nearwise.model.objects import Objects
from nearwise.server.kinds.plain import at
from nearwise.server.objects.stored import Decoded

_QUIET: Final = 0.1  # seconds


@contextmanager
def lab(
    objects: Iterable[Decoded],
    name: str = "lab",
    *,
    dual_stack: bool = False,
    proxies: bool = True,
) -> Iterator[Lab]:
    """Run a lab until the block ends, and begin when all of it is ready.

    With ``dual_stack`` it has IPv6 too. Without ``proxies`` nobody serves cluster addresses.
    """
    starting.start(name, topology(objects, dual_stack=dual_stack), proxies=proxies)
    try:
        with Lab(name) as it:
            it.settle()
            yield it
    finally:
        starting.stop(name)


class Route(NamedTuple):
    """Where connections come from, and where they go."""

    namespace: str
    target: Target


class Traffic:
    """Connections that are opened at a rate, in a thread of their own."""

    def __init__(self, route: Route, rate: float, timeout: float) -> None:
        self.answers: list[Answer] = []
        """What became of them so far, in order."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(route, rate, timeout))

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        """Stop, when the connection that is open is done."""
        self._stop.set()
        self._thread.join()

    @property
    def failures(self) -> list[Answer]:
        """Those that failed."""
        return [each for each in tuple(self.answers) if each.failure]

    def _run(self, route: Route, rate: float, timeout: float) -> None:
        namespaces.enter(route.namespace)  # for good: the thread has nothing else to do
        began = time.monotonic()
        for number in counting():
            if self._stop.wait(max(0.0, began + number / rate - time.monotonic())):
                return
            self.answers.append(ask(route.target, timeout))


class Lab:
    """A lab that is running."""

    def __init__(self, name: str = "lab", told: Told = lambda _: None) -> None:
        """Find it. InputError when there is none, or when it has broken down.

        ``told`` is told what is being done when that takes a while.
        """
        self._place = find(name)
        self._told = told
        self.api = Remote(self._place)
        """Its API: ``get``, ``list``, ``create``, ``patch``, ``delete`` plain objects."""

    def __enter__(self) -> Self:
        """Keep a connection to its API until the block ends."""
        return self

    def __exit__(self, *_failure: object) -> None:
        """Close that connection. The lab goes on."""
        self.api.close()

    @property
    def name(self) -> str:
        """What it is called."""
        return self._place.lab

    @property
    def kubeconfig(self) -> Path:
        """How clients of Kubernetes get in."""
        return self._place.kubeconfig

    @property
    def facts(self) -> Facts:
        """What its process tells: addresses of nodes, processes of proxies."""
        facts = self._place.facts()
        assert facts is not None
        return facts

    @property
    def plan(self) -> Plan:
        """Which zones and nodes there are, and their addresses."""
        return self.facts.plan

    def objects(self) -> Objects:
        """Return everything that decides routing."""
        return self.api.objects()

    def status(self) -> LabStatus:
        """Return how it is."""
        objects, facts = self.objects(), self.facts
        proxies = proxied.states(self.name, objects, facts)
        latency = delays.read(self._place)
        return status_of(self._place, objects, facts.plan, proxies=proxies, latency=latency)

    def namespace(self, place: str) -> str:
        """Return the network namespace of a place: a node, a pod, ``zone=NAME``, ``outside``.

        Of a zone it is the one of its first node. ``ip netns exec`` takes it.
        """
        return self._namespace(names.client(self.objects(), place))

    # --- Connections ----------------------------------------------------------------------

    def curl(
        self,
        place: str,
        service: str,
        count: int = 1,
        *,
        node_port: str = "",
        ipv6: bool = False,
        timeout: float = 2.0,
    ) -> list[Answer]:
        """Open connections from a place to a service, one after the other.

        The service is ``[NAMESPACE/]NAME[:PORT]``. With ``node_port``, the name of a node, they go
        to the node port there, else to the cluster address.
        """
        return self.ask(self.route(place, service, node_port=node_port, ipv6=ipv6), count, timeout)

    def ask(self, route: Route, count: int = 1, timeout: float = 2.0) -> list[Answer]:
        """Open connections on a route, one after the other."""
        with namespaces.entered(route.namespace):
            return [ask(route.target, timeout) for _ in range(count)]

    @contextmanager
    def traffic(
        self, place: str, service: str, rate: float = 100.0, *, timeout: float = 2.0
    ) -> Iterator[Traffic]:
        """Open so many connections a second from a place to a service, until the block ends.

        Each is begun when the one before it is done, so slow answers make them fewer.
        """
        with Traffic(self.route(place, service), rate, timeout) as traffic:
            yield traffic

    @contextmanager
    def conversation(self, place: str, service: str) -> Iterator[Conversation]:
        """Keep one connection open, on which ``ask()`` asks once more."""
        route = self.route(place, service)
        with namespaces.entered(route.namespace):
            conversation = Conversation(route.target)
        try:
            yield conversation
        finally:
            conversation.close()

    def route(self, place: str, service: str, *, node_port: str = "", ipv6: bool = False) -> Route:
        """Return the way of connections from a place to a service."""
        objects = self.objects()
        client = names.client(objects, place)
        found, port = names.service(objects, service)
        if node_port:
            seat = self._seat(names.node(objects, node_port).metadata.name)
            address = seat.address(6 if ipv6 else 4)
            target = names.node_port(found, port, client, address)
        else:
            target = names.target(found, port, client, ipv6=ipv6)
        return Route(self._namespace(client), target)

    def _namespace(self, client: names.Client) -> str:
        if not client.node:
            return namespaces.of_control(self.name)
        self._seat(client.node)
        return namespaces.of_node(self.name, client.node)

    def _seat(self, node: str) -> Seat:
        seat = self.plan.nodes.get(node)
        if seat is None:
            raise InputError(f"node {node} is not in the network yet", hint="try again")
        return seat

    # --- Changes --------------------------------------------------------------------------

    def fail(self, pod: str) -> None:
        """Have a pod fail its readiness probe. It serves on whoever still comes."""
        self._mark("Pod", names.pod(self.objects(), pod), READY, "false")

    def heal(self, pod: str) -> None:
        """Have it pass again."""
        self._mark("Pod", names.pod(self.objects(), pod), READY, None)

    def kill_pod(self, pod: str) -> None:
        """Kill the process of a pod (SIGKILL), and wait until that has been noticed.

        It is started again after 10 s, then 20 s, 40 s, as a kubelet does.
        """
        found = names.pod(self.objects(), pod)
        namespace, name = found.metadata.key

        def process() -> int:
            statuses = at(self.api.get("Pod", name, namespace), "status", "containerStatuses")
            return max(map(reports.process_of, statuses or ()), default=0)

        before = process()
        if not before:
            raise InputError(f"pod {pod} has no process now")
        with suppress(ProcessLookupError):
            os.kill(before, signal.SIGKILL)
        wait(lambda: "" if process() != before else f"the end of pod {pod} is not seen yet")

    def delete_pod(self, pod: str, grace: int | None = None) -> None:
        """Delete a pod; it serves on until its time of grace is over."""
        namespace, name = names.pod(self.objects(), pod).metadata.key
        self.api.delete("Pod", name, namespace, grace)

    def kill_node(self, node: str) -> None:
        """Take a node off the net with everything on it; 3 s later that is noticed."""
        self._mark("Node", names.node(self.objects(), node), POWER, "off")

    def start_node(self, node: str) -> None:
        """Start it again."""
        self._mark("Node", names.node(self.objects(), node), POWER, None)

    def add_node(self, node: str, zone: str, cpu: str = "4") -> None:
        """Add a node, and to it a pod of each workload of which every node has one."""
        if any(each.metadata.name == node for each in self.objects().nodes):
            raise InputError(f"there is a node called {node} already")
        self.plan.add_node(node, zone)  # a copy: it says whether there is room
        pods = self.api.list("Pod")
        self.api.create(new_node(node, zone, cpu))
        there = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods}
        for pod in rollout.for_new_node(pods, node):
            if (pod["metadata"]["namespace"], pod["metadata"]["name"]) not in there:
                self.api.create(pod)

    def remove_node(self, node: str) -> None:
        """Take a node away for good, and its pods."""
        objects = self.objects()
        name = names.node(objects, node).metadata.name
        for pod in objects.pods:
            if pod.spec.node_name == name:
                self.api.delete("Pod", pod.metadata.name, pod.metadata.namespace, grace=0)
        self.api.delete("Node", name)

    def rollout(
        self,
        service: str,
        *,
        max_unavailable: int | None = None,
        pause: float = 0.0,
    ) -> None:
        """Replace the pods of a service; returns when all are ready and the old ones gone.

        So many at a time are gone before the new ones come: None is 1 for pods of which every node
        has one, as a DaemonSet does it, and 0 for others, of which each new one is ready before an
        old one is told to end, as a Deployment does it. ``pause`` are seconds between two steps.
        """
        found, _ = names.service(self.objects(), service)
        rollout.roll(self.api, found, max_unavailable, pause, self._told)

    def set_latency(self, zone: str, other: str, seconds: float) -> Delay | None:
        """Have packets between two zones take so long there and back; 0 ends it."""
        one, two = self._zones(zone, other)
        return delays.set_delay(self._place, self.plan, one, two, seconds)

    def latency(self, zone: str, other: str) -> Delay | None:
        """Return the delay that was set between two zones."""
        pair = tuple(sorted(self._zones(zone, other)))
        return next((each for each in delays.read(self._place) if each.zones == pair), None)

    def _zones(self, *zones: str) -> tuple[str, str]:
        objects = self.objects()
        one, two = (names.zone(objects, each) for each in zones)
        return one, two

    def _mark(self, kind: str, obj: Node | Pod, mark: str, value: str | None) -> None:
        change = {"metadata": {"annotations": {mark: value}}}
        self.api.patch(kind, obj.metadata.name, change, obj.metadata.namespace)

    # --- Waiting --------------------------------------------------------------------------

    def settle(self, patience: float = PATIENCE) -> None:
        """Wait until everything is as it should be.

        Pods run and are ready unless told otherwise, slices list them as they are, and every
        proxy has in the kernel what the slices say.
        """
        quiet = 0.0

        def not_yet() -> str:
            nonlocal quiet
            pods, objects, facts = self.api.list("Pod"), self.objects(), self.facts
            why = unsettled(objects, facts.plan, pods) or proxied.behind(self.name, objects, facts)
            if why:
                quiet = 0.0
                return why
            # Once more a moment later: the end of one change may be the beginning of another.
            if not quiet:
                quiet = time.monotonic() + _QUIET
            return "" if time.monotonic() >= quiet else "it has just come to rest"

        wait(not_yet, patience, self._told)

    def until(
        self, so: Callable[[Objects], bool], what: str = "it", patience: float = PATIENCE
    ) -> Objects:
        """Wait until the objects are so, and return them."""
        seen = Objects()

        def not_yet() -> str:
            nonlocal seen
            seen = self.objects()
            return "" if so(seen) else f"{what} has not come about"

        wait(not_yet, patience)
        return seen
