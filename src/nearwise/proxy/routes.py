"""What a proxy knows of each service of one family: its view, and what is chosen from it.

Law: pure, and the work follows the change. What was told since the last look is kept by service;
``take`` brings the views of these up to date, chooses anew for them, and for no others. When the
place of the node changes, everything is chosen anew, from views that stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice, Service
from nearwise.nft.addresses import parsed
from nearwise.nft.compile import Routes
from nearwise.nft.ruleset import Family
from nearwise.proxy.fallbacks import Fallbacks
from nearwise.routing import Client, ServiceView, is_routed, merge, select

Changes = Mapping[ObjectKey, Routes | None]
"""What is chosen now, by service; None for a service that is not, or no longer, to be served."""


class Known(Protocol):
    """The services and slices of a cluster, as last seen."""

    def names(self) -> Iterable[ObjectKey]:
        """Return which services there are."""
        ...

    def service(self, key: ObjectKey) -> Service | None:
        """Return a service, or None if there is none of that name."""
        ...

    def slices_of(self, service: ObjectKey) -> Iterable[EndpointSlice]:
        """Return the slices that name a service."""
        ...


class FamilyRoutes:
    """The views and choices of one family."""

    def __init__(self, family: Family, known: Known, client: Client) -> None:
        """Choose for a client, from all that is known."""
        self.family = family
        self.routes: dict[ObjectKey, Routes] = {}
        """What is chosen now, by service."""
        self.fallbacks = Fallbacks()
        self.mistakes: dict[ObjectKey, Exception] = {}
        """Of the latest look: services that stay as they were, by a mistake of ours."""
        self._known = known
        self._client = client
        self._views: dict[ObjectKey, ServiceView] = {}
        self._changed: dict[ObjectKey, dict[str, EndpointSlice | None]] = {
            key: {} for key in known.names()
        }

    @property
    def has_news(self) -> bool:
        """Whether something was told since the last look."""
        return bool(self._changed)

    def service_changed(self, key: ObjectKey) -> None:
        """Take note that a service came, went or changed."""
        self._changed.setdefault(key, {})

    def slice_changed(self, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        """Take note that a slice came (from None), changed, or went (to None)."""
        before, after = self._service_of(old), self._service_of(new)
        if old is not None and before is not None and before != after:
            self._changed.setdefault(before, {})[old.metadata.name] = None
        if new is not None and after is not None:
            self._changed.setdefault(after, {})[new.metadata.name] = new

    def move(self, client: Client) -> None:
        """Take note that traffic comes from somewhere else now."""
        if client != self._client:
            self._client = client
            for key in self._views:
                self.service_changed(key)

    def take(self) -> Changes:
        """Return what is chosen now for the services that changed."""
        changed, self._changed = self._changed, {}
        changes: dict[ObjectKey, Routes | None] = {}
        self.mistakes = {}
        for key, slices in changed.items():
            try:
                changes[key] = self._chosen(key, slices)
            except Exception as mistake:  # about one service it must not stop the others
                self.mistakes[key] = mistake
                self._views.pop(key, None)  # with the next change it is merged from nothing
        return changes

    def _service_of(self, slice_: EndpointSlice | None) -> ObjectKey | None:
        """Return which service's slice it is; None if of none in this family."""
        if slice_ is None or slice_.address_type != self.family.api:
            return None
        return next(service_of(slice_), None)

    def _chosen(self, key: ObjectKey, slices: Mapping[str, EndpointSlice | None]) -> Routes | None:
        service = self._known.service(key)
        routes = None
        if service is None or not is_served(service, self.family):
            self._views.pop(key, None)
            self.routes.pop(key, None)
        else:
            view = self._views[key] = self._viewed(service, slices)
            routes = self.routes[key] = routes_of(view, self._client)
        self.fallbacks.chosen(key, routes)
        return routes

    def _viewed(self, service: Service, slices: Mapping[str, EndpointSlice | None]) -> ServiceView:
        """Return the view of a service now."""
        view = self._views.get(service.metadata.key)
        if view is None or _ports(view.service) != _ports(service):
            return merge(service, self._known.slices_of(service.metadata.key), self.family.api)
        if view.service is not service:
            view = replace(view, service=service)
        if not slices:
            return view
        put = [slice_ for slice_ in slices.values() if slice_ is not None]
        return view.changed(put, [name for name, slice_ in slices.items() if slice_ is None])


def is_served(service: Service, family: Family) -> bool:
    """Say whether a service has a cluster address of the family.

    One that has none is not served in that family, whatever else leads to it (recorded behaviour
    of Kubernetes 1.36). Of an address that cannot be read the compiler says so.
    """
    spec = service.spec
    packed = map(parsed, filter(None, spec.cluster_ips or (spec.cluster_ip,)))
    return is_routed(service) and any(each is None or len(each) == family.width for each in packed)


def routes_of(view: ServiceView, client: Client) -> Routes:
    """Choose for all ports of a service."""
    service = view.service
    return Routes(
        service, {key: select(service, pool, client) for key, pool in view.backends.items()}
    )


def _ports(service: Service) -> list[tuple[str, str]]:
    return [(port.name, port.protocol) for port in service.spec.ports]
