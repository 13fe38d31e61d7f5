"""Which endpoint lies in which slice: one address family and one set of ports of a service.

Law: this is the only place that decides where an endpoint goes, and it goes through what changed,
never through everything. Between two plans every endpoint that is not marked dirty is known to lie
in its slice as it is wanted, and every slice that is not marked stale holds nothing else.

The order of the rules is the controller's (KEP-752): first what is there is updated or dropped in
place; then slices that are written anyway are filled, the fullest first; what is left goes into the
one other slice that it fills best, or into new ones. Fewer writes beat full slices.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nearwise.model import Endpoint, EndpointSlice
from nearwise.model.wellknown import HEADLESS, MANAGED_BY, SERVICE_NAME
from nearwise.slices.endpoints import PortSet


class Filled(msgspec.Struct):
    """What one slice is to hold, and what that changes.

    ``name`` is None for a slice that does not exist yet. ``moved`` is set when endpoints or their
    conditions differ from what is stored; hints alone do not count, for a slice with wrong hints
    is not thereby open for more endpoints.
    """

    name: str | None
    endpoints: list[Endpoint]
    added: int = 0
    removed: int = 0
    changed: int = 0
    labels: bool = False
    hints: bool = False

    @property
    def moved(self) -> bool:
        """Whether endpoints came, went or changed."""
        return bool(self.added or self.removed or self.changed)

    @property
    def emptied(self) -> bool:
        """Whether it lost its last endpoint: such a slice is deleted."""
        return self.removed > 0 and not self.endpoints


class Group:
    """The wanted endpoints of one family and port set, and the slices that hold them."""

    __slots__ = ("_home", "_stale", "dirty", "members", "ports", "slices", "wanted")

    def __init__(self, ports: PortSet) -> None:
        self.ports = ports
        self.members = 0  # pods with these ports, whether or not they have an address
        self.wanted: dict[str, Endpoint] = {}  # by pod name
        self.slices: dict[str, EndpointSlice] = {}
        self.dirty: set[str] = set()
        self._home: dict[str, str] = {}  # pod name to the slice that holds its endpoint
        self._stale: set[str] = set()

    @property
    def settled(self) -> bool:
        """Whether every endpoint is known to lie where it is wanted."""
        return not self.dirty and not self._stale

    def put_slice(self, new: EndpointSlice) -> None:
        """Take in a slice as somebody stored it: all that differs in it is open."""
        name = new.metadata.name
        old = self.slices.get(name)
        self.slices[name] = new
        if old is not None:
            if _same_content(old, new):
                return
            self.dirty.update(pod for pod in self._leave(name, old) if pod in self.wanted)
        self._stale.add(name)
        for endpoint in new.endpoints:
            pod = _pod_of(endpoint)
            elsewhere = self._home.setdefault(pod, name)
            if elsewhere != name:
                self._stale.add(elsewhere)
            if pod in self.wanted:
                self.dirty.add(pod)

    def wrote_slice(self, new: EndpointSlice) -> None:
        """Take in a slice as a plan of this group asked for it: nothing about it is open."""
        name = new.metadata.name
        old = self.slices.get(name)
        self.slices[name] = new
        if old is not None:
            self._leave(name, old)
        for endpoint in new.endpoints:
            self._home[_pod_of(endpoint)] = name

    def drop_slice(self, name: str) -> None:
        """Forget a slice that is gone; what lay in it is placed anew."""
        old = self.slices.pop(name)
        self._stale.discard(name)
        self.dirty.update(pod for pod in self._leave(name, old) if pod in self.wanted)

    def _leave(self, name: str, old: EndpointSlice) -> list[str]:
        """Take the pods of a slice out of it; return those that lay nowhere else."""
        home = self._home
        pods = [_pod_of(endpoint) for endpoint in old.endpoints]
        left = [pod for pod in pods if home.get(pod) == name]
        for pod in left:
            home.pop(pod, None)
        return left

    def recheck(self) -> None:
        """Look at every slice again in the next plan: the service changed."""
        self._stale.update(self.slices)

    def settle(self) -> None:
        """Declare all that is open done: a plan was carried out, or had nothing to write."""
        self.dirty.clear()
        self._stale.clear()

    def pack(self, labels: dict[str, str], most: int, *, hints: bool) -> list[Filled]:
        """Say what each slice is to hold: those that change, stored ones first, by name.

        A stored slice that ends up without endpoints is in the list when it held some before;
        the caller deletes it. ``labels`` are the service's own, without the reserved ones.
        ``hints`` says whether wrong hints are a change; hints by CPU share are not decided here.
        """
        looked_at: dict[str, Filled] = {}
        placed: set[str] = set()
        for name in sorted(self._to_look_at()):
            filled = self._update_in_place(name, labels, placed)
            filled.hints = filled.hints and hints
            looked_at[name] = filled
            if not (filled.moved or filled.labels or filled.hints):
                self._found_right(name)
        left = [self.wanted[pod] for pod in sorted(self.dirty - placed) if pod in self.wanted]
        left.reverse()  # taken from the end, so that names fill slices in order

        written = [f for f in looked_at.values() if (f.moved or f.labels) and not f.emptied]
        for filled in sorted(written, key=lambda f: (-len(f.endpoints), f.name)):
            _fill(filled, left, most)

        created: list[Filled] = []
        taken = {f.name for f in looked_at.values() if f.moved or f.labels}
        while left:
            best = self._best_fit(len(left), most, taken) if len(left) < most else None
            if best is None:
                target = Filled(None, [])
                created.append(target)
            else:
                taken.add(best)
                target = looked_at.get(best) or Filled(best, list(self.slices[best].endpoints))
                looked_at[best] = target
            _fill(target, left, most)
        stored = [looked_at[name] for name in sorted(looked_at)]
        return [f for f in stored if f.moved or f.labels or f.hints] + created

    def _found_right(self, name: str) -> None:
        """Take note that a slice holds what it should: what was written, was written."""
        self._stale.discard(name)
        self.dirty.difference_update(map(_pod_of, self.slices[name].endpoints))

    def _to_look_at(self) -> Iterable[str]:
        self.dirty = {pod for pod in self.dirty if pod in self._home or pod in self.wanted}
        homes = {self._home[pod] for pod in self.dirty if pod in self._home}
        return homes | self._stale

    def _update_in_place(self, name: str, labels: dict[str, str], placed: set[str]) -> Filled:
        stored = self.slices[name]
        filled = Filled(name, [], labels=own_labels(stored.metadata.labels) != labels)
        keep = filled.endpoints.append
        wanted, home = self.wanted, self._home
        for endpoint in stored.endpoints:
            target = endpoint.target_ref
            pod = target.name if target is not None else ""
            want = wanted.get(pod)
            if want is endpoint:
                if pod not in placed:
                    placed.add(pod)
                    home[pod] = name
                    keep(endpoint)
                continue
            if want is None or pod in placed or not _same_identity(want, endpoint):
                continue
            placed.add(pod)
            home[pod] = name
            keep(want)
            if not _same_beyond_identity(want, endpoint):
                filled.changed += 1
            elif want.hints != endpoint.hints:
                filled.hints = True
        filled.removed = len(stored.endpoints) - len(filled.endpoints)
        return filled

    def _best_fit(self, count: int, most: int, taken: set[str | None]) -> str | None:
        """Return the unchanged slice with room for all that is left and the least to spare."""
        best, least = None, most
        for name in sorted(self.slices):
            spare = most - len(self.slices[name].endpoints) - count
            if name not in taken and 0 <= spare < least:
                best, least = name, spare
        return best


def _fill(filled: Filled, left: list[Endpoint], most: int) -> None:
    room = most - len(filled.endpoints)
    if room <= 0 or not left:
        return
    taken = left[-room:]
    del left[-room:]
    taken.reverse()
    filled.endpoints += taken
    filled.added += len(taken)


def _pod_of(endpoint: Endpoint) -> str:
    return endpoint.target_ref.name if endpoint.target_ref is not None else ""


def _same_content(one: EndpointSlice, two: EndpointSlice) -> bool:
    return (
        one.endpoints == two.endpoints
        and one.ports == two.ports
        and one.metadata.labels == two.metadata.labels
        and one.metadata.owner_references == two.metadata.owner_references
    )


def _same_identity(want: Endpoint, stored: Endpoint) -> bool:
    """Compare what makes an endpoint the same one: addresses, hostname, the target's name."""
    return (
        (want.addresses == stored.addresses or sorted(want.addresses) == sorted(stored.addresses))
        and (want.hostname or "") == (stored.hostname or "")
        and want.target_ref is not None
        and stored.target_ref is not None
        and want.target_ref.namespace == stored.target_ref.namespace
    )


def _same_beyond_identity(want: Endpoint, stored: Endpoint) -> bool:
    """Compare what is updated in place: conditions, node, zone, the target's kind and uid."""
    return (
        want.conditions == stored.conditions
        and want.node_name == stored.node_name
        and want.zone == stored.zone
        and want.target_ref is not None
        and stored.target_ref is not None
        and want.target_ref.uid == stored.target_ref.uid
        and want.target_ref.kind == stored.target_ref.kind
    )


_RESERVED_LABELS = frozenset({MANAGED_BY, SERVICE_NAME, HEADLESS})


def own_labels(labels: dict[str, str]) -> dict[str, str]:
    """Return the labels that follow the service: all but those the controller sets itself."""
    return {name: value for name, value in labels.items() if name not in _RESERVED_LABELS}
