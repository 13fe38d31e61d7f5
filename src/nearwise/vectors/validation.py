"""Whether an API server takes an EndpointSlice or a Service, and what it stores of it."""

from __future__ import annotations

from typing import Any

from nearwise.model.codec import InputError
from nearwise.model.validation import validate


def answer(raw: object) -> dict[str, Any]:
    """Answer for one recorded ``object``, sent to be created in the namespace ``shop``.

    The answer has the HTTP ``status``, and ``stored``, or else ``reason``, ``message`` and
    ``causes``. Addresses and ports that a server picks are the first free ones of its ranges.
    """
    if not isinstance(raw, dict):
        raise InputError("expected a Kubernetes object, got something else")
    verdict = validate(raw)
    if verdict.stored is not None:
        return {"status": verdict.status, "stored": verdict.stored}
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "message": verdict.message,
        "causes": [
            {"field": cause.field, "message": cause.message, "reason": cause.reason}
            for cause in verdict.causes
        ],
    }
