"""The shape of an explanation: what ``nearwise explain`` prints, and what ``-o json`` holds.

Law: values only. How they come about is ``explain``; their JSON form is documented in
``docs/explain.md`` and may grow, but not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nearwise.insight.carried import Carried
from nearwise.insight.shares import ZonePair
from nearwise.insight.states import State
from nearwise.model import Reason


class Traffic(StrEnum):
    """Where traffic comes from; the two policies of a service may differ."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    ANYWHERE = "anywhere"
    DNS = "dns"  # a headless service: clients get the addresses and pick


class Value(msgspec.Struct, frozen=True, rename="camel"):
    """Base of what is printed."""


class PortLine(Value, frozen=True):
    """A port of the service, and the numbers it leads to on the endpoints."""

    name: str
    port: int
    protocol: str
    targets: tuple[int, ...]


class Row(Value, frozen=True):
    """An endpoint, and what it gets.

    ``lent_to`` is the zone that it serves though it is in another. ``share`` is its part of all
    traffic, and ``reached_from`` says which part of all traffic comes to it from which zone;
    ``nodes`` counts the nodes whose connections may go to it, with or without traffic.
    """

    name: str
    address: str
    node: str
    zone: str
    state: State
    slice: str
    hint_zones: tuple[str, ...]
    hint_nodes: tuple[str, ...]
    lent_to: str
    share: float
    reached_from: Mapping[str, float]
    nodes: int


class Group(Value, frozen=True):
    """Clients that get the same endpoints for the same reasons.

    ``nodes`` are by zone (empty: no label), ``pods`` the possible clients on them, ``traffic`` is
    their part of all traffic, ``in_zone`` the part of that which stays in its zone. ``mode`` says
    which endpoints were chosen (``routing.Mode``), ``fate`` what becomes of a connection: forward,
    reject or drop.
    """

    nodes: Mapping[str, tuple[str, ...]]
    pods: tuple[str, ...]
    traffic: float
    mode: str
    fate: str
    profile: str
    endpoints: tuple[str, ...]
    in_zone: float
    reasons: tuple[Reason, ...]


class Part(Value, frozen=True):
    """Where traffic to some ports goes: one address family, one kind of traffic, one data plane.

    ``crossing``, ``unknown`` and ``unanswered`` are parts of all traffic: from one zone to
    another, with a zone that is not known, and without an endpoint to go to. ``skew`` is the
    hottest endpoint against the mean of the ready ones. ``notes`` are nothing to worry about.
    """

    family: str
    traffic: Traffic
    profile: str
    ports: tuple[PortLine, ...]
    headline: tuple[Reason, ...]
    clients: Reason
    groups: tuple[Group, ...]
    endpoints: tuple[Row, ...]
    crossing: float
    unknown: float
    unanswered: float
    mean: float
    skew: float
    zones: tuple[ZonePair, ...]
    notes: tuple[Reason, ...]
    findings: tuple[Reason, ...]


class Explanation(Value, frozen=True):
    """The whole answer about one service."""

    service: str
    type: str
    cluster_ips: tuple[str, ...] = msgspec.field(name="clusterIPs")
    origin: str
    asked: tuple[Reason, ...]
    hints: tuple[Carried, ...]
    parts: tuple[Part, ...]
    findings: tuple[Reason, ...]
