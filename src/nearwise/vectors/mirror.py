"""The mirroring controller's work on one Endpoints object, step by step."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from nearwise.model import Endpoints, EndpointSlice, Service
from nearwise.model.codec import from_dict
from nearwise.slices.mirror import MAX_PER_SUBSET, mirror, why_not_mirrored
from nearwise.slices.plan import apply
from nearwise.vectors.steps import step_answer


class _Selector(msgspec.Struct):
    selector: dict[str, str] | None = None


class _Selecting(msgspec.Struct):
    spec: _Selector = msgspec.field(default_factory=_Selector)


class _Step(msgspec.Struct):
    service: Any = None
    endpoints: Endpoints | None = None


class _Input(msgspec.Struct, rename="camel"):
    steps: tuple[_Step, ...]
    slices: tuple[EndpointSlice, ...] = ()
    max_endpoints_per_subset: Annotated[int, msgspec.Meta(ge=1, le=1000)] = MAX_PER_SUBSET


def answer(raw: object) -> list[dict[str, Any]]:
    """Answer one recorded question: what is mirrored after each of its ``steps``.

    Each step's answer has the ``slices`` after it as whole objects, the numbers ``created``,
    ``updated`` and ``deleted``, ``events``, ``error`` and ``mirrored``.
    """
    question = from_dict(raw, _Input)
    slices = question.slices
    answers = []
    for step in question.steps:
        service = _service(step.service)
        plan = mirror(service, step.endpoints, slices, question.max_endpoints_per_subset)
        slices = apply(slices, plan)
        mirrored = why_not_mirrored(service, step.endpoints) is None
        answers.append({**step_answer(slices, plan), "mirrored": mirrored})
    return answers


def _service(raw: object) -> Service | None:
    """Read a service. Here an empty selector is one; no API server stores such a thing."""
    if raw is None:
        return None
    service = from_dict(raw, Service)
    if from_dict(raw, _Selecting).spec.selector is None or service.spec.selector:
        return service
    spec = msgspec.structs.replace(service.spec, selector={"": ""})
    return msgspec.structs.replace(service, spec=spec)
