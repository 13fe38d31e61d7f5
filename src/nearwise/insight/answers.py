"""The distinct answers of one service port: which places get which endpoints, and why.

Law: ``routing.select`` answers for one place; here places with the same answer are put together.
Which places can differ is read off the backends (a node that a hint names, or that an endpoint
runs on when the policy is Local); all other nodes of a zone must get the same answer, so one of
them is asked. Nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from nearwise.model import Reason, Service
from nearwise.routing import Backend, Client, Pool, Profile, select


class Traffic(StrEnum):
    """Where traffic comes from: the two policies of a service may differ."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    BOTH = "inside and outside"


class Answer(msgspec.Struct, frozen=True):
    """Places, and the backends that a connection from there goes to, each as likely.

    ``backends`` are positions in the pool. ``mode`` and ``reasons`` say why.
    """

    places: tuple[Client, ...]
    backends: tuple[int, ...]
    mode: str
    reasons: tuple[Reason, ...]


def answers(
    service: Service,
    pool: Pool,
    places: Iterable[Client],
    *,
    local: bool,
    profile: Profile,
) -> tuple[Answer, ...]:
    """Return the distinct answers, in the order of their first place; ``local`` is the policy."""
    positions = {id(backend): position for position, backend in enumerate(pool)}
    special = {node for backend in pool for node in backend.nodes}
    if local:
        special |= {backend.node_name for backend in pool if backend.node_name}
    alike: dict[tuple[str, str], list[Client]] = {}
    for place in places:
        alike.setdefault((place.zone, place.node if place.node in special else ""), []).append(place)

    found: dict[tuple[object, ...], tuple[Answer, list[Client]]] = {}
    for same in alike.values():
        chosen = select(service, pool, same[0], profile)
        backends = chosen.local if local else chosen.cluster
        mode = chosen.local_mode if local else chosen.mode
        answer = Answer((), tuple(positions[id(b)] for b in backends), str(mode), chosen.reasons)
        codes = tuple(reason.code for reason in chosen.reasons)
        _, members = found.setdefault((answer.backends, answer.mode, codes), (answer, []))
        members += same
    return tuple(
        msgspec.structs.replace(answer, places=tuple(members)) for answer, members in found.values()
    )
