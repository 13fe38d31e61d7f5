"""What is answered after each step of a controller's work, as the recorded vectors have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from nearwise.model import EndpointSlice
from nearwise.slices.plan import Plan


def step_answer(slices: Iterable[EndpointSlice], plan: Plan) -> dict[str, Any]:
    """Return the slices after a step as whole objects, and what the plan wrote and told."""
    return {
        "slices": msgspec.to_builtins(tuple(slices)),
        "created": len(plan.creates),
        "updated": len(plan.updates),
        "deleted": len(plan.deletes),
        "events": msgspec.to_builtins(plan.events),
        "error": list(plan.errors),
    }
