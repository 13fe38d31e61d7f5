"""What is still to happen in a lab before it has come to rest."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from nearwise.lab.addresses import Plan
from nearwise.lab.marks import POWER, READY
from nearwise.lab.settling import unsettled
from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointSlice,
    Node,
    ObjectMeta,
    ObjectReference,
    Pod,
    Service,
)
from nearwise.model.core import Condition, NodeStatus, PodIP, PodSpec, PodStatus, ServiceSpec
from nearwise.model.objects import Objects
from nearwise.model.wellknown import SERVICE_NAME

UP = (Condition(type="Ready", status="True"),)
NODE = Node(metadata=ObjectMeta(name="a1"), status=NodeStatus(conditions=UP))
POD = Pod(
    metadata=ObjectMeta(namespace="default", name="web-1", labels={"app": "web"}),
    spec=PodSpec(node_name="a1"),
    status=PodStatus(phase="Running", pod_ips=(PodIP("10.241.1.1"),), conditions=UP),
)
SERVICE = Service(
    metadata=ObjectMeta(namespace="default", name="web"),
    spec=ServiceSpec(selector={"app": "web"}, ip_families=("IPv4",)),
)
SLICE = EndpointSlice(
    metadata=ObjectMeta(namespace="default", name="web-x", labels={SERVICE_NAME: "web"}),
    endpoints=(
        Endpoint(
            addresses=("10.241.1.1",),
            conditions=EndpointConditions(ready=True, serving=True, terminating=False),
            target_ref=ObjectReference(kind="Pod", name="web-1"),
        ),
    ),
)
WHOLE = Objects(nodes=(NODE,), pods=(POD,), services=(SERVICE,), slices=(SLICE,))


def plan() -> Plan:
    made = Plan()
    made.add_node("a1", "")
    return made


def marked(obj: Any, mark: str, value: str) -> Any:
    return replace(obj, metadata=replace(obj.metadata, annotations={mark: value}))


def unready(obj: Any) -> Any:
    return replace(obj, status=replace(obj.status, conditions=()))


def test_when_everything_is_as_it_should_be_nothing_is_missing() -> None:
    assert unsettled(WHOLE, plan(), []) == ""


@pytest.mark.parametrize(
    ("objects", "missing"),
    [
        (replace(WHOLE, nodes=(unready(NODE),)), "node a1 is not ready yet"),
        (replace(WHOLE, nodes=(marked(NODE, POWER, "off"),)), "node a1 is not seen to be gone"),
        (replace(WHOLE, nodes=()), "node a1 is still there"),
        (replace(WHOLE, pods=(unready(POD),)), "pod default/web-1 is not ready yet"),
        (replace(WHOLE, pods=(marked(POD, READY, "false"),)), "web-1 is not unready yet"),
        (replace(WHOLE, slices=()), "service default/web is not written to slices yet"),
        (replace(WHOLE, pods=()), "service default/web is not written to slices yet"),
    ],
)
def test_what_is_still_to_happen_is_told(objects: Objects, missing: str) -> None:
    assert missing in unsettled(objects, plan(), [])


def test_a_pod_whose_process_died_may_be_unready() -> None:
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    crashed = {
        "metadata": {"namespace": "default", "name": "web-1"},
        "status": {"containerStatuses": [waiting]},
    }
    conditions = EndpointConditions(ready=False, serving=False, terminating=False)
    endpoint = replace(SLICE.endpoints[0], conditions=conditions)
    objects = replace(WHOLE, pods=(unready(POD),), slices=(replace(SLICE, endpoints=(endpoint,)),))
    assert unsettled(objects, plan(), [crashed]) == ""
