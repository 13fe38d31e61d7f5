"""The nodes as machines: their namespaces, and the processes in them.

Law: nothing here knows the API. A host has power or not; with power it has a process that starts
pods, and a proxy that is started again whenever it ends. Who ends is told, not judged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from nearwise.lab import namespaces, network
from nearwise.lab.addresses import Plan, Seat
from nearwise.lab.state import Place

_PODS: Final = Path(__file__).with_name("pods.py")
_AGAIN: Final = 1.0  # seconds after which a proxy that ended is started again

Ended = Callable[[str, int], None]
"""Told the id of a pod whose process has ended, and its exit code (-9: by SIGKILL)."""
Proxy = Callable[[str], Sequence[str]]
"""Returns the command that is the proxy of a node."""

_log = logging.getLogger(__name__)


class Host:
    """A node with power."""

    def __init__(self, name: str, seat: Seat, ended: Ended) -> None:
        self.name = name
        self.seat = seat
        self.proxy = 0  # the process; 0 while there is none
        self._ended = ended
        self._begun: dict[str, asyncio.Future[int]] = {}  # the process of each pod, by id
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, place: Place, proxy: Proxy | None, changed: Callable[[], None]) -> None:
        """Start what runs on it; ``changed`` is called when the proxy is another process."""
        inside = ("ip", "netns", "exec", namespaces.of_node(place.lab, self.name))
        log = place.log(f"pods-{self.name}")
        await self._start_pods(inside, log)
        self._tasks.append(asyncio.create_task(self._keep_pods(inside, log)))
        if proxy is not None:
            command = (*inside, *proxy(self.name))
            log = place.log(f"proxy-{self.name}")
            self._tasks.append(asyncio.create_task(self._keep_proxy(command, log, changed)))

    async def begin(self, pod: str, **order: Any) -> int:
        """Start a pod, wait until it listens, and return its process.

        Raises ConnectionError when it has ended instead.
        """
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._begun[pod] = waiting
        self.tell(start=pod, **order)
        return await waiting

    def tell(self, **order: Any) -> None:
        """Give an order about a pod (see ``pods``)."""
        assert self._pods.stdin is not None
        with suppress(ConnectionError):  # then all of them are about to end
            self._pods.stdin.write(msgspec.json.encode(order) + b"\n")

    async def stop(self) -> None:
        """End at once what was started on it; whoever else looks in there is left alone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        pods = [each.result() for each in self._begun.values() if each.done()]
        for process in filter(None, (self._pods.pid, self.proxy, *pods)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for pod in list(self._begun):
            self._lose(pod)

    async def _start_pods(self, inside: Sequence[str], log: Path) -> None:
        with log.open("ab") as out:
            self._pods = await asyncio.create_subprocess_exec(
                *inside,
                *(sys.executable, "-I", "-S", str(_PODS), inside[-1]),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=out,
            )

    async def _keep_pods(self, inside: Sequence[str], log: Path) -> None:
        """Take in what the pods report; when what starts them has ended, so have they."""
        while True:
            assert self._pods.stdout is not None
            while line := await self._pods.stdout.readline():
                self._heed(msgspec.json.decode(line))
            _log.warning("node %s: what starts its pods has ended", self.name)
            await asyncio.sleep(_AGAIN)
            await self._start_pods(inside, log)
            for pod in list(self._begun):
                self._lose(pod)
                self._ended(pod, -signal.SIGKILL)

    def _heed(self, said: dict[str, Any]) -> None:
        """Take in a report (see ``pods``)."""
        if "ended" in said:
            self._lose(said["ended"])
            self._ended(said["ended"], said["status"])
            return
        for each in said["failed"]:
            _log.warning("node %s: a pod cannot listen on %s", self.name, each)
        waiting = self._begun.get(said["listening"])
        if waiting is not None and not waiting.done():
            waiting.set_result(said["process"])

    def _lose(self, pod: str) -> None:
        waiting = self._begun.pop(pod, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(ConnectionError("its process has ended"))

    async def _keep_proxy(
        self, command: Sequence[str], log: Path, changed: Callable[[], None]
    ) -> None:
        """Run the proxy, again and again."""
        while True:
            with log.open("ab") as out:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out
                )
            self.proxy = process.pid
            changed()
            code = await process.wait()
            self.proxy = 0
            changed()
            _log.warning("node %s: the proxy has ended with %d", self.name, code)
            await asyncio.sleep(_AGAIN)


class Hosts:
    """All nodes that there are, with and without power."""

    def __init__(
        self,
        place: Place,
        plan: Plan,
        proxy: Proxy | None,
        ended: Ended,
        changed: Callable[[], None],
    ) -> None:
        """Begin with none. Every zone and node that is to come may have its seat already.

        ``changed`` is called when there is another node or proxy.
        """
        self._place = place
        self._proxy = proxy
        self._ended = ended
        self._changed = changed
        self._seats = plan
        self._building = asyncio.Lock()
        self._running: dict[str, Host] = {}
        self.plan = Plan(plan.versions)
        """What has been built."""

    def find(self, node: str) -> Host | None:
        """Return a node if it has power."""
        return self._running.get(node)

    @property
    def powered(self) -> tuple[str, ...]:
        """The nodes with power."""
        return tuple(sorted(self._running))

    @property
    def proxies(self) -> dict[str, int]:
        """The processes of the proxies, by node."""
        return {name: host.proxy for name, host in sorted(self._running.items()) if host.proxy}

    async def switch_on(self, node: str, zone: str) -> Host:
        """Give a node power, in a zone if it is new."""
        if node in self._running:
            return self._running[node]
        async with self._building:
            if node in self.plan.nodes:
                commands = network.plugged_in(self._place.lab, self.plan, node)
                await asyncio.to_thread(network.build, commands)
            else:
                await self._build(node, zone)
        host = Host(node, self.plan.nodes[node], self._ended)
        await host.start(self._place, self._proxy, self._changed)
        self._running[node] = host
        self._changed()
        return host

    async def switch_off(self, node: str) -> None:
        """Take the power from a node."""
        host = self._running.pop(node, None)
        if host is None:
            return
        commands = network.unplugged(self._place.lab, self.plan, node)
        await asyncio.to_thread(network.build, commands)
        await host.stop()
        self._changed()

    async def remove(self, node: str) -> None:
        """Take a node away."""
        await self.switch_off(node)
        if node in self.plan.nodes:
            commands = network.removed(self._place.lab, self.plan, node)
            await asyncio.to_thread(network.build, commands)
            del self.plan.nodes[node]
            self._seats.nodes.pop(node, None)
            namespace = namespaces.of_node(self._place.lab, node)
            await asyncio.to_thread(namespaces.remove, [namespace])
            self._changed()

    async def _build(self, node: str, zone: str) -> None:
        lab, seat = self._place.lab, self._seats.add_node(node, zone)
        if seat.zone not in self.plan.zones:
            self.plan.zones[seat.zone] = seat.zone_number
            await asyncio.to_thread(network.build, network.zone(lab, self.plan, seat.zone))
        self.plan.nodes[node] = seat
        await asyncio.to_thread(network.build, network.node(lab, self.plan, node))
