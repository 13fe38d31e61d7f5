"""The distinct answers of one service port: which places get which endpoints, and why.

Law: ``routing.select`` answers for one place; here places with the same answer are put together.
Which places can differ is read off the backends (a node that a hint names, or that an endpoint
runs on where that counts); all other nodes of a zone get the same answer, so one of them is asked.
Nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from nearwise.model import Reason, Service
from nearwise.routing import Backend, Client, Pool, Profile, Selection, select
from nearwise.routing.preferences import OWN_NODE


class Answer(msgspec.Struct, frozen=True):
    """Places, and the backends that a connection from there goes to, each as likely.

    ``backends`` are positions in the pool. ``mode`` and ``fate`` are those of ``routing``;
    ``profile`` names the data plane. ``healthy`` tells whether a load balancer's health check
    passes there, under policy Local.
    """

    places: tuple[Client, ...]
    backends: tuple[int, ...]
    mode: str
    fate: str
    profile: str
    healthy: bool
    reasons: tuple[Reason, ...]


def answers(
    service: Service,
    pool: Pool,
    places: Iterable[Client],
    plane: Callable[[str], Profile],
    *,
    local: bool,
) -> tuple[Answer, ...]:
    """Return the distinct answers under traffic policy Local or Cluster, by their first place.

    ``plane`` names the data plane of a node.
    """
    where = _Positions(pool)
    chosen: dict[tuple[object, ...], tuple[Answer, Selection, list[Client]]] = {}
    for same in _interchangeable(service, pool, places, plane, local=local):
        selection = select(service, pool, same[0], plane(same[0].node))
        answer = _answer(selection, where, local=local)
        # Of clients with the same answer only those without a zone may have other reasons.
        key = (answer.backends, answer.mode, answer.profile, bool(same[0].zone))
        chosen.setdefault(key, (answer, selection, []))[2].extend(same)

    found: dict[tuple[object, ...], tuple[Answer, list[Client]]] = {}
    for answer, selection, members in chosen.values():
        reasons = selection.why(local=local)
        told = msgspec.structs.replace(answer, reasons=reasons)
        codes = tuple(why.code for why in reasons)
        told_apart = (answer.backends, answer.mode, answer.profile, codes)
        found.setdefault(told_apart, (told, []))[1].extend(members)
    return tuple(
        msgspec.structs.replace(answer, places=tuple(sorted(members, key=lambda at: at.node)))
        for answer, members in found.values()
    )


def _interchangeable(
    service: Service,
    pool: Pool,
    places: Iterable[Client],
    plane: Callable[[str], Profile],
    *,
    local: bool,
) -> Iterable[list[Client]]:
    """Put places together that no backend and no data plane can tell apart."""
    hinted = {node for backend in pool for node in backend.nodes}
    running = {backend.node_name for backend in pool if backend.node_name}
    found: dict[tuple[str, str, str], list[Client]] = {}
    for place in places:
        profile = plane(place.node)
        own_node = local or OWN_NODE in profile.preferences(service)
        special = place.node in hinted or (own_node and place.node in running)
        key = (profile.name, place.zone or "", place.node if special else "")
        found.setdefault(key, []).append(place)
    return found.values()


class _Positions:
    """Where the backends of a pool stand in it."""

    def __init__(self, pool: Pool) -> None:
        self._all_ready = tuple(i for i, backend in enumerate(pool) if backend.ready)
        self._positions = {id(backend): position for position, backend in enumerate(pool)}

    def of(self, backends: Sequence[Backend]) -> tuple[int, ...]:
        """Return the positions; those of all ready backends, the common case, at once."""
        if len(backends) == len(self._all_ready) and backends and backends[0].ready:
            return self._all_ready
        return tuple(self._positions[id(backend)] for backend in backends)


def _answer(selection: Selection, where: _Positions, *, local: bool) -> Answer:
    """Return the answer of one client, without reasons and places."""
    return Answer(
        places=(),
        backends=where.of(selection.local if local else selection.cluster),
        mode=str(selection.local_mode if local else selection.mode),
        fate=str(selection.fate(local=local)),
        profile=selection.profile.name,
        healthy=selection.healthy > 0,
        reasons=(),
    )
