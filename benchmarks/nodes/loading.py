"""Services into the kernel: our maps by both backends, and the rival's chains.

Each is on a host of its own. Ours is what the proxy does between an object and the kernel: merge
the slices, choose, compile, pack, send. Of the rival only the nft program and the kernel are
counted, and it may load a thousand services at a time: as one transaction it takes still longer.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle
from typing import Final

from msgspec.structs import replace

from benchmarks.nodes import chains
from benchmarks.nodes.host import Host
from benchmarks.nodes.services import HERE, NAMESPACE, Shape
from benchmarks.nodes.spent import Spent, spent
from nearwise.model import EndpointConditions, EndpointSlice, Service
from nearwise.nft.compile import Compiler
from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import Settings
from nearwise.nft.ruleset import Family
from nearwise.proxy.kernel import Kernel
from nearwise.proxy.routes import FamilyRoutes

Key = tuple[str, str]

PATIENCE: Final = 120.0
"""Seconds after which the rival is too slow."""

_TOGETHER: Final = 1_000  # services that the rival loads at a time
_UNREADY: Final = EndpointConditions(False, False, False)


class Maps:
    """What Nearwise does for the services of a shape on a host."""

    def __init__(self, host: Host, backend: Callable[[], Kernel], shape: Shape) -> None:
        self._host = host
        self._shape = shape
        self._known = _Known()
        for number in range(shape.services):
            self._known.put(shape, number)
        self._routes = FamilyRoutes(Family.IPV4, self._known, HERE)
        self._compiler = Compiler(Settings(Family.IPV4))
        with host.entered():
            self._kernel = backend()

    def load(self) -> Spent:
        """Load everything."""

        def change() -> Transaction:
            self._compiler.change(self._routes.take())
            return diff(None, self._compiler.ruleset)

        return self._apply(change)

    def flip(self, repeat: int) -> Spent:
        """Have one endpoint of one service turn unready, and ready again, and so on."""
        key = (NAMESPACE, f"web-{self._shape.services // 2}")
        whole = self._known.slices[key][0]
        first, *others = whole.endpoints
        unready = replace(whole, endpoints=(replace(first, conditions=_UNREADY), *others))
        flips = cycle(((whole, unready), (unready, whole)))

        def change() -> Transaction:
            self._routes.slice_changed(*next(flips))
            return self._compiler.change(self._routes.take())

        return self._apply(change, repeat)

    def add(self, repeat: int) -> Spent:
        """Add some more services, one at a time."""
        numbers = iter(range(self._shape.services, self._shape.services + repeat))

        def change() -> Transaction:
            self._routes.service_changed(self._known.put(self._shape, next(numbers)))
            return self._compiler.change(self._routes.take())

        return self._apply(change, repeat)

    def remove(self) -> Spent:
        """Take everything out of the kernel."""
        with self._host.entered():
            return spent(self._kernel.remove)

    def _apply(self, change: Callable[[], Transaction], repeat: int = 1) -> Spent:
        """Work out a change and have the kernel carry it out, so many times."""
        whole = Spent()
        with self._host.entered():
            for _ in range(repeat):
                began = time.perf_counter()
                wanted = change()
                whole += Spent(ours=time.perf_counter() - began)
                whole += spent(partial(self._kernel.apply, wanted))
        return whole / repeat


class _Known:
    """What a proxy knows of services and slices."""

    def __init__(self) -> None:
        self.services: dict[Key, Service] = {}
        self.slices: dict[Key, tuple[EndpointSlice, ...]] = {}

    def put(self, shape: Shape, number: int) -> Key:
        """Have one more service, and return what it is called."""
        service = shape.service(number)
        key = service.metadata.key
        self.services[key], self.slices[key] = service, shape.slices(number)
        return key

    def names(self) -> Iterable[Key]:
        """Return which services there are."""
        return self.services

    def service(self, key: Key) -> Service | None:
        """Return a service."""
        return self.services.get(key)

    def slices_of(self, service: Key) -> Iterable[EndpointSlice]:
        """Return the slices of a service."""
        return self.slices.get(service, ())


class Chains:
    """What a chain for each service and endpoint takes for the services of a shape on a host."""

    def __init__(self, host: Host, shape: Shape) -> None:
        self._host = host
        self._shape = shape

    def load(self) -> Spent | None:
        """Load everything; None if that takes too long."""
        whole = self._nft(chains.nothing())
        end = time.perf_counter() + PATIENCE
        for first in range(0, self._shape.services, _TOGETHER):
            last = min(first + _TOGETHER, self._shape.services)
            text = chains.added(map(self._service, range(first, last)))
            left = end - time.perf_counter()
            if left <= 0:
                return None
            try:
                whole += self._nft(text, left)
            except subprocess.TimeoutExpired:
                return None
        return whole

    def flip(self) -> Spent:
        """Have one endpoint go, and come back."""
        service = self._service(self._shape.services // 2)
        less = service._replace(endpoints=service.endpoints[1:])
        return (self._nft(chains.changed(less)) + self._nft(chains.changed(service))) / 2

    def add(self) -> Spent:
        """Add one more service."""
        return self._nft(chains.added([self._service(self._shape.services)]))

    def remove(self) -> Spent:
        """Take everything out of the kernel."""
        return self._nft(chains.removed())

    def _service(self, number: int) -> chains.Chained:
        endpoints = self._shape.numbers(number)
        return chains.Chained(number, endpoints, self._shape.protocol.lower())

    def _nft(self, text: str, patience: float | None = None) -> Spent:
        return spent(lambda: self._host.nft(text, patience))
