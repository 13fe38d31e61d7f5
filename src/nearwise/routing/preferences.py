"""Ways to find endpoints near a client. A data plane is an order of these (``profiles``).

Law: a preference finds ready endpoints or nobody, and can say why. It never falls back: to go on
to the next preference, and at last to all endpoints, is ``select``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from nearwise.model import Reason, reason
from nearwise.model.wellknown import ZONE
from nearwise.routing.backend import Backend
from nearwise.routing.pool import Facts


class Mode(StrEnum):
    """Which endpoints were chosen."""

    SAME_NODE = "same-node"
    SAME_ZONE = "same-zone"
    CLUSTER = "cluster"
    TERMINATING = "terminating-fallback"
    NONE = "none"


class Client(msgspec.Struct, frozen=True, gc=False):
    """Where traffic comes from. ``zone`` is None or empty when the node has no zone label."""

    node: str
    zone: str | None = None


class Preference(msgspec.Struct, frozen=True):
    """One way to find endpoints near a client.

    ``find`` returns them, nobody when this way leads nowhere. ``why`` says what it came to, None
    when there is nothing to say because nobody asked for it.
    """

    mode: Mode
    find: Callable[[Facts, Client], Sequence[Backend]]
    why: Callable[[Facts, Client], Reason | None]


def _hinted_for_node(facts: Facts, client: Client) -> Sequence[Backend]:
    return facts.by_node.get(client.node, ()) if facts.by_node else ()


def _why_node_hints(facts: Facts, client: Client) -> Reason | None:
    if facts.by_node is None:
        return _partial("route-node-hints-partial", facts, facts.bare.node)
    if chosen := facts.by_node.get(client.node):
        return reason(
            "route-node-hints", ready=len(facts.ready), chosen=len(chosen), node=client.node
        )
    return reason("route-node-hints-elsewhere", ready=len(facts.ready), node=client.node)


def _hinted_for_zone(facts: Facts, client: Client) -> Sequence[Backend]:
    # A node without zone label looks for the hint "", as recorded of Kubernetes 1.36.
    return facts.by_zone.get(client.zone or "", ()) if facts.by_zone else ()


def _why_zone_hints(facts: Facts, client: Client) -> Reason | None:
    if facts.by_zone is None:
        return _partial("route-zone-hints-partial", facts, facts.bare.zone)
    if chosen := facts.by_zone.get(client.zone or ""):
        return reason(
            "route-zone-hints", ready=len(facts.ready), chosen=len(chosen), zone=client.zone or "''"
        )
    if not client.zone:
        return reason("route-node-without-zone", node=client.node, label=ZONE)
    return reason(
        "route-zone-hints-elsewhere",
        ready=len(facts.ready),
        zone=client.zone,
        zones=sorted(facts.by_zone),
    )


def _partial(code: str, facts: Facts, bare: Sequence[Backend]) -> Reason | None:
    """Say who lacks a hint that others have; nothing when nobody has it."""
    hinted = len(facts.ready) - len(bare)
    if not hinted:
        return None
    return reason(
        code,
        ready=len(facts.ready),
        hinted=hinted,
        bare=[backend.label for backend in bare],
        nodes=sorted({backend.node_name or "" for backend in bare}),
    )


def _on_node(facts: Facts, client: Client) -> Sequence[Backend]:
    return [backend for backend in facts.ready if client.node and backend.node_name == client.node]


def _why_own_node(facts: Facts, client: Client) -> Reason | None:
    return reason(
        "route-own-node",
        ready=len(facts.ready),
        chosen=len(_on_node(facts, client)),
        node=client.node,
    )


def _in_zone(facts: Facts, client: Client) -> Sequence[Backend]:
    return [backend for backend in facts.ready if client.zone and backend.zone == client.zone]


def _why_own_zone(facts: Facts, client: Client) -> Reason | None:
    if not client.zone:
        return reason("route-node-without-zone", node=client.node, label=ZONE)
    return reason(
        "route-own-zone",
        ready=len(facts.ready),
        chosen=len(_in_zone(facts, client)),
        zone=client.zone,
    )


NODE_HINTS: Final = Preference(Mode.SAME_NODE, _hinted_for_node, _why_node_hints)
"""Every ready endpoint has a node hint, and one names the client's node (KEP-3015)."""

ZONE_HINTS: Final = Preference(Mode.SAME_ZONE, _hinted_for_zone, _why_zone_hints)
"""Every ready endpoint has a zone hint, and one names the client's zone (KEP-2433)."""

OWN_NODE: Final = Preference(Mode.SAME_NODE, _on_node, _why_own_node)
"""The endpoint runs on the client's node, whatever the hints say."""

OWN_ZONE: Final = Preference(Mode.SAME_ZONE, _in_zone, _why_own_zone)
"""The endpoint runs in the client's zone, whatever the hints say."""
