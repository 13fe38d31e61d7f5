"""The kubelets of a lab: what the objects say happens on its hosts, and what happens is told.

Law: as a controller this looks at what is stored and at the hosts, never at what has happened: a
node that is stored has a host, a pod with a node has a process there. So kubectl drives a lab as
well as its own commands do. A pod that is deleted is told so (SIGTERM) and serves on through its
time of grace; then it is no longer stored (``kubelets``), and its process ends.

A node without power is noticed as the node lifecycle controller of Kubernetes does it: its Ready
becomes Unknown some seconds later, and its pods are no longer ready.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from nearwise.lab import reports
from nearwise.lab.addresses import MOST_PODS, Plan
from nearwise.lab.hosts import Host, Hosts, Proxy
from nearwise.lab.marks import POWER, READY
from nearwise.lab.state import Facts, Place
from nearwise.machinery.changes import Event, Key
from nearwise.model import Node, Pod, Service
from nearwise.model.codec import decode
from nearwise.model.selectors import matches
from nearwise.server.api import Api
from nearwise.server.chores import chores
from nearwise.server.deleting import timestamp
from nearwise.server.options import Patch, PatchType, Strictness, WriteOptions
from nearwise.server.resources import NODES, PODS, SERVICES, Address
from nearwise.store import Store

GRACE: Final = 3.0
"""Seconds after which a node without power is noticed; Kubernetes takes 50."""

_OF_THE_PROXY: Final = ("TCP", 10256)  # its health page, on every address of the node
_WORKERS: Final = 20
_OPTIONS: Final = WriteOptions(manager="kubelet", strictness=Strictness.IGNORE)
_FIRST_BACKOFF: Final = 10.0  # seconds until a pod is started again, doubled each time: kubelet's
_LONGEST_BACKOFF: Final = 300.0

T = TypeVar("T", Node, Pod, Service)
_log = logging.getLogger(__name__)


@dataclass
class _Running:
    """A pod with a process."""

    host: Host
    addresses: tuple[str, ...]
    ports: set[tuple[str, int]]
    process: int = 0
    terminating: bool = False


@dataclass
class _Past:
    """What became of the earlier processes of a pod."""

    restarts: int = 0
    not_before: float = 0.0
    """When it may be started again, on the clock of the event loop."""


class Machine:
    """Has happen on the hosts of a lab what is stored."""

    def __init__(
        self, store: Store, api: Api, *, place: Place, plan: Plan, proxy: Proxy | None
    ) -> None:
        """Begin with an empty store. ``plan`` has the seats that are taken from the start."""
        self._read = store.read
        self._api = api
        self._place = place
        self._with_proxies = proxy is not None
        self._hosts = Hosts(place, plan, proxy, self._ended, self._tell_facts)
        self._chores = chores("machine", self._do)
        self._running: dict[str, _Running] = {}  # by uid, as the next three
        self._past: dict[str, _Past] = {}
        self._told: dict[str, reports.Life] = {}
        self._uids: dict[Key, str] = {}  # whose process there is under a name
        self._lost_power: dict[str, float] = {}  # when, by node
        self._numbers: dict[str, int] = {}  # the pod number that each node gave last
        self._unsubscribe = store.subscribe(self._follow)
        self._tell_facts()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            await self._chores.run(_WORKERS)
        finally:
            self._unsubscribe()

    def _follow(self, event: Event) -> None:
        if event.key.resource in (NODES.storage, PODS.storage):
            self._chores.add(event.key)
        elif event.key.resource == SERVICES.storage:
            for key in self._uids:
                if key.namespace == event.key.namespace:
                    self._chores.add(key)

    async def _do(self, key: Key) -> None:
        if key.resource == NODES.storage:
            await self._node(key)
        else:
            await self._pod(key)

    # --- Nodes ----------------------------------------------------------------------------

    async def _node(self, key: Key) -> None:
        name, node = key.name, self._stored(key, Node)
        if node is None:
            self._lose_power(name)
            await self._hosts.remove(name)
            self._lost_power.pop(name, None)
        elif node.metadata.annotations.get(POWER) == "off":
            await self._hosts.switch_off(name)
            self._lose_power(name)
            if (left := self._lost_power[name] + GRACE - self._now()) > 0:
                self._chores.add(key, left)
            else:
                await self._tell_node(node, "Unknown", "NodeStatusUnknown", [])
        else:
            self._lost_power.pop(name, None)
            host = await self._hosts.switch_on(name, node.zone)
            addresses = [host.seat.address(version) for version in self._hosts.plan.versions]
            await self._tell_node(node, "True", "KubeletReady", addresses)
        for pod in list(self._on_node(name)):
            self._chores.add(pod)

    def _lose_power(self, node: str) -> None:
        """Take note that a node and all its pods have no processes any more."""
        self._lost_power.setdefault(node, self._now())
        for uid in [uid for uid, each in self._running.items() if each.host.name == node]:
            del self._running[uid]
            self._past.setdefault(uid, _Past()).restarts += 1

    async def _tell_node(self, node: Node, ready: str, reason: str, addresses: list[str]) -> None:
        status = reports.of_node(node, ready, reason, addresses, self._wall())
        await self._patch(Address(NODES, name=node.metadata.name), status)

    # --- Pods -----------------------------------------------------------------------------

    async def _pod(self, key: Key) -> None:
        pod = self._stored(key, Pod)
        uid = pod.metadata.uid if pod is not None else ""
        if pod is None or self._uids.get(key, uid) != uid or pod.status.phase in _OVER:
            self._end(key)
        if pod is None or pod.status.phase in _OVER or not pod.spec.node_name:
            return
        self._uids[key] = uid
        host = self._hosts.find(pod.spec.node_name)
        if host is None:  # when its node gets power, the pod is looked at again
            since = self._lost_power.get(pod.spec.node_name)
            if since is not None and self._now() - since >= GRACE:
                await self._tell_pod(pod, None, "NodeNotReady")
            return
        running = self._running.get(uid)
        if running is None:
            if (left := self._past.get(uid, _Past()).not_before - self._now()) > 0:
                await self._tell_pod(pod, None, "CrashLoopBackOff")
                self._chores.add(key, left)
                return
            running = await self._begin(pod, host)
        if more := self._ports(pod) - running.ports:
            running.ports |= more
            host.tell(listen=uid, ports=sorted(more))
        if pod.metadata.deletion_timestamp is not None and not running.terminating:
            running.terminating = True
            host.tell(terminate=uid)
        fails = pod.metadata.annotations.get(READY) == "false"
        await self._tell_pod(pod, running, "ContainersNotReady" if fails else "")

    async def _begin(self, pod: Pod, host: Host) -> _Running:
        """Start the process of a pod, and wait until it listens."""
        uid = pod.metadata.uid
        running = _Running(host, self._addresses(pod, host), self._ports(pod))
        self._running[uid] = running
        about = {
            "pod": pod.metadata.name,
            "namespace": pod.metadata.namespace,
            "node": host.name,
            "zone": host.seat.zone,
        }
        ports = sorted(running.ports)
        try:
            running.process = await host.begin(
                uid, about=about, addresses=running.addresses, ports=ports
            )
        except ConnectionError:
            self._running.pop(uid, None)
            raise
        return running

    def _end(self, key: Key) -> None:
        """Have the process of a pod that is gone answer what it was asked, and end."""
        uid = self._uids.pop(key, "")
        self._past.pop(uid, None)
        self._told.pop(uid, None)
        if (running := self._running.pop(uid, None)) is not None:
            running.host.tell(end=uid)

    def _ended(self, uid: str, code: int) -> None:
        """Take note that a process has ended; if nobody ended it, that is a crash."""
        if self._running.pop(uid, None) is None:
            return
        past = self._past.setdefault(uid, _Past())
        past.not_before = self._now() + min(_FIRST_BACKOFF * 2**past.restarts, _LONGEST_BACKOFF)
        past.restarts += 1
        for key in [key for key, its in self._uids.items() if its == uid]:
            _log.warning("pod %s/%s has ended with %d", key.namespace, key.name, code)
            self._chores.add(key)

    def _addresses(self, pod: Pod, host: Host) -> tuple[str, ...]:
        """Return the addresses of a pod: those it has, or new ones of its node."""
        versions = self._hosts.plan.versions
        if pod.spec.host_network:
            return tuple(host.seat.address(version) for version in versions)
        own = pod.status.pod_ips[0].ip if pod.status.pod_ips else ""
        taken = {each.addresses[0] for each in self._running.values()}
        last = self._numbers.get(host.name, 0)
        # What was used lately comes last: connections to its last owner may still be known.
        numbers = [(last + step) % MOST_PODS + 1 for step in range(MOST_PODS)]
        texts = {host.seat.pod(versions[0], number): number for number in numbers}
        number = texts.get(own) or next(texts[text] for text in texts if text not in taken)
        self._numbers[host.name] = max(number, last) if own else number
        return tuple(host.seat.pod(version, number) for version in versions)

    def _ports(self, pod: Pod) -> set[tuple[str, int]]:
        """Return where a pod listens: on what it says, and on what services expect of it."""
        ports = {
            (each.protocol or "TCP", each.container_port)
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for each in container.ports
        }
        for entry in self._read.page(SERVICES.storage, namespace=pod.metadata.namespace).entries:
            service = decode(entry.value, Service)
            if matches(service.spec.selector, pod.metadata.labels):
                ports |= {
                    (each.protocol or "TCP", each.target_port or each.port)
                    for each in service.spec.ports
                    if isinstance(each.target_port, int)
                }
        if pod.spec.host_network:  # a dump has kube-proxy's pod, but the node has our proxy
            ports.discard(_OF_THE_PROXY)
        return ports

    async def _tell_pod(self, pod: Pod, running: _Running | None, why_not: str) -> None:
        """Write how a pod is, if that is not written yet."""
        uid, written = pod.metadata.uid, tuple(each.ip for each in pod.status.pod_ips)
        life = reports.Life(
            addresses=running.addresses if running else written,
            host_address=running.host.seat.address(self._hosts.plan.versions[0]) if running else "",
            process=running.process if running else 0,
            restarts=self._past.get(uid, _Past()).restarts,
            why_not_ready=why_not,
        )
        if self._told.get(uid) == life and (written, pod.ready) == (life.addresses, not why_not):
            return
        self._told[uid] = life
        status = reports.of_pod(pod, life, self._wall())
        await self._patch(Address(PODS, pod.metadata.namespace, pod.metadata.name), status)

    # --- What they have in common ---------------------------------------------------------

    def _stored(self, key: Key, kind: type[T]) -> T | None:
        entry = self._read.get(key)
        return decode(entry.value, kind) if entry is not None else None

    def _on_node(self, node: str) -> Iterator[Key]:
        mark = node.encode()
        for entry in self._read.page(PODS.storage).entries:
            if mark in entry.value and decode(entry.value, Pod).spec.node_name == node:
                yield entry.key

    async def _patch(self, at: Address, status: dict[str, Any] | None) -> None:
        if status is not None:
            patch = Patch(PatchType.STRATEGIC, {"status": status})
            at = Address(at.resource, at.namespace, at.name, "status")
            await self._api.patch(at, patch, _OPTIONS)

    def _tell_facts(self) -> None:
        hosts = self._hosts
        facts = Facts(os.getpid(), hosts.plan, hosts.powered, hosts.proxies, self._with_proxies)
        self._place.write(facts)

    def _wall(self) -> str:
        return timestamp(self._api.world.now())

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


_OVER: Final = ("Succeeded", "Failed")
"""Phases of pods that run no more."""
