"""Hints by trafficDistribution: each ready endpoint is for its own place."""

import msgspec
import pytest

from hint_builders import endpoint
from nearwise.model import Endpoint, EndpointHints, ForNode, ForZone
from nearwise.slices.distribution import fits, hints_for

ZONE_HINT = EndpointHints((ForZone("zone-a"),))
NODE_HINT = EndpointHints((), (ForNode("node-1"),))
BOTH = EndpointHints((ForZone("zone-a"),), (ForNode("node-1"),))

HERE = endpoint("here", "zone-a", node_name="node-1")
WITHOUT_ZONE = endpoint("nozone", None, node_name="node-1")
WITHOUT_NODE = endpoint("nonode", "zone-a")
NOWHERE = endpoint("nowhere", None)
NOT_READY = endpoint("idle", "zone-a", node_name="node-1", ready=False)
CONDITIONLESS = msgspec.structs.replace(
    HERE, conditions=msgspec.structs.replace(HERE.conditions, ready=None)
)


def hinted(endpoint_: Endpoint, hints: EndpointHints | None) -> Endpoint:
    return msgspec.structs.replace(endpoint_, hints=hints)


@pytest.mark.parametrize(
    ("distribution", "where", "hints"),
    [
        ("PreferClose", HERE, ZONE_HINT),
        ("PreferSameZone", HERE, ZONE_HINT),
        ("PreferSameNode", HERE, BOTH),
        ("PreferSameNode", WITHOUT_ZONE, NODE_HINT),
        ("PreferSameNode", WITHOUT_NODE, ZONE_HINT),
        ("PreferSameNode", NOWHERE, None),
        ("PreferSameZone", WITHOUT_ZONE, None),
        ("PreferSameNode", NOT_READY, None),
        ("PreferSameNode", CONDITIONLESS, None),
        ("PreferRegion", HERE, None),
        ("prefersamezone", HERE, None),
        ("", HERE, None),
        (None, HERE, None),
    ],
)
def test_hints_follow_from_the_value_and_the_endpoints_own_place(
    distribution: str | None, where: Endpoint, hints: EndpointHints | None
) -> None:
    assert hints_for(where, distribution) == hints


@pytest.mark.parametrize("distribution", ["PreferClose", "PreferSameZone", "PreferSameNode"])
@pytest.mark.parametrize("where", [HERE, WITHOUT_ZONE, WITHOUT_NODE, NOWHERE, NOT_READY])
def test_what_was_just_hinted_may_stay(distribution: str, where: Endpoint) -> None:
    assert fits(hinted(where, hints_for(where, distribution)), distribution)


@pytest.mark.parametrize(
    ("distribution", "endpoint_", "stays"),
    [
        ("PreferSameZone", hinted(HERE, None), False),
        ("PreferSameZone", hinted(HERE, EndpointHints((ForZone("zone-b"),))), False),
        (
            "PreferSameZone",
            hinted(HERE, EndpointHints((ForZone("zone-a"), ForZone("zone-b")))),
            False,
        ),
        ("PreferSameZone", hinted(HERE, BOTH), False),
        ("PreferSameNode", hinted(HERE, ZONE_HINT), False),
        ("PreferSameZone", hinted(NOWHERE, ZONE_HINT), False),
        ("PreferSameZone", hinted(NOWHERE, EndpointHints()), True),
        ("PreferSameZone", hinted(NOT_READY, EndpointHints((ForZone("zone-b"),))), True),
        (None, hinted(NOT_READY, ZONE_HINT), False),
        (None, hinted(HERE, None), True),
        ("PreferRegion", hinted(HERE, ZONE_HINT), False),
    ],
)
def test_only_wrong_hints_of_ready_endpoints_cause_a_write_and_any_hint_where_none_is_asked_for(
    distribution: str | None, endpoint_: Endpoint, stays: bool
) -> None:
    assert fits(endpoint_, distribution) is stays
