"""The EndpointSlice controller's work on one service, step by step."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from nearwise.model import EndpointSlice, Node, Pod, Service
from nearwise.model.codec import from_dict
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import HintMemory, Rules, reconcile
from nearwise.vectors.steps import step_answer


class _Step(msgspec.Struct):
    service: Service
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()


class _Input(msgspec.Struct, rename="camel"):
    steps: tuple[_Step, ...]
    slices: tuple[EndpointSlice, ...] = ()
    max_endpoints_per_slice: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


def answer(raw: object) -> list[dict[str, Any]]:
    """Answer one recorded question: what the slices hold after each of its ``steps``.

    Each step's answer has the ``slices`` after it as whole objects, the numbers ``created``,
    ``updated`` and ``deleted``, ``events`` and ``error``.
    """
    question = from_dict(raw, _Input)
    rules = Rules(max_endpoints=question.max_endpoints_per_slice)
    slices, memory = question.slices, HintMemory()
    answers = []
    for step in question.steps:
        nodes = Nodes(step.nodes)
        plan = reconcile(step.service, step.pods, nodes, slices, rules=rules, memory=memory)
        slices, memory = apply(slices, plan), plan.memory
        answers.append(step_answer(slices, plan))
    return answers
