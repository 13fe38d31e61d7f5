"""What is asked of a node, and which changes of it make services be looked at again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hint_builders import node
from nearwise.model import Node, ObjectMeta
from nearwise.model.core import Condition, NodeStatus
from nearwise.model.wellknown import CONTROL_PLANE, MASTER
from nearwise.slices.nodes import wakes

READY = node("n0")


def test_a_node_is_ready_when_its_condition_says_so_and_not_without_one() -> None:
    assert READY.ready
    assert not node("n0", ready="Unknown").ready
    assert not node("n0", ready=None).ready


def test_of_two_ready_conditions_the_first_counts() -> None:
    conditions = (Condition("Ready", "False"), Condition("Ready", "True"))
    assert not Node(status=NodeStatus(conditions=conditions)).ready


@pytest.mark.parametrize("label", [CONTROL_PLANE, MASTER])
def test_a_node_is_of_the_control_plane_by_either_label_whatever_its_value(label: str) -> None:
    assert Node(metadata=ObjectMeta(labels={label: ""})).control_plane
    assert not READY.control_plane


@pytest.mark.parametrize("cpu", [None, "plenty"])
def test_cpu_that_is_absent_or_unreadable_counts_as_nothing(cpu: str | None) -> None:
    assert node("n0", cpu=cpu).cpu == 0
    assert node("n0", cpu="1500m").cpu == 1500


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, READY),
        (READY, None),
        (READY, node("n0", ready="False")),
        (READY, node("n0", "zone-b")),
        (READY, node("n0", zone=None)),
    ],
    ids=["it came", "it went", "not ready any more", "another zone", "no zone any more"],
)
def test_these_changes_wake_services(old: Node | None, new: Node | None) -> None:
    assert wakes(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (READY, node("n0", cpu="64")),
        (node("n0", ready="False"), node("n0", ready="Unknown")),
        (node("n0", ready=None), node("n0", ready="False")),
        (READY, replace(READY, metadata=replace(READY.metadata, annotations={"seen": "now"}))),
    ],
    ids=["more CPU", "not ready in another way", "not ready told", "an annotation"],
)
def test_these_changes_wake_nobody(old: Node, new: Node) -> None:
    assert not wakes(old, new)
