"""All slices of a service and family as one view: who can be reached on each service port.

Law: a view depends on the slices in it, never on their order or on how it came about. ``changed``
is the one way to make a view; merging from nothing is a change of the empty view. What a slice
claims is worked out when that slice changes, and only then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from nearwise.model import EndpointSlice, Reason, Service, reason
from nearwise.model.wellknown import SERVICE_NAME
from nearwise.routing.backend import Backend, PortKey
from nearwise.routing.pool import NOBODY, Pool


class ServiceView(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A service as the proxies of one address family see it.

    ``backends`` has every port of the service, in its order; a port that no slice offers has an
    empty pool. ``slices`` are all that were handed in, by name, also those that change nothing.
    """

    service: Service
    family: str
    slices: Mapping[str, EndpointSlice]
    backends: Mapping[PortKey, Pool]

    def changed(self, put: Iterable[EndpointSlice] = (), drop: Collection[str] = ()) -> ServiceView:
        """Return the view after slices came or changed (``put``) and went (``drop``, by name).

        The work grows with the slices that are named, not with those that are there.
        """
        named = {slice_.metadata.name: slice_ for slice_ in put}
        before = self.slices
        stale = [before[name] for name in {*named, *drop} if name in before] if before else ()
        slices = {**before, **named} if before else named
        for name in drop:
            if name not in named:
                slices.pop(name, None)
        removed = self._claims(stale) if stale else {}
        added = self._claims(named.values())
        backends = {
            key: pool.changed(removed.get(key, ()), added[key])
            for key, pool in self.backends.items()
        }
        return ServiceView(self.service, self.family, slices, backends)

    def belongs(self, slice_: EndpointSlice) -> bool:
        """Say whether the slice is one of this service and family: label and namespace decide."""
        metadata, service = slice_.metadata, self.service.metadata
        return (
            slice_.address_type == self.family
            and metadata.labels.get(SERVICE_NAME) == service.name
            and metadata.namespace == service.namespace
        )

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What is odd about the slices, so that traffic goes elsewhere than somebody thinks."""
        return (*_odd_slices(self), *_missing_ports(self), *_contests(self))

    def _claims(self, slices: Iterable[EndpointSlice]) -> dict[PortKey, list[Backend]]:
        """Return what the slices claim on each port of the service.

        A port without a number is nobody's; of an endpoint's addresses only the first counts
        (recorded behaviour of Kubernetes 1.36).
        """
        claims: dict[PortKey, list[Backend]] = {key: [] for key in self.backends}
        for slice_ in slices:
            if not self.belongs(slice_):
                continue
            name = slice_.metadata.name
            for port in slice_.ports:
                on_port = claims.get((port.name or "", port.protocol or "TCP"))
                if on_port is not None and (number := port.port):
                    on_port += [
                        Backend(endpoint.addresses[0], number, endpoint, name)
                        for endpoint in slice_.endpoints
                        if endpoint.addresses
                    ]
        return claims


def merge(service: Service, slices: Iterable[EndpointSlice], family: str) -> ServiceView:
    """Merge the slices of a service, as far as they are of the family ``IPv4`` or ``IPv6``."""
    ports = [(port.name, port.protocol or "TCP") for port in service.spec.ports]
    return ServiceView(service, family, {}, dict.fromkeys(ports, NOBODY)).changed(slices)


def _odd_slices(view: ServiceView) -> Iterator[Reason]:
    service = view.service.metadata
    for name, slice_ in sorted(view.slices.items()):
        label = slice_.metadata.labels.get(SERVICE_NAME)
        if label is None:
            yield reason("slice-unlabelled", slice=name, label=SERVICE_NAME)
        elif label != service.name or slice_.metadata.namespace != service.namespace:
            continue
        elif slice_.address_type == "FQDN":
            yield reason("slice-fqdn", slice=name, endpoints=len(slice_.endpoints))
        elif slice_.address_type == view.family:
            if slice_.endpoints and not slice_.ports:
                yield reason("slice-without-ports", slice=name, endpoints=len(slice_.endpoints))
            for port in slice_.ports:
                if not port.port:
                    yield reason("slice-port-unset", slice=name, port=_written(port.name or ""))


def _missing_ports(view: ServiceView) -> Iterator[Reason]:
    """Tell of service ports that slices with endpoints do not offer, while they offer others."""
    offered: dict[PortKey, list[str]] = {}
    for name, slice_ in sorted(view.slices.items()):
        if slice_.endpoints and view.belongs(slice_):
            for port in slice_.ports:
                key = (port.name or "", port.protocol or "TCP")
                offered.setdefault(key, []).append(name)
    for key in view.backends:
        if offered and key not in offered:
            yield reason(
                "port-not-offered",
                port=_written(key[0]),
                protocol=key[1],
                offered=[f"{_written(name)} ({protocol})" for name, protocol in sorted(offered)],
                slices=sorted({name for names in offered.values() for name in names}),
            )


def _contests(view: ServiceView) -> Iterator[Reason]:
    for pool in view.backends.values():
        for winner, rivals in pool.contests:
            losers = [rival for rival in rivals if rival is not winner]
            running = [rival for rival in losers if not rival.terminating]
            if winner.terminating:
                continue
            if any(rival.source != winner.source for rival in running):
                yield reason(
                    "endpoint-contested",
                    endpoint=winner.endpoint,
                    winner=_claim(winner),
                    losers=[_claim(rival) for rival in running],
                )
            elif not running:
                yield reason(
                    "endpoint-address-reused",
                    endpoint=winner.endpoint,
                    winner=_claim(winner),
                    losers=[_claim(rival) for rival in losers],
                )


def _claim(backend: Backend) -> str:
    """Say who claims an address: ``pod web-2 (slice web-abc)``."""
    return f"{backend.who or 'an endpoint without target'} (slice {backend.slice_name})"


def _written(port_name: str) -> str:
    return port_name or "''"
