"""The process around the agent: who runs beside it, and how it ends.

Law: it ends when it is told to, and leaves the tables as they are: what the kernel was told goes
on being done, and the next process takes over what it finds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector

from nearwise.loops.cluster import Reading
from nearwise.loops.counted import CountedReading
from nearwise.loops.surroundings import Surroundings
from nearwise.proxy.agent import Agent
from nearwise.proxy.caches import Caches
from nearwise.proxy.conntrack import Flows
from nearwise.proxy.health import Health, HealthPages
from nearwise.proxy.health_checks import HealthChecks
from nearwise.proxy.health_ports import HealthPorts
from nearwise.proxy.kernel import Kernel
from nearwise.proxy.metrics import ProxyCollector
from nearwise.proxy.node import Options
from nearwise.proxy.operator_pages import OperatorPages
from nearwise.proxy.programming import Programming

_log = logging.getLogger(__name__)


class Machine(NamedTuple):
    """What a proxy needs of the machine it is on."""

    kernel: Kernel
    flows: Flows | None
    """None where there are none to be had."""
    addresses: Callable[[], tuple[str, ...]]
    """Gives the addresses of this machine. Raises OSError."""


class Process:
    """A proxy, and what can be read of it."""

    def __init__(
        self,
        cluster: Reading,
        machine: Machine,
        options: Options,
        surroundings: Surroundings,
        host: str = "",
    ) -> None:
        """Prepare to program a machine for a cluster; ``host`` says in the metrics where it is."""
        counted = CountedReading(cluster, host)
        self._caches = Caches(counted, surroundings, options.node or None)
        # As patient as kube-proxy: two periods.
        health = Health(surroundings, 2 * options.sync_period)
        self.programming = Programming(machine.kernel, machine.flows, surroundings)
        self.agent = Agent(
            self._caches,
            self.programming,
            machine.addresses,
            health,
            options=options,
            surroundings=surroundings,
        )
        self.health_ports = HealthPorts()
        if not options.as_client:
            local = HealthChecks(health, self.health_ports.want)
            self.programming.listen(local.changed)
        self.health_pages = HealthPages(health)
        self.registry = CollectorRegistry()
        self.registry.register(ProxyCollector(self.agent, self.health_pages.answers))
        self.registry.register(counted)
        ProcessCollector(registry=self.registry)
        self.operator_pages = OperatorPages(self.registry, self.programming)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until stopped. Raises KernelError if the kernel takes nothing from the start."""
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [
                    tasks.create_task(each)
                    for each in (self._caches.run(), self.health_ports.run(), self.agent.run())
                ]
                await stop.wait()
                _log.info("stopping: the kernel keeps the tables")
                for task in running:
                    task.cancel()
        except BaseExceptionGroup as group:
            error: BaseException = group
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            raise error from group
