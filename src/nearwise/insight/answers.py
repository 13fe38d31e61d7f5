"""The distinct answers of one service port: which places get which endpoints, and why.

Law: ``routing.select`` answers for one place; here places with the same answer are put together.
Which places can differ is read off the backends (a node that a hint names, or that an endpoint
runs on where that counts); all other nodes of a zone get the same answer, so one of them is asked.
Nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from nearwise.model import Reason, Service
from nearwise.routing import Client, Pool, Profile, select
from nearwise.routing.near import OWN_NODE


class Answer(msgspec.Struct, frozen=True):
    """Places, and the backends that a connection from there goes to, each as likely.

    ``backends`` are positions in the pool. ``mode`` and ``fate`` are those of ``routing``;
    ``profile`` names the data plane. ``healthy`` tells whether a load balancer's health
    check passes there, under policy Local.
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
    positions = {id(backend): position for position, backend in enumerate(pool)}
    hinted = {node for backend in pool for node in backend.nodes}
    running = {backend.node_name for backend in pool if backend.node_name}
    alike: dict[tuple[str, str, str], tuple[Profile, list[Client]]] = {}
    for place in places:
        profile = plane(place.node)
        own_node = local or OWN_NODE in profile.preferences(service)
        special = place.node in hinted or (own_node and place.node in running)
        key = (profile.name, place.zone or "", place.node if special else "")
        alike.setdefault(key, (profile, []))[1].append(place)

    found: dict[tuple[object, ...], tuple[Answer, list[Client]]] = {}
    for profile, same in alike.values():
        chosen = select(service, pool, same[0], profile)
        answer = Answer(
            places=(),
            backends=tuple(
                positions[id(backend)] for backend in (chosen.local if local else chosen.cluster)
            ),
            mode=str(chosen.local_mode if local else chosen.mode),
            fate=str(chosen.fate(local=local)),
            profile=profile.name,
            healthy=chosen.healthy > 0,
            reasons=_of_policy(chosen.reasons, local=local),
        )
        codes = tuple(reason.code for reason in answer.reasons)
        key_ = (answer.backends, answer.mode, answer.profile, codes)
        found.setdefault(key_, (answer, []))[1].extend(same)
    return tuple(
        msgspec.structs.replace(answer, places=tuple(sorted(places, key=lambda at: at.node)))
        for answer, places in found.values()
    )


def _of_policy(reasons: tuple[Reason, ...], *, local: bool) -> tuple[Reason, ...]:
    """Return the reasons of one policy where a service has traffic under both."""
    mine = tuple(why for why in reasons if why.code.startswith("route-local") is local)
    return mine or reasons
